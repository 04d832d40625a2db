"""Fast starts: which steps were darts, and what the smoother makes of them."""

from itertools import product

import numpy as np
import pytest

from tests.kernels import opened
from trackfish3d.cameras.triangulation import triangulate_ml
from trackfish3d.maths.kalman import predict
from trackfish3d.methods.joint.kernels import absorb_quickly
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement import darts
from trackfish3d.methods.joint.refinement.filtering import linearised
from trackfish3d.methods.joint.refinement.refine import smoothed
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings

from . import plain
from .scenes import crossed_rig, model, paths_of, seen, wander

NOISE, ACCELERATION = 1.0, 0.002  # px; body lengths a frame
SHARE = 0.01


def cruise_and_dart(frames=60, start=30, length=6, speed=0.03, times=8.0, seed=0):
    """Positions (T, 1, 3) of a fish that turns by 120 degrees and darts, and then swims on as slowly as before."""
    rng = np.random.default_rng(seed)
    turn = np.deg2rad(120) * np.clip((np.arange(frames) - start) / 3, 0, 1)
    pace = np.full(frames, speed)
    pace[start : start + length] *= times
    angle = rng.uniform(0, 2 * np.pi) + turn
    way = pace[:, None] * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(frames)])
    position = np.cumsum(way, axis=0)
    return (position - position.mean(0))[:, None]


def setting(position, seed=0, cameras=3, noise=NOISE):
    rig = crossed_rig(cameras)
    detections, rows = seen(rig, position, noise, seed)
    known = model(rig, noise, ACCELERATION, velocity=0.03, dart=0.1)
    return rig, detections, rows, known


def best_sequence(rig, obs, members, around, frame, known):
    """Log density of the likeliest sequence of kinds and its variances, by trying all."""
    q = known.acceleration**2
    variance = np.append(q, q + known.dart**2 * darts.LEVELS**2)
    rare = darts._LEVEL_SHARES
    chance = np.log([np.append(1 - SHARE, SHARE * rare), np.append(1 - darts._STAYS, darts._STAYS * rare / rare[0])])
    views = []
    for i, row in enumerate(members):
        views.append([])
        for c, d in enumerate(row):
            if d >= 0:
                pixel = rig[c].project(around[i : i + 1, :3])[0]
                J = plain.jacobian(rig[c], around[i, :3])
                views[-1].append((pixel, J, np.array([obs.u[d], obs.v[d]]), obs.noise[d]))
    best = -np.inf, None
    for kinds in product(range(len(variance)), repeat=len(frame) - 1):
        x = np.append(around[0, :3], np.zeros(3))
        P = np.diag([known.body_length**2] * 3 + [known.velocity**2] * 3)
        total, last = 0.0, 0
        for i in range(len(frame)):
            if i:
                total += chance[min(last, 1), kinds[i - 1]]
                last = kinds[i - 1]
                x, P = plain.predict(x, P, frame[i] - frame[i - 1], variance[last])
            for pixel, J, z, r in views[i]:
                x, P, density = plain.absorb(x, P, around[i, :3], pixel, J, z, r)
                total += density if i else 0.0
        if total > best[0]:
            best = total, variance[list(kinds)]
    return best


def darts_of(rig, obs, begin, paths, known):
    """Variances of acceleration (N,) that are found."""
    lines = linearised(rig.packed, paths.members, paths.state, 1e-4)
    return darts.find_darts(
        begin, paths.frame, paths.state, lines, obs.u, obs.v, obs.noise, paths.members, known.acceleration**2,
        known.velocity**2, known.body_length**2, SHARE, known.dart**2,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_the_sequence_found_is_the_likeliest_of_all(seed):
    position = cruise_and_dart(frames=5, start=2, length=2, speed=0.1, seed=seed)
    rig, detections, rows, known = setting(position, seed)
    obs = Observations.of(rig, detections, known)
    around = np.column_stack([position[:, 0], np.zeros((5, 3))])
    begin, frame, members = np.array([0, 5]), np.arange(5), rows[:, 0]
    paths = Trajectories(np.zeros(5, int), frame, members, around, np.zeros((5, 6, 6)))
    found = darts_of(rig, obs, begin, paths, known)
    _, want = best_sequence(rig, obs, members, around, frame, known)
    np.testing.assert_allclose(found[1:], want)


def test_calm_swimming_has_hardly_any_darts():
    position = np.stack([wander(400, ACCELERATION, [0, 0, 0, 0.01, 0, 0], seed=k) for k in range(3)], 1)
    rig, detections, rows, known = setting(position - position.mean(0), seed=1)
    paths = paths_of(rig, detections, known, [(k, range(400), rows[:, k], position[:, k]) for k in range(3)])
    q = darts_of(rig, Observations.of(rig, detections, known), paths.begin, paths, known)
    assert (q > known.acceleration**2).mean() < 0.01


def dart_errors(position, seed, cameras, track):
    """Errors (T,) of the track and of plain triangulation."""
    rig, detections, rows, known = setting(position, seed, cameras)
    flat = rows[:, 0].ravel()
    frames = len(position)
    plainly = triangulate_ml(
        rig, detections.centroids[flat], np.tile(np.arange(cameras), frames), cameras * np.arange(frames + 1)
    ).points
    return (np.linalg.norm(p - position[:, 0], axis=1) for p in (track(rig, detections, rows, known), plainly))


@pytest.mark.parametrize("times", [6.0, 12.0])
def test_the_smoother_does_not_spread_a_fast_start(times):
    """From ten frames before to five after; a smoother that knows no darts is 6 and 14 times as wrong."""

    def track(rig, detections, rows, known):
        paths = paths_of(rig, detections, known, [(0, range(60), rows[:, 0], position[:, 0])])
        return smoothed(rig, Observations.of(rig, detections, known), paths, known, JointSettings()).state[:, :3]

    squares = []
    for seed in range(10):
        position = cruise_and_dart(times=times, seed=seed)
        mine, plainly = dart_errors(position, seed, 3, track)
        squares.append([np.mean(e[20:41] ** 2) for e in (mine, plainly)])
        assert mine.max() < 0.3
    ratio = np.sqrt(np.divide(*np.mean(squares, axis=0)))
    assert ratio < 1.05


def test_a_fast_start_stays_where_it_was_from_detections_to_tracks():
    squares = []
    for seed in range(4):
        position = np.concatenate(
            [cruise_and_dart(frames=120, start=60, times=9.0, seed=seed + 10 * k) + [0, 0, 1.5 * k] for k in range(3)],
            1,
        )
        rig = crossed_rig(3)
        detections, _ = seen(rig, position, NOISE, seed)
        tracks = Joint().track(rig, detections, 200.0).tracks
        for k in range(3):
            off = np.linalg.norm(tracks.position - position[tracks.frame, k], axis=1)
            name = tracks.track[np.argmin(off)]
            mine = (tracks.track == name) & (tracks.frame >= 50) & (tracks.frame < 71)
            assert mine.sum() == 21
            squares.append(np.mean(off[mine] ** 2))
            assert off[mine].max() < 0.3
    plainly = np.sqrt(3 / 2) * NOISE / 60 / np.sqrt(1.5)  # px a unit; three views, two pixels each, three axes
    assert np.sqrt(np.mean(squares)) < 1.3 * plainly


@pytest.mark.parametrize("seed", range(3))
def test_an_animal_that_darts_while_a_view_misses_it_is_not_lost(seed):
    """One of two cameras sees nothing of every second frame of the start."""
    position = np.concatenate(
        [cruise_and_dart(frames=120, start=60, times=9.0, seed=seed + 10 * k) + [0, 0, 1.5 * k] for k in range(3)], 1
    )
    rig, missed = crossed_rig(2), np.zeros((120, 3, 2), bool)
    missed[61:70:2, :, seed % 2] = True
    detections, _ = seen(rig, position, NOISE, seed, missed)
    tracks = Joint().track(rig, detections, 200.0).tracks
    assert len(np.unique(tracks.track)) == 3
    for k in range(3):
        off = np.linalg.norm(tracks.position - position[tracks.frame, k], axis=1)
        mine = (tracks.track == tracks.track[np.argmin(off)]) & (tracks.frame >= 50) & (tracks.frame < 75)
        assert mine.sum() == 25
        assert off[mine & (tracks.views == 2)].max() < 0.3  # one view alone does not tell where a dart leads


def spread(rng, count):
    """Covariances (N, 6, 6) of positions and velocities, of very different sizes."""
    root = rng.normal(size=(count, 6, 6)) * np.exp(rng.uniform(-4, 1, (count, 1, 1)))
    return root @ root.transpose(0, 2, 1)


def test_no_sequence_is_likelier_than_what_its_kind_of_step_is_at_most():
    """Else one that belongs into the beam would be given up; where nothing is off, a calm one is nearly as likely."""
    rng = np.random.default_rng(3)
    highest, density = opened(darts._highest), opened(darts._density)
    variance = np.array([1e-4, 1e-2, 1.0])
    reached = []
    for floor, more in zip(spread(rng, 300), spread(rng, 300), strict=True):
        views = rng.normal(size=(3, 9)) * np.append([3.0, 3.0, 1.0], np.full(6, 30.0))
        views[:, 2] = np.exp(rng.uniform(-1, 2, 3))
        at, t, state = rng.normal(size=3), float(rng.integers(1, 4)), rng.normal(scale=0.05, size=6)
        most = np.empty((3, 4))
        highest(floor, t, variance, views, 3, most)
        for k in range(3):
            for cov in (floor, floor + more):
                assert density(state, cov, t, variance[k], -np.inf, at, views, 3, most[k]) <= most[k, 0] + 1e-6
        views[:, :2] = 0.0
        state[:3] = at - t * state[3:]
        reached.append(density(state, floor, t, variance[0], -np.inf, at, views, 3, most[0]) - most[0, 0])
    assert max(reached) <= 1e-6
    assert np.median(reached) > -0.3


def test_no_sequence_is_surer_than_what_calm_steps_and_good_detections_leave():
    rng = np.random.default_rng(4)
    least, take, move = opened(darts._least), opened(absorb_quickly), opened(predict)
    for floor, cov in zip(spread(rng, 40), spread(rng, 40), strict=True):
        cov = floor + cov * rng.integers(0, 2)
        for _ in range(6):
            views = rng.normal(size=(3, 9)) * np.append([5.0, 5.0, 1.0], np.full(6, 30.0))
            views[:, 2] = np.exp(rng.uniform(-1, 2, 3))
            t, q = float(rng.integers(1, 4)), 1e-3
            least(floor, t, q, views, 3)
            state, x0 = np.zeros((1, 6)), np.zeros(3)
            move(state, cov[None], np.array([t]), q * rng.choice([1.0, 30.0]))
            for u, v, square, *J in views:
                r, J = square**0.5, np.array(J).reshape(2, 3)
                take(state[0], cov, x0, np.zeros(2), J, u, v, r, r, 6, np.empty((6, 2)))
            assert np.linalg.eigvalsh(cov - floor).min() > -1e-9 * np.trace(cov)
