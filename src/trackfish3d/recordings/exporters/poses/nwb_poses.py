"""Poses in Neurodata Without Borders, with the pose extension ndx-pose."""

import hashlib
import warnings
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from .... import __version__
from ....core.errors import InputError, MissingExtraError
from ....core.files import atomic_path
from ...dense import animal_name
from ...poses import Poses
from ...recording import Recording
from ..nwb import METRES, UNKNOWN_START

SESSION = ("lab", "institution", "experimenter", "session_id", "experiment_description", "keywords")
SUBJECT = ("subject_id", "species", "sex", "age", "strain", "genotype", "weight", "description", "date_of_birth")
KNOWN = ("session_start", "session_description", *SESSION, *SUBJECT)


def write_nwb_poses(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write one ``PoseEstimation`` for each track with a series for each part, in metres (through ``conversion``)."""
    try:
        from ndx_pose import Skeleton, Skeletons
        from pynwb import NWBHDF5IO, NWBFile
        from pynwb.file import Subject
    except ImportError:
        raise MissingExtraError("pynwb and ndx-pose", "nwb", "writing NWB") from None
    unknown = sorted(set(about) - set(KNOWN))
    if unknown:
        raise InputError(f"of a session, '{unknown[0]}' is not known; there are {', '.join(KNOWN)}")
    texts = {k: about[k] for k in SESSION if k in about}
    for name in ("experimenter", "keywords"):
        if isinstance(texts.get(name), str):
            texts[name] = [t.strip() for t in texts[name].split(";")]
    file = NWBFile(
        session_description=str(about.get("session_description") or recording.info.description or "3D poses"),
        identifier=hashlib.sha256(poses.position.tobytes() + poses.track.tobytes()).hexdigest(),
        session_start_time=_start(about.get("session_start")),
        **texts,
    )
    if any(k in about for k in SUBJECT):
        file.subject = Subject(**{k: _plain(about[k], k) for k in SUBJECT if k in about})
    module = file.create_processing_module(name="behavior", description="3D poses from calibrated cameras")
    shape = poses.skeleton
    edges = np.array(shape.edges, dtype=np.uint8).reshape(-1, 2)
    skeleton = Skeleton(name="skeleton", nodes=list(shape.parts), edges=edges if len(edges) else None)
    module.add(Skeletons(skeletons=[skeleton]))
    for track in poses.identities.tolist():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module.add(_animal(recording, poses, track, skeleton))
    with atomic_path(path) as temporary, NWBHDF5IO(str(temporary), mode="w") as io:
        io.write(file)
    if "session_start" in about:
        return []
    return ["the time of day is not known: session_start_time is 1970-01-01; say --about session_start=..."]


def _animal(recording: Recording, poses: Poses, track: int, skeleton: Any) -> Any:
    from ndx_pose import PoseEstimation, PoseEstimationSeries

    rows = np.flatnonzero(poses.track == track)
    metres = METRES.get(recording.units)
    usual = float(np.nanmedian(poses.sigma)) if np.isfinite(poses.sigma).any() else 1.0
    time = poses.frame[rows] / recording.fps
    steady = len(rows) > 1 and bool((np.diff(poses.frame[rows]) == 1).all())
    when = {"starting_time": float(time[0]), "rate": float(recording.fps)} if steady else {"timestamps": time}
    series: list[Any] = []
    for k, part in enumerate(poses.skeleton.parts):
        series.append(
            PoseEstimationSeries(
                name=part.replace("/", "_").replace(":", "_"),
                description=f"where {part} is",
                data=poses.position[rows, k],
                unit="meters" if metres else "n.a.",
                conversion=metres or 1.0,
                reference_frame="the world of the camera calibration",
                confidence=1.0 / (1.0 + (np.nan_to_num(poses.sigma[rows, k], nan=np.inf) / usual) ** 2),
                confidence_definition="1 / (1 + (sigma / usual sigma)^2); 0 where the part is left out",
                **(when if k == 0 or steady else {"timestamps": series[0]}),
            )
        )
    return PoseEstimation(
        name=animal_name(track),
        pose_estimation_series=series,
        description=f"one animal, 3D, from cameras {', '.join(recording.rig.names)}",
        source_software="TrackFish3D",
        source_software_version=__version__,
        skeleton=skeleton,
    )


def _start(text: Any) -> datetime:
    if text is None:
        return UNKNOWN_START
    if isinstance(text, datetime):
        found = text
    else:
        try:
            found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        except ValueError:
            raise InputError(f"session_start '{text}': write it as 2026-05-04T13:30:00+02:00") from None
    return found if found.tzinfo else found.replace(tzinfo=timezone.utc)


def _plain(value: Any, name: str) -> Any:
    return _start(value) if name == "date_of_birth" else str(value)
