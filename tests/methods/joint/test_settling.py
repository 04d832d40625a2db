"""The last word on positions: weights of views, and when a view is doubted."""

from dataclasses import replace

import numpy as np
import pytest

from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.refine import linear, smoothed
from trackfish3d.methods.joint.refinement.settling import LEAD, WHOLE_BODY, even_noise, led, settled
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings

from .scenes import LENGTH, crossed_rig, model, paths_of, seen

FRAMES, NOISE = 40, 1.0


def one_swimmer(noise=NOISE, cameras=3):
    """A fish that swims straight before three cameras: rig, observations, its path, what made it, true positions."""
    rig = crossed_rig(cameras)
    true = np.linspace([-1.0, 0.3, 0.1], [1.0, -0.2, -0.1], FRAMES)
    detections, rows = seen(rig, true[:, None], noise)
    known = model(rig, NOISE, 0.002)
    paths = paths_of(rig, detections, known, [(0, np.arange(FRAMES), rows[:, 0], true)])
    return rig, Observations.of(rig, detections, known), paths, known, true


def test_a_small_box_is_known_less_well_than_its_diagonal_says():
    rig, obs, paths, known, _ = one_swimmer()
    small = obs.camera == 1
    obs = replace(obs, noise=np.where(small, 0.6, 1.8) * obs.noise)
    found = even_noise(obs, paths, linear(rig, paths, known), known)
    depth = np.array([np.linalg.norm(paths.state[:, :3] - c.centre, axis=1) for c in rig])  # (C, N)
    # 60 px a world unit at the middle, 20 units away; across the view: of three directions two are seen
    whole = known.noise[obs.camera] * LENGTH * 1200.0 / depth[obs.camera, np.repeat(np.arange(FRAMES), 3)]
    whole /= np.median(whole / obs.noise)
    np.testing.assert_allclose(found, np.sqrt((1 - WHOLE_BODY) * obs.noise**2 + WHOLE_BODY * whole**2), rtol=0.01)
    assert np.median(found[small] / obs.noise[small]) > 1.5 > 1.0 > np.median(found[~small] / obs.noise[~small])
    points = known.with_(points=True)
    assert even_noise(obs, paths, linear(rig, paths, points), points) is obs.noise


def test_where_no_view_is_doubtful_only_weights_change():
    rig, obs, paths, known, _ = one_swimmer(noise=0.0)
    evened, found = settled(rig, obs, paths, known, JointSettings())
    same = smoothed(rig, evened, paths, known, JointSettings())
    np.testing.assert_allclose(found.state, same.state, atol=1e-3 * LENGTH)
    np.testing.assert_allclose(
        np.einsum("nii->ni", found.cov)[5:-5, :3], np.einsum("nii->ni", same.cov)[5:-5, :3], rtol=0.1
    )


@pytest.mark.parametrize("off", [2.5, 3.5])
def test_a_view_that_leans_counts_until_it_is_farther_off_than_elsewhere(off):
    """All views lean alike, in turns to either side: their mean is right, and two that agree are not."""
    rig, obs, paths, known, true = one_swimmer(noise=0.0, cameras=4)
    lean = off * NOISE * np.array([1.0, -1.0, -1.0, 1.0])[obs.camera]
    obs = replace(obs, v=obs.v + lean)  # heights, which all four views see
    before = smoothed(rig, obs, paths, known, JointSettings()).state[:, :3]
    _, after = settled(rig, obs, paths, known, JointSettings())
    error = [float(np.sqrt(np.mean((x - true) ** 2))) for x in (before, after.state[:, :3])]
    assert error[1] <= error[0] + 1e-9
    assert error[1] < 0.2 * off * NOISE / 60


def test_half_an_animal_is_still_left_out():
    rig, obs, paths, known, true = one_swimmer(noise=0.0)
    frame = np.empty(len(obs.u), int)
    frame[paths.members] = paths.frame[:, None]
    half = (obs.camera == 0) & (frame >= 15) & (frame < 20)
    obs = replace(obs, v=obs.v + np.where(half, 30.0 * NOISE, 0.0))
    _, found = settled(rig, obs, paths, known, JointSettings())
    assert np.abs(found.state[:, :3] - true).max() < 0.1 * 30 * NOISE / 60


def test_frames_before_a_dart_belong_to_it_and_those_of_other_tracks_do_not():
    calm, slow = 1e-4, 2e-4
    name = np.repeat([0, 1], 10)
    paths = Trajectories(
        name, np.tile(np.arange(10), 2), np.zeros((20, 2), int), np.zeros((20, 6)), np.zeros((20, 6, 6))
    )
    steps = np.full(20, calm)
    steps[[6, 7, 10]] = 1.0
    found = led(steps, paths, calm, slow)
    assert found[[6, 7, 10]].tolist() == [1.0] * 3
    assert np.flatnonzero(found == calm + slow).tolist() == [6 - k for k in range(LEAD, 0, -1)]
    assert (led(np.full(20, calm), paths, calm, slow) == calm).all()
