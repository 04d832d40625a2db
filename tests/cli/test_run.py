"""``trackfish3d run`` from films of animals whose ways are known to their tracks."""

import csv
import json

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.cameras.native import write_cameras
from trackfish3d.cli.app import main
from trackfish3d.media.writer import write_video
from trackfish3d.methods.result import Result
from trackfish3d.pipeline import run as module
from trackfish3d.pipeline import steps
from trackfish3d.recordings import Recording

SIZE, FRAMES = (320, 240), 70


def cameras():
    rig = []
    for name, x in (("left", -8.0), ("right", 8.0)):
        place = np.array([x, -16.0, 10.0])
        z = -place / np.linalg.norm(place)
        across = np.cross(z, [0, 0, 1.0])
        across /= np.linalg.norm(across)
        R = np.stack([across, np.cross(z, across), z])
        K = np.array([[300.0, 0, 160], [0, 300, 120], [0, 0, 1]])
        rig.append(Camera(name, SIZE, K, np.zeros(5), R, -R @ place))
    return CameraRig(tuple(rig), "cm")


def ways():
    """(F, 3, 3) where three animals are: each on a circle of its own, at different heights."""
    t = np.arange(FRAMES)[:, None] * 0.09 + np.array([0.0, 2.1, 4.2])
    return np.stack([3.5 * np.cos(t), 2.5 * np.sin(t), np.broadcast_to([-1.5, 0.0, 1.5], t.shape)], axis=2)


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    """Dark blobs on a light, grainy ground; cameras.toml and truth.csv beside."""
    folder = tmp_path_factory.mktemp("films")
    rig, truth = cameras(), ways()
    rng = np.random.default_rng(0)
    y, x = np.mgrid[: SIZE[1], : SIZE[0]]
    for cam in rig:
        ground = 170 + 8 * rng.standard_normal((SIZE[1] // 8, SIZE[0] // 8)).repeat(8, 0).repeat(8, 1)
        pictures = []
        for points in truth:
            picture = ground + 1.5 * rng.standard_normal(ground.shape)
            for u, v in cam.project(points):
                picture -= 90 * np.exp(-0.5 * (((x - u) / 6) ** 2 + ((y - v) / 4) ** 2) ** 2)
            pictures.append(np.repeat(np.clip(picture, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2))
        write_video(folder / f"{cam.name}.mp4", pictures, SIZE, 25.0)
    write_cameras(rig, folder / "cameras.toml")
    rows = [(f, k, *truth[f, k]) for f in range(FRAMES) for k in range(3)]
    with (folder / "truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("frame", "id", "x", "y", "z"), *rows])
    return folder


def run(folder, out, *options):
    """Call the command; returns its exit code."""
    videos = [folder / "left.mp4", folder / "right.mp4"]
    arguments = [
        "run",
        *videos,
        "--cameras",
        folder / "cameras.toml",
        "--out",
        out,
        "--method",
        "sort3d",
        "--workers",
        1,
        *options,
    ]
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return stop.value.code


def lines(text):
    return {line.split(":")[0]: line for line in text.splitlines() if ":" in line}


def test_films_become_tracks_a_report_and_scores_and_nothing_is_done_twice(films, tmp_path, capsys, monkeypatch):
    out = tmp_path / "rec"
    real = steps.write_report
    monkeypatch.setattr(steps, "write_report", _stop)
    assert run(films, out, "--truth", films / "truth.csv") != 0
    monkeypatch.setattr(steps, "write_report", real)
    first = lines(capsys.readouterr().out)
    assert set(first) == {"recording", "detect", "first tracks", "look again", "check", "track"}
    assert "3.0 / 3.0 a frame" in first["detect"]
    assert run(films, out, "--truth", films / "truth.csv") == 0
    second = lines(capsys.readouterr().out)
    assert [name for name, line in second.items() if line.endswith("(done before)")] == list(first)
    assert json.loads((out / "run.json").read_text())["recording"]["line"] == "2 cameras, 70 frames at 25 a second"
    tracks = Recording.open(out).tracks
    assert len(tracks.identities) == 3
    truth = ways()
    for k in tracks.identities:
        mine = tracks.track == k
        off = np.linalg.norm(tracks.position[mine][:, None] - truth[tracks.frame[mine]], axis=2)
        assert off.mean(axis=0).min() < 0.15
    assert "MOTA 100.0 %" in second["report"] or "MOTA 9" in second["report"]
    assert "<html" in (out / "report.html").read_text()[:200]
    assert (out / "tracks.csv").read_text().count("\n") > 3 * FRAMES * 0.9
    run(films, out, "--truth", films / "truth.csv", "--set", "max_gap=3")
    third = lines(capsys.readouterr().out)
    assert [name for name, line in third.items() if line.endswith("(done before)")] == [
        "recording", "detect", "check",
    ]  # fmt: skip


def test_learning_on_the_recording_is_a_stage_of_its_own(films, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module, "LEARN_STEPS", 10)
    out = tmp_path / "rec"
    real = Result.save
    monkeypatch.setattr(Result, "save", _stop)
    assert run(films, out, "--method", "joint", "--learn") != 0
    assert "pairs of one animal" in lines(capsys.readouterr().out)["learn"]
    learnt = (out / "pairs.safetensors").read_bytes()
    monkeypatch.setattr(Result, "save", real)
    assert run(films, out, "--method", "joint", "--learn") == 0
    said = lines(capsys.readouterr().out)
    assert [name for name, line in said.items() if line.endswith("(done before)")] == [
        "recording",
        "detect",
        "check",
        "first tracks",
        "look again",
        "learn",
    ]
    assert (out / "pairs.safetensors").read_bytes() == learnt
    assert json.loads((out / "tracks.settings.json").read_text())["settings"]["model"].endswith("pairs.safetensors")
    assert len(Recording.open(out).tracks.identities) == 3
    assert run(films, out, "--method", "joint", "--learn", "--model", tmp_path / "none.safetensors") == 2
    assert "none.safetensors" in capsys.readouterr().err


def _stop(*_, **__):
    raise KeyboardInterrupt


def test_a_clock_set_right_by_hand_is_kept_and_the_tracks_made_again(films, tmp_path, capsys):
    out = tmp_path / "rec"
    assert run(films, out, "--time-offset", "left=3") == 1
    said = lines(capsys.readouterr().out)["check"]  # two cameras, fish on circles: water would explain it as well
    assert said.startswith("check: camera right: 3 frames early")
    assert "less likely: water missing" in said
    assert "% sure" in said
    path = out / "recording.toml"
    path.write_text(path.read_text().replace("left = 3", "left = 0"))
    assert run(films, out, "--time-offset", "left=3") == 0
    said = lines(capsys.readouterr().out)
    assert said["recording"].endswith("(done before)")
    assert said["detect"].endswith("(done before)")
    assert said["check"].startswith("check: good")
    assert not said["track"].endswith("(done before)")


def test_films_are_looked_at_again_and_what_was_there_is_kept(films, tmp_path, capsys):
    out = tmp_path / "rec"
    assert run(films, out, "--look-again", 0) == 0
    assert "look again" not in lines(capsys.readouterr().out)
    once = (out / "detections.parquet").read_bytes(), (out / "tracks.parquet").read_bytes()
    assert not (out / "detections.first.parquet").exists()
    with pytest.raises(SystemExit) as stop:
        main(["look-again", str(out), "--workers", "1"])
    assert stop.value.code in (0, None)
    said = capsys.readouterr().out
    assert said.startswith("round 1: ")
    assert ((out / "detections.first.parquet").read_bytes(), (out / "tracks.first.parquet").read_bytes()) == once
    known = json.loads((out / "look_again.json").read_text())["rounds"][0]
    after = Recording.open(out)
    assert known["kept"] + known["moved"] + known["added"] == len(after.detections)
    assert len(after.tracks.identities) == 3
    assert after.tracks.detection.max() < len(after.detections)
    assert (out / "preview" / "left-again.png").is_file()
    with pytest.raises(SystemExit):
        main(["look-again", str(out), "--workers", "1"])  # a third look keeps what the first has found
    assert (out / "detections.first.parquet").read_bytes() == once[0]
    (out / "detections.settings.json").unlink()
    with pytest.raises(SystemExit) as stop:
        main(["look-again", str(out)])
    assert stop.value.code == 2
    assert "not of 'trackfish3d detect'" in capsys.readouterr().err


def test_a_second_look_that_makes_tracks_worse_is_left_out(films, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("trackfish3d.pipeline.again.rounds_of_looks.objection", lambda before, after: "they break")
    out = tmp_path / "rec"
    assert run(films, out) == 0
    assert "left out, its tracks are worse: they break" in lines(capsys.readouterr().out)["look again"]
    first = (out / "detections.first.parquet").read_bytes()
    assert (out / "detections.parquet").read_bytes() == first
    assert json.loads((out / "look_again.json").read_text())["refused"] == "they break"
    assert not (out / ".detect").exists()
    assert "they break" in (out / "report.html").read_text()
    tracks = (out / "tracks.parquet").read_bytes()
    with pytest.raises(SystemExit):
        main(["look-again", str(out), "--workers", "1"])
    assert "left out, its tracks are worse: they break" in capsys.readouterr().out
    assert ((out / "detections.parquet").read_bytes(), (out / "tracks.parquet").read_bytes()) == (first, tracks)


def test_mistakes_are_one_line(films, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    (other / "recording.toml").write_text("fps = 30.0\n")
    (tmp_path / "file").write_text("")
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("left.mp4", "right.mp4"):
        (broken / name).write_bytes(b"no film at all")
    (broken / "cameras.toml").write_bytes((films / "cameras.toml").read_bytes())
    renamed = tmp_path / "renamed"
    renamed.mkdir()
    rig = cameras()
    write_cameras(CameraRig(tuple(_called(c, f"cam{k}") for k, c in enumerate(rig)), "cm"), renamed / "cameras.toml")
    for name in ("left.mp4", "right.mp4"):
        (renamed / name).write_bytes((films / name).read_bytes())
    cases = [
        (films, other, (), "is a recording that 'run' did not make"),
        (films, tmp_path / "file", (), "is a file; name a folder"),
        (films, tmp_path / "new", ("--detector", "crystal-ball"), "crystal-ball"),
        (films, tmp_path / "new2", ("--set", "magic=1"), "has no setting 'magic'"),
        (films, tmp_path / "new2", ("--detect-set", "magic=1"), "has no setting 'magic'"),
        (films, tmp_path / "new2", ("--time-offset", "left=soon"), "write CAMERA=frames"),
        (films, tmp_path / "new2", ("--time-offset", "top=1"), "unknown camera 'top'"),
        (films, tmp_path / "new2", ("--learn",), "has no network"),
        (broken, tmp_path / "new2", (), "left.mp4: is not a video"),
        (
            renamed,
            tmp_path / "new2",
            (),
            "of which camera is it? the calibration has cam0, cam1; write CAMERA=left.mp4",
        ),
    ]
    for folder, out, options, said in cases:
        assert run(folder, out, *options) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def _called(cam, name):
    return Camera(name, cam.size, cam.K, cam.distortion, cam.R, cam.t)
