"""The plane that stands in for ReST's ground: rays of one point meet on it, and it parts points of flat water."""

import numpy as np

from trackfish3d.methods.baselines.learned.labelled import pair_auc
from trackfish3d.methods.baselines.learned.plane import plane_points
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import common_point, paper_rig

RIG = paper_rig(2)
MIDDLE = common_point(RIG)
SCALE = float(np.mean([np.linalg.norm(c.centre - MIDDLE) for c in RIG]))


def places(points):
    """Places (C, N, 2) of points (N, 3) as the cameras have them, world units."""
    pixel = np.stack([c.project(points) for c in RIG], 1)
    frame, camera = (x.ravel() for x in np.meshgrid(np.arange(len(points)), np.arange(len(RIG)), indexing="ij"))
    det = Detections.build(RIG.names, frame, camera.astype(np.int16), *pixel.reshape(-1, 2).T)
    return plane_points(RIG, det).reshape(len(points), len(RIG), 2).swapaxes(0, 1) * SCALE


def told_apart(place):
    """AUC of distances between cameras, (C, N, D)."""
    same = np.eye(place.shape[1], dtype=bool).ravel()
    apart = [np.linalg.norm(place[a][:, None] - place[b][None], axis=-1).ravel() for a, b in ((0, 1), (0, 2), (1, 2))]
    return np.mean([pair_auc(-x, same) for x in apart])


def test_rays_of_one_point_of_the_plane_meet_it_at_one_place_and_of_points_beside_it_do_not():
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 9)] * 3, indexing="ij"), -1).reshape(-1, 3)
    error = np.ptp(places(MIDDLE + grid), axis=0).max(1)
    middle = np.flatnonzero(~grid.any(1))[0]
    assert error[middle] < 1e-6
    # what the cameras disagree by grows with the distance from one plane: the error is a function of n . x
    normal = np.linalg.svd(grid[error < np.quantile(error, 0.1)])[2][2]
    assert np.corrcoef(np.abs(grid @ normal), error)[0, 1] > 0.9


def test_it_parts_points_of_flat_water_better_than_the_horizontal_plane():
    points = MIDDLE + np.random.default_rng(3).uniform(-1, 1, (60, 3)) * [8, 8, 4]
    away = [points - c.centre for c in RIG]
    level = np.stack([c.centre + d * ((MIDDLE - c.centre)[2] / d[:, 2:]) for c, d in zip(RIG, away, strict=True)])
    assert told_apart(places(points)) > told_apart(level) + 0.1
