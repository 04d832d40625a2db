"""Animals at the surface: noise puts half of them a little above the water."""

import numpy as np

from tests.methods.worlds import observe, swim
from trackfish3d.methods.joint.method import Joint
from trackfish3d.synfish.rigs import tank_rig


def test_error_px_is_known_at_the_surface():
    rig = tank_rig()
    surface = next(f.point[2] for c in rig for f in c.interfaces if abs(f.normal[2]) > 0.9)
    position = swim(3, 60, np.array([14.0, 14.0, 7.0]), 4.0, seed=1)
    position[..., 2] = surface + 0.01  # z is down
    detections = observe(rig, position, noise=2.0, drop=0.0, seed=3)[0]
    tracks = Joint().track(rig, detections).tracks
    assert (tracks.position[:, 2] < surface).mean() > 0.1  # above it
    assert np.isfinite(tracks.error_px[tracks.observed]).all()
