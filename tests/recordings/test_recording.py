"""A recording's folder: what goes in comes out, in bounded memory, or an error says what is wrong with it."""

import importlib.util
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections, Recording, Truth

from .fuzz import damaged
from .worlds import assert_same, make_rig, random_detections, tracked_recording

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_recording.py"


def test_a_recording_opens_as_it_was_made(tmp_path: Path) -> None:
    rig, found = make_rig(), random_detections(1, first_frame=17)
    truth = Truth.build([18, 60], [1, 1], np.ones((2, 3)))
    Recording.create(tmp_path / "r", rig, fps=59.94, detections=found, truth=truth, description="two fish")
    opened = Recording.open(tmp_path / "r")
    assert opened.fps == 59.94
    assert opened.units == "cm"
    assert (opened.info.first_frame, opened.info.frame_count) == (int(found.frame[0]), 61 - int(found.frame[0]))
    assert opened.rig.names == rig.names
    assert_same(opened.detections, found)
    assert opened.truth is not None
    np.testing.assert_array_equal(opened.truth.frame, [18, 60])
    with pytest.raises(InputError, match="has no tracks yet; run 'trackfish3d track"):
        _ = opened.tracks


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    rows=st.integers(1, 40),
    offsets=st.tuples(st.integers(-30, 30), st.integers(-30, 30), st.integers(-30, 30)),
)
def test_pieces_put_together_are_the_whole(tmp_path: Path, seed: int, rows: int, offsets: tuple[int, ...]) -> None:
    rig = make_rig(("a", "b", "c"))
    found = random_detections(seed, n=80, frames=25, cameras=rig.names)
    moves = dict(zip(rig.names, offsets, strict=True))
    recording = Recording.create(tmp_path / "r", rig, detections=found, time_offset_frames=moves)
    whole = recording.detections
    pieces = list(recording.iter_detections(rows))
    together = pieces[0]
    for before, piece in itertools.pairwise(pieces):
        assert before.frame[-1] < piece.frame[0]  # whole frames
        together = Detections.concat([together, piece])
    assert_same(together, whole)
    assert_same(whole, found.shifted(offsets))
    info = recording.info
    assert (info.first_frame, info.first_frame + info.frame_count - 1) == (whole.frame[0], whole.frame[-1])


def test_pieces_written_are_read_as_one(tmp_path: Path) -> None:
    found = random_detections(5, n=300)
    recording = Recording.create(tmp_path / "r", make_rig())
    cuts = [
        found.select(found.frame < 10),
        found.select((found.frame >= 10) & (found.frame < 11)),
        found.select(found.frame >= 11),
    ]
    recording.write_detections(iter(cuts))
    assert_same(Recording.open(tmp_path / "r").detections, found)


def test_frame_numbers_that_go_back_stop_the_iteration(tmp_path: Path) -> None:
    found = random_detections(6, n=100)
    recording = Recording.create(tmp_path / "r", make_rig())
    recording.write_detections(iter([found.select(found.frame > 20), found.select(found.frame <= 20)]))
    with pytest.raises(InputError, match="frame numbers go back at frame"):
        list(recording.iter_detections(10))


def test_a_parquet_file_cut_short_is_named(tmp_path: Path) -> None:
    recording = Recording.create(tmp_path / "r", make_rig(), detections=random_detections(7))
    path = tmp_path / "r" / "detections.parquet"
    content = path.read_bytes()
    for length in (0, 3, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"detections\.parquet: is not a complete Parquet file"):
            _ = Recording.open(tmp_path / "r").detections
        with pytest.raises(InputError, match=r"detections\.parquet: is not a complete Parquet file"):
            list(recording.iter_detections())


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [("score", 1.5, "score is outside"), ("x2", -50.0, "inside out"), ("u", np.nan, "u is not a finite number")],
)
def test_bad_numbers_in_a_recording_are_named(tmp_path: Path, column: str, value: float, says: str) -> None:
    recording = Recording.create(tmp_path / "r", make_rig(), detections=random_detections(8))
    path = tmp_path / "r" / "detections.parquet"
    table = pq.read_table(path)
    values = table[column].to_numpy().copy()
    values[4] = value
    pq.write_table(table.set_column(table.column_names.index(column), column, [values]), path)
    with pytest.raises(InputError, match=f"detections.parquet: row 4: .*{says}"):
        _ = recording.detections
    with pytest.raises(InputError, match=says):
        list(recording.iter_detections())


def test_an_empty_recording_has_no_detections(tmp_path: Path) -> None:
    recording = Recording.create(tmp_path / "r", make_rig(), detections=Detections.empty(("top", "front")))
    assert len(Recording.open(tmp_path / "r").detections) == 0
    assert list(recording.iter_detections()) == []


def test_a_folder_that_is_no_recording_says_so(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="trackfish3d import"):
            Recording.open(folder)


@pytest.mark.parametrize(
    "text",
    [
        "fps = 0\n",
        "fps = -1\n",
        "fps = nan\n",
        "speed = 3\n",
        "fps = [\n",
        "[time_offset_frames]\nside = 3\n",
        "fps='a'\n",
    ],
)
def test_a_bad_recording_toml_is_named(tmp_path: Path, text: str) -> None:
    Recording.create(tmp_path / "r", make_rig())
    (tmp_path / "r" / "recording.toml").write_text(text)
    with pytest.raises(InputError, match=r"recording\.toml"):
        Recording.open(tmp_path / "r")


def test_tracks_written_are_read_back(tmp_path: Path) -> None:
    recording = tracked_recording(tmp_path / "r", offset=3)
    tracks = recording.tracks
    for camera, name in enumerate(tracks.cameras):
        seen = tracks.detection[:, camera] >= 0
        pixels = recording.rig[name].project(tracks.position[seen])
        np.testing.assert_allclose(recording.detections.centroids[tracks.detection[seen, camera]], pixels, atol=1e-9)
        np.testing.assert_array_equal(recording.detections.frame[tracks.detection[seen, camera]], tracks.frame[seen])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from(["recording.toml", "cameras.toml", "detections.parquet"]))
def test_damaged_recordings_give_input_errors_only(tmp_path: Path, data: st.DataObject, name: str) -> None:
    folder = tmp_path / "r"
    Recording.create(folder, make_rig(), detections=random_detections(9, n=20), time_offset_frames={"front": 2})
    path = folder / name
    path.write_bytes(data.draw(damaged(path.read_bytes())))
    try:
        opened = Recording.open(folder)
        list(opened.iter_detections())
        len(opened.detections)
    except InputError:
        pass


def test_iterating_takes_the_memory_of_a_piece_not_of_the_recording(tmp_path: Path) -> None:
    """Peak memory is measured in a process of its own, after a short recording and after one three times as long."""
    spec = importlib.util.spec_from_file_location("bench_recording", BENCHMARK)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    lengths = (20_000, 60_000)
    folders = [tmp_path / str(frames) for frames in lengths]
    for folder, frames in zip(folders, lengths, strict=True):
        benchmark.write(folder, frames)
    command = [sys.executable, str(BENCHMARK), "--read", *map(str, folders)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    short, long = (json.loads(line) for line in run.stdout.splitlines())
    assert (short["rows"], long["rows"]) == (600_000, 1_800_000)
    kept = 1_200_000 * 60 / 2**20  # 60 bytes a row on disk, 74 in memory, were all of them kept
    assert long["peak_mib"] - short["peak_mib"] < kept / 2
    assert long["peak_mib"] < 1024
