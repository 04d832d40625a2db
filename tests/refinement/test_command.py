"""``trackfish3d refine`` as a user meets it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.cli.app import main
from trackfish3d.recordings import Detections, Recording
from trackfish3d.synfish.rigs import common_point, paper_rig

from .moving import off_by


def run(*arguments):
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    return left.value.code


def points_of(rig, seed=0, animals=6, frames=160, flat=False, still=False, offset=(0, 0, 0)):
    """Detections of small round animals that swim on smooth curves."""
    rng = np.random.default_rng(seed)
    phase, speed = rng.uniform(0, 6, (animals, 3)), rng.uniform(0.05, 0.12, (animals, 3)) * (not still)
    rows = []
    for c, camera in enumerate(rig):
        for f in range(frames):
            at = 4 * np.sin(phase + speed * (f + offset[c])) * ([1, 1, 0] if flat else [1, 1, 1]) + common_point(rig)
            for u, v in camera.project(at) + 0.4 * rng.standard_normal((animals, 2)):
                if 0 < u < camera.size[0] and 0 < v < camera.size[1] and rng.random() < 0.97:
                    rows.append((f, c, u, v))
    frame, camera, u, v = np.array(rows).T
    return Detections.build(rig.names, frame.astype(int), camera.astype(int), u, v, u - 12, v - 12, u + 12, v + 12)


@pytest.fixture(scope="module")
def nudged(tmp_path_factory):
    """A recording whose cameras were nudged by a quarter of a degree, and one of its clocks by 2.4 frames."""
    rig = paper_rig(5)
    folder = tmp_path_factory.mktemp("nudged") / "rec"
    return Recording.create(folder, perturb_rig(rig, 0.25, 4), fps=30.0, detections=points_of(rig, offset=(0, 2.4, 0)))


def test_nudged_cameras_and_a_late_clock_are_mended(nudged, tmp_path, capsys):
    out = tmp_path / "new.toml"
    old = (nudged.folder / "cameras.toml").read_bytes()
    assert run("refine", nudged.folder, "--out", out, "--new-recording", tmp_path / "again") == 0
    said = capsys.readouterr().out
    assert "held-out tracks are missed by" in said
    rig = tf.read_calibration(out)
    true = paper_rig(5)
    assert off_by(rig, true)[0] < 0.5 * off_by(nudged.rig, true)[0]
    found = json.loads((tmp_path / "new.refined.json").read_text())
    assert found["accepted"] is True
    assert found["after_px"] < 0.5 * found["before_px"]
    poses = np.array([c["covariance"] for c in found["cameras"]])
    assert poses.shape == (3, 6, 6)
    assert (np.linalg.eigvalsh(poses) > 0).all()
    sigma = np.degrees(np.sqrt(np.trace(poses[:, :3, :3], axis1=1, axis2=2)))
    np.testing.assert_allclose(sigma, [c["turned_sigma_deg"] for c in found["cameras"]], rtol=1e-6)
    late = {c["name"]: c["clock_frames"] for c in found["cameras"]}
    assert late["cam1"] == pytest.approx(2.4, abs=0.1)
    assert (tmp_path / "new.refined.png").stat().st_size > 5000
    assert (nudged.folder / "cameras.toml").read_bytes() == old
    again = Recording.open(tmp_path / "again")
    first = [int(again.detections.frame[again.detections.camera == c].min()) for c in range(3)]
    assert first[1] - first[0] == 2


def test_good_cameras_stay(tmp_path, capsys):
    rig = paper_rig(5)
    good = Recording.create(tmp_path / "rec", rig, detections=points_of(rig, 1))
    code = run("refine", good.folder, "--out", tmp_path / "new.toml", "--no-clocks", "--rounds", "1")
    said = capsys.readouterr().out
    if code == 1:  # where they are accepted, they must be what they were
        assert "the old cameras stay" in said
        assert not (tmp_path / "new.toml").exists()
    else:
        assert off_by(tf.read_calibration(tmp_path / "new.toml"), rig)[0] < 0.03


def test_the_old_calibration_is_never_overwritten(nudged, capsys):
    assert run("refine", nudged.folder, "--out", nudged.folder / "cameras.toml", "--rounds", "1") == 2
    assert "is the old calibration" in capsys.readouterr().err


def test_calibrations_of_other_programs_are_read_and_written(nudged, tmp_path, capsys):
    theirs = tmp_path / "calibration.toml"
    tf.write_calibration(nudged.rig, theirs, "anipose")
    right = Recording.create(tmp_path / "right", paper_rig(5), fps=30.0, detections=nudged.detections)
    out = tmp_path / "new.yml"
    assert run("refine", right.folder, "--cameras", theirs, "--to", "opencv", "--out", out, "--rounds", "1") == 0
    assert off_by(tf.read_calibration(out), paper_rig(5))[0] < 0.5 * off_by(nudged.rig, paper_rig(5))[0]
    assert run("refine", right.folder, "--cameras", theirs, "--out", theirs, "--rounds", "1") == 2
    assert "is the old calibration" in capsys.readouterr().err
    fewer = tmp_path / "two.toml"
    tf.write_calibration(type(nudged.rig)(nudged.rig.cameras[:2], nudged.rig.units), fewer)
    assert run("refine", right.folder, "--cameras", fewer, "--out", out) == 2
    assert "has the cameras cam0, cam1, the recording cam0, cam1, cam2" in capsys.readouterr().err


def test_a_camera_that_sees_other_animals_is_not_made_to_fit(tmp_path, capsys):
    rig = paper_rig(5)
    these, others = points_of(rig, 3), points_of(rig, 99)
    parts = [these.select(np.flatnonzero(these.camera != 2)), others.select(np.flatnonzero(others.camera == 2))]
    columns = [np.concatenate([getattr(p, k) for p in parts]) for k in ("frame", "camera", "u", "v")]
    poor = Recording.create(tmp_path / "rec", rig, detections=Detections.build(rig.names, *columns))
    assert run("refine", poor.folder, "--out", tmp_path / "new.toml", "--rounds", "1", "--no-clocks") == 1
    said = capsys.readouterr().out
    assert "camera cam2" in said.splitlines()[0]
    assert not (tmp_path / "new.toml").exists()


def test_a_recording_is_no_calibration_file_and_is_refused_before_anything_is_computed(nudged, capsys, monkeypatch):
    monkeypatch.setattr("trackfish3d.cli.inputs.refine.refine", None)
    assert run("refine", nudged.folder, "--out", nudged.folder) == 2
    assert "is a recording; give --out the name of a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--to", "bogus"), "unknown calibration format 'bogus'"),
        (("--to", "aquacal"), "new.toml: format aquacal can only be read"),
        (("--new-recording", "."), "exists already"),
    ],
)
def test_what_could_not_be_written_is_refused_before_anything_is_computed(
    nudged, tmp_path, capsys, monkeypatch, options, words
):
    monkeypatch.setattr("trackfish3d.cli.inputs.refine.refine", None)
    assert run("refine", nudged.folder, "--out", tmp_path / "new.toml", *options) == 2
    assert words in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_what_tracks_told_of_each_parameter_is_said_and_drawn(nudged, tmp_path, capsys):
    from trackfish3d.plot import refinement

    found = tf.refine(nudged, readout=True, rounds=1)
    parameters = {(p.whose, p.what): p for p in found.parameters}
    assert len(parameters) == 3 * 7 + 2 * 3  # turn, place, readout of each; clock, rate and lean of all but the first
    clock = parameters["cam1", "clock"]
    assert clock.sigma == pytest.approx(found.cameras[1].clock_sigma_frames)
    assert clock.told > 0.99
    rate = parameters["cam2", "clock's rate"]
    assert rate.sigma == pytest.approx(found.cameras[2].clock_sigma_ppm)
    lines = found.lines()
    assert f"ppm, rows read within {found.cameras[1].readout_frames:.3f} +- " in lines[2]
    hardly = [p for p in found.parameters if p.told < 0.5]
    assert any("hardly told" in line for line in lines) == bool(hardly)
    assert all(f"{p.what} of {p.whose}" in lines[-1] for p in hardly)
    water = replace(found, index=(1.33, 1.34, 0.002)).lines()
    assert "water: refractive index 1.3300 before, 1.3400 +- 0.0020 after" in water
    plain = found.to_dict()["parameters"]
    assert [p["told"] for p in plain] == [p.told for p in found.parameters]
    table = refinement(found, np.zeros(3)).axes[1]
    assert {t.get_text() for t in table.get_yticklabels()} == {p.what for p in found.parameters}
    assert len(table.texts) == len(parameters)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"frames": 30, "animals": 1}, "too few tracks"),
        ({"flat": True}, "in one plane"),
        ({"still": True}, "move too little"),
    ],
)
def test_what_cannot_tell_is_refused_in_one_line(tmp_path, capsys, change, words):
    rig = paper_rig(5)
    poor = Recording.create(tmp_path / "rec", rig, detections=points_of(rig, 2, **change))
    assert run("refine", poor.folder, "--out", tmp_path / "new.toml", "--rounds", "1") == 1
    said = capsys.readouterr().out
    assert said.startswith("refused: ")
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "new.toml").exists()


def test_a_camera_that_shares_nothing_is_named(tmp_path, capsys):
    rig = paper_rig(5)
    found = points_of(rig, 3)
    away = replace(found, v=np.where(found.camera == 2, 5.0 + 0.001 * found.v, found.v))
    apart = Detections.build(rig.names, away.frame, away.camera, away.u, away.v)
    poor = Recording.create(tmp_path / "rec", rig, detections=apart)
    assert run("refine", poor.folder, "--out", tmp_path / "new.toml", "--rounds", "1", "--no-clocks") == 1
    assert "camera cam2: shares nothing" in capsys.readouterr().out


def test_check_says_when_a_refinement_would_help_and_by_how_much(nudged, tmp_path, capsys):
    run("check", nudged.folder, "--picture", tmp_path / "rig.png")
    said = capsys.readouterr().out
    assert "would bring the error of held-out tracks from" in said
    assert set(json.loads((nudged.folder / "check.json").read_text())) == {"problems", "notes"}
    run("check", nudged.folder, "--picture", tmp_path / "rig.png", "--no-advice")
    assert "would bring" not in capsys.readouterr().out
    good = Recording.create(tmp_path / "good", paper_rig(5), detections=points_of(paper_rig(5), 1))
    run("check", good.folder)
    assert "would bring" not in capsys.readouterr().out


def test_water_that_sank_is_found_where_cameras_stood(tmp_path):
    made = tf.simulate(tmp_path / "r", 6, "tank", 200, 5, detector="ideal")
    truth, rng, found = made.truth, np.random.default_rng(0), made.detections
    pixels = np.full((len(found), 2), np.nan)
    for c, camera in enumerate(made.rig):
        seen = truth.detection[:, c] >= 0
        pixels[truth.detection[seen, c]] = camera.project(truth.position[seen])
    pixels = np.where(np.isfinite(pixels), pixels, found.centroids) + 0.7 * rng.standard_normal(pixels.shape)
    by = pixels - found.centroids
    moved = replace(
        found, u=pixels[:, 0], v=pixels[:, 1], x1=found.x1 + by[:, 0], x2=found.x2 + by[:, 0], y1=found.y1 + by[:, 1],
        y2=found.y2 + by[:, 1],
    )  # fmt: skip
    surface = [
        replace(c, interfaces=tuple(replace(f, point=f.point + f.normal) for f in c.interfaces))
        if abs(c.interfaces[0].normal[2]) > 0.9
        else c
        for c in made.rig
    ]
    said = Recording.create(tmp_path / "high", type(made.rig)(tuple(surface), "cm"), detections=moved)
    refined = tf.refine(said, clocks=False, lenses=False, poses=False, rounds=2)
    assert refined.accepted
    changes = [height for height, _ in refined.water if height]
    assert changes == [pytest.approx(-1.0, abs=0.08)]
