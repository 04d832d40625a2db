"""What people said of identities is kept, also where the odds speak against it."""

import numpy as np

from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.confidence import Moments, suspects
from trackfish3d.methods.joint.refinement.pins import Pins
from trackfish3d.methods.joint.refinement.refine import refine
from trackfish3d.methods.joint.settings import JointSettings

from .test_repair import APART, PASSING, RIG, owners, paths_of, world


def pinned(scene, parts, pins, **changes):
    position, detections, rows, known = scene
    cut = []
    for name, first, last, who in parts:
        frames = np.arange(first, last)
        animal = np.broadcast_to(who, len(frames))
        cut.append((name, frames, rows[frames, animal], position[frames, animal]))
    paths = paths_of(RIG, detections, known, cut)
    same, frame, who = (np.array(x) for x in zip(*pins, strict=True))
    at = np.array([[position[f, w] for f, w in zip(fs, ws, strict=True)] for fs, ws in zip(frame, who, strict=True)])
    said = Pins(same, frame, at, known.body_length)
    return refine(RIG, Observations.of(RIG, detections, known), paths, known, JointSettings(**changes), said)


def test_an_exchange_that_a_person_made_is_not_undone():
    scene = world(*PASSING)
    whole = [(0, 0, 60, 0), (1, 0, 60, 1)]
    said = [(True, (29, 30), (0, 1)), (True, (29, 30), (1, 0))]  # wrong, but said
    found = pinned(scene, whole, said)
    assert [list(dict.fromkeys(o.tolist())) for o in owners(found, scene).values()] == [[0, 1], [1, 0]]


def test_a_swap_is_undone_where_a_person_says_so_and_is_then_no_suspect():
    scene = world(*PASSING)
    one = np.where(np.arange(60) < 30, 0, 1)
    swapped = [(0, 0, 60, one), (1, 0, 60, 1 - one)]
    said = [(True, (20, 40), (0, 0)), (True, (20, 40), (1, 1))]
    found = pinned(scene, swapped, said, swap_least=1e9)  # the odds alone would do nothing
    for name, whose in owners(found, scene).items():
        assert whose[0] == whose[-1]
        assert (whose == whose[0]).mean() > 0.85, name
    inside = Moments.of(found)
    frames = found.paths.frame[inside.after]
    assert not ((frames > 21) & (frames <= 40)).any()
    assert not [s for s in suspects(found) if s.kind == "swap" and 21 < s.first < 39]


def test_fragments_are_joined_or_left_as_a_person_says():
    scene = world(*APART, frames=80)
    torn = [(0, 0, 30, 0), (1, 0, 80, 1), (2, 40, 80, 0)]
    free = pinned(scene, torn, [(True, (0, 79), (1, 1))])
    assert sorted(len(o) for o in owners(free, scene).values()) != []
    assert len(owners(free, scene)) == 2
    left = pinned(scene, torn, [(False, (29, 40), (0, 0))])
    assert len(owners(left, scene)) == 3
    far = pinned(scene, torn, [(True, (29, 40), (0, 0))], stitch_gap=0)  # no gap may be bridged, but for this one
    assert len(owners(far, scene)) == 2


def test_pins_that_mean_no_track_change_nothing():
    scene = world(*PASSING)
    whole = [(0, 0, 60, 0), (1, 0, 60, 1)]
    position, detections, rows, known = scene
    paths = paths_of(RIG, detections, known, [(n, np.arange(60), rows[:, w], position[:, w]) for n, _, _, w in whole])
    nowhere = Pins(np.array([True]), np.array([[10, 20]]), np.full((1, 2, 3), 99.0), known.body_length)
    assert nowhere.enforce(paths) is paths
    assert nowhere.rows(paths).tolist() == [[-1, -1]]
