"""A rig in OpenPTV's terms, and its search for correspondences.

OpenPTV's cameras look along their negative z axis with image y upwards; refraction is at flat walls, one thickness and
one set of indices for all cameras, the wall of a camera given by the vector from the origin to it. Epipolar lines are
cut off at two planes of constant z, and drawn straight between them. So the world is moved and turned: origin in the
middle of the animals, z across the wall, or without water as near to all viewing directions as can be. Cameras before
walls of different directions would have these planes outside the water, and are refused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...cameras.camera import Camera
from ...cameras.rig import CameraRig
from ...core.errors import InputError
from ..matching import Array, Ints

PIXEL_MM = 0.01
_FLIP = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True)
class OpenPTVRig:
    """Calibrations, control and volume parameters of OpenPTV, and how pixels get there."""

    rig: CameraRig
    focal_px: float
    size: tuple[int, int]
    calibrations: list[Any]
    control: Any
    volume: Any

    def image(self, camera: int, pixels: Array) -> Array:
        """Turn pixels (N, 2) of a camera into those of one without distortion, with the common focal length."""
        cam = self.rig[camera]
        ideal = cam.undistort(pixels)
        y = (ideal[:, 1] - cam.K[1, 2]) / cam.K[1, 1]
        x = (ideal[:, 0] - cam.K[0, 2] - cam.K[0, 1] * y) / cam.K[0, 0]
        return self.focal_px * np.column_stack([x, y]) + 0.5 * np.array(self.size)

    def correspond(self, pixels: Array, camera: Ints) -> list[Ints]:
        """Find groups, as rows of ``pixels`` (N, 2), of one frame's points seen by ``camera`` (N,)."""
        from optv.correspondences import MatchedCoords, correspondences
        from optv.tracking_framebuf import TargetArray

        rows, targets, flat = [], [], []
        for c in range(len(self.rig)):
            mine = np.flatnonzero(camera == c)
            image = self.image(c, pixels[mine])
            mine, image = mine[np.isfinite(image).all(1)], image[np.isfinite(image).all(1)]
            order = np.argsort(image[:, 1], kind="stable")
            rows.append(mine[order])
            array = TargetArray(len(mine))
            for k, (u, v) in enumerate(image[order]):
                array[k].set_pos((float(u), float(v)))
                array[k].set_pnr(k)
                array[k].set_tnr(-1)
                array[k].set_pixel_counts(1, 1, 1)
                array[k].set_sum_grey_value(1)
            targets.append(array)
            flat.append(MatchedCoords(array, self.control, self.calibrations[c]))
        if sum(len(r) > 0 for r in rows) < 2:
            return []
        _, found, _ = correspondences(targets, flat, self.calibrations, self.volume, self.control)
        out = []
        for table in found:  # one table (cameras, groups) for each clique size
            for group in np.asarray(table).T:
                chosen = [rows[c][p] for c, p in enumerate(group) if 0 <= p < len(rows[c])]
                if len(chosen) >= 2:
                    out.append(np.array(sorted(chosen), np.int64))
        return out


def convert_rig(rig: CameraRig, span: Array, band_px: float) -> OpenPTVRig:
    """OpenPTV's parameters of a rig that searches the box ``span`` (2, 3), world units, with a band of ``band_px``."""
    from optv.parameters import ControlParams, VolumeParams

    if len(rig) > 4:
        raise InputError(f"OpenPTV takes at most 4 cameras; this recording has {len(rig)}")
    inside, wall, outside, thickness = _walls(rig)
    origin = span.mean(0)
    turn = _turn(_search_axis(rig))
    focal = float(np.mean([c.K[[0, 1], [0, 1]] for c in rig]))
    size = max(c.size[0] for c in rig), max(c.size[1] for c in rig)
    control = ControlParams(
        len(rig),
        flags=[],
        image_size=size,
        pixel_size=(PIXEL_MM, PIXEL_MM),
        cam_side_n=outside,
        object_side_n=inside,
        wall_ns=[wall],
        wall_thicks=[thickness],
    )
    corners = np.stack(np.meshgrid(*span.T, indexing="ij"), -1).reshape(-1, 3)
    turned = (corners - origin) @ turn.T
    low, high = turned.min(0), turned.max(0)
    for camera in rig:  # the search must end before the water does
        for face in camera.interfaces[-1:]:
            high[2] = min(high[2], 0.99 * float((face.point - origin) @ face.normal))
    volume = VolumeParams(
        x_span=np.array([low[0], high[0]]),
        z_spans=[np.array([low[2], high[2]])] * 2,
        pixels_tot=0.0,
        pixels_x=0.0,
        pixels_y=0.0,
        ref_gray=0.0,
        epipolar_band=band_px * PIXEL_MM,
        min_correlation=0.0,
    )
    calibrations = [_calibration(c, origin, turn, focal * PIXEL_MM, thickness) for c in rig]
    return OpenPTVRig(rig, focal, size, calibrations, control, volume)


def _walls(rig: CameraRig) -> tuple[float, float, float, float]:
    """Refractive index of water, wall and air, and the wall's thickness, which OpenPTV has once for all cameras."""
    seen = []
    for camera in rig:
        faces = camera.interfaces
        if not faces:
            seen.append((1.0, 1.0, 1.0, 1e-3))
        elif len(faces) == 1:  # a thin wall of water changes nothing
            seen.append((faces[0].n_animal, faces[0].n_animal, faces[0].n_camera, 1e-3))
        else:
            if len(faces) > 2 or abs(float(faces[0].normal @ faces[1].normal)) < 1.0 - 1e-9:
                raise InputError(f"OpenPTV knows one flat wall with parallel faces; camera {camera.name} has others")
            depth = float((faces[0].point - faces[1].point) @ faces[0].normal)
            seen.append((faces[1].n_animal, faces[0].n_animal, faces[0].n_camera, depth))
    if not np.allclose(seen, seen[0], rtol=1e-6):
        raise InputError("OpenPTV has one wall for all cameras; this rig's cameras look through different media")
    return seen[0]


def _search_axis(rig: CameraRig) -> Array:
    """Direction (3,) across which OpenPTV's search planes lie, towards the cameras."""
    normals = np.array([c.interfaces[-1].normal for c in rig if c.interfaces])
    if len(normals):
        if np.abs(normals @ normals[0]).min() < 1.0 - 1e-6:
            raise InputError(
                "OpenPTV searches along one wall; this rig's cameras look through walls of several directions"
            )
        return np.asarray(normals[0])
    views = np.stack([c.R[2] for c in rig])
    k = np.arange(2000) + 0.5
    polar, azimuth = np.arccos(1 - k / 2000), np.pi * (1 + 5**0.5) * k
    grid = np.column_stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)])
    best = grid[np.argmax(np.abs(grid @ views.T).min(1))]
    return np.asarray(best if (views @ best).sum() < 0 else -best)


def _turn(axis: Array) -> Array:
    """Rotation whose z axis is ``axis`` (3,)."""
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    return np.stack([side, np.cross(axis, side), axis])


def _calibration(camera: Camera, origin: Array, turn: Array, focal_mm: float, thickness: float) -> Any:
    from optv.calibration import Calibration

    matrix = turn @ camera.R.T @ _FLIP
    angles = np.array(
        [
            np.arctan2(-matrix[1, 2], matrix[2, 2]),
            np.arcsin(np.clip(matrix[0, 2], -1, 1)),
            np.arctan2(-matrix[0, 1], matrix[0, 0]),
        ]
    )
    centre = turn @ (camera.centre - origin)
    if camera.interfaces:
        face = camera.interfaces[-1]
        normal = turn @ face.normal
        distance = float((face.point - origin) @ face.normal) - (thickness if len(camera.interfaces) == 1 else 0.0)
        if distance <= 0:
            raise InputError(f"OpenPTV: animals are not behind the water surface of camera {camera.name}")
    else:  # no water: any wall between camera and animals, all indices 1
        away = float(np.linalg.norm(centre))
        normal, distance = centre / away, 0.5 * away
    return Calibration(
        pos=centre,
        angs=angles,
        prim_point=np.array([0.0, 0.0, focal_mm]),
        rad_dist=np.zeros(3),
        decent=np.zeros(2),
        affine=np.array([1.0, 0.0]),
        glass=distance * normal,
    )
