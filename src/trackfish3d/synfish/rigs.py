"""Camera rigs of the simulator: the paper's seven, a two-camera tank seen through water, random ones."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import numpy as np

from ..cameras import Camera, CameraRig, Interface
from ..core.errors import InputError
from .school import Water

_UP = np.array([0.0, 0.0, 1.0])


def _data() -> dict[str, Any]:
    return json.loads(resources.files("trackfish3d.synfish").joinpath("data/rigs.json").read_text())  # type: ignore[no-any-return]


def paper_rig(number: int) -> CameraRig:
    """Rig 0 to 6 of the paper: three pinhole cameras, 1920 x 1080, in arbitrary world units."""
    data = _data()["synfish"]
    if not 0 <= number < len(data["rigs"]):
        raise InputError(f"rig {number} is not known: the paper's rigs are 0 to {len(data['rigs']) - 1}")
    cameras = []
    for k, entry in enumerate(data["rigs"][number]):
        # The published matrices are rounded to four decimals; the nearest rotation undoes that.
        u, _, vt = np.linalg.svd(np.array(entry["R"]))
        cameras.append(
            Camera(
                name=f"cam{k}",
                size=tuple(data["size"]),
                K=np.array(data["K"]),
                distortion=np.zeros(5),
                R=u @ vt,
                t=np.array(entry["t"]),
            )
        )
    return CameraRig(cameras=tuple(cameras), units="unit")


def tank_rig() -> CameraRig:
    """Two cameras in air, one above the surface and one before the glass, of a 29 x 29 x 15 cm tank (z down)."""
    data = _data()["tank"]
    cameras = []
    for entry in data["cameras"]:
        u, _, vt = np.linalg.svd(np.array(entry["R"]))
        surface = Interface(
            point=np.array(entry["plane_point"], float),
            normal=np.array(entry["plane_normal"], float),
            n_camera=data["n_air"],
            n_animal=data["n_water"],
        )
        cameras.append(
            Camera(
                name=entry["name"],
                size=tuple(data["size"]),
                K=np.array(entry["K"]),
                distortion=np.array(entry["distortion"]),
                R=u @ vt,
                t=np.array(entry["t"]),
                interfaces=(surface,),
            )
        )
    return CameraRig(cameras=tuple(cameras), units="cm")


def tank_water() -> Water:
    """Water of the tank of `tank_rig`: z runs downwards from the surface at 0."""
    size = np.array(_data()["tank"]["water"], float)
    return Water(np.zeros(3), size, up=-1)


def look_at(centre: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """R, t of an upright camera at ``centre`` (3,) whose axis passes through ``target`` (3,); world z is up."""
    forward = target - centre
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, _UP)
    right = right / np.linalg.norm(right)
    R = np.stack([right, np.cross(forward, right), forward])
    return R, -R @ centre


def random_rig(cameras: int, seed: int, target: np.ndarray | None = None, distance: float = 48.0) -> CameraRig:
    """Place ``cameras`` (2 to 8) around a target, at different heights, with slightly curved lenses.

    All look at the same point from 0.8 to 1.2 times ``distance``, so they share the volume around it.
    """
    if not 2 <= cameras <= 8:
        raise InputError(f"a random rig has 2 to 8 cameras, {cameras} asked for")
    rng = np.random.default_rng([seed, cameras])
    target = np.array([2.0, -6.0, 20.0]) if target is None else np.asarray(target, float)
    start = rng.uniform(0, 2 * np.pi)
    # Two opposite cameras see the same silhouette mirrored and leave depth undetermined: spread over less than a turn.
    turn = 1.5 * np.pi if cameras < 4 else 2 * np.pi
    out = []
    for k in range(cameras):
        azimuth = start + turn * (k + 0.3 * rng.uniform(-1, 1)) / cameras
        elevation = rng.uniform(-0.1, 1.05)
        reach = distance * rng.uniform(0.8, 1.2)
        level = np.cos(elevation)
        offset = reach * np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
        R, t = look_at(target + offset, target)
        focal = 1866.67 * reach / distance
        K = np.array([[focal, 0, 960.0], [0, focal, 540.0], [0, 0, 1]])
        bend = np.array([rng.uniform(-0.12, 0.02), 0.0, 0.0, 0.0, 0.0])
        out.append(Camera(name=f"cam{k}", size=(1920, 1080), K=K, distortion=bend, R=R, t=t))
    return CameraRig(cameras=tuple(out), units="unit")


def common_point(rig: CameraRig) -> np.ndarray:
    """Return the point (3,) nearest to all cameras' central rays: the middle of what the rig looks at."""
    A, b = np.zeros((3, 3)), np.zeros(3)
    for camera in rig:
        rays = camera.rays(np.array([[camera.size[0] / 2, camera.size[1] / 2]]))
        if not rays.valid[0]:
            raise InputError(f"camera '{camera.name}' sees no water at the middle of its image")
        across = np.eye(3) - np.outer(rays.direction[0], rays.direction[0])
        A += across
        b += across @ rays.origin[0]
    point: np.ndarray = np.linalg.lstsq(A, b, rcond=None)[0]
    return point


def seen_share(rig: CameraRig, water: Water, points: int = 6) -> np.ndarray:
    """Share (C,) of a grid over the water that each camera has in its image."""
    axes = [np.linspace(lo, hi, points) for lo, hi in zip(water.low, water.high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    share = []
    for camera in rig:
        pixels = camera.project(grid)
        with np.errstate(invalid="ignore"):
            inside = np.all((pixels >= 0) & (pixels <= np.array(camera.size) - 1), axis=1)
        share.append(inside.mean())
    return np.array(share)


def check_sees(rig: CameraRig, water: Water) -> None:
    """Refuse a rig of which a camera has (almost) nothing of the water in its image."""
    share = seen_share(rig, water)
    if np.any(share < 0.05):
        names = ", ".join(rig[int(i)].name for i in np.flatnonzero(share < 0.05))
        raise InputError(
            f"the rig sees nothing: the water is outside the image of {names}; aim the cameras at it or move the volume"
        )
