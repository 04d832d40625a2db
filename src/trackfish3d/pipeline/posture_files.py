"""Postures of a recording with poses: tables and a picture beside the other measures of behaviour."""

from collections.abc import Sequence

from ..behaviour.analysis import World
from ..behaviour.settings import AnalysisSettings
from ..behaviour.streaming.output import TableFolder
from ..behaviour.streaming.posture_tables import Posture, beat_table, posture_table
from ..core.files import atomic_path
from ..plot.postures import postures
from ..recordings import Poses

PICTURE = "postures.png"


def write_postures(poses: Poses, world: World, settings: AnalysisSettings, tables: TableFolder) -> Sequence[str]:
    """Write ``postures`` and ``tail_beats`` and draw them; returns the midline, () where nothing says what it is.

    Parameters
    ----------
    poses : of the animals.
    world : where they swim.
    settings : which say midline and angles, if the names of parts do not.
    tables : takes the tables; the picture goes beside them.
    """
    asked = Posture.of(poses.skeleton, settings.midline, settings.angles)
    if not len(poses) or not (asked.midline or asked.angles):
        return asked.midline
    table = posture_table(poses, asked, world.up, world.units)
    tables("postures", table)
    beats = beat_table(poses, asked.midline, world.fps, world.units) if len(asked.midline) > 2 else None
    if beats is not None:
        tables("tail_beats", beats)
    with atomic_path(tables.folder / PICTURE) as temporary:
        postures(table, beats, world.fps, world.units).savefig(temporary, format="png", dpi=110)
    return asked.midline
