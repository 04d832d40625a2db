import json
import re
import shutil

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from trackfish3d.behaviour.analysis import World
from trackfish3d.behaviour.analysis import analyse as measure_tracks
from trackfish3d.behaviour.streaming import blocks as blocks_module
from trackfish3d.behaviour.streaming.blocks import TrackSource
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Tracks, write_table

from .schools import darting, recording_of, tracks_of, wandering

TABLES = (
    "points",
    "group",
    "bursts",
    "windows",
    "fish",
    "faststarts",
    "pairs",
    "pair_correlation",
    "distributions",
    "neighbours",
    "tank",
)


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """Eight fish, the last of them slow and erratic."""
    x = wandering(fish=8, frames=400, seed=5, cruise=[0.1] * 7 + [0.05], turn=[0.06] * 7 + [0.25])
    return recording_of(tmp_path_factory.mktemp("analyse") / "school", x, tracks_of(x, noise=0.02, interpolated=0.05))


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main(["analyse", *map(str, arguments)])
    return end.value.code


def test_every_table_is_there_and_tidy(school, capsys):
    assert run(school.folder) == 0
    said = capsys.readouterr().out
    assert "abnormal: " in said
    assert "slow" in said
    folder = school.folder / "behaviour"
    for name in TABLES:
        table = pq.read_table(folder / f"{name}.parquet")
        assert table.num_rows or name == "faststarts", name
        assert table.schema.metadata[b"units"] == b"unit"
    fish = pq.read_table(folder / "fish.parquet").to_pylist()
    assert [row["track"] for row in fish if row["abnormal"]] == [7]
    points = pq.read_table(folder / "points.parquet")
    assert points.num_rows == len(school.tracks)
    tank = pq.read_table(folder / "tank.parquet")
    assert tank["share"].to_numpy().sum() == pytest.approx(1.0)
    saved = json.loads((folder / "settings.json").read_text())
    assert saved["settings"]["anomaly"]["window_s"] == 10.0


def test_csv_holds_the_same_numbers(school, tmp_path):
    assert run(school.folder, "--out", tmp_path / "p") == 0
    assert run(school.folder, "--out", tmp_path / "c", "--format", "csv") == 0
    for name in ("fish", "windows", "points"):
        parquet = pq.read_table(tmp_path / "p" / f"{name}.parquet")
        text = pacsv.read_csv(tmp_path / "c" / f"{name}.csv")
        assert text.column_names == parquet.column_names
        for key in ("track", "p") if name == "windows" else ("track",):
            assert text[key].to_numpy() == pytest.approx(parquet[key].to_numpy())


def test_settings_reach_the_analysis(school, tmp_path, capsys):
    options = ("--window", 5, "--false-alarms", 0.2, "--set", "tortuosity_s=0.5", "--observed-only")
    assert run(school.folder, "--out", tmp_path / "o", *options) == 0
    saved = json.loads((tmp_path / "o" / "settings.json").read_text())["settings"]
    assert saved["anomaly"]["window_s"] == 5
    assert saved["anomaly"]["false_alarm_rate"] == 0.2
    assert saved["tortuosity_s"] == 0.5
    points = pq.read_table(tmp_path / "o" / "points.parquet")
    assert points.num_rows == school.tracks.observed.sum()
    windows = pq.read_table(tmp_path / "o" / "windows.parquet")
    assert windows["abnormal"].to_numpy().mean() >= 1 / 8
    assert (
        windows["last_frame"].to_numpy() - windows["first_frame"].to_numpy() + 1 == 19 * 8
    ).all()  # whole bins of 8 frames
    capsys.readouterr()
    assert run(school.folder, "--settings") == 0
    assert "anomaly.window_s = 10.0" in capsys.readouterr().out


def test_the_paper_table_is_printed_where_the_abnormal_are_known(school, tmp_path, capsys):
    assert run(school.folder, "--out", tmp_path / "o", "--abnormal", "7") == 0
    said = capsys.readouterr().out
    for label in ("3D           iforest", "2D cam0      lof", "2D cam2      consensus", "3D           default"):
        assert label in said
    last = next(line for line in said.splitlines() if "default    exact" in line)
    assert float(last.split("F1")[1].split()[0]) > 97


def test_netcdf_is_laid_out_as_movement_wants_it(school, tmp_path):
    xr = pytest.importorskip("xarray", reason="xarray is not installed")
    assert run(school.folder, "--out", tmp_path / "o", "--netcdf") == 0
    with xr.open_dataset(tmp_path / "o" / "behaviour.nc") as found:
        assert found.position.dims == ("time", "space", "keypoint", "individual")
        assert found.attrs["ds_type"] == "poses"
        assert found.attrs["source_software"] == "TrackFish3D"
        points = pq.read_table(tmp_path / "o" / "points.parquet")
        one = points.filter(np.asarray(points["track"]) == 3)
        at = found.sel(individual="track_3", keypoint="centroid")
        assert at.speed.values[one["frame"].to_numpy()] == pytest.approx(one["speed_unit_per_s"].to_numpy())
        assert float(found.time[1] - found.time[0]) == pytest.approx(1 / 30)


def test_other_tracks_may_be_analysed(school, tmp_path):
    file = tmp_path / "t.csv"
    rows = "".join(f"{t},{i},{0.1 * t + i},{i},0\n" for t in range(60) for i in range(5))
    file.write_text("frame,id,x,y,z\n" + rows)
    assert run(school.folder, "--tracks", file, "--out", tmp_path / "o") == 0
    fish = pq.read_table(tmp_path / "o" / "fish.parquet")
    assert fish["speed_mean_unit_per_s"].to_numpy() == pytest.approx(np.full(5, 3.0), rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["{folder}/nowhere"], "is not a folder"),
        (["{folder}", "--up", "sideways"], "choose one of x, y, z"),
        (["{folder}", "--fps", "25"], "recording.toml says 30"),
        (["{folder}", "--fps", "0"], "no number of frames a second"),
        (["{folder}", "--window", "0"], "anomaly.window_s"),
        (["{folder}", "--false-alarms", "2"], "anomaly.false_alarm_rate"),
        (["{folder}", "--set", "colour=red"], "colour"),
        (["{folder}", "--set", "colour"], "key=value"),
        (["{folder}", "--abnormal", "99"], "no identity 99"),
        (["{folder}", "--abnormal", "x"], "identities"),
        (["{folder}", "--tracks", "{folder}/none.csv"], "no such file"),
        (["{folder}", "--out", "{folder}/cameras.toml/x"], "cannot be written"),
    ],
)
def test_bad_input_is_one_line(school, arguments, says, capsys):
    assert run(*(a.format(folder=school.folder) for a in arguments)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert says in lines[0]


def test_without_tracks_it_says_what_to_do(tmp_path, capsys):
    recording = recording_of(tmp_path / "r", wandering(fish=2, frames=5))
    assert run(recording.folder) == 2
    assert "run 'trackfish3d track" in capsys.readouterr().err


def test_an_interrupted_analysis_leaves_no_table(school, tmp_path, monkeypatch):
    monkeypatch.setattr("trackfish3d.pipeline.results.whole_tables", lambda found: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main(["analyse", str(school.folder), "--out", str(tmp_path / "o")])
    assert list((tmp_path / "o").iterdir()) == []


def test_healthy_animals_show_no_probability_of_being_sick(tmp_path, capsys):
    x = wandering(fish=6, frames=400, seed=8)
    recording = recording_of(tmp_path / "r", x, tracks_of(x, noise=0.02))
    assert run(recording.folder) == 0
    said = capsys.readouterr().out
    rows = [line for line in said.splitlines() if line.split()[:1] and line.split()[1:2] == ["400"]]
    assert len(rows) == 6
    assert all(row.split()[7] == "–" for row in rows)
    assert "nobody is flagged" in said


def test_latencies_are_counted_from_the_stimulus(tmp_path, capsys):
    x, onset = darting(fish=4, frames=200, seed=1)
    recording = recording_of(tmp_path / "r", x, tracks_of(x, noise=0.005), fps=200.0)
    stimulus = int(np.sort(onset)[1])
    assert run(recording.folder, "--stimulus", stimulus) == 0
    assert "4 fast starts" in capsys.readouterr().out
    rows = pq.read_table(recording.folder / "behaviour" / "faststarts.parquet").to_pylist()
    for row in rows:
        assert abs(row["onset_frame"] - onset[row["track"]]) <= 1
        after = row["onset_frame"] >= stimulus
        assert np.isfinite(row["latency_s"]) == np.isfinite(row["sigma_latency_s"]) == after
        if after:
            assert row["latency_s"] == pytest.approx((row["onset_frame"] - stimulus) / 200)
    saved = json.loads((recording.folder / "behaviour" / "settings.json").read_text())
    assert saved["settings"]["stimulus"] == stimulus


def test_tracks_without_covariances_are_said_to_be_so(school, tmp_path, capsys):
    tracks = school.tracks
    write_table(Tracks.build(tracks.frame, tracks.track, tracks.position).to_table(), tmp_path / "t.parquet")
    assert run(school.folder, "--tracks", tmp_path / "t.parquet", "--out", tmp_path / "o") == 0
    assert "without covariances" in capsys.readouterr().out
    assert run(school.folder, "--out", tmp_path / "o") == 0
    assert "without covariances" not in capsys.readouterr().out


def test_an_unknown_frame_rate_is_asked_for(school, tmp_path, capsys):
    rec = shutil.copytree(school.folder, tmp_path / "rec")
    toml = (rec / "recording.toml").read_text()
    (rec / "recording.toml").write_text("fps_known = false\n" + re.sub(r"fps_known = .*\n", "", toml))
    assert run(rec, "--out", tmp_path / "o") == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "--fps" in said[0]
    assert run(rec, "--out", tmp_path / "o", "--fps", 60) == 0
    points = pq.read_table(tmp_path / "o" / "points.parquet")
    assert points["time_s"].to_numpy() == pytest.approx(points["frame"].to_numpy() / 60)


def test_frames_a_world_apart_are_one_line_and_little_memory(school, tmp_path, monkeypatch, capsys):
    tracks = school.tracks
    for rows, apart in ((100_000, 10**9 - 1000), (8, 2**40)):  # in one piece of the file, and over two
        frame = np.where(tracks.frame > 200, tracks.frame + apart, tracks.frame)
        far = Tracks.build(frame, tracks.track, tracks.position)
        write_table(far.to_table(), tmp_path / "tracks.parquet")
        monkeypatch.setattr(blocks_module, "ROWS", rows)
        with pytest.raises(InputError, match="reach from frame 0 to"):
            measure_tracks(TrackSource(path=tmp_path / "tracks.parquet"), World(30.0))
    with pytest.raises(InputError, match="frames a second"):
        measure_tracks(tracks, World(1e8))
