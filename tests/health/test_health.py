"""`check` must find what is wrong with a rig, and nothing where nothing is."""

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.cli.app import app
from trackfish3d.health import examine
from trackfish3d.recordings import Detections, Recording

K = [[1500.0, 0, 960], [0, 1500, 540], [0, 0, 1]]


def ring(n, water=False, turn=None):
    """n cameras around and above a tank whose water fills z > 0; `turn` (camera, degrees) spoils one."""
    cameras = []
    for i in range(n):
        angle = 2 * np.pi * i / n + 0.3
        centre = np.array([25 * np.cos(angle), 25 * np.sin(angle), -30])
        z = (np.array([0, 0, 6.0]) - centre) / np.linalg.norm(np.array([0, 0, 6.0]) - centre)
        x = np.cross([0, 0, 1.0], z)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        if turn and turn[0] == i:
            R = Rotation.from_rotvec(np.radians(turn[1]) * np.array([0.3, 0.5, 0.8])).as_matrix() @ R
        faces = (Interface([0, 0, 0], [0, 0, -1]),) if water else ()
        cameras.append(Camera(f"cam{i}", (1920, 1080), K, [], R, -R @ centre, interfaces=faces))
    return CameraRig(tuple(cameras), "cm")


def tank(water):
    """One camera above the surface z = 0, one before the front glass y = 12: what most labs have."""
    views = {"top": ([1, -1, -35.0], [0, 0, 1.0], [0, 0, 0.0]), "front": ([2, 40.0, 5], [0, -1.0, 0], [0, 12.0, 0])}
    cameras = []
    for name, (centre, z, point) in views.items():
        x = np.cross([0.1, 0.2, 1.0] if name == "front" else [0.2, 1.0, 0.1], z)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        faces = (Interface(point, -np.array(z)),) if water else ()
        cameras.append(Camera(name, (1920, 1080), K, [], R, -R @ np.array(centre), interfaces=faces))
    return CameraRig(tuple(cameras), "cm")


def film(rig, fish=6, frames=160, late=(), seed=0):
    """Detections of fish that circle in the tank, 1.5 px of noise, 10 % missed; `late` frames per camera."""
    rng = np.random.default_rng(seed)
    radius, height = rng.uniform(2, 9, fish), rng.uniform(1, 11, fish)
    phase, speed = rng.uniform(0, 6.28, fish), rng.choice([-1, 1], fish) * rng.uniform(0.02, 0.06, fish)
    t = np.arange(frames)[:, None]
    angle = phase + speed * t
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    points = np.stack([x, y, np.broadcast_to(height, x.shape) + np.sin(0.05 * t)], -1).reshape(-1, 3)
    columns = []
    for c, camera in enumerate(rig):
        pixels = camera.project(points) + rng.normal(size=(len(points), 2)) * 1.5
        seen = np.isfinite(pixels).all(1) & (rng.random(len(points)) > 0.1)
        shift = late[c] if c < len(late) else 0
        frame = np.repeat(np.arange(frames), fish)[seen] + shift
        columns.append(np.column_stack([frame, np.full(seen.sum(), c), pixels[seen]]))
    every = np.concatenate(columns)
    half = [20, 12]
    return Detections.build(
        rig.names,
        every[:, 0],
        every[:, 1],
        every[:, 2],
        every[:, 3],
        *(every[:, 2:] - half).T,
        *(every[:, 2:] + half).T,
    )


def examined(tmp_path, rig, seen_by=None, **film_options):
    return examine(Recording.create(tmp_path / "rec", rig, detections=film(seen_by or rig, **film_options)), 120)


@pytest.mark.parametrize(("n", "water"), [(2, False), (2, True), (3, False), (4, True), (12, False)])
def test_a_good_rig_is_good(tmp_path, n, water):
    health = examined(tmp_path, ring(n, water), fish=4 if n == 12 else 6)
    assert health.problems == ()
    assert all(c.residual_px < 3 for c in health.cameras)
    assert all(c.partner_share > 0.75 for c in health.cameras)


@pytest.mark.parametrize(("n", "late"), [(2, (0, 4)), (2, (0, -3)), (3, (0, 0, 2)), (4, (-5, 0, 0, 0))])
def test_a_late_camera_is_named_with_its_delay(tmp_path, n, late):
    health = examined(tmp_path, ring(n), late=late)
    assert [c.late_frames for c in health.cameras] == [*late, *[0] * (n - len(late))]
    culprit = int(np.flatnonzero(late)[0])
    word = "late" if late[culprit] > 0 else "early"
    assert health.problems[0].startswith(f"camera cam{culprit}: {abs(late[culprit])} frames {word}")


def test_the_time_offset_that_check_names_mends_the_recording(tmp_path):
    rig = ring(3)
    detections = film(rig, late=(0, 3, 0))
    mended = Recording.create(tmp_path / "rec", rig, detections=detections, time_offset_frames={"cam1": -3})
    assert examine(mended, 120).problems == ()
    partly = Recording.create(tmp_path / "partly", rig, detections=detections, time_offset_frames={"cam1": -1})
    assert "2 frames late; set time_offset_frames.cam1 = -3 in" in examine(partly, 120).problems[0]


def test_a_turned_camera_is_the_one_to_recalibrate(tmp_path):
    health = examined(tmp_path, ring(4, turn=(2, 0.5)), seen_by=ring(4))
    assert len(health.problems) == 1
    assert health.problems[0].startswith("camera cam2:")
    assert "recalibrate" in health.problems[0]


def test_missing_water_is_noticed_and_placed(tmp_path):
    health = examined(tmp_path, tank(water=False), seen_by=tank(water=True))
    assert health.problems[0].startswith("water is missing")
    assert health.water.with_px < 0.6 * health.water.without_px
    assert examined(tmp_path, tank(water=True)).problems == ()


def test_water_that_is_not_there_is_noticed(tmp_path):
    health = examined(tmp_path, ring(3, water=True), seen_by=ring(3))
    assert any("water makes it worse" in p for p in health.problems)


def test_detections_that_have_nothing_to_do_with_each_other(tmp_path):
    rig = ring(3)
    rng = np.random.default_rng(5)
    n = 100 * 3 * 3
    noise = Detections.build(
        rig.names,
        np.repeat(np.arange(100), 9),
        np.tile(np.repeat(np.arange(3), 3), 100),
        rng.uniform(0, 1920, n),
        rng.uniform(0, 1080, n),
    )
    health = examine(Recording.create(tmp_path / "rec", rig, detections=noise), 100)
    assert "do not agree" in health.problems[0]


def test_one_camera_and_no_detections_are_said(tmp_path):
    alone = examined(tmp_path, ring(1))
    assert alone.problems == ()
    assert "because there is only one camera" in alone.notes[0]
    rig = ring(2)
    dark = film(rig)
    dark = Recording.create(tmp_path / "dark", rig, detections=dark.select(dark.camera == 0))
    assert examine(dark).problems[0] == "camera cam1: no detections"
    nothing = Recording.create(tmp_path / "nothing", rig, detections=Detections.empty(rig.names))
    assert len(examine(nothing).problems) == 2


def test_the_command_draws_the_rig_and_exits_by_verdict(tmp_path):
    good = Recording.create(tmp_path / "good", ring(2), detections=film(ring(2)))
    late = Recording.create(tmp_path / "late", ring(2), detections=film(ring(2), late=(0, 4)))
    run = CliRunner()
    result = run.invoke(app, ["check", str(good.folder)])
    assert result.exit_code == 0
    assert "good: the cameras agree" in result.output
    assert (good.folder / "rig.png").read_bytes().startswith(b"\x89PNG")
    result = run.invoke(app, ["check", str(late.folder), "--json"])
    assert result.exit_code == 1
    assert json.loads(result.output)["cameras"][1]["late_frames"] == 4


@pytest.mark.parametrize("state", ["as filmed", "front four frames late", "without water"])
def test_real_zebrafish(real_data, tmp_path, state):
    from trackfish3d.cameras.formats import read_calibration
    from trackfish3d.recordings import read_table

    rig = read_calibration(real_data / "zef/02/cameras.json")
    table = read_table(real_data / "zef/02/detections_yolox.csv")
    detections = Detections.from_table(table, rig.names)
    detections = detections.select(detections.score >= 0.3)
    if state == "front four frames late":
        detections = detections.shifted([4 if name == "front" else 0 for name in rig.names])
    if state == "without water":
        rig = rig.without_water()
    health = examine(Recording.create(tmp_path / "rec", rig, detections=detections))
    said = " ".join(health.problems)
    if state == "as filmed":
        assert said == ""
    elif state == "without water":
        assert said.startswith("water is missing")
    else:
        assert said.startswith("camera front: 4 frames late")
