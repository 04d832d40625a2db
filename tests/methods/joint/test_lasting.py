"""Errors that last: their memory, what it does to smoothed positions, and whether sigmas hold."""

import numpy as np
import pytest

from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.refinement import lasting
from trackfish3d.methods.joint.refinement.lasting import Memory, memory_of, widened
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.recordings import Detections

from .scenes import BOX, crossed_rig


def wandering(shape, fading, rng):
    """Errors of variance one along the first axis, of correlation ``fading`` from one to the next."""
    fresh = rng.standard_normal(shape)
    out = fresh.copy()
    for t in range(1, shape[0]):
        out[t] = fading * out[t - 1] + np.sqrt(1 - fading**2) * fresh[t]
    return out


@pytest.mark.parametrize("known", [Memory(0.0, 0.5, 0.0), Memory(0.8, 0.9, 0.0), Memory(0.3, 0.7, 0.4)])
def test_the_memory_of_errors_is_found(known):
    rng = np.random.default_rng(3)
    frames, tracks, views = 400, 12, 3
    shape = (frames, tracks, views, 2)
    white = 1 - known.share - known.constant
    left = np.sqrt(white) * rng.standard_normal(shape) + np.sqrt(known.share) * wandering(shape, known.fading, rng)
    left += np.sqrt(known.constant) * rng.standard_normal((1, *shape[1:]))
    left = left.transpose(1, 0, 2, 3).reshape(-1, views, 2)
    name, frame = np.repeat(np.arange(tracks), frames), np.tile(np.arange(frames), tracks)
    n = len(name)
    paths = Trajectories(name, frame, np.zeros((n, views), int), np.zeros((n, 6)), np.zeros((n, 6, 6)))
    found = memory_of(paths, left)
    assert found.share == pytest.approx(known.share, abs=0.1)
    assert found.constant == pytest.approx(known.constant, abs=0.1)
    if known.share > 0:
        assert found.fading == pytest.approx(known.fading, abs=0.06)


@pytest.mark.parametrize("stiff", [1e-2, 1.0, 100.0, 3000.0])
@pytest.mark.parametrize("fading", [0.3, 0.9])
def test_growth_is_that_of_a_smoother_written_as_a_matrix(stiff, fading):
    """The smoother that penalises second differences, and errors of all frames by their covariance matrix."""
    n, share = 401, 0.7
    second = np.diff(np.eye(n), 2, axis=0)
    W = np.linalg.inv(np.eye(n) + stiff * second.T @ second)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    errors = (1 - share) * np.eye(n) + share * fading**lag
    gain, row = W[n // 2, n // 2], W[n // 2]
    motion = gain - row @ row
    want = (row @ errors @ row + lasting._MOTION * motion) / gain
    assert lasting._growth(np.array([gain]), Memory(share, fading, 0.0))[0] == pytest.approx(want, rel=0.03)
    step = W[n // 2 + 1] - W[n // 2]  # of a velocity: its variance is that of the difference of two positions
    known = np.diff(np.diff(W, axis=0), axis=1)[n // 2, n // 2]
    want = (step @ errors @ step + lasting._MOTION * (known - step @ step)) / known
    found = lasting._growth(np.array([gain]), Memory(share, fading, 0.0), order=1)[0]
    assert found == pytest.approx(want, rel=0.04)


def test_white_errors_narrow_covariances_by_steady_motion_alone_and_a_single_frame_knows_no_memory():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((5, 3, 3))
    single = a @ a.transpose(0, 2, 1) + 0.1 * np.eye(3)
    information = np.linalg.inv(single)
    through = 0.75  # of a smoother of low corner: the mean of w^2 over that of w, 3 / 4 for w = 1 / (1 + x^4)
    want = through + lasting._MOTION * (1 - through)
    np.testing.assert_allclose(
        widened(0.1 * single, information, Memory(0.0, 0.5, 0.0), 0.0), 0.1 * want * single, rtol=0.01
    )
    np.testing.assert_allclose(widened(single, information, Memory(0.6, 0.9, 0.2), 0.2), single, rtol=0.02)
    assert (np.linalg.eigvalsh(widened(0.1 * single, information, Memory(0.6, 0.9, 0.0), 0.0) - 0.3 * single) > 0).all()


def test_few_cameras_do_not_prove_that_offsets_are_small():
    """Offsets as large as white noise, of which 2 C - 3 combinations are seen: the mean of what is supposed."""
    rng = np.random.default_rng(1)
    for cameras in (2, 3, 8):
        seen = (rng.standard_normal((2000, 2 * cameras - 3)) ** 2).mean(1)
        supposed = [Memory(0.0, 0.5, x / (1 + x)).supposed(cameras) * (1 + x) for x in seen]  # in white variances
        known = np.array(seen) > lasting._NONE
        assert np.mean(np.array(supposed)[known]) == pytest.approx(1.0, abs=0.05)
        assert np.quantile(supposed, 0.1) > np.quantile(seen, 0.1)
    assert Memory(0.0, 0.5, 0.001).supposed(2) == 0.001  # no offset is seen: there is none


@pytest.mark.parametrize("cameras", [3, 6])
def test_sigmas_hold_where_errors_last_for_ten_frames(cameras):
    """A smoother that takes errors for white has some 70 % of positions within two sigma."""
    rng = np.random.default_rng(cameras)
    rig, frames, animals = crossed_rig(cameras), 200, 4
    angle = rng.uniform(0.01, 0.04, animals) * np.arange(frames)[:, None] + rng.uniform(0, 6, animals)
    reach = rng.uniform(1.0, 2.0, animals)
    height = np.broadcast_to(np.linspace(-1.5, 1.5, animals), angle.shape)
    position = np.stack([reach * np.cos(angle), reach * np.sin(angle), height], axis=-1)
    pixel = np.stack([c.project(position.reshape(-1, 3)) for c in rig], 1).reshape(frames, animals, cameras, 2)
    pixel = pixel + 1.5 * wandering(pixel.shape, np.exp(-0.1), rng)
    t, c, _ = np.indices((frames, cameras, animals)).reshape(3, -1)
    u, v = pixel.transpose(3, 0, 2, 1).reshape(2, -1)
    half = BOX / 2
    tracks = Joint().track(rig, Detections.build(rig.names, t, c, u, v, u - half, v - half, u + half, v + half)).tracks
    off = position[tracks.frame] - tracks.position[:, None]
    off = off[np.arange(len(off)), np.linalg.norm(off, axis=2).argmin(1)]
    sigmas = np.abs(off) / np.sqrt(np.einsum("kii->ki", tracks.covariance))
    assert 0.90 < (sigmas < 2).mean() < 0.995
    assert 0.60 < (sigmas < 1).mean() < 0.80
