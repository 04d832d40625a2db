"""Suspect moments on the page: a list to jump by, and short clips of the first ones."""

import base64
from typing import Any

import numpy as np

from ..core.errors import InputError, MissingExtraError
from ..media.video import Video
from ..media.writer import encode_jpeg
from ..methods.review import Moment, review
from ..methods.suspects import SUSPECTS, read_suspects
from ..recordings import Recording, Tracks
from ..recordings.edits.edit_log import FILE, read_log
from ..recordings.edits.mending import Mending, TrackFile
from .frames import FrameAxis
from .packing import rounded
from .residuals import project_tracks

CLIPS = 6  # moments that get one
PICTURES = 10  # of a clip
WIDTH = 360  # px
AROUND = 8  # frames before and after the moment
MOST = 200  # moments listed
BUDGET = 1_500_000  # bytes of JPEG


def suspect_rows(recording: Recording, tracks: Tracks, axis: FrameAxis, raw: bool) -> list[dict[str, Any]]:
    """Return the moments of the recording's own tracks for the page, the open ones first.

    Each has frames, tracks, kind, chance, state, its ``place`` on the axis, and ``clip``: pictures (base64) of the
    camera in which its tracks are farthest apart, with the frame of each and marks: where its tracks are, and their
    boxes. A list or a film that cannot be read must not cost the page.

    Parameters
    ----------
    recording : whose ``suspects.csv`` is read.
    tracks : that are shown.
    axis : frames of the page.
    raw : whether the tracks are as the tracker left them.
    """
    file = TrackFile(recording.folder / "tracks.parquet")
    try:
        found = read_suspects(recording.folder / SUSPECTS)
        if not found or not file.path.is_file():
            return []
        log = read_log(recording.folder / FILE)
        edits = () if raw else log.on(file.digest) if log.active else ()
        moments = [m for m in review(found, Mending.of(file.pieces, edits)) if m.state != "gone"][:MOST]
    except InputError:
        return []
    films: dict[str, Video] = {}
    left, rows = BUDGET, []
    for k, m in enumerate(moments):
        clip = _clip(recording, tracks, m, films, left) if k < CLIPS and m.state == "open" else None
        left -= 0 if clip is None else sum(len(p) for p in clip["pictures"])
        middle = (m.suspect.first + m.suspect.last) // 2
        rows.append(
            {
                "first": m.suspect.first,
                "last": m.suspect.last,
                "track": m.track,
                "other": m.other,
                "kind": m.suspect.kind,
                "probability": round(m.probability, 4),
                "state": m.state,
                "place": int(np.clip(axis.position([middle])[0], 0, len(axis.numbers) - 1)),
                "clip": clip,
            }
        )
    return rows


def _clip(
    recording: Recording, tracks: Tracks, moment: Moment, films: dict[str, Video], left: int
) -> dict[str, Any] | None:
    """Pictures about a moment in the camera that tells its tracks apart best; None without a film."""
    cameras = [n for n in recording.rig.names if n in recording.videos]
    if not cameras or left <= 0:
        return None
    first, last = moment.suspect.first - AROUND, moment.suspect.last + AROUND
    near = (tracks.frame >= first) & (tracks.frame <= last)
    mine = tracks.select(near & np.isin(tracks.track, [moment.track, moment.other]))
    pixels = project_tracks(recording.rig, mine.position)
    gap = {n: _apart(mine, pixels[:, recording.rig.index(n)], moment) for n in cameras}
    name = max(cameras, key=lambda n: gap[n])
    shift = recording.info.first_frame + recording.info.time_offset_frames.get(name, 0)
    try:
        if name not in films:
            films[name] = Video.open(recording.videos[name])
        numbers = np.unique(np.linspace(first, last, PICTURES).astype(np.int64)) - shift
        wanted = numbers[(numbers >= 0) & (numbers < films[name].count)].tolist()
        shown = [(p.number + shift, base64.b64encode(encode_jpeg(p, WIDTH)).decode()) for p in films[name].at(wanted)]
    except (InputError, MissingExtraError, OSError, ValueError):
        return None
    if not shown:
        return None
    marks = [_marks(recording, mine, pixels[:, recording.rig.index(name)], name, frame) for frame, _ in shown]
    frames, pictures = (list(column) for column in zip(*shown, strict=True))
    return {"camera": name, "pictures": pictures, "frames": frames, "marks": marks}


def _marks(recording: Recording, tracks: Tracks, pixels: Any, camera: str, frame: int) -> list[dict[str, Any]]:
    """Tracks in a frame as a camera sees them (N, 2), and the boxes they used, as shares of its width and height."""
    k = recording.rig.index(camera)
    size = np.array(recording.rig[k].size, np.float64)
    used = tracks.cameras.index(camera) if camera in tracks.cameras else -1
    out = []
    for row in np.flatnonzero((tracks.frame == frame) & np.isfinite(pixels).all(1)).tolist():
        detection = int(tracks.detection[row, used]) if used >= 0 else -1
        box = None
        if 0 <= detection < len(recording.detections):
            seen = recording.detections.select(np.array([detection]))
            corners = np.array([seen.x1[0], seen.y1[0], seen.x2[0], seen.y2[0]]) / np.tile(size, 2)
            box = rounded(corners, 4) if np.isfinite(corners).all() else None
        out.append({"track": int(tracks.track[row]), "at": rounded(pixels[row] / size, 4), "box": box})
    return out


def _apart(tracks: Tracks, pixels: Any, moment: Moment) -> float:
    """Mean distance of the two tracks in a view, px; how many of their points it sees, where there is one track."""
    one, other = (tracks.track == n for n in (moment.track, moment.other))
    if moment.track == moment.other:
        return float(np.isfinite(pixels).all(1).sum())
    _, i, j = np.intersect1d(tracks.frame[one], tracks.frame[other], return_indices=True)
    far = np.linalg.norm(pixels[one][i] - pixels[other][j], axis=1)
    return float(np.nanmean(far)) if np.isfinite(far).any() else -1.0
