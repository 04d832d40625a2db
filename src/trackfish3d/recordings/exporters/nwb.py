"""Neurodata Without Borders, with the pose extension ndx-pose."""

import hashlib
import warnings
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from ... import __version__
from ...core.errors import InputError, MissingExtraError
from ...core.files import atomic_path
from ..dense import animal_name
from ..recording import Recording
from ..tracks import Tracks

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}
UNKNOWN_START = datetime(1970, 1, 1, tzinfo=timezone.utc)


def write_nwb(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write one ``PoseEstimation`` for each track, of one body part ``centroid``, in metres (through ``conversion``).

    A track has the frames at which it is, each with its time: gaps are left out, not filled. Recordings do not know
    the time of day, which NWB requires: 1 January 1970 stands for "unknown". In a world without a unit of length the
    numbers are written as they are, with unit ``unit``.
    """
    try:
        from ndx_pose import PoseEstimation, PoseEstimationSeries, Skeleton, Skeletons
        from pynwb import NWBHDF5IO, NWBFile
    except ImportError:
        raise MissingExtraError("pynwb and ndx-pose", "nwb", "writing NWB") from None
    if not len(tracks):
        raise InputError("there is no track to write as NWB")
    file = NWBFile(
        session_description=recording.info.description or f"3D tracks of {recording.folder.name}",
        identifier=hashlib.sha256(tracks.position.tobytes() + tracks.track.tobytes()).hexdigest(),
        session_start_time=UNKNOWN_START,
    )
    module = file.create_processing_module(name="behavior", description="3D trajectories from calibrated cameras")
    skeleton = Skeleton(name="animal", nodes=["centroid"])
    module.add(Skeletons(skeletons=[skeleton]))
    metres = METRES.get(recording.units)
    for track in tracks.identities.tolist():
        rows = np.flatnonzero(tracks.track == track)
        series = PoseEstimationSeries(
            name="centroid",
            description="where the animal's centroid is",
            data=tracks.position[rows],
            unit="meters" if metres else "unit",
            conversion=metres or 1.0,
            reference_frame="the world of the camera calibration",
            timestamps=tracks.frame[rows] / recording.fps,
            confidence=tracks.confidence[rows],
            confidence_definition="probability that the identity is right; NaN where it is not known",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module.add(
                PoseEstimation(
                    name=animal_name(track),
                    pose_estimation_series=[series],
                    description=f"one animal, 3D, from cameras {', '.join(recording.rig.names)}",
                    source_software="TrackFish3D",
                    source_software_version=__version__,
                    skeleton=skeleton,
                )
            )
    with atomic_path(path) as temporary, NWBHDF5IO(str(temporary), mode="w") as io:
        io.write(file)
    return ["the time of day is not known: session_start_time is 1970-01-01"]
