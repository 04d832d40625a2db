"""Calibrations of real recordings, checked against what people marked in the pictures."""

import os
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras import triangulate_rays
from trackfish3d.cameras.formats import CalibrationWarning, read_calibration

DATA = os.environ.get("TRACKFISH3D_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="TRACKFISH3D_DATA does not say where the real recordings are")
# Mean reprojection error of the annotated heads with refraction, px: top, front.
ZEF = {"01": (2.9, 4.9), "02": (3.3, 5.4), "03": (2.3, 3.7), "04": (2.7, 3.7)}


def columns(path, names):
    table = np.genfromtxt(path, delimiter=",", names=True)
    return np.column_stack([table[n] for n in names])


@pytest.mark.parametrize("sequence", ZEF)
def test_zef_heads_reproject_and_triangulate_to_their_ground_truth(sequence):
    folder = Path(DATA) / "zef" / sequence
    rig = read_calibration(folder / "cameras.json")
    assert rig.names == ("top", "front")
    assert rig.units == "cm"
    assert rig.refractive
    truth = folder / "ground_truth_head.csv"
    X = columns(truth, "xyz")
    pixels = [columns(truth, (f"u{i}", f"v{i}")) for i in (1, 2)]
    for camera, marked, expected in zip(rig, pixels, ZEF[sequence], strict=True):
        error = np.linalg.norm(camera.project(X) - marked, axis=1)
        assert np.isfinite(error).mean() > 0.9  # heads that noise puts before the glass have no pixel
        assert abs(np.nanmean(error) - expected) < 0.1
    rays = [camera.rays(marked) for camera, marked in zip(rig, pixels, strict=True)]
    origins = np.stack([r.origin for r in rays], axis=1).reshape(-1, 3)
    directions = np.stack([r.direction for r in rays], axis=1).reshape(-1, 3)
    points, _ = triangulate_rays(origins, directions, np.arange(0, 2 * len(X) + 1, 2))
    assert np.abs(points - X).max() < 0.001


def test_bats_dlt_reprojects_manual_points():
    folder = Path(DATA) / "bats"
    stem = "DLTdv7_data_20180817-P000-15000"
    xyz = np.genfromtxt(folder / f"{stem}xyzpts.csv", delimiter=",", skip_header=1).reshape(-1, 3)
    xy = np.genfromtxt(folder / f"{stem}xypts.csv", delimiter=",", skip_header=1).reshape(len(xyz), 3, 2)
    with pytest.warns(CalibrationWarning, match="640 x 512"):
        rig = read_calibration(folder / "dlt_coefficients.csv", units="m")
    assert rig[0].size == (640, 512)
    both = np.isfinite(xyz).all(axis=1)
    for i, expected in enumerate((1.3, 1.7, 2.3)):
        pixels = rig[i].project(xyz[both])
        assert np.isfinite(pixels).all()  # all bats are in front of the cameras
        marked = np.column_stack([xy[both, i, 0], 512 - xy[both, i, 1]])
        assert abs(np.nanmedian(np.linalg.norm(pixels - marked, axis=1)) - expected) < 0.05


def test_bristol_rig_stands_above_the_water():
    with pytest.warns(CalibrationWarning, match="2048 x 1536"):
        rig = read_calibration(Path(DATA) / "bristol" / "cameras.json", units="mm", water="z=0")
    assert rig.names == ("cam-1", "cam-2", "cam-3")
    assert {c.size for c in rig} == {(2048, 1536)}
    assert all(c.centre[2] > 900 for c in rig)
    below = np.array([[0, 0, -50.0]])
    assert all(c.in_image(c.project(below)).all() for c in rig)
    assert all(np.linalg.norm(c.project(below) - c.without_water().project(below)) > 3 for c in rig)
