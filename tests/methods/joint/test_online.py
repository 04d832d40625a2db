"""The joint tracker live: the same decisions as on a recording, frame by frame."""

import numpy as np
import pytest

from tests.methods.worlds import observe, swim
from trackfish3d.methods.joint.engine import Engine
from trackfish3d.methods.joint.fit.initialise import initial_model
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.joint.online import OnlineJoint
from trackfish3d.methods.joint.settings import JointSettings
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import common_point, paper_rig


@pytest.fixture(scope="module")
def world():
    rig = paper_rig(6)
    detections, _ = observe(rig, swim(6, 60, common_point(rig), 5.0, seed=3), noise=1.5, drop=0.1)
    return rig, detections


def frame_of(detections, frame):
    return detections.select(detections.frame == frame)


def test_live_decisions_are_those_on_a_recording(world):
    rig, detections = world
    settings = JointSettings(horizon=0)
    known = initial_model(rig, detections, settings)
    engine, obs = Engine(rig, known, settings), Observations.of(rig, detections, known)
    live = OnlineJoint(rig, known, settings)
    some = 0
    for k, frame in enumerate(detections.frames):
        log = engine.step(int(frame), detections.at(k), obs)
        now = live.update(frame_of(detections, frame), int(frame))
        sure = np.isin(log.name, engine.live.name[engine.live.confirmed])
        order = np.argsort(log.name[sure])
        np.testing.assert_array_equal(now.track, log.name[sure][order])
        np.testing.assert_allclose(now.position, log.state[sure, :3][order], atol=1e-9)
        start = detections.offsets[k]
        want = np.where(log.members >= 0, log.members - start, -1)[sure][order]
        np.testing.assert_array_equal(now.detection, want)  # rows count within the frame
        some += len(now)
    assert some > 200


def test_new_animals_come_after_a_window(world):
    rig, detections = world
    live = OnlineJoint(rig, initial_model(rig, detections, JointSettings()))
    count = [len(live.update(frame_of(detections, f), int(f))) for f in range(60)]
    assert count[:10] == [0] * 10
    assert count[11] >= 5
    assert count[-1] == 6


def test_without_a_belief_the_first_frames_are_fitted(world):
    rig, detections = world
    live = OnlineJoint(rig, warm_up=30)
    count = [len(live.update(frame_of(detections, f), int(f))) for f in range(60)]
    assert count[:29] == [0] * 29
    assert count[29:] == [6] * 31


def test_nothing_to_fit_and_nothing_to_see(world):
    rig, _ = world
    live = OnlineJoint(rig, warm_up=3)
    for f in range(8):
        assert len(live.update(Detections.empty(rig.names), f)) == 0


def test_tracks_live_on_through_frames_without_detections(world):
    rig, detections = world
    live = OnlineJoint(rig, initial_model(rig, detections, JointSettings()))
    dark = range(30, 34)
    names = {}
    for f in range(60):
        now = live.update(Detections.empty(rig.names) if f in dark else frame_of(detections, f), f)
        names[f] = now.track.tolist()
        assert not (f in dark and now.observed.any())
    assert names[29] == names[31] == names[33] == names[40]
    assert len(names[40]) == 6
