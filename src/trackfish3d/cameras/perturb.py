"""Rigs with noisy poses, as a bad calibration has them."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from ..core.errors import InputError
from . import CameraRig

# Cameras turned by more than this are not badly calibrated but aimed at something else.
SIGMA_MAX = 30.0


def perturb_rig(rig: CameraRig, sigma: float, seed: int) -> CameraRig:
    """Return the rig with noisy extrinsics: R' = exp([w]x) R with w ~ N(0, sigma deg), t' = t + N(0, sigma world).

    Water stays where it is: the protocol is about poses.
    """
    if not sigma >= 0:
        raise InputError(f"sigma {sigma} of the calibration noise must be zero or more")
    if sigma > SIGMA_MAX:
        raise InputError(
            f"sigma {sigma:g} of the calibration noise: no camera is off by so many degrees; give at most {SIGMA_MAX:g}"
        )
    rng = np.random.default_rng(seed)
    cameras = []
    for camera in rig:
        turn = Rotation.from_rotvec(np.radians(sigma) * rng.standard_normal(3)).as_matrix()
        cameras.append(replace(camera, R=turn @ camera.R, t=camera.t + sigma * rng.standard_normal(3)))
    return CameraRig(tuple(cameras), rig.units)
