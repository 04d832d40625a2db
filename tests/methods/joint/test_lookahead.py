"""Doubtful choices are tried on what follows."""

import numpy as np
import pytest

from trackfish3d.methods.joint.arguments import FutureFrames
from trackfish3d.methods.joint.engine import Engine
from trackfish3d.methods.joint.lookahead import alternatives
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.packing import pack
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.joint.settings import JointSettings

from .scenes import crossed_rig, model, seen

NOISE, ACCELERATION, SPEED, FRAMES = 4.0, 0.004, 0.005, 80


def crossing(seed):
    """Two animals that pass each other in view 0 alone, slowly against the noise.

    They are at one height while they do, so that an exchange in view 0 contradicts nothing; later heights differ.
    """
    rig = crossed_rig()
    t = np.arange(FRAMES) - FRAMES / 2
    height = 0.01 * np.maximum(np.abs(t) - 15, 0)
    one = np.stack([SPEED * t, np.full(FRAMES, 0.5), height], 1)
    return rig, *seen(rig, np.stack([one, -one], 1), NOISE, seed)


def kept(rig, detections, rows, horizon):
    """Whether both animals are one track from before the crossing to after it; and the engine."""
    known = model(rig, NOISE, ACCELERATION, velocity=2 * SPEED)
    engine, obs = Engine(rig, known, JointSettings(horizon=horizon)), Observations.of(rig, detections, known)
    for k, frame in enumerate(detections.frames):
        engine.step(int(frame), detections.at(k), obs, FutureFrames(detections.frames, detections.offsets, k))
    engine.finish()
    paths = Trajectories.of(engine.logs, engine.confirmed)
    whose = np.empty(len(detections), int)
    for animal in range(2):
        whose[rows[:, animal]] = animal
    names, good = np.unique(paths.name), []
    for name in names:
        mine = paths.take(paths.name == name)
        owner = np.where(mine.members >= 0, whose[mine.members], -1)
        early, late = owner[mine.frame < 15], owner[mine.frame > 65]
        first = np.bincount(early[early >= 0], minlength=2).argmax()
        good.append(len(late) and (late == first).mean() > 0.9)
    return len(names) == 2 and all(good), engine


def test_a_crossing_that_a_frame_alone_gets_wrong():
    alone, ahead, changed = 0, 0, 0
    for seed in range(8):
        rig, detections, rows = crossing(seed)
        alone += kept(rig, detections, rows, 0)[0]
        good, engine = kept(rig, detections, rows, 40)
        ahead += good
        changed += engine.changed
        assert engine.tried >= engine.changed
    assert alone <= 5
    assert ahead == 8
    assert changed > 0


def two_by_two(cross):
    """Two tracks, two detections: straight is worth 10 each, crossed ``cross`` each."""
    owner = np.array([0, 0, 0, 1, 1, 1])
    sets = np.array([[-1], [0], [1], [-1], [1], [0]])
    value = np.array([-5.0, 10.0, cross, -5.0, 10.0, cross])
    chosen, _, _ = pack(owner, sets, value, 2, 2, 1000)
    assert sets[chosen].tolist() == [[0], [1]]
    return alternatives(owner, sets, value, chosen, 2, 12.0, 1000), sets


@pytest.mark.parametrize(("cross", "doubtful"), [(9.0, True), (5.0, True), (3.0, False), (-20.0, False)])
def test_the_other_reading_is_doubtful_if_it_is_nearly_as_good(cross, doubtful):
    other, sets = two_by_two(cross)
    assert [sets[o].tolist() for o in other] == ([[[1], [0]]] if doubtful else [])


def test_tracks_that_want_nothing_of_each_other_have_no_other_reading():
    owner, sets = np.array([0, 0, 0, 1, 1]), np.array([[-1], [0], [1], [-1], [2]])
    value = np.array([-5.0, 10.0, 9.5, -5.0, 10.0])
    chosen, _, _ = pack(owner, sets, value, 2, 3, 1000)
    assert len(alternatives(owner, sets, value, chosen, 3, 12.0, 1000)) == 0


@pytest.mark.parametrize("tracks", [10, 60])
def test_other_readings_of_a_long_chain_hold_together(tracks):
    """Each track may also have what its neighbour has: one component, of which only a part is decided again."""
    rng = np.random.default_rng(tracks)
    owner = np.repeat(np.arange(tracks), 4)
    sets = np.full((4 * tracks, 1), -1)
    sets[1::4, 0] = np.arange(tracks)
    sets[2::4, 0], sets[3::4, 0] = (np.arange(tracks) + 1) % tracks, (np.arange(tracks) - 1) % tracks
    value = np.tile([-5.0, 10.0, 8.0, 8.0], tracks) + rng.normal(0, 0.1, 4 * tracks)
    chosen, _, _ = pack(owner, sets, value, tracks, tracks, 20000)
    assert (chosen == 4 * np.arange(tracks) + 1).all()
    other = alternatives(owner, sets, value, chosen, tracks, 12.0, 20000)
    assert len(other) >= tracks // 2  # a pair that changes places is the other reading of both
    for reading in other:
        assert (owner[reading] == np.arange(tracks)).all()
        held = sets[reading, 0]
        assert len(np.unique(held[held >= 0])) == (held >= 0).sum()
        assert 0 < value[chosen].sum() - value[reading].sum() <= 12.0
        assert 2 <= (reading != chosen).sum() <= 3
