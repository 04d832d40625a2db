"""Every reader of files from outside: what it is given, how it is called, and whether what it says makes sense."""

import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.recordings.worlds import make_rig

from trackfish3d.calibration.tank import read_tank
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.core.errors import InputError
from trackfish3d.core.resume import Journal
from trackfish3d.core.settings import make_settings
from trackfish3d.methods.baselines.external import read_mot_tracks
from trackfish3d.methods.registry import method_class, method_names
from trackfish3d.methods.suspects import read_suspects
from trackfish3d.pipeline.batch.manifest import read_manifest
from trackfish3d.recordings import Recording, read_poses, read_tracks
from trackfish3d.recordings.importers import import_truth, read_detections, read_timestamps
from trackfish3d.report.behaviour import read_figures
from trackfish3d.report.origin import settings_of

from . import seeds, sense
from .remade import BY_SUFFIX

RIG = make_rig()
THREE = make_rig(("cam1", "cam2", "cam3"))
BINARY = (".parquet", ".h5", ".nc", ".slp", ".mat", ".mp4", ".avi", ".mkv", ".npz", ".safetensors")


@dataclass(frozen=True)
class Reader:
    """A reader: the valid file that is damaged, what is opened, and what is wrong with what was read."""

    name: str
    target: Path
    opened: Path
    sense: Callable[[Path], Iterator[str]]

    @property
    def text(self) -> bool:
        """Whether the file is text."""
        return self.target.suffix not in BINARY

    @property
    def remake(self) -> Callable[[np.random.Generator, bytes], bytes] | None:
        """How to make a sound file that says something wild, where damage alone would hardly make one."""
        return BY_SUFFIX.get(self.target.suffix)


def all_readers(folder: Path) -> dict[str, Reader]:
    """Every reader by name; its valid files are written below `folder`."""
    found: list[Reader] = []
    for name, path in seeds.calibrations(folder / "calibrations").items():
        opened = path.parent if name.startswith(("colmap", "zef")) and not name.endswith("real") else path
        found.append(Reader(f"calibration-{name}", path, opened, _calibration))
    for name, path in seeds.detections(folder / "detections").items():
        read = _three_detections if name == "dltdv-real" else _parts if name.startswith("parts-") else _detections
        whole = name in ("yolo", "parts-openpose", "parts-ultralytics")
        found.append(Reader(f"detections-{name}", path, path.parent if whole else path, read))
    kinds = {"timestamps": _timestamps, "truth": _truth, "tracks": _tracks, "tank": _tank, "mot": _mot_tracks}
    kinds["manifest"] = _manifest
    for name, path in seeds.tables(folder / "tables").items():
        found.append(Reader(name, path, path, kinds[name.split("-")[0]]))
    for name, path in seeds.poses_3d(folder / "poses").items():
        found.append(Reader(name, path, path, _poses))
    made = seeds.recording(folder / "recording")
    for file in ("recording.toml", "cameras.toml", "detections.parquet", "truth.parquet", "tracks.parquet"):
        read = {"truth.parquet": _recorded_truth, "tracks.parquet": _recorded_tracks}.get(file, _recording)
        found.append(Reader(f"recording-{file}", made / file, made, read))
    for file in ("tracks.settings.json", "run.json"):
        found.append(Reader(f"settings-{file}", made / file, made, _side_files))
    mended = seeds.edits(folder / "edits")
    found.append(Reader("recording-edits.jsonl", mended / "edits.jsonl", mended, _edits))
    found.append(Reader("recording-suspects.csv", mended / "suspects.csv", mended, _suspects))
    found.append(Reader("settings-methods", _settings_seed(folder), _settings_seed(folder), _settings))
    films = seeds.videos(folder / "videos")
    for name, path in films.items():
        found.append(Reader(f"video-{name}", path, path, _video))
    listed = seeds.chapters(folder / "chapters", films["mp4"])
    found.append(Reader("video-chapters.json", listed, listed.parent, _video))
    rows = len(Recording.open(made).detections)
    for name, path in seeds.features(folder / "features", rows).items():
        found.append(Reader(name, path, path, _features(Recording.open(made))))
    for name, path in seeds.models(folder / "models").items():
        found.append(Reader(name, path, path, _model))
    return {r.name: r for r in found}


def _calibration(path: Path) -> Iterator[str]:
    yield from sense.of_rig(read_calibration(path))


def _detections(path: Path) -> Iterator[str]:
    found = read_detections({"top": path}, RIG, None, keypoint="mean", sort=True)
    yield from sense.of_detections(found, RIG)


def _parts(path: Path) -> Iterator[str]:
    found = read_detections({"top": path}, RIG, None, sort=True)
    yield from sense.of_detections(found, RIG)
    if found.parts is not None:
        size = np.array(RIG["top"].size, dtype=np.float64)
        yield from sense.of_numbers("part (image sizes)", found.parts[..., :2] / size, sense.IMAGES, unknown=True)
        yield from sense.of_numbers("score of a part", found.parts[..., 2], 1, unknown=True)


def _poses(path: Path) -> Iterator[str]:
    poses = read_poses(path)
    yield from sense.of_frames(poses.frame)
    yield from sense.of_numbers("position", poses.position, sense.FARTHEST, unknown=True)


def _three_detections(path: Path) -> Iterator[str]:
    found = read_detections([path], THREE, None, sort=True)
    yield from sense.of_detections(found, THREE)


def _manifest(path: Path) -> Iterator[str]:
    for job in read_manifest(path):
        if not job.name.isprintable() or (job.animals is not None and job.animals < 1):
            yield f"a recording {job.name!r} with {job.animals} animals"
        if bool(job.videos) != (job.calibration is not None):
            yield "films without a calibration"


def _timestamps(path: Path) -> Iterator[str]:
    frame, time = read_timestamps(path)
    yield from sense.of_frames(frame)
    yield from sense.of_numbers("time", time, 1e12)


def _truth(path: Path) -> Iterator[str]:
    yield from sense.of_points(import_truth(path, RIG))


def _tracks(path: Path) -> Iterator[str]:
    yield from sense.of_points(read_tracks(path))


def _mot_tracks(path: Path) -> Iterator[str]:
    values = read_mot_tracks(path)
    yield from sense.of_frames(values[:, 0])
    yield from sense.of_numbers("box", values[:, 2:], sense.FARTHEST)


def _tank(path: Path) -> Iterator[str]:
    tank = read_tank(path)
    yield from sense.of_numbers("world", tank.world, sense.FARTHEST)
    yield from sense.of_numbers("pixel", tank.pixel, sense.FARTHEST)
    for surface in tank.surfaces:
        yield from sense.of_numbers("surface", surface.point, sense.FARTHEST)


def _recording(folder: Path) -> Iterator[str]:
    recording = Recording.open(folder)
    info = recording.info
    yield from sense.of_rig(recording.rig)
    yield from sense.of_numbers("fps", info.fps, 1e9)
    yield from sense.of_numbers("first frame", info.first_frame, sense.MOST_FRAMES)
    yield from sense.of_numbers("frames", info.frame_count, sense.LONGEST)
    yield from sense.of_numbers("offset", list(info.time_offset_frames.values()), 1e9)
    yield from sense.of_detections(recording.detections, recording.rig)
    for piece in recording.iter_detections(rows=40):
        yield from sense.of_detections(piece, recording.rig)


def _recorded_truth(folder: Path) -> Iterator[str]:
    truth = Recording.open(folder).truth
    if truth is not None:
        yield from sense.of_points(truth)


def _recorded_tracks(folder: Path) -> Iterator[str]:
    yield from sense.of_points(Recording.open(folder).tracks)


def _edits(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that edits are of other tracks is a note
        yield from sense.of_points(Recording.open(folder).mended_tracks)


def _suspects(folder: Path) -> Iterator[str]:
    for s in read_suspects(folder / "suspects.csv"):
        yield from sense.of_frames(np.array([s.first, s.last]))
        yield from sense.of_numbers("chance", s.probability, 1.0)


def _side_files(folder: Path) -> Iterator[str]:
    settings_of(folder)
    Journal(folder / "run.json")
    read_figures(folder, folder / "tracks.parquet", None)  # type: ignore[arg-type]
    yield from ()


def _settings_seed(folder: Path) -> Path:
    path = folder / "methods.json"
    if not path.exists():
        values = {"max_gap": 5, "min_obs": 3, "gate": 0.5}
        path.write_text(json.dumps([{"method": name, "settings": values} for name in method_names()]))
    return path


def _settings(path: Path) -> Iterator[str]:
    try:
        jobs = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON") from None
    for job in jobs if isinstance(jobs, list) else []:
        if isinstance(job, dict) and isinstance(job.get("settings"), dict) and job.get("method") in method_names():
            for name, value in job["settings"].items():
                try:
                    make_settings(method_class(job["method"]).Settings, {name: value}, job["method"])
                except InputError:
                    continue
    yield from ()


def _video(path: Path) -> Iterator[str]:
    from trackfish3d.media.video import Video

    film = Video.open(path)
    yield from sense.of_numbers("fps", film.fps, 1e9)
    yield from sense.of_numbers("frames", film.count, sense.LONGEST)
    for picture in itertools.islice(film.read(), 20):
        if picture.grey.shape[0] > 10**5 or picture.grey.shape[1] > 10**5:
            yield "a picture of more than 100,000 px"
    film.sample_numbers(5)
    for _ in film.at([0, 3, 11]):
        pass


def _features(recording: Recording) -> Callable[[Path], Iterator[str]]:
    from trackfish3d.methods.baselines.learned.crops import read_crops
    from trackfish3d.methods.paper.features import read_features

    def read(path: Path) -> Iterator[str]:
        if path.stem == "crops":
            yield from sense.of_numbers("crop", read_crops(path, recording.detections, "rest"), 255)
            return
        values = read_features(path, recording.detections)
        yield from sense.of_numbers("feature", values, 1e6)

    return read


def _model(path: Path) -> Iterator[str]:
    import torch

    from trackfish3d.methods.baselines.learned.selfmva import SelfMVANet
    from trackfish3d.methods.baselines.learned.weights import load_weights
    from trackfish3d.methods.joint.learning.checkpoint import load_pairs
    from trackfish3d.methods.paper.checkpoint import load_model

    net: torch.nn.Module
    if path.stem == "selfmva":
        net = SelfMVANet()
        load_weights(net, path, "selfmva")
    else:
        net = load_pairs(path) if path.stem == "pairs" else load_model(path)[0]
    for name, values in net.state_dict().items():
        yield from sense.of_numbers(name, values.numpy(), np.finfo(np.float32).max)


def quietly(reader: Reader) -> list[str]:
    """Read; return what is nonsense in what was let through. An `InputError` that names the file is fine."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return list(reader.sense(reader.opened))
