"""Whole tracks: what was swapped is exchanged, what was torn is joined, what cannot be is not."""

import numpy as np
import pytest

from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.refinement.refine import fill, refine
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings

from .scenes import crossed_rig, model, paths_of, seen, wander

NOISE, ACCELERATION = 2.0, 0.004
RIG = crossed_rig(3)


def world(*starts, frames=60, seed=0):
    """Animals (T, A, 3) from these starts, their detections, rows (T, A, C) and what made them."""
    position = np.stack([wander(frames, ACCELERATION / 4, s, seed + k) for k, s in enumerate(starts)], 1)
    detections, rows = seen(RIG, position, NOISE, seed)
    return position, detections, rows, model(RIG, NOISE, ACCELERATION)


def refined(scene, pieces, **changes):
    """Mend pieces (name, first frame, end, [animal of each frame])."""
    position, detections, rows, known = scene
    cut = []
    for name, first, end, who in pieces:
        frames = np.arange(first, end)
        animal = np.broadcast_to(who, len(frames))
        cut.append((name, frames, rows[frames, animal], position[frames, animal]))
    paths = paths_of(RIG, detections, known, cut)
    return refine(RIG, Observations.of(RIG, detections, known), paths, known, JointSettings(**changes))


def owners(found, scene):
    """Animals of each track by time, of the rows with detections."""
    _, detections, rows, _ = scene
    whose = np.empty(len(detections), int)
    for animal in range(rows.shape[1]):
        mine = rows[:, animal]
        whose[mine[mine >= 0]] = animal
    out = {}
    for name in np.unique(found.paths.name):
        held = found.paths.members[found.paths.name == name]
        out[int(name)] = whose[held[held >= 0]]
    return out


PASSING = ([-0.6, 0.2, 0, 0.02, 0, 0], [0.6, -0.2, 0.1, -0.02, 0, 0])
APART = ([-2, 0, 1, 0.02, 0, 0], [2, 0, -1, -0.02, 0, 0])


def test_a_swap_is_undone():
    scene = world(*PASSING)
    one = np.where(np.arange(60) < 30, 0, 1)
    found = refined(scene, [(0, 0, 60, one), (1, 0, 60, 1 - one)])
    assert [set(o) for o in owners(found, scene).values()] == [{0}, {1}]
    error = np.linalg.norm(found.paths.state[:60, :3] - scene[0][:, 0], axis=1)
    assert error.max() < 0.15


def test_tracks_without_a_swap_stay():
    scene = world(*PASSING)
    found = refined(scene, [(0, 0, 60, 0), (1, 0, 60, 1)])
    assert [set(o) for o in owners(found, scene).values()] == [{0}, {1}]
    assert len(found.joins) == 0


def test_two_swaps_of_three_tracks_are_undone():
    scene = world(*PASSING, [0.55, 1.8, 0.15, 0, -0.03, 0], frames=80)
    t = np.arange(80)
    a = np.where(t < 30, 0, 1)
    b = np.where(t < 30, 1, np.where(t < 55, 0, 2))
    c = np.where(t < 55, 2, 0)
    found = refined(scene, [(0, 0, 80, a), (1, 0, 80, b), (2, 0, 80, c)])
    for name, whose in owners(found, scene).items():  # the moment may be missed by a frame or two
        assert (whose == name).mean() > 0.97
        assert whose[0] == whose[-1] == name


def test_fragments_of_one_animal_are_joined():
    scene = world(*PASSING)
    found = refined(scene, [(0, 0, 25, 0), (1, 0, 20, 1), (2, 30, 60, 1), (3, 35, 60, 0)])
    assert [set(o) for o in owners(found, scene).values()] == [{0}, {1}]
    assert sorted(map(tuple, found.joins)) == [(0, 24, 35), (1, 19, 30)]
    assert len(found.paths.name) == 120  # gaps have rows, without detections
    gap = (found.paths.name == 0) & (found.paths.frame > 24) & (found.paths.frame < 35)
    assert (found.paths.members[gap] == -1).all()
    off = np.linalg.norm(found.paths.state[gap, :3] - scene[0][25:35, 0], axis=1)
    assert off.max() < 0.3


def test_three_pieces_become_one():
    scene = world(APART[0])
    found = refined(scene, [(0, 0, 15, 0), (4, 20, 35, 0), (9, 40, 60, 0)])
    assert np.unique(found.paths.name).tolist() == [0]
    assert sorted(map(tuple, found.joins)) == [(0, 14, 20), (0, 34, 40)]


def test_what_cannot_be_one_animal_is_not_joined():
    scene = world(*APART)
    far = refined(scene, [(0, 0, 25, 0), (1, 27, 60, 1)])  # 4 units in 2 frames
    assert [set(o) for o in owners(far, scene).values()] == [{0}, {1}]
    together = refined(scene, [(0, 0, 35, 0), (1, 30, 60, 0)])  # both at once, and of one animal at that
    assert np.unique(together.paths.name).tolist() == [0, 1]
    late = refined(scene, [(0, 0, 20, 0), (1, 45, 60, 0)], stitch_gap=10)
    assert np.unique(late.paths.name).tolist() == [0, 1]


@pytest.mark.parametrize(("animals", "tracks"), [(None, 2), (2, 2), (1, 1)])
def test_the_number_of_animals_makes_joins_easier(animals, tracks):
    """One that turned sharply while unseen: too odd for a join, unless there is only one animal."""
    straight = wander(30, ACCELERATION, [-1, 0, 0, 0.03, 0, 0])
    turned = wander(30, ACCELERATION, [*(straight[-1] + [0.1, 0.45, 0.3]), -0.05, 0.03, 0.03], 1)
    position = np.concatenate([straight, turned])[:, None]
    detections, rows = seen(RIG, position, NOISE)
    scene = position, detections, rows, model(RIG, NOISE, ACCELERATION, dart=0.01)
    found = refined(scene, [(0, 0, 29, 0), (1, 31, 60, 0)], animals=animals, stitch_prior=1.0)
    assert len(np.unique(found.paths.name)) == tracks


def test_not_even_the_number_of_animals_joins_what_cannot_be():
    """One fish and a ghost far from it: told that there is one fish, the tracker does not make it fly."""
    scene = world(*APART)
    found = refined(scene, [(0, 0, 25, 0), (1, 27, 60, 1)], animals=1)
    assert [set(o) for o in owners(found, scene).values()] == [{0}, {1}]


def test_gaps_are_filled_on_a_line():
    paths = Trajectories(
        np.array([0, 0, 0, 1]), np.array([3, 4, 8, 8]), np.arange(8).reshape(4, 2),
        np.array([[0.0] * 6, [1.0] * 6, [5.0] * 6, [9.0] * 6]), np.tile(np.eye(6), (4, 1, 1)),
    )  # fmt: skip
    full = fill(paths, 4)
    assert full.frame.tolist() == [3, 4, 5, 6, 7, 8, 8]
    np.testing.assert_allclose(full.state[:6, 0], range(6))
    assert (full.members[2:5] == -1).all()
    assert fill(paths, 3).frame.tolist() == paths.frame.tolist()


def test_a_detection_of_two_tracks_stays_with_the_better_one():
    from trackfish3d.methods.joint.live_tracks import FrameLog

    log = FrameLog(
        5, np.array([0, 1, 2]), np.array([[0, 2, 4], [0, 3, -1], [1, 3, -1]]), np.zeros((3, 6)),
        np.zeros((3, 6, 6)), np.array([1.0, 50.0, 60.0]),
    )  # fmt: skip
    paths = Trajectories.of([log], {0, 1, 2})
    # track 0 has more views than 1, track 2 is likelier than 1; nothing is left of 1
    assert paths.name.tolist() == [0, 2]
    assert paths.members.tolist() == [[0, 2, 4], [1, 3, -1]]
