"""First sightings against all tuples of a small frame, triangulated, and against integrals over where the animal is."""

from itertools import product

import numpy as np
import pytest

from trackfish3d.cameras.triangulation import triangulate_ml
from trackfish3d.methods.joint.arguments import Beliefs, Lines, Readings, Rig, Sightings
from trackfish3d.methods.joint.initiation import Birth, initiate
from trackfish3d.synfish.rigs import common_point, random_rig, tank_rig

from . import plain

PRIOR = np.log(1e-5)
FOUND = 0.9
CLUTTER = np.log(2e-6)
NOISE = 2.0


class Frame:
    """Animals seen by all cameras with noise, and false detections."""

    def __init__(self, rig, animals, false, seed, reach=4.0, drop=0.0):
        rng = np.random.default_rng(seed)
        self.rig = rig
        middle = np.array([14.0, 14.0, 7.0]) if rig.refractive else common_point(rig)
        self.position = middle + rng.uniform(-reach, reach, (animals, 3))
        camera, pixel, who = [], [], []
        for c, cam in enumerate(rig):
            for k, z in enumerate(cam.project(self.position) + NOISE * rng.standard_normal((animals, 2))):
                if rng.random() >= drop:
                    camera.append(c), pixel.append(z), who.append(k)
            for _ in range(false):
                camera.append(c), pixel.append(rng.uniform(0, cam.size)), who.append(-1)
        self.camera, self.pixel, self.who = np.array(camera), np.array(pixel), np.array(who)
        self.begin = np.searchsorted(self.camera, np.arange(len(rig) + 1))
        self.rays = [rig[c].rays(z[None]) for c, z in zip(camera, pixel, strict=True)]

    def run(self, free=None, known=None, spread=10.0, room=1000):
        n, views, nothing = len(self.camera), len(self.rig), np.zeros(len(self.camera))
        rig = Rig(self.rig.packed, np.array([c.size for c in self.rig], float), 1e-4)
        rays = np.concatenate([r.origin for r in self.rays]), np.concatenate([r.direction for r in self.rays])
        u, v = self.pixel.T.copy()
        readings = Readings(0, self.begin, u, v, np.full(n, NOISE), nothing, nothing)
        free = np.ones(n, bool) if free is None else free
        known = np.zeros((n, n), bool) if known is None else known
        found, clutter = np.full(views, FOUND), np.full(views, CLUTTER)
        beliefs = Beliefs(found, found, clutter, np.zeros(3), found)
        out = Sightings.empty(room, views)
        birth = Birth(spread, PRIOR, 20.0)
        count = initiate(rig, Lines(*rays, self.camera), readings, free, known, beliefs, birth, out)
        return tuple(values[: min(count, room - 1)] for values in out)

    def misfit(self, rows):
        """Squared misfit of the most likely point, in deviations."""
        rows = np.array(rows)
        found = triangulate_ml(self.rig, self.pixel[rows], self.camera[rows], np.array([0, len(rows)]), NOISE)
        if not found.valid[0]:
            return np.inf
        off = [self.rig[self.camera[d]].project(found.points)[0] - self.pixel[d] for d in rows]
        return np.nan_to_num(np.square(off).sum() / NOISE**2, nan=np.inf)


def tuples(frame, views):
    """All sets of two and more detections of different views."""
    options = [[-1, *range(frame.begin[c], frame.begin[c + 1])] for c in range(views)]
    return [t for t in product(*options) if sum(d >= 0 for d in t) >= 2]


@pytest.mark.parametrize(
    ("rig", "seed"), [(random_rig(3, 5), 0), (random_rig(3, 6), 1), (tank_rig(), 2)], ids=["a", "b", "water"]
)
def test_every_tuple_that_a_point_explains_is_found(rig, seed):
    frame = Frame(rig, 4, 2, seed)
    members, *_ = frame.run()
    found = {tuple(int(d) for d in m) for m in members}
    assert len(found) == len(members)  # none twice
    good = {t for t in tuples(frame, len(rig)) if frame.misfit([d for d in t if d >= 0]) < 6}
    assert len(good) >= 4
    for t in good:
        part = {d for d in t if d >= 0}
        held = any(part <= set(f) for f in found)
        assert t in found if len(part) == len(rig) else held  # pairs may have grown to triples
    for f in found:  # and nothing is found that no point explains
        assert frame.misfit([d for d in f if d >= 0]) < 40


def test_a_pair_that_a_third_view_joins_does_not_stand_alone():
    frame = Frame(random_rig(3, 5), 1, 0, 0)
    members, weight, position, covariance = frame.run()
    assert members.tolist() == [[0, 1, 2]]
    off = position[0] - frame.position[0]
    assert off @ np.linalg.solve(covariance[0], off) < 20
    assert weight[0] > 5


@pytest.mark.parametrize("cameras", [2, 4, 5])
def test_animals_apart_are_the_best_sets(cameras):
    frame = Frame(random_rig(cameras, 3), 3, 0, 4, drop=0.1)
    members, weight, *_ = frame.run()
    best = members[np.argsort(-weight)[:3]]
    whose = [set(frame.who[m[m >= 0]]) for m in best]
    assert sorted(map(tuple, whose)) == [(0,), (1,), (2,)]
    np.testing.assert_array_equal((best >= 0).sum(), len(frame.who))


def integral(frame, rows, spread_sigmas=7, points=41):
    """Log of the integral over positions of prior times likelihood ratio, lens, water and heavy tail included."""
    rows = np.array(rows)
    found = triangulate_ml(frame.rig, frame.pixel[rows], frame.camera[rows], np.array([0, len(rows)]), NOISE)
    L = np.linalg.cholesky(found.covariance[0])
    axis = np.linspace(-spread_sigmas, spread_sigmas, points)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1).reshape(-1, 3)
    where = found.points[0] + grid @ L.T
    total = np.full(len(where), PRIOR)
    for d in rows:
        off2 = np.square(frame.rig[frame.camera[d]].project(where) - frame.pixel[d]).sum(1)
        parts = [
            np.log(p / (2 * np.pi * s**2)) - off2 / (2 * s**2)
            for p, s in ((1 - plain.TAIL_SHARE, NOISE), (plain.TAIL_SHARE, plain.TAIL_SCALE * NOISE))
        ]
        total += np.logaddexp(*parts) + np.log(FOUND) - CLUTTER
    cell = np.linalg.det(L) * (axis[1] - axis[0]) ** 3
    return np.logaddexp.reduce(total) + np.log(cell)


@pytest.mark.parametrize("rig", [random_rig(2, 5), random_rig(3, 5), tank_rig()], ids=["two", "three", "water"])
def test_weight_is_the_likelihood_integrated_over_positions(rig):
    for seed in range(3):
        frame = Frame(rig, 1, 0, seed)
        members, weight, *_ = frame.run()
        assert len(members) == 1
        assert weight[0] == pytest.approx(integral(frame, members[0]), abs=0.8)


def test_a_view_that_should_see_the_animal_and_does_not_speaks_against_it():
    frame = Frame(random_rig(3, 5), 1, 0, 0)
    lost = frame.camera != 2
    members, weight, *_ = frame.run(free=lost)
    assert members.tolist() == [[0, 1, -1]]
    assert weight[0] == pytest.approx(integral(frame, [0, 1]) + np.log(1 - FOUND), abs=0.8)


def test_taken_detections_and_followed_pairs_make_no_birth():
    frame = Frame(random_rig(3, 5), 3, 0, 1)
    free = frame.who != 1
    members, *_ = frame.run(free=free)
    assert len(members) > 0
    assert free[members[members >= 0]].all()
    known = frame.who[:, None] == frame.who[None]
    members, *_ = frame.run(known=known)
    for m in members:
        own = m[m >= 0]
        assert len(set(frame.who[own[:2]])) > 1


def test_detections_of_one_view_make_nothing():
    frame = Frame(random_rig(3, 5), 3, 0, 1)
    members, *_ = frame.run(free=frame.camera == 1)
    assert len(members) == 0


def test_too_little_room_loses_the_last_sets_only():
    frame = Frame(random_rig(3, 5), 4, 2, 0)
    whole = frame.run()
    assert len(whole[0]) > 3
    for few, all_ in zip(frame.run(room=3), whole, strict=True):
        np.testing.assert_array_equal(few, all_[:2])
