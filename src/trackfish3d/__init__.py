"""3D trajectories of every fish of a school, from several calibrated cameras, without labels.

>>> import trackfish3d as tf
>>> rec = tf.run({"top": "top.mp4", "front": "front.mp4"}, cameras="cameras.toml", out="REC")  # doctest: +SKIP
>>> result = tf.track(rec, animals=5)  # doctest: +SKIP
>>> result.tracks.to_pandas()  # doctest: +SKIP

Everything here is loaded when it is first asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

from .core.compiling import choose_cache

__version__ = "0.2.0"

choose_cache()

_HOME = {
    "cameras": ("Camera", "CameraRig", "Interface"),
    "cameras.formats": ("read_calibration", "write_calibration"),
    "calibration": ("calibrate",),
    "core.errors": ("InputError", "MissingExtraError", "TrackFishError"),
    "poses": ("reconstruct_poses",),
    "recordings": ("Detections", "Poses", "Recording", "Skeleton", "Tracks", "Truth"),
    "methods.result": ("Result",),
    "methods.suspects": ("Suspect",),
    "methods.base": ("Method",),
    "methods.registry": ("make_method", "method_names"),
    "methods.joint.online": ("OnlineJoint",),
    "methods.paper.online": ("OnlineTracker",),
    "detection.base": ("Detector",),
    "detection.registry": ("detector_names", "make_detector"),
    "media.video": ("Video",),
    "health": ("Health",),
    "evaluation": ("Scores",),
    "evaluation.pose_scores": ("PoseScores",),
    "pipeline.stages": ("Listener", "Silent"),
    "pipeline.run": ("run",),
    "pipeline.batch.batch": ("Batch", "batch"),
    "pipeline.tracking": ("check", "detect", "track"),
    "pipeline.again.rounds_of_looks": ("look_again",),
    "pipeline.editing": ("edit",),
    "pipeline.results": ("analyse", "evaluate", "evaluate_poses", "export", "show", "write_report"),
    "pipeline.refining": ("refine", "refine_parts"),
    "refinement.outcome": ("Refinement",),
    "viewer.clip": ("clip",),
    "viewer.launch": ("view",),
    "pipeline.inputs": ("simulate", "simulate_synfish"),
    "pipeline.importing": ("import_recording",),
    "pipeline.flat": ("detect_films",),
}
_RENAMED = {"open": "pipeline.tracking:open_recording", "problems": "pipeline.tracking:problems_of"}
_WHERE = {name: f"{module}:{name}" for module, names in _HOME.items() for name in names} | _RENAMED
_MODULES = ("plot",)

__all__ = [
    "Batch",
    "Camera",
    "CameraRig",
    "Detections",
    "Detector",
    "Health",
    "InputError",
    "Interface",
    "Listener",
    "Method",
    "MissingExtraError",
    "OnlineJoint",
    "OnlineTracker",
    "PoseScores",
    "Poses",
    "Recording",
    "Refinement",
    "Result",
    "Scores",
    "Silent",
    "Skeleton",
    "Suspect",
    "TrackFishError",
    "Tracks",
    "Truth",
    "Video",
    "__version__",
    "analyse",
    "batch",
    "calibrate",
    "check",
    "clip",
    "detect",
    "detect_films",
    "detector_names",
    "edit",
    "evaluate",
    "evaluate_poses",
    "export",
    "import_recording",
    "look_again",
    "make_detector",
    "make_method",
    "method_names",
    "open",
    "plot",
    "problems",
    "read_calibration",
    "reconstruct_poses",
    "refine",
    "refine_parts",
    "run",
    "show",
    "simulate",
    "simulate_synfish",
    "track",
    "view",
    "write_calibration",
    "write_report",
]

if TYPE_CHECKING:
    from . import plot
    from .calibration import calibrate
    from .cameras import Camera, CameraRig, Interface
    from .cameras.formats import read_calibration, write_calibration
    from .core.errors import InputError, MissingExtraError, TrackFishError
    from .detection.base import Detector
    from .detection.registry import detector_names, make_detector
    from .evaluation import Scores
    from .evaluation.pose_scores import PoseScores
    from .health import Health
    from .media.video import Video
    from .methods.base import Method
    from .methods.joint.online import OnlineJoint
    from .methods.paper.online import OnlineTracker
    from .methods.registry import make_method, method_names
    from .methods.result import Result
    from .methods.suspects import Suspect
    from .pipeline.again.rounds_of_looks import look_again
    from .pipeline.batch.batch import Batch, batch
    from .pipeline.editing import edit
    from .pipeline.flat import detect_films
    from .pipeline.importing import import_recording
    from .pipeline.inputs import simulate, simulate_synfish
    from .pipeline.refining import refine, refine_parts
    from .pipeline.results import analyse, evaluate, evaluate_poses, export, show, write_report
    from .pipeline.run import run
    from .pipeline.stages import Listener, Silent
    from .pipeline.tracking import check, detect, track
    from .pipeline.tracking import open_recording as open
    from .pipeline.tracking import problems_of as problems
    from .poses import reconstruct_poses
    from .recordings import Detections, Poses, Recording, Skeleton, Tracks, Truth
    from .refinement.outcome import Refinement
    from .viewer.clip import clip
    from .viewer.launch import view


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _WHERE:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
