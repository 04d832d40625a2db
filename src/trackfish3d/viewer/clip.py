"""``clip``: a film of some frames with what was tracked drawn into it."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..core.errors import InputError
from ..core.progress import Progress, silent
from ..media.video import Video
from ..media.writer import write_video
from ..recordings import Recording, Tracks
from ..report.palette import PALETTES
from ..report.space import space_of

Bytes = NDArray[np.uint8]
Array = NDArray[np.float64]
TRAIL = 40  # frames
MOST_FRAMES = 1_000_000  # of a clip
CELL = (640, 480)  # px of a view in the grid
_GREY = 40


def clip(
    recording: Recording | str | Path,
    frames: tuple[int, int],
    out: str | Path,
    views: Sequence[str] | None = None,
    *,
    space: bool = True,
    raw: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write an annotated film: camera views in a grid with the 3D scene, trails, numbers.

    Parameters
    ----------
    recording : with tracks.
    frames : first frame, and the one after the last.
    out : file to write (.mp4).
    views : names of the cameras; all without.
    space : whether the 3D scene is among them.
    raw : the tracks as the tracker left them, without what was edited.
    progress : called with frames done and frames in all.
    """
    source = recording if isinstance(recording, Recording) else Recording.open(recording)
    path, (first, end) = Path(out), frames
    if path.suffix.lower() != ".mp4":
        raise InputError(f"{path}: films are written as .mp4")
    if not first < end:
        raise InputError(f"--frames {first}:{end}: give first:end, with the end after the first")
    if end > first + MOST_FRAMES:
        raise InputError(f"--frames {first}:{end}: a clip has {MOST_FRAMES:,} frames at most")
    names = list(source.rig.names) if views is None else list(views)
    cameras = [source.rig.index(n) for n in names]
    if not cameras and not space:
        raise InputError("--views: there is nothing to show")
    tracks = source.tracks if raw else source.mended_tracks
    tracks = tracks.select((tracks.frame >= first - TRAIL) & (tracks.frame < end))
    if not len(tracks):
        raise InputError(f"--frames {first}:{end}: there are no tracks in these frames")
    cells = len(cameras) + space
    columns = math.ceil(math.sqrt(cells))
    size = (columns * CELL[0], math.ceil(cells / columns) * CELL[1])
    drawn = _pictures(source, tracks, (first, end), cameras, space, columns, progress or silent)
    write_video(path, drawn, size, source.fps)
    return path


def _pictures(
    source: Recording,
    tracks: Tracks,
    frames: tuple[int, int],
    cameras: list[int],
    space: bool,
    columns: int,
    progress: Progress,
) -> Iterator[Bytes]:
    """Pictures (H, W, 3) of the film, one a frame."""
    films = [_film(source, k, *frames) for k in cameras]
    pixels = {k: source.rig[k].project(tracks.position) for k in cameras}
    rows = math.ceil((len(cameras) + space) / columns)
    figure = Figure(figsize=(columns * CELL[0] / 100, rows * CELL[1] / 100), dpi=100, facecolor="black")
    canvas: Any = FigureCanvasAgg(figure)
    axes = [figure.add_axes(_cell(i, columns, rows)) for i in range(len(cameras))]
    room = figure.add_axes(_cell(len(cameras), columns, rows), projection="3d") if space else None
    for done, frame in enumerate(range(*frames), 1):
        for axis, film, k in zip(axes, films, cameras, strict=True):
            _draw_view(axis, next(film), source, k, tracks, pixels[k], frame)
        if room is not None:
            _draw_room(room, source, tracks, frame)
        canvas.draw()
        yield np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])
        progress(done, frames[1] - frames[0])


def _cell(index: int, columns: int, rows: int) -> tuple[float, float, float, float]:
    row, column = divmod(index, columns)
    return column / columns, 1 - (row + 1) / rows, 1 / columns, 1 / rows


def _film(source: Recording, camera: int, first: int, end: int) -> Iterator[Bytes | None]:
    """Picture of each frame of a camera; None where there is none."""
    name = source.rig.names[camera]
    if name not in source.videos:
        yield from [None] * (end - first)
        return
    video = Video.open(source.videos[name])
    shift = source.info.first_frame + source.info.time_offset_frames.get(name, 0)
    begin = max(first - shift, 0)
    reader = video.read(begin, max(end - shift, begin))
    ahead = next(reader, None)
    for number in range(first - shift, end - shift):
        if ahead is not None and ahead.number == number:
            yield ahead.rgb
            ahead = next(reader, None)
        else:
            yield None


def colour(track: int) -> str:
    """Return the colour of a track on a dark ground.

    Parameters
    ----------
    track : its number.
    """
    palette = PALETTES["dark"]
    return palette[track % len(palette)]


def _trails(tracks: Tracks, frame: int) -> Iterator[tuple[int, NDArray[np.int64], bool]]:
    """Track, rows of its last frames, and whether it is there now."""
    low, high = np.searchsorted(tracks.frame, [frame - TRAIL, frame + 1])
    order = low + np.argsort(tracks.track[low:high], kind="stable")
    names, begin = np.unique(tracks.track[order], return_index=True)
    for name, rows in zip(names.tolist(), np.split(order, begin[1:]), strict=True):
        yield int(name), rows, bool(tracks.frame[rows[-1]] == frame)


def _draw_view(
    axis: Any, picture: Bytes | None, source: Recording, camera: int, tracks: Tracks, pixels: Array, frame: int
) -> None:
    """Draw a camera's picture with trails (N, 2) and numbers."""
    width, height = source.rig[camera].size
    axis.clear()
    axis.set_axis_off()
    shown = np.full((2, 2, 3), _GREY, np.uint8) if picture is None else picture
    axis.imshow(shown, extent=(0, width, height, 0), aspect="equal", interpolation="bilinear")
    for name, rows, now in _trails(tracks, frame):
        if not now:
            continue
        axis.plot(*pixels[rows].T, color=colour(name), linewidth=1.2)
        u, v = pixels[rows[-1]]
        if np.isfinite([u, v]).all() and 0 <= u <= width and 0 <= v <= height:
            axis.plot([u], [v], "o", color=colour(name), markersize=3)
            text = axis.text(u + 0.008 * width, v - 0.008 * width, str(name), color="white", fontsize=8)
            text.set_clip_on(True)
    axis.set_xlim(0, width)
    axis.set_ylim(height, 0)
    lost = "" if picture is not None or source.rig.names[camera] not in source.videos else " (no picture)"
    label = f"{source.rig.names[camera]}  {frame}{lost}".replace("$", r"\$")
    axis.text(0.01, 0.985, label, transform=axis.transAxes, color="white", fontsize=9, va="top")


def _draw_room(axis: Any, source: Recording, tracks: Tracks, frame: int) -> None:
    """Draw the tank in 3D with trails and numbers."""
    axis.clear()
    axis.set_facecolor("black")
    axis.set_axis_off()
    space = space_of(source.rig, tracks.position)
    up = int(np.abs(space.up).argmax())
    order = [k for k in range(3) if k != up] + [up]
    low, high = space.low[order], space.high[order]
    for a in range(8):
        for k in range(3):
            if not a >> k & 1:
                ends = np.array([[high[j] if c >> j & 1 else low[j] for j in range(3)] for c in (a, a | 1 << k)])
                axis.plot(*ends.T, color="0.45", linewidth=0.6)
    for name, rows, now in _trails(tracks, frame):
        if now:
            place = tracks.position[rows][:, order]
            axis.plot(*place.T, color=colour(name), linewidth=1.2)
            axis.scatter(*place[-1:].T, color=colour(name), s=14, depthshade=False)
            axis.text(*place[-1], str(name), color="white", fontsize=8)
    if space.up[up] < 0:
        axis.invert_zaxis()
    axis.set_box_aspect(np.maximum(high - low, 1e-9), zoom=1.1)
