"""Rigs and detections that the tests of recordings share."""

from pathlib import Path

import numpy as np

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.recordings import Detections, Recording, Tracks

NAMES = ("top", "front")


def make_rig(names: tuple[str, ...] = NAMES, units: str = "cm") -> CameraRig:
    """Cameras side by side, 640 x 480, looking down z; the first one through water."""
    water = Interface(np.array([0.0, 0.0, 20.0]), np.array([0.0, 0.0, -1.0]), 1.0, 1.333)
    K = np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]])
    return CameraRig(
        tuple(
            Camera(n, (640, 480), K, np.zeros(5), np.eye(3), np.array([-4.0 * i, 0, 0]), interfaces=(water,) * (i == 0))
            for i, n in enumerate(names)
        ),
        units,
    )


def random_detections(
    seed: int, n: int = 200, frames: int = 40, cameras: tuple[str, ...] = NAMES, first_frame: int = 1
) -> Detections:
    """Boxes of random size anywhere in the image, in order of frames within each camera."""
    rng = np.random.default_rng(seed)
    u, v = rng.uniform(20, 600, n), rng.uniform(20, 440, n)
    w, h = rng.uniform(1, 20, n), rng.uniform(1, 20, n)
    return Detections.build(
        cameras,
        rng.integers(first_frame, first_frame + frames, n),
        rng.integers(0, len(cameras), n),
        u,
        v,
        u - w,
        v - h,
        u + w,
        v + h,
        rng.uniform(0, 1, n),
    )


def assert_same(first: Detections, second: Detections, atol: float = 0.0) -> None:
    """Both hold the same rows in the same order."""
    assert first.cameras == second.cameras
    assert set(first.columns()) == set(second.columns())
    for name, values in first.columns().items():
        np.testing.assert_allclose(values, getattr(second, name), rtol=0, atol=atol, err_msg=name)


def tracked_recording(folder: Path, *, offset: int = 0, units: str = "cm") -> Recording:
    """Three animals with gaps, seen in 30 frames, whose tracks know their detections."""
    rng = np.random.default_rng(5)
    rig = make_rig(units=units)
    frame, track = (a.ravel() for a in np.meshgrid(np.arange(7, 37), [2, 5, 11], indexing="ij"))
    keep = rng.uniform(size=len(frame)) < 0.8
    frame, track = frame[keep], track[keep]
    position = np.column_stack([rng.uniform(-3, 3, (len(frame), 2)), rng.uniform(25, 30, len(frame))])
    pixels = [c.project(position) for c in rig]
    both = np.concatenate(pixels)
    raw = np.concatenate([frame, frame - offset])
    camera = np.repeat([0, 1], len(frame))
    detections = Detections.build(
        rig.names, raw, camera, *both.T, *(both - 5).T, *(both + 5).T, rng.uniform(size=len(raw))
    )
    recording = Recording.create(folder, rig, fps=25.0, detections=detections, time_offset_frames={"front": offset})
    aligned = recording.detections
    rows = np.full((len(frame), 2), -1)
    for c, uv in enumerate(pixels):
        for i, point in enumerate(uv):
            rows[i, c] = np.flatnonzero((aligned.camera == c) & np.all(aligned.centroids == point, axis=1))[0]
    rows[::7, 1] = -1
    confidence = np.where(track == 5, np.nan, rng.uniform(size=len(frame)))
    recording.write_tracks(
        Tracks.build(frame, track, position, confidence=confidence, detection=rows, cameras=rig.names)
    )
    return recording
