"""Visual features of detections: each box cut out of its frame, seen by an image network."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.files import atomic_path, remove_folder, stamp
from ...core.progress import TaskProgress
from ...core.resume import key_of, open_work
from ...media.video import Video
from ...recordings import Detections, Recording
from ..camera_job import read_ahead
from ..pipeline import check_videos
from .backbones import Backbone
from .projection import Projection

Floats = NDArray[np.float32]
_ROWS = 20_000  # rows of features in memory at once
_SAVE_EVERY = 500  # frames after which what is done is noted


@dataclass
class FeatureReport:
    """``rows`` written, ``columns`` of each, ``missing`` rows without a picture; ``notes``, a line each."""

    rows: int
    columns: int
    missing: int
    notes: list[str] = field(default_factory=list)


def extract(
    recording: Recording,
    backbone: Backbone,
    out: Path,
    *,
    network: dict[str, Any],
    margin: float = 0.1,
    components: int | None = None,
    projection: Projection | None = None,
    batch: int | None = None,
    progress: TaskProgress | None = None,
) -> FeatureReport:
    """Write a row of features for every detection of a recording, in their order, to ``.npz`` or ``.parquet``.

    Every video is read once, in order. What was seen is kept on disk, so a stopped run goes on where it was. A
    detection without a picture gets zeros, which is the mean.

    Parameters
    ----------
    network : which one it is, in plain values.
    margin : share by which the square around a box is larger than its longer side.
    components : principal components to keep; all columns of the network otherwise.
    batch : detections at once; few on a CPU, where large activations cost more than they save.
    projection : one of an earlier recording, so that columns mean the same in both.
    progress : called with the camera, its frames done and its frames in all.
    """
    if out.suffix not in (".npz", ".parquet"):
        raise InputError(f"{out}: name the features FILE.npz or FILE.parquet")
    if components is not None and not 1 <= components <= backbone.width:
        raise InputError(f"components {components}: the network has {backbone.width}; give 1 to {backbone.width}")
    if projection is not None and len(projection.mean) != backbone.width:
        raise InputError(f"the projection is for {len(projection.mean)} columns, the network has {backbone.width}")
    batch = batch or (8 if backbone.device == "cpu" else 64)
    videos, notes = check_videos(recording)
    detections = recording.detections
    table = recording.folder / "detections.parquet"
    files = [stamp(table), *(video.stamp for video in videos.values())]
    made_from = {"network": network, "margin": margin, "files": files}
    work = _Work(out.with_name(f".{out.name}.work"), made_from, len(detections), backbone)
    for name, video in videos.items():
        _see_video(recording, name, video, detections, backbone, work, margin, batch, progress)
        if video.skipped:
            notes.append(f"camera {name}: {len(video.skipped)} broken frames left out")
    seen = work.seen
    chosen = projection or Projection.fit(work.pieces(), backbone.width, components)
    _write(out, work, chosen, len(detections))
    chosen.write(out.with_suffix(".projection.npz"))
    missing = int((~seen).sum())
    if missing:
        notes.append(f"{missing} of {len(seen)} detections have no picture; their features are 0")
    work.remove()
    return FeatureReport(len(detections), len(chosen.scale), missing, notes)


def _see_video(
    recording: Recording,
    camera: str,
    video: Video,
    detections: Detections,
    backbone: Backbone,
    work: "_Work",
    margin: float,
    batch: int,
    progress: TaskProgress | None,
) -> None:
    """Fill the rows of one camera."""
    rows = np.flatnonzero(detections.camera == recording.rig.index(camera))
    shift = recording.info.first_frame + recording.info.time_offset_frames.get(camera, 0)
    number = detections.frame[rows] - shift
    start = work.done(camera)
    waiting: list[Floats] = []
    places: list[int] = []

    def flush() -> None:
        if places:
            work.write(np.array(places), _run(backbone, np.stack(waiting)))
            waiting.clear()
            places.clear()

    stop = int(number.max(initial=-1)) + 1
    for picture in read_ahead(video.read(start, stop)) if start < stop else ():
        first, last = np.searchsorted(number, [picture.number, picture.number + 1])
        if last > first:
            rgb = picture.rgb
            for row in rows[first:last].tolist():
                waiting.append(crop(rgb, detections.boxes[row], margin, backbone.size))
                places.append(row)
                if len(places) >= batch:
                    flush()
        if (picture.number + 1) % _SAVE_EVERY == 0:
            flush()
            work.note(camera, picture.number + 1)
        if progress is not None:
            progress(camera, picture.number + 1, stop)
    flush()
    work.note(camera, stop)


def crop(rgb: NDArray[np.uint8], box: NDArray[np.float64], margin: float, size: tuple[int, int]) -> Floats:
    """(3, h, w) in 0..1: the square around a box, the picture's edge repeated where it reaches beyond it."""
    import torch

    height, width = rgb.shape[:2]
    side = max(2, round((1 + margin) * float(max(box[2] - box[0], box[3] - box[1]))))
    x = np.clip(round((box[0] + box[2] - side + 1) / 2) + np.arange(side), 0, width - 1)
    y = np.clip(round((box[1] + box[3] - side + 1) / 2) + np.arange(side), 0, height - 1)
    cut = torch.from_numpy(rgb[y][:, x]).permute(2, 0, 1)[None].float() / 255
    cut = torch.nn.functional.interpolate(cut, size, mode="bilinear", antialias=True, align_corners=False)
    values: Floats = cut[0].numpy()
    return values


def _run(backbone: Backbone, pictures: Floats) -> Floats:
    """Features (B, D) of pictures (B, 3, h, w) in 0..1."""
    import torch

    mean, std = (np.array(v, np.float32)[None, :, None, None] for v in (backbone.mean, backbone.std))
    shown = torch.from_numpy((pictures - mean) / std).to(backbone.device)
    with torch.inference_mode():
        values: Floats = backbone.run(shown).float().cpu().numpy()
    return values


class _Work:
    """Features on their way: an array on disk, which rows are in it, and how far each camera was read."""

    def __init__(self, folder: Path, made_from: dict[str, Any], rows: int, backbone: Backbone) -> None:
        self._folder = folder
        self._key = key_of({**made_from, "rows": rows, "width": backbone.width})
        self._journal = open_work(folder, self._key)
        files = folder / "values.npy", folder / "there.npy"
        begun = self._journal.facts("arrays", self._key, files) is not None
        shape = max(rows, 1), backbone.width
        self._rows = rows
        mode = "r+" if begun else "w+"
        self._values = np.lib.format.open_memmap(files[0], mode, np.float32, shape)
        self._there = np.lib.format.open_memmap(files[1], mode, np.bool_, shape[:1])
        self._journal.note("arrays", self._key)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """(N,) whether a row has features."""
        return np.array(self._there[: self._rows])

    def done(self, camera: str) -> int:
        """Return the frame to go on with."""
        facts = self._journal.facts(f"camera {camera}", self._key)
        return 0 if facts is None else int(facts["reached"])

    def write(self, rows: NDArray[np.int64], values: Floats) -> None:
        """Keep the features of some rows."""
        good = np.asarray(np.isfinite(values).all(axis=1))
        self._values[rows] = np.where(good[:, None], values, 0)
        self._there[rows] = good

    def note(self, camera: str, frame: int) -> None:
        """Note that everything before a frame of a camera is kept."""
        self._values.flush()
        self._there.flush()
        self._journal.note(f"camera {camera}", self._key, reached=max(frame, self.done(camera)))

    def pieces(self) -> Iterator[Floats]:
        """Features of the rows that have some, piece by piece."""
        for k in range(0, self._rows, _ROWS):
            yield np.array(self._values[k : min(k + _ROWS, self._rows)][self._there[k : min(k + _ROWS, self._rows)]])

    def projected(self, projection: Projection) -> Iterator[Floats]:
        """All rows as they are written, piece by piece; zeros where there are none."""
        for k in range(0, self._rows, _ROWS):
            part = slice(k, min(k + _ROWS, self._rows))
            there = np.array(self._there[part])
            yield np.where(there[:, None], projection.apply(np.array(self._values[part])), np.float32(0))

    def remove(self) -> None:
        """Remove what was kept."""
        del self._values, self._there
        remove_folder(self._folder)


def _write(out: Path, work: _Work, projection: Projection, rows: int) -> None:
    """Write the features file piece by piece."""
    columns = len(projection.scale)
    with atomic_path(out) as temporary:
        if out.suffix == ".npz":
            head = {"descr": "<f4", "fortran_order": False, "shape": (rows, columns)}
            with (
                zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive,
                archive.open(zipfile.ZipInfo("features.npy"), "w", force_zip64=True) as stream,
            ):
                np.lib.format.write_array_header_1_0(stream, head)  # type: ignore[arg-type]
                for piece in work.projected(projection):
                    stream.write(np.ascontiguousarray(piece, "<f4").tobytes())
            return
        schema = pa.schema([(f"feature_{k}", pa.float32()) for k in range(columns)])
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for piece in work.projected(projection):
                arrays = [pa.array(np.ascontiguousarray(piece[:, k])) for k in range(columns)]
                writer.write_table(pa.table(arrays, schema=schema))
