"""``trackfish3d calibrate`` from pictures to cameras.toml, and on the real floating boards where they are."""

import json
import os
from pathlib import Path

import cv2
import numpy as np
import pytest

from trackfish3d.calibration import Board
from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.cameras.native import read_cameras, write_cameras
from trackfish3d.cli.app import main

from .pictures import render
from .worlds import angle_deg, camera, floating, handheld, relative

BOARD = Board("chessboard", 8, 5, 20.0)
TEXT = "chessboard:8x5:20"


@pytest.fixture(scope="module")
def shot(tmp_path_factory):
    """Two cameras' pictures: 0 to 2 of a floating board, then 5 of one in the hand."""
    folder = tmp_path_factory.mktemp("shot")
    names = {"left": (-250, -150, 420), "right": (240, -180, 400)}
    rig = CameraRig(
        tuple(camera(n, p, focal=650.0, k=(0, 0, 0, 0, 0), size=(640, 480)) for n, p in names.items()), "mm"
    )
    for m, pose in enumerate([*floating(3, spread=60), *handheld(5, tilt=35, depth=(60, 110), spread=40)]):
        for cam in rig:
            (folder / cam.name).mkdir(exist_ok=True)
            cv2.imwrite(str(folder / cam.name / f"{m}.png"), render(BOARD, cam, pose, m))
    write_cameras(rig, folder / "truth.toml")
    return folder, rig


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main(["calibrate", *map(str, arguments)])
    return stop.value.code


def test_pictures_become_cameras_and_a_report(shot, tmp_path, capsys):
    folder, rig = shot
    out = tmp_path / "made" / "cameras.toml"
    code = run(
        folder / "left", folder / "right", "--board", TEXT, "--floating", "0-2", "--lens", "pinhole", "--out", out
    )
    said = capsys.readouterr().out
    assert code == 0, said
    made = read_cameras(out)
    assert made.names == ("left", "right")
    assert made.refractive
    assert angle_deg(relative(made, 0, 1), relative(rig, 0, 1)) < 0.3
    np.testing.assert_allclose([c.centre[2] for c in made], [c.centre[2] for c in rig], rtol=0.01)
    quality = json.loads(out.with_suffix(".json").read_text())
    assert quality["rms_px"] < 0.2
    assert abs(quality["square_mean"] - 1) < 0.01
    page = out.with_suffix(".html").read_text()
    assert page.count("data:image/png;base64,") == 2
    assert f"verdict: {quality['verdict']}" in said
    assert out.with_suffix(".png").stat().st_size > 10_000


def test_the_board_of_one_picture_can_be_the_world(shot, tmp_path):
    folder, rig = shot
    out = tmp_path / "cameras.toml"
    known = folder / "truth.toml"
    sources = (f"left={folder}/left/[0-4].png", f"right={folder}/right/[0-4].png")
    assert run(*sources, "--board", TEXT, "--intrinsics", known, "--world-board", "1", "--out", out) == 0
    pose = floating(3, spread=60)[1]
    for mine, true in zip(read_cameras(out), rig, strict=True):
        assert not mine.interfaces
        place = np.diag([1.0, -1.0, -1.0]) @ (pose[:3, :3].T @ (true.centre - pose[:3, 3]))
        np.testing.assert_allclose(mine.centre, place, atol=1.5)


def test_reference_points_alone_place_cameras_of_known_lenses(shot, tmp_path):
    folder, rig = shot
    world = np.array([[0, 0, 0], [90, 0, 0], [90, 60, 0], [0, 60, 0], [40, 30, 20.0]])
    rows = ["camera,u,v,x,y,z"]
    for cam in rig:
        rows += [f"{cam.name},{u},{v},{x},{y},{z}" for (u, v), (x, y, z) in zip(cam.project(world), world, strict=True)]
    (tmp_path / "points.csv").write_text("\n".join(rows))
    out = tmp_path / "cameras.toml"
    arguments = (
        "--tank",
        tmp_path / "points.csv",
        "--intrinsics",
        folder / "truth.toml",
        "--units",
        "cm",
        "--out",
        out,
    )
    assert run(*arguments) == 0
    made = read_cameras(out)
    assert made.units == "cm"
    for mine, true in zip(made, rig, strict=True):
        np.testing.assert_allclose(mine.centre, true.centre, atol=1e-3)


def test_mistakes_are_one_line(shot, tmp_path, capsys):
    folder, _ = shot
    left, right = folder / "left", folder / "right"
    cases = [
        ((left, right), "say what the board is"),
        ((), "give pictures of a board"),
        ((left, right, "--board", TEXT, "--lens", "round"), "--lens round: there are pinhole"),
        ((left, right, "--board", TEXT, "--floating", "all", "--world-board", "1"), "each set the world"),
        (
            (f"l={left}/0.png", f"r={right}/0.png", "--board", TEXT, "--floating", "7"),
            "no board was found in picture '7'",
        ),
        ((f"l={left}/0.png", f"r={right}/0.png", "--board", TEXT, "--water", "1.33"), "where is its surface"),
        (
            (f"l={left}/0.png", f"r={right}/0.png", "--board", TEXT, "--floating", "all", "--water", "wet"),
            "--water wet",
        ),
        ((f"l={left}/0.png", f"r={right}/0.png", "--board", TEXT), "camera l: board found in 1 pictures"),
        ((f"l={left}/0.png", "--board", TEXT, "--lens-pictures", f"x={left}"), "no camera x; there are l"),
    ]
    for arguments, said in cases:
        assert run(*arguments, "--out", tmp_path / "cameras.toml") == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1
    assert not (tmp_path / "cameras.toml").exists()


def bristol():
    folder = Path(os.environ.get("TRACKFISH3D_DATA", "")) / "bristol"
    if "TRACKFISH3D_DATA" not in os.environ or not (folder / "calibration").is_dir():
        pytest.skip("no recordings: set TRACKFISH3D_DATA")
    return folder


def test_the_floating_boards_of_a_real_tank_are_fitted_to_two_pixels(tmp_path):
    folder = bristol()
    sources = [f"cam-{k}={folder}/calibration/cam_{k}-*.tiff" for k in (1, 2, 3)]
    out = tmp_path / "cameras.toml"
    arguments = ("--board", "chessboard:23x15:16", "--intrinsics", folder / "intrinsics.json", "--floating", "all")
    assert run(*sources, *arguments, "--out", out) == 0
    quality = json.loads(out.with_suffix(".json").read_text())
    assert quality["rms_px"] < 1.7
    made, published = read_cameras(out), read_calibration(folder / "cameras.json", size=(2048, 1536))
    for mine, theirs in zip(made, published, strict=True):
        assert mine.centre[2] == pytest.approx(theirs.centre[2], abs=2.0)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        assert angle_deg(relative(made, a, b), relative(published, a, b)) < 0.2
