"""SLEAP sessions with all parts: instance groups hold the 3D pose and the 2D instances it came from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ....core.errors import InputError, MissingExtraError
from ....core.files import atomic_path
from ...dense import animal_name
from ...poses import Poses
from ...recording import Recording
from ..slp import sleap_camera


def write_slp_poses(recording: Recording, poses: Poses, path: Path, about: Mapping[str, Any]) -> list[str]:
    """Write one ``InstanceGroup`` for each pose; its 2D instances are the poses' images with score 0 where unseen."""
    try:
        import sleap_io as sio
    except ImportError:
        raise MissingExtraError("sleap-io", "sleap", "writing SLEAP files") from None
    if not len(poses):
        raise InputError("there is no pose to write as SLEAP file")
    shape = poses.skeleton
    named = [(shape.parts[a], shape.parts[b]) for a, b in shape.edges]
    skeleton = sio.Skeleton(nodes=list(shape.parts), edges=named, name="animal")
    tracks = {t: sio.Track(name=animal_name(t)) for t in poses.identities.tolist()}
    cameras = [sleap_camera(sio, c) for c in recording.rig]
    films = recording.videos
    videos = [
        sio.Video(filename=str(films.get(n, Path(f"videos/{n}.mp4"))), open_backend=False) for n in recording.rig.names
    ]
    session = sio.RecordingSession(camera_group=sio.CameraGroup(cameras=cameras))
    for video, camera in zip(videos, cameras, strict=True):
        session.add_video(video, camera)
    pixels = [c.project(poses.position.reshape(-1, 3)).reshape(len(poses), len(shape), 2) for c in recording.rig]
    offsets = [recording.info.time_offset_frames.get(n, 0) for n in recording.rig.names]
    labelled: list[Any] = []
    for number in np.unique(poses.frame).tolist():
        rows = np.arange(*np.searchsorted(poses.frame, [number, number + 1]))
        frames = {c: sio.LabeledFrame(video=v, frame_idx=number - offsets[c]) for c, v in enumerate(videos)}
        groups = []
        for row in rows.tolist():
            track, score = int(poses.track[row]), poses.observed[row].astype(float)
            views = {}
            for c, pixel in enumerate(pixels):
                instance = sio.PredictedInstance.from_numpy(
                    pixel[row], skeleton=skeleton, point_scores=score, score=float(score.mean()), track=tracks[track]
                )
                frames[c].instances.append(instance)
                views[cameras[c]] = instance
            point = sio.PredictedInstance3D(
                points=poses.position[row], skeleton=skeleton, score=float(score.mean()), point_scores=score
            )
            groups.append(sio.InstanceGroup(instance_by_camera=views, instance_3d=point, metadata={"track": track}))
        labelled += frames.values()
        session.frame_groups[number] = sio.FrameGroup(
            frame_idx=number,
            instance_groups=groups,
            labeled_frame_by_camera={cameras[c]: f for c, f in frames.items()},
        )
    labels = sio.Labels(
        labeled_frames=labelled, videos=videos, skeletons=[skeleton], tracks=list(tracks.values()), sessions=[session]
    )
    with atomic_path(path) as temporary:
        temporary.unlink()
        sio.save_slp(labels, str(temporary), verbose=False)
    if recording.rig.refractive:
        return ["SLEAP knows no refraction: it cannot triangulate these 2D points again as they are"]
    return []
