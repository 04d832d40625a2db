"""Mending tracks by hand, in one call."""

from ..recordings.edits.editor import Editor
from .tracking import Source, open_recording


def edit(recording: Source) -> Editor:
    """Return what mends the tracks of a recording: ``tf.edit(rec).swap(3, 7, first=512)``.

    Each call is checked, kept in ``edits.jsonl`` and says how many frames, points and views it touched; ``undo`` and
    ``redo`` have no limit; the tracker's files stay as they are. What reads tracks afterwards reads the mended ones.

    Parameters
    ----------
    recording : with tracks.
    """
    return Editor(open_recording(recording))
