"""What does not matter to the animals does not matter to the tracker: units, place, numbers, names and orders."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.methods.worlds import observe, swim
from trackfish3d.cameras import CameraRig
from trackfish3d.methods.joint.fit.initialise import initial_model
from trackfish3d.methods.joint.method import Joint
from trackfish3d.methods.joint.online import OnlineJoint
from trackfish3d.methods.joint.settings import JointSettings
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import common_point, paper_rig, tank_rig

FEW = settings(max_examples=4, deadline=None)
BODY = 1.5  # world units, what boxes of 30 px are about
COLUMNS = ("frame", "camera", "u", "v", "x1", "y1", "x2", "y2", "score")


def world(rig):
    middle = np.array([14.0, 14.0, 7.0]) if rig.refractive else common_point(rig)
    return observe(rig, swim(5, 50, middle, 5.0, seed=2), noise=1.0, drop=0.1, seed=4)[0]


WORLDS = {"air": paper_rig(6), "water": tank_rig()}
SEEN = {name: world(rig) for name, rig in WORLDS.items()}
FOUND = {name: Joint().track(WORLDS[name], SEEN[name]).tracks for name in WORLDS}


def moved(rig, scale=1.0, turn=None, offset=(0.0, 0.0, 0.0)):
    """The rig in another frame of reference: a point x is at scale * turn @ x + offset there."""
    turn, offset = np.eye(3) if turn is None else turn, np.asarray(offset)
    out = []
    for c in rig:
        faces = tuple(replace(f, point=scale * turn @ f.point + offset, normal=turn @ f.normal) for f in c.interfaces)
        R = c.R @ turn.T
        out.append(replace(c, R=R, t=-R @ (scale * turn @ c.centre + offset), interfaces=faces))
    return CameraRig(tuple(out), rig.units)


def changed(detections, order=None, **columns):
    """The same detections, rows in another order, some columns replaced."""
    order = slice(None) if order is None else order
    given = {k: columns.get(k, getattr(detections, k))[order] for k in COLUMNS}
    return Detections.build(columns.get("cameras", detections.cameras), **given)


def assert_same(tracks, want, back=lambda x: x, shift=0, within=1e-6 * BODY):
    np.testing.assert_array_equal(tracks.frame - shift, want.frame)
    np.testing.assert_array_equal(tracks.track, want.track)
    assert np.abs(back(tracks.position) - want.position).max() < within


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("shift", [-1000, -20, 10**9])
def test_numbers_of_frames(name, shift):
    tracks = Joint().track(WORLDS[name], changed(SEEN[name], frame=SEEN[name].frame + shift)).tracks
    assert_same(tracks, FOUND[name], shift=shift, within=1e-12)
    np.testing.assert_array_equal(tracks.detection, FOUND[name].detection)


@pytest.mark.parametrize("shift", [-1000, -20])
def test_numbers_of_frames_live(shift):
    rig, seen, quick = WORLDS["air"], SEEN["air"], JointSettings(horizon=0)
    known = initial_model(rig, seen, quick)
    here, there = OnlineJoint(rig, known, quick), OnlineJoint(rig, known, quick)
    gaps = [f for f in seen.frames if f % 7]  # steps of more than one frame are told apart
    for f in gaps:
        now = seen.select(seen.frame == f)
        then = changed(now, frame=now.frame + shift)
        a, b = here.update(now, int(f)), there.update(then, int(f) + shift)
        np.testing.assert_array_equal(a.track, b.track)
        np.testing.assert_array_equal(a.position, b.position)
    assert len(a)


@pytest.mark.parametrize("name", WORLDS)
@FEW
@given(seed=st.integers(0, 1000))
def test_order_and_names_of_cameras_and_order_of_rows(name, seed):
    rng = np.random.default_rng(seed)
    rig, seen = WORLDS[name], SEEN[name]
    cameras, rows = rng.permutation(len(rig)), rng.permutation(len(seen))
    names = tuple(f"view{k}" for k in cameras)
    other = CameraRig(tuple(replace(rig[int(k)], name=n) for k, n in zip(cameras, names, strict=True)), rig.units)
    place = np.argsort(cameras)
    tracks = Joint().track(other, changed(seen, rows, camera=place[seen.camera], cameras=names)).tracks
    assert_same(tracks, FOUND[name], within=1e-9)  # a camera that is made anew differs in the last digit
    assert tracks.cameras == names
    shuffled = changed(seen, rows, camera=place[seen.camera], cameras=names)
    for k, c in enumerate(cameras):  # detections are named by their rows as they were given
        mine, want = tracks.detection[:, k], FOUND[name].detection[:, c]
        np.testing.assert_array_equal(mine >= 0, want >= 0)
        np.testing.assert_array_equal(shuffled.u[mine[mine >= 0]], seen.u[want[want >= 0]])


@pytest.mark.parametrize("name", WORLDS)
@FEW
@given(power=st.floats(-6, 6))
def test_units(name, power):
    scale = 10**power
    tracks = Joint().track(moved(WORLDS[name], scale), SEEN[name]).tracks
    assert_same(tracks, FOUND[name], lambda x: x / scale)


@pytest.mark.parametrize("name", WORLDS)
@FEW
@given(seed=st.integers(0, 1000), power=st.floats(0, 6))
def test_place_and_direction_of_the_world(name, seed, power):
    rng = np.random.default_rng(seed)
    offset, turn = 10**power * rng.uniform(-1, 1, 3), Rotation.random(random_state=seed).as_matrix()
    tracks = Joint().track(moved(WORLDS[name], turn=turn, offset=offset), SEEN[name]).tracks
    assert_same(tracks, FOUND[name], lambda x: (x - offset) @ turn)


@pytest.mark.parametrize("name", WORLDS)
def test_a_mirrored_world(name):
    """Images are flipped, and cameras stand at the mirrored places."""
    flip = np.diag([-1.0, 1.0, 1.0])
    rig, seen = WORLDS[name], SEEN[name]
    out = []
    for c in rig:
        K = c.K.copy()
        K[0, 2] = c.size[0] - c.K[0, 2]
        lens = c.distortion.copy()
        lens[3:4] *= -1  # p2
        faces = tuple(replace(f, point=flip @ f.point, normal=flip @ f.normal) for f in c.interfaces)
        out.append(replace(c, K=K, distortion=lens, R=flip @ c.R @ flip, t=flip @ c.t, interfaces=faces))
    width = np.array([c.size[0] for c in rig])[seen.camera]
    other = changed(seen, u=width - seen.u, x1=width - seen.x2, x2=width - seen.x1)
    assert_same(Joint().track(CameraRig(tuple(out), rig.units), other).tracks, FOUND[name], lambda x: x @ flip)


@pytest.mark.parametrize("name", WORLDS)
def test_frame_rate(name):
    np.testing.assert_array_equal(Joint().track(WORLDS[name], SEEN[name], 500.0).tracks.position, FOUND[name].position)


@pytest.mark.parametrize("name", WORLDS)
def test_time_reversed(name):
    """The past is not the future: the same animals, within the noise of a pixel."""
    seen, want = SEEN[name], FOUND[name]
    tracks = Joint().track(WORLDS[name], changed(seen, frame=-seen.frame)).tracks
    assert len(np.unique(tracks.track)) == len(np.unique(want.track))
    there = {}
    for f, x in zip(want.frame, want.position, strict=True):
        there.setdefault(int(f), []).append(x)
    middle = (tracks.frame > -40) & (tracks.frame < -10)  # animals come a little late
    assert middle.sum() == 5 * 29
    pairs = zip(-tracks.frame[middle], tracks.position[middle], strict=True)
    off = [np.linalg.norm(there[f] - x, axis=1).min() for f, x in pairs]
    assert np.sqrt(np.mean(np.square(off))) < 0.02 * BODY
