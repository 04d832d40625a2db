import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Recording
from trackfish3d.synfish.detector import IdealDetector
from trackfish3d.synfish.noise import add_calibration_noise, add_detection_noise, perturb_detections, remap_truth
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.rigs import paper_rig


@pytest.fixture(scope="module")
def seen(small_school):
    school, rig = small_school
    return rig, *observe(school, rig, IdealDetector())


def test_extrinsic_noise_has_the_size_asked_for():
    rig = paper_rig(0)
    angles, shifts = [], []
    for seed in range(200):
        for before, after in zip(rig, perturb_rig(rig, 0.2, seed), strict=True):
            turn = Rotation.from_matrix(after.R @ before.R.T).as_rotvec()
            angles.append(np.degrees(turn))
            shifts.append(after.t - before.t)
            assert np.allclose(after.R @ after.R.T, np.eye(3))
    assert np.std(angles) == pytest.approx(0.2, rel=0.1)
    assert np.std(shifts) == pytest.approx(0.2, rel=0.1)
    assert np.array_equal(perturb_rig(rig, 0.2, 5)[1].R, perturb_rig(rig, 0.2, 5)[1].R)
    assert np.allclose(perturb_rig(rig, 0.0, 5)[1].R, rig[1].R, atol=1e-12)


def test_detection_noise_drops_and_adds_at_its_rate(seen):
    rig, detections, _ = seen
    noisy, new_row = perturb_detections(detections, rig, 0.3, seed=1)
    kept = new_row >= 0
    assert kept.mean() == pytest.approx(0.7, abs=0.06)
    false = np.ones(len(noisy), bool)
    false[new_row[kept]] = False
    assert false.sum() / len(detections) == pytest.approx(0.3, abs=0.04)
    for name in ("frame", "camera", "u", "y2", "score", "major"):
        assert np.array_equal(getattr(noisy, name)[new_row[kept]], getattr(detections, name)[kept])
    assert noisy.score[false].mean() == pytest.approx(0.85, abs=0.02)
    sizes = np.array([camera.size for camera in rig])[noisy.camera]
    assert np.all(noisy.x1[false] >= -0.5)
    assert np.all(noisy.x2[false] <= sizes[false, 0])
    # Boxes of false detections are boxes of real ones of the same camera.
    for c in range(len(rig)):
        real = np.round((detections.x2 - detections.x1)[detections.camera == c], 6)
        fake = np.round((noisy.x2 - noisy.x1)[false & (noisy.camera == c)], 6)
        assert np.all(np.isin(fake, real))


def test_every_view_gets_the_whole_part_of_its_share_and_at_most_one_more(seen):
    rig, detections, _ = seen
    noisy, new_row = perturb_detections(detections, rig, 0.4, seed=2)
    false = np.ones(len(noisy), bool)
    false[new_row[new_row >= 0]] = False
    for frame in detections.frames[:10]:
        for c in range(len(rig)):
            n = np.sum((detections.frame == frame) & (detections.camera == c))
            extra = np.sum(false & (noisy.frame == frame) & (noisy.camera == c))
            assert np.floor(0.4 * n) <= extra <= np.floor(0.4 * n) + 1


def test_truth_follows_its_detections(seen):
    rig, detections, truth = seen
    noisy, new_row = perturb_detections(detections, rig, 0.2, seed=3)
    moved = remap_truth(truth, new_row)
    both = moved.detection >= 0
    assert 0.7 < both.sum() / (truth.detection >= 0).sum() < 0.9
    assert np.array_equal(noisy.u[moved.detection[both]], detections.u[truth.detection[both]])


def test_noise_on_recordings_keeps_everything_else(seen, tmp_path):
    rig, detections, truth = seen
    clean = Recording.create(tmp_path / "clean", rig, detections=detections, truth=truth)
    shaken = add_calibration_noise(clean, tmp_path / "shaken", 0.1, seed=1)
    assert np.array_equal(Recording.open(tmp_path / "shaken").detections.u, detections.u)
    assert not np.allclose(shaken.rig[0].R, rig[0].R, atol=1e-6)
    thin = add_detection_noise(clean, tmp_path / "thin", 0.1, seed=1)
    again = add_detection_noise(clean, tmp_path / "again", 0.1, seed=1)
    assert len(thin.detections) != len(detections)
    for name in ("detections.parquet", "truth.parquet", "cameras.toml"):
        assert (thin.folder / name).read_bytes() == (again.folder / name).read_bytes()
    with pytest.raises(InputError, match="another folder"):
        add_detection_noise(clean, tmp_path / "clean", 0.1, seed=1)
    with pytest.raises(InputError, match="probability"):
        add_detection_noise(clean, tmp_path / "x", 1.5, seed=1)
    with pytest.raises(InputError, match="zero or more"):
        add_calibration_noise(clean, tmp_path / "x", -0.1, seed=1)
    with pytest.raises(InputError, match="at most 30"):
        add_calibration_noise(clean, tmp_path / "x", 400.0, seed=1)
    assert not (tmp_path / "x").exists()
