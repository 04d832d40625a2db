"""The joint tracker on small schools whose truth is known, and on recordings that hold little or nothing."""

import numpy as np
import pytest

from tests.methods.worlds import observe as points_of
from tests.methods.worlds import pinhole_world, swim
from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.joint.method import PAIRED, Joint
from trackfish3d.methods.joint.settings import JointSettings
from trackfish3d.recordings import Detections
from trackfish3d.synfish.detector import make_detector
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.presets import PRESETS
from trackfish3d.synfish.rigs import common_point, paper_rig, random_rig, tank_rig, tank_water
from trackfish3d.synfish.school import Water, simulate_school

LENGTH = 3.0
COLUMNS = ("frame", "camera", "u", "v", "x1", "y1", "x2", "y2", "score", "area", "angle", "major", "minor")


def school(rig, fish=6, frames=60, seed=5):
    """A school as a fitted detector sees it, with misses and noise."""
    water = tank_water() if rig.refractive else Water.around(common_point(rig), np.array([6.0, 6.0, 4.0]))
    model = PRESETS["milling"].model_copy(update={"length": LENGTH})
    swum = simulate_school(model, water, fish, frames, seed=seed)
    return observe(swum, rig, make_detector("detector", fish, len(rig), seed))


@pytest.fixture(scope="module")
def recorded():
    rig = paper_rig(0)
    return rig, *school(rig)


def score(truth, tracks, gate=LENGTH / 2):
    return evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)


def assert_perfect(truth, tracks, gate=LENGTH / 2):
    found = score(truth, tracks, gate)
    assert found.clear.mota == 1.0
    assert found.identity.idf1 == 1.0


@pytest.mark.parametrize(
    ("rig", "fish"),
    [(paper_rig(0), 6), (random_rig(2, 1), 5), (random_rig(5, 1), 8), (tank_rig(), 5)],
    ids=["three", "two", "five", "water"],
)
def test_a_small_school_is_tracked_without_error(rig, fish):
    detections, truth = school(rig, fish)
    result = Joint().track(rig, detections)
    tracks = result.tracks
    assert_perfect(truth, tracks)
    assert set(result.notes) <= {PAIRED.format("")}  # every search was finished
    assert tracks.cameras == rig.names
    assert (tracks.views <= len(rig)).all()
    np.testing.assert_array_equal(tracks.views, (tracks.detection >= 0).sum(1))
    used = tracks.detection[tracks.detection >= 0]
    times = np.unique(used, return_counts=True)[1]
    assert times.max() <= 3  # animals in one detection
    assert tracks.shared.sum() < 0.01 * len(used)
    frame, column = tracks.frame[:, None], np.arange(len(rig))[None]
    held = tracks.detection >= 0
    np.testing.assert_array_equal(detections.frame[used], np.broadcast_to(frame, held.shape)[held])
    np.testing.assert_array_equal(detections.camera[used], np.broadcast_to(column, held.shape)[held])
    assert ((tracks.confidence >= 0) & (tracks.confidence <= 1)).all()


def test_positions_are_as_good_as_their_covariance_says():
    rig = paper_rig(0)
    position = swim(5, 80, common_point(rig), 5.0, seed=2)
    detections, truth = points_of(rig, position, noise=1.5, drop=0.1)
    tracks = Joint().track(rig, detections).tracks
    found = score(truth, tracks)
    assert found.clear.mota == 1.0
    far = np.linalg.norm(tracks.position[:, None] - truth.position.reshape(80, 5, 3)[tracks.frame], axis=2)
    off = tracks.position - truth.position.reshape(80, 5, 3)[tracks.frame, far.argmin(1)]
    d2 = np.einsum("ni,nij,nj->n", off, np.linalg.inv(tracks.covariance), off)
    assert 0.3 < np.median(d2) / 2.366 < 2  # median of chi-squared with 3 degrees; animals turn, the model does not
    assert np.median(np.linalg.norm(off, axis=1)) < 0.03  # 1.5 px are 0.04 units


def test_the_same_input_gives_the_same_bytes(recorded):
    rig, detections, _ = recorded
    method = Joint()
    one = method.track(rig, detections).tracks
    method.track(rig, detections.select(detections.frame < 15))  # and nothing is left of another recording
    for other in (method.track(rig, detections).tracks, Joint().track(rig, detections).tracks):
        for name in ("frame", "track", "position", "covariance", "views", "error_px", "confidence", "detection"):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_the_order_of_detections_and_the_number_of_the_first_frame_mean_nothing(recorded):
    rig, detections, truth = recorded
    plain = Joint().track(rig, detections).tracks
    shuffle = np.random.default_rng(0).permutation(len(detections))
    columns = {k: getattr(detections, k)[shuffle] for k in COLUMNS}
    columns["frame"] = columns["frame"] + 1000
    moved = Joint().track(rig, Detections.build(rig.names, **columns)).tracks
    np.testing.assert_array_equal(moved.frame - 1000, plain.frame)
    moved_truth = score(truth, moved.select(np.arange(len(moved))))
    assert moved_truth.clear.mota < 0  # no frame in common: nothing of it comes from the truth
    for f in np.unique(plain.frame):  # names may differ; places do not
        a, b = plain.position[plain.frame == f], moved.position[moved.frame == f + 1000]
        assert np.linalg.norm(a[:, None] - b[None], axis=2).min(1).max() < 1e-6


def test_units_do_not_matter(recorded):
    rig, detections, _ = recorded
    big = CameraRig(
        tuple(Camera(name=c.name, size=c.size, K=c.K, distortion=c.distortion, R=c.R, t=1000 * c.t) for c in rig), "mm"
    )
    small, large = Joint().track(rig, detections).tracks, Joint().track(big, detections).tracks
    np.testing.assert_array_equal(small.track, large.track)
    np.testing.assert_allclose(1000 * small.position, large.position, rtol=1e-5, atol=1e-2)


def test_scores_that_carry_identities_help_nobody(recorded):
    """What a detection is called decides nothing: scores order first groups, and no likelihood of a track sees them."""
    rig, detections, truth = recorded
    columns = {k: getattr(detections, k) for k in COLUMNS}
    marked = columns | {"score": (truth.identity_of_detections(len(detections)) + 1) / 10}
    plain = Joint().track(rig, detections).tracks
    told = Joint().track(rig, Detections.build(rig.names, **marked)).tracks
    np.testing.assert_array_equal(plain.detection, told.detection)


@pytest.mark.parametrize("cameras", [2, 3])
def test_points_without_boxes(cameras):
    rig = random_rig(cameras, 3)
    detections, truth = points_of(rig, swim(6, 60, common_point(rig), 5.0, seed=1), noise=1.0, drop=0.05)
    bare = Detections.build(rig.names, detections.frame, detections.camera, detections.u, detections.v)
    result = Joint().track(rig, bare)
    found = score(truth, result.tracks, gate=0.5)
    assert found.clear.mota > 0.99  # an animal that one of two cameras saw in the first frame begins later
    assert found.clear.switches == found.clear.false_positives == 0
    assert found.clear.tracks == 6
    assert result.model.points
    assert (result.model.scales == 0).all()  # size and axis say nothing


def test_a_dark_camera_is_as_good_as_none(recorded):
    rig, detections, truth = recorded
    lit = detections.select(detections.camera != 1)
    dark = Joint().track(rig, lit).tracks
    columns = {k: getattr(lit, k) for k in COLUMNS} | {"camera": lit.camera // 2}
    two = CameraRig((rig[0], rig[2]), rig.units)
    without = Joint().track(two, Detections.build(two.names, **columns)).tracks
    np.testing.assert_array_equal(dark.detection[:, [0, 2]], without.detection)
    assert (dark.detection[:, 1] == -1).all()
    assert score(truth, dark).clear.mota > 0.9


def test_a_camera_that_goes_dark(recorded):
    rig, detections, truth = recorded
    lit = (detections.camera != 2) | (detections.frame < 25) | (detections.frame > 40)
    found = score(truth, Joint().track(rig, detections.select(lit)).tracks)
    assert found.clear.mota > 0.97
    assert found.clear.switches == 0


def test_frames_without_detections(recorded):
    rig, detections, truth = recorded
    blank = (detections.frame >= 28) & (detections.frame < 33)
    tracks = Joint().track(rig, detections.select(~blank)).tracks
    assert_perfect(truth, tracks)  # the gap is bridged
    bridged = (tracks.frame >= 28) & (tracks.frame < 33)
    assert bridged.any()
    assert not tracks.observed[bridged].any()


def test_one_frame_is_no_track_unless_it_is_asked_for(recorded):
    rig, detections, truth = recorded
    one = detections.select(detections.frame == 30)
    assert len(Joint().track(rig, one).tracks) == 0
    asked = Joint(JointSettings(min_obs=1, least=5.0)).track(rig, one).tracks
    here = truth.position[truth.frame == 30]
    far = np.linalg.norm(here[:, None] - asked.position[None], axis=2).min(1)
    assert (far < LENGTH / 2).sum() >= 5


def test_a_few_frames(recorded):
    rig, detections, truth = recorded
    part = detections.frame < 4
    tracks = Joint().track(rig, detections.select(part)).tracks
    early = truth.frame < 4
    found = evaluate(
        truth.frame[early], truth.identity[early], truth.position[early], tracks.frame, tracks.track, tracks.position,
        LENGTH / 2,
    )  # fmt: skip
    assert found.clear.mota > 0.9


def test_one_view_alone_gives_no_track(recorded):
    rig, detections, _ = recorded
    result = Joint().track(rig, detections.select(detections.camera == 0))
    assert len(result.tracks) == 0
    assert result.suspects == ()


def test_nothing_gives_nothing(recorded):
    rig, _, _ = recorded
    tracks = Joint().track(rig, Detections.empty(rig.names)).tracks
    assert len(tracks) == 0
    assert tracks.cameras == rig.names


def test_one_camera_is_refused(recorded):
    rig, detections, _ = recorded
    alone = CameraRig((rig[0],), rig.units)
    mine = detections.select(detections.camera == 0)
    columns = {k: getattr(mine, k) for k in COLUMNS}
    with pytest.raises(InputError, match="at least 2 cameras"):
        Joint().track(alone, Detections.build(alone.names, **columns))


def test_two_animals_without_moments():
    rig, detections, truth = pinhole_world(fish=2, frames=40, drop=0.1)
    assert not detections.has_moments
    assert_perfect(truth, Joint().track(rig, detections).tracks, gate=0.5)


def test_false_detections_make_no_tracks(recorded):
    rig, detections, truth = recorded
    rng = np.random.default_rng(1)
    n = 400
    columns = {k: getattr(detections, k) for k in COLUMNS}
    like = rng.integers(len(detections), size=n)  # of the size and shape of real ones, anywhere
    false = {k: v[like] for k, v in columns.items()} | {"frame": rng.integers(60, size=n)}
    for side, size in (("u", 1920), ("v", 1080)):
        shift = rng.uniform(0, size, n) - false[side]
        for k in (side, *(("x1", "x2") if side == "u" else ("y1", "y2"))):
            false[k] = false[k] + shift
    both = {k: np.concatenate([columns[k], false[k]]) for k in COLUMNS}
    tracks = Joint().track(rig, Detections.build(rig.names, **both)).tracks
    found = score(truth, tracks)
    assert found.clear.false_positives == 0
    assert found.clear.mota > 0.98


def test_progress_and_settings(recorded):
    rig, detections, _ = recorded
    seen = []
    Joint(JointSettings(horizon=0, fit_rounds=0)).track(
        rig, detections.select(detections.frame < 10), progress=lambda a, b: seen.append((a, b))
    )
    assert seen == [(k + 1, 10) for k in range(10)]
    with pytest.raises(ValueError, match="window"):
        JointSettings(window=1)
