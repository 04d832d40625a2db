"""``trackfish3d track`` and ``trackfish3d benchmark`` as a user calls them."""

import json
import re
from pathlib import Path

import pytest
import typer

from tests.methods.worlds import pinhole_world
from trackfish3d.cli.app import main
from trackfish3d.cli.results.benchmark import app
from trackfish3d.recordings import Detections, Recording, read_tracks


@pytest.fixture
def recording(tmp_path):
    rig, detections, truth = pinhole_world(fish=3, frames=15)
    return Recording.create(tmp_path / "rec", rig, detections=detections, truth=truth)


def call(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return stop.value.code


def test_track_writes_tracks_and_the_settings_that_made_them(recording, capsys):
    assert call("track", recording.folder, "--method", "hungarian", "--set", "max_gap=3") == 0
    said = capsys.readouterr().out
    assert "body_length" in said
    assert "3 tracks, " in said
    assert len(recording.tracks.identities) == 3
    kept = json.loads((recording.folder / "tracks.settings.json").read_text())
    assert kept["method"] == "hungarian"
    assert kept["settings"]["max_gap"] == 3
    assert kept["settings"]["gate"] > 0


def test_track_writes_where_it_is_told_the_same_bytes_again(recording, tmp_path):
    for name in ("a.csv", "b.csv"):
        assert call("track", recording.folder, "--out", tmp_path / name) == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert len(read_tracks(tmp_path / "a.csv").identities) == 3
    assert (tmp_path / "a.settings.json").exists()
    assert not (recording.folder / "tracks.parquet").exists()


def test_help_lists_the_methods(capsys):
    assert call("track", "--help") == 0
    said = capsys.readouterr().out
    for name in ("hungarian", "svt", "openptv", "external"):
        assert name in said
    assert "oracle" not in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "nosuch"], "method 'nosuch' is not known"),
        (["--method", "oracle"], "method 'oracle' is not known"),
        (["--set", "nosuch=1"], "has no setting 'nosuch'"),
        (["--set", "gate"], "--set gate: write key=value"),
        (["--set", "gate=wide"], "gate: Input should be a valid number"),
        (["--out", "tracks.xlsx"], "tracks are written as .csv or .parquet"),
    ],
)
def test_mistakes_are_one_line(recording, capsys, arguments, message):
    assert call("track", recording.folder, *arguments) == 2
    said = capsys.readouterr().err.strip()
    assert message in said
    assert "Traceback" not in said


def test_a_dark_camera_is_mentioned(recording, tmp_path, capsys):
    d = recording.detections
    Recording.create(tmp_path / "dark", recording.rig, detections=d.select(d.camera != 1))
    assert call("track", tmp_path / "dark") == 0
    assert "camera cam1 has no detections" in capsys.readouterr().err
    Recording.create(tmp_path / "none", recording.rig, detections=Detections.empty(recording.rig.names))
    assert call("track", tmp_path / "none") == 1
    assert "nothing could be tracked: there are no detections" in capsys.readouterr().out


def test_benchmark_writes_one_folder(recording, tmp_path, capsys):
    data = tmp_path / "data"
    data.mkdir()
    recording.folder.rename(data / "test1")
    out = tmp_path / "out"
    arguments = ("--scenes", "test1", "--data", data, "--workers", 1)
    assert call("benchmark", "synfish", "--out", out, "--methods", "hungarian,paperless", *arguments) == 2
    assert "'paperless' is not known" in " ".join(capsys.readouterr().err.split())
    assert not out.exists()
    assert call("benchmark", "synfish", "--out", out, "--methods", "hungarian", *arguments) == 0
    assert "test1" in capsys.readouterr().out
    mota = json.loads((out / "results.json").read_text())["scenes"]["test1"]["hungarian"]["scores"]["mota"]
    assert mota > 0.9
    report = (out / "report.md").read_text()
    assert f"{100 * mota:.1f} (100.0)" in report  # the paper's 100 % on test1 beside
    assert (out / "trajectories_test1.png").exists()
    assert call("benchmark", "synfish", "--out", out, "--scenes", "nosuch") == 2
    assert "scene 'nosuch' is not in the benchmark" in capsys.readouterr().err


def test_rows_can_be_kept(recording, tmp_path, capsys):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    recording.folder.rename(data / "test1")
    run = ("benchmark", "synfish", "--out", out, "--scenes", "test1", "--data", data, "--workers", 1)
    assert call(*run, "--methods", "hungarian,greedy", "--keep", "greedy") == 2  # there is nothing yet
    assert "run without --keep" in " ".join(capsys.readouterr().err.split())
    assert call(*run, "--methods", "hungarian,greedy") == 0
    before = json.loads((out / "results.json").read_text())
    before["scenes"]["test1"]["greedy"]["scores"]["mota"] = 0.25  # as if measured by other code
    (out / "results.json").write_text(json.dumps(before))
    for path in (out / "tracks").iterdir():
        path.unlink()
    assert call(*run, "--methods", "hungarian,greedy,sort3d", "--keep", "greedy") == 0
    after = json.loads((out / "results.json").read_text())["scenes"]["test1"]
    assert list(after) == ["hungarian", "greedy", "sort3d"]
    assert after["greedy"] == before["scenes"]["test1"]["greedy"]
    assert "25.0" in (out / "report.md").read_text()
    assert call(*run, "--methods", "hungarian", "--keep", "paper") == 2


def test_the_page_names_every_command():
    page = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text("utf-8")
    described = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert described == {command.callback.__name__ for command in app.registered_commands}
    commands = typer.main.get_command(app).commands.values()
    known = {option for command in commands for parameter in command.params for option in parameter.opts}
    assert set(re.findall(r"`(--[a-z]+)", page)) <= known
