"""Rerun ``.rrd``: tracks and cameras to look at in Rerun's viewer."""

import hashlib
from pathlib import Path

import numpy as np

from ...core.errors import InputError, MissingExtraError
from ...core.files import atomic_path
from ..dense import animal_name
from ..recording import Recording
from ..tracks import Tracks


def write_rrd(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write each track as ``/tracks/track_N`` (a point on the timelines ``frame`` and ``time``), its whole path as
    ``/paths/track_N``, and each camera as ``/cameras/NAME``.

    Rerun's pinhole knows neither distortion nor water; the cameras are there to show where they stand.
    """
    try:
        import rerun as rr
    except ImportError:
        raise MissingExtraError("rerun-sdk", "rerun", "writing Rerun files") from None
    if not len(tracks):
        raise InputError("there is no track to write as Rerun file")
    name = hashlib.sha256(tracks.position.tobytes() + tracks.track.tobytes()).hexdigest()[:32]
    with atomic_path(path) as temporary:
        stream = rr.RecordingStream("trackfish3d", recording_id=name)
        stream.save(str(temporary))
        for camera in recording.rig:
            where = f"cameras/{camera.name}"
            stream.log(where, rr.Transform3D(translation=camera.centre, mat3x3=camera.R.T), static=True)
            stream.log(f"{where}/image", rr.Pinhole(image_from_camera=camera.K, resolution=camera.size), static=True)
        for k, track in enumerate(tracks.identities.tolist()):
            rows = np.flatnonzero(tracks.track == track)
            position = tracks.position[rows].astype(np.float32)
            colour = _colour(k)
            indexes = [
                rr.TimeColumn("frame", sequence=tracks.frame[rows]),
                rr.TimeColumn("time", duration=tracks.frame[rows] / recording.fps),
            ]
            entity = f"tracks/{animal_name(track)}"
            stream.log(entity, rr.Points3D.from_fields(colors=[colour]), static=True)
            stream.send_columns(entity, indexes=indexes, columns=rr.Points3D.columns(positions=position))
            runs = np.split(position, np.flatnonzero(np.diff(tracks.frame[rows]) > 1) + 1)
            stream.log(f"paths/{animal_name(track)}", rr.LineStrips3D(runs, colors=[colour]), static=True)
        stream.flush()
        stream.disconnect()
    return []


def _colour(k: int) -> tuple[int, int, int]:
    """k-th of a row of colours that stay apart: hue in steps of the golden angle."""
    hue = (k * 0.618033988749895) % 1.0
    shifts = np.array([0.0, 2.0, 4.0]) / 6.0
    rgb = np.clip(np.abs(((hue + 1.0 - shifts) % 1.0) * 6.0 - 3.0) - 1.0, 0.0, 1.0)
    r, g, b = (int(55 + 200 * x) for x in rgb)
    return r, g, b
