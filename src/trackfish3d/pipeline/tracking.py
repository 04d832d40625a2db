"""Recordings in, tracks out: opening, detecting, checking and tracking, each in one call."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.parquet as pq

from ..bodies import find_reflections, with_bodies
from ..core import provenance
from ..core.errors import InputError
from ..core.lock import locked
from ..core.progress import Progress, TaskProgress
from ..core.settings import setting_names
from ..detection.base import Detector
from ..detection.pipeline import Report, check_videos
from ..detection.pipeline import detect as detect_videos
from ..detection.registry import make_detector
from ..evaluation.truth_links import relink_recording
from ..health import Health, examine
from ..health.kept import kept_problems
from ..media.video import Video
from ..methods.base import LEARN_EPOCHS, Method
from ..methods.region import region_text
from ..methods.registry import DEFAULT_METHOD, make_method, method_class
from ..methods.result import Result
from ..poses import reconstruct_poses, with_middle, with_point
from ..recordings import Recording, Truth, read_truth
from .keeping import pins_of

_LACKS = {
    "animals": "takes no number of animals",
    "scene": "does not ask whether animals can leave",
    "model": "has no network that could be given or taught",
    "learn": "has no network that could be given or taught",
}
Source = Recording | str | Path
"""A recording, or its folder."""
NO_TRUTH = "{}: holds no true position, so there is nothing to compare with"


def open_recording(source: Source) -> Recording:
    """Return a recording.

    Parameters
    ----------
    source : its folder, or the recording itself.
    """
    return source if isinstance(source, Recording) else Recording.open(source)


def detect(
    recording: Source,
    detector: str | Detector = "background",
    settings: Mapping[str, Any] | None = None,
    *,
    workers: int | None = None,
    previews: bool = True,
    progress: TaskProgress | None = None,
) -> Report:
    """Find the animals in every video of a recording and write its ``detections.parquet``.

    A run that was stopped goes on where it was when it is called again with the same detector and settings. The
    detector ``taught`` is taught first, where it has no weights.

    Parameters
    ----------
    recording : with videos.
    detector : name of the detector, or one that is ready.
    settings : its settings by name.
    workers : cameras at once; as many as cores by default.
    previews : whether pictures to look at are drawn into ``preview/``.
    progress : called with the name of a camera, its frames done and its frames in all.
    """
    finder = detector if isinstance(detector, Detector) else make_detector(detector, settings)
    source = open_recording(recording)
    with locked(source.folder):
        films, _ = check_videos(source)
        finder, said = taught_on(source, finder, films, workers, progress)
        report = detect_videos(source, finder, videos=films, workers=workers, progress=progress, previews=previews)
        report.notes[:0] = said
        relink_recording(source)
        made = {"detector": finder.name, "settings": finder.settings.model_dump(mode="json"), **finder.stamp()}
        provenance.note(source.folder, "detect", [f for film in films.values() for f in film.files], made)
    return report


def is_untaught(detector: Detector) -> bool:
    """Whether a detector has to be taught on the recording before it can see.

    Parameters
    ----------
    detector : any.
    """
    return detector.name == "taught" and detector.settings.weights is None


def taught_on(
    recording: Recording,
    detector: Detector,
    films: Mapping[str, Video],
    workers: int | None,
    progress: TaskProgress | None,
) -> tuple[Detector, list[str]]:
    """Return a detector that is ready, taught on the recording where it has to be, and what was said of that.

    Parameters
    ----------
    recording : with films.
    detector : with or without weights.
    films : by camera.
    workers : cameras at once.
    progress : called with the name of a task, its steps done and its steps in all.
    """
    if not is_untaught(detector):
        return detector, []
    from .again.teaching import teach  # which needs extras

    made = teach(recording, detector.settings, films, workers=workers, progress=progress)
    settings = detector.settings.model_copy(update={"weights": made.weights})
    return type(detector)(settings), made.lines


def check(recording: Source, frames: int = 200) -> Health:
    """Judge calibration, clocks and water of a recording from its detections alone.

    Parameters
    ----------
    recording : with detections.
    frames : how many frames are compared.
    """
    return examine(open_recording(recording), frames)


def problems_of(recording: Source) -> list[str]:
    """Return what is wrong with a recording that was run: what `check` found, and tracks that are missing.

    Parameters
    ----------
    recording : one that `run` made.
    """
    source = open_recording(recording)
    found = kept_problems(source.folder)
    if not rows_of_tracks(source.folder, 1):
        found.append(f"nothing could be tracked: {why_nothing(source)}")
    return found


def rows_of_tracks(folder: Path, unknown: int = 0) -> int:
    """Return how many points the tracks of a recording have, without reading them.

    Parameters
    ----------
    folder : of the recording.
    unknown : what to return where there are no tracks, or none that can be read.
    """
    try:
        return int(pq.read_metadata(folder / "tracks.parquet").num_rows)
    except (OSError, ValueError):
        return unknown


def why_nothing(recording: Source) -> str:
    """Return the likeliest reason why a recording has no tracks.

    Parameters
    ----------
    recording : one whose tracks are empty.
    """
    source = open_recording(recording)
    detections = source.detections
    if not len(detections):
        return "there are no detections"
    frames = [set(detections.frame[detections.camera == c].tolist()) for c in range(len(source.rig))]
    seen = [f for f in frames if f]
    if len(seen) < 2:
        return "only one camera has detections; 3D needs two views"
    shared = max(len(a & b) for k, a in enumerate(seen) for b in seen[:k])
    if shared < 2:
        return "no two cameras have detections in the same frames; their clocks or frame numbers may differ"
    return f"no two views agree on an animal over time; 'trackfish3d check {source.folder}' tells more"


def track(
    recording: Source,
    method: str = DEFAULT_METHOD,
    *,
    animals: int | None = None,
    scene: Literal["open", "closed"] | None = None,
    region: str | None = None,
    model: str | Path | None = None,
    learn: bool = False,
    settings: Mapping[str, Any] | None = None,
    point: str | None = None,
    keep_edits: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Track all animals of a recording in 3D; nothing is written until the result is saved.

    Parameters
    ----------
    recording : with detections.
    method : name of the method.
    animals : how many animals there are, where that is known.
    scene : "open" where animals come and go, "closed" where none can leave; by the tracks otherwise.
    region : a box ``x0:x1,y0:y1,z0:z1`` or a file with an outline; animals outside it are left out.
    model : trained network of a method that has one; otherwise the shipped one.
    learn : whether the network learns, without labels, on this recording first.
    settings : of the method, by name.
    point : part of the body that the tracks follow, of detections with parts; the middle of the body without.
    keep_edits : whether identities that people mended before are kept (`trackfish3d.edit`).
    progress : called with frames done and frames in all.
    """
    source = open_recording(recording)
    chosen = chosen_method(method, settings, animals, None if model is None else Path(model), learn, scene, region)
    if keep_edits:
        chosen = chosen.pinned(pins_of(source))
    return with_poses(source, chosen.track(source.rig, source.detections, source.fps, progress), point)


def with_poses(source: Recording, result: Result, point: str | None = None, progress: Progress | None = None) -> Result:
    """Return the result with headings and sizes, and with every part in 3D where the recording's detections have parts.

    Tracks that look like reflections of others are named in its notes.

    Parameters
    ----------
    source : what was tracked.
    result : its tracks.
    point : part that the tracks shall follow; the middle of the body without.
    progress : called with windows done and windows in all.
    """
    images = find_reflections(result.tracks, np.array([camera.centre for camera in source.rig]))
    notes = (*result.notes, *map(str, images))
    result = replace(result, tracks=with_bodies(source.rig, source.detections, result.tracks), notes=notes)
    if source.detections.skeleton is None:
        if point is not None:
            raise InputError(f"--point {point}: the detections of {source.folder} have no parts")
        return result
    if point is not None:
        source.detections.skeleton.index(point)
    if not result.tracks.cameras or not (result.tracks.detection >= 0).any():
        return result
    poses = reconstruct_poses(source.rig, source.detections, result.tracks, progress)
    tracks = with_middle(result.tracks, poses) if point is None else with_point(result.tracks, poses, point)
    return replace(result, tracks=tracks, poses=poses)


def chosen_method(
    name: str,
    settings: Mapping[str, Any] | None,
    animals: int | None = None,
    model: Path | None = None,
    learn: bool = False,
    scene: str | None = None,
    region: str | None = None,
) -> Method:
    """Return a method with its settings, those that have a parameter of their own among them.

    Parameters
    ----------
    name : of the method.
    settings : by name.
    animals : how many animals there are, or None.
    model : file of a trained network, or None.
    learn : whether the network learns on the recording.
    scene : "open" where animals come and go, "closed" where none can leave, or None.
    region : a box or the path of an outline, outside which animals are left out, or None.
    """
    given: dict[str, Any] = dict(settings or {})
    known = setting_names(method_class(name).Settings)
    added: dict[str, Any] = {"animals": animals, "model": None if model is None else str(model)}
    added |= {"learn": str(LEARN_EPOCHS) if learn else None, "scene": scene}
    added |= {"region": None if region is None else region_text(region)}
    for key, value in added.items():
        if value is None:
            continue
        if key not in known:
            raise InputError(f"--{value if key == 'scene' else key}: method {name} {_LACKS[key]}")
        if key in given:
            raise InputError(f"--{key} and --set {key}={given[key]}: give one of them (here {value})")
        given[key] = value
    return make_method(name, given)


def load_truth(path: Path) -> Truth:
    """Return the truth of a file or of a recording's folder.

    Parameters
    ----------
    path : folder of a recording, CSV or Parquet.
    """
    known = Recording.open(path).truth if path.is_dir() else read_truth(path)
    if known is None:
        raise InputError(f"{path}: has no truth; leave --truth out for scores that need none")
    if not np.isfinite(known.position).all(axis=1).any():
        raise InputError(NO_TRUTH.format(path))
    return known
