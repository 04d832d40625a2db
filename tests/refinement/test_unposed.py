"""Cameras and clocks from one thing that moved, with nothing known but the lenses."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.refinement.rigs import similarity
from trackfish3d.refinement.unposed import calibrate_from_tracks, one_animal, read_sightings
from trackfish3d.refinement.unposed.reading import Sighting2D
from trackfish3d.synfish.rigs import common_point, paper_rig

from .moving import off_by

pytest.importorskip("cv2")
RATES = {"cam0": 30.0, "cam1": 60.0, "cam2": 25.0}
LATE = {"cam0": 0.0, "cam1": -311.4, "cam2": 147.7}  # own frame = rate / 30 x frame of cam0 + this


def sights(seconds=40, noise=0.5, synchronous=False, seed=3):
    """A thing that flies about; each camera sees it at its own moments."""
    rig = paper_rig(5)
    rng = np.random.default_rng(seed)
    knots = np.arange(-20, 30 * seconds + 21, 25.0)
    path = CubicSpline(knots, common_point(rig) + rng.uniform(-4, 4, (len(knots), 3)))
    seen = {}
    for camera in rig:
        scale, late = (1.0, 0.0) if synchronous else (RATES[camera.name] / 30, LATE[camera.name])
        frame = np.arange(np.ceil(late), scale * 30 * seconds + late)
        pixel = camera.project(path((frame - late) / scale))
        pixel += noise * rng.standard_normal(pixel.shape)
        good = camera.in_image(pixel) & (rng.random(len(frame)) < 0.95)
        seen[camera.name] = Sighting2D(frame[good], pixel[good])
    return rig, seen, path


@pytest.fixture(scope="module")
def placed():
    rig, seen, path = sights()
    return rig, path, calibrate_from_tracks({c.name: c for c in rig}, seen, fps=RATES)


def test_poses_are_found_up_to_the_world(placed):
    rig, _, found = placed
    assert found.lost == {}
    turn, distance = off_by(found.rig, rig)
    assert turn < 0.2
    assert distance < 0.2


def test_clocks_are_found(placed):
    _, _, found = placed
    scale, shift = found.clock["cam0"]  # the reference may be another camera: compare through cam0's clock
    for name in ("cam1", "cam2"):
        own = found.clock[name]
        late = (shift - own[1]) / own[0]
        assert scale / own[0] == pytest.approx(RATES[name] / 30, rel=2e-4)
        assert late == pytest.approx(LATE[name], abs=0.2)


def test_the_path_is_the_things(placed):
    _, path, found = placed
    scale, shift = found.clock["cam0"]
    true = path((found.time - shift) / scale)
    size, turn, move = similarity(found.path, true)
    off = size * found.path @ turn.T + move - true
    assert np.median(np.linalg.norm(off, axis=1)) < 0.05


def test_the_command_places_cameras_and_gives_them_a_scale(tmp_path, capsys):
    rig, seen, _ = sights(20, synchronous=True)
    files = []
    for name, s in seen.items():
        np.savetxt(tmp_path / f"{name}.txt", np.column_stack([s.frame, s.pixel]), header="frame x y", comments="")
        files.append(f"{name}={tmp_path / name}.txt")
    tf.write_calibration(rig, tmp_path / "lenses.toml")
    far = float(np.linalg.norm(rig["cam0"].centre - rig["cam1"].centre))
    out = tmp_path / "new.toml"
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--from-tracks", *files, "--intrinsics", str(tmp_path / "lenses.toml"), "--synchronous",
              "--distance", f"cam0,cam1={far}", "--units", "cm", "--out", str(out)])  # fmt: skip
    assert left.value.code == 0, capsys.readouterr()
    new = tf.read_calibration(out)
    assert new.units == "cm"
    assert np.linalg.norm(new["cam0"].centre - new["cam2"].centre) == pytest.approx(
        np.linalg.norm(rig["cam0"].centre - rig["cam2"].centre), rel=0.02
    )
    assert set(json.loads((tmp_path / "new.clocks.json").read_text())["cameras"]) == set(rig.names)
    assert (tmp_path / "new.path.csv").read_text().startswith("frame,x,y,z\n")


def test_views_of_different_things_are_refused(tmp_path):
    rig, seen, _ = sights(10, synchronous=True)
    rng = np.random.default_rng(0)
    wrong = {n: Sighting2D(s.frame, rng.uniform(0, 1000, s.pixel.shape)) for n, s in seen.items()}
    with pytest.raises(tf.TrackFishError):
        calibrate_from_tracks({c.name: c for c in rig}, wrong, synchronous=True)


def test_similarity_comes_back():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, 3))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    size, R, t = similarity(points, 2.5 * points @ turn.T + [1, 2, 3])
    assert size == pytest.approx(2.5)
    assert pytest.approx(turn) == R
    assert t == pytest.approx([1, 2, 3])


@given(st.binary(max_size=200))
def test_any_file_of_sights_is_read_or_refused_in_one_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("s") / "x.txt"
    path.write_bytes(data)
    said = ""
    try:
        read_sightings(path)
    except InputError as error:
        said = str(error)
    assert said == "" or said.startswith(str(path))
    assert "\n" not in said


def test_several_animals_without_names_place_the_cameras(tmp_path):
    rig = paper_rig(5)
    rng = np.random.default_rng(0)
    animals = [sights(20, seed=s)[1] for s in (3, 4, 5)]
    files = []
    for camera in rig:  # numbered otherwise in each view
        rows = [
            np.column_stack([one.frame, one.pixel, np.full(len(one.frame), number)])
            for number, one in enumerate(animals[k][camera.name] for k in rng.permutation(3))
        ]
        np.savetxt(tmp_path / f"{camera.name}.txt", np.vstack(rows))
        files.append(read_sightings(tmp_path / f"{camera.name}.txt"))
    seen = {camera.name: f for camera, f in zip(rig, files, strict=True)}
    lenses = {c.name: c for c in rig}
    chosen = one_animal(lenses, seen, RATES)
    whose = {
        next(
            k
            for k in range(3)
            if len(a.frame) == len(animals[k][n].frame) and np.allclose(a.pixel, animals[k][n].pixel)
        )
        for n, a in chosen.items()
    }
    assert len(whose) == 1
    assert off_by(calibrate_from_tracks(lenses, chosen, fps=RATES).rig, rig)[0] < 0.3
