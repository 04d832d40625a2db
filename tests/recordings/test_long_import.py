"""Tables that are read piece by piece: the recording is the same, byte for byte, as if they were read as a whole."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import trackfish3d as tf
from trackfish3d.core.errors import InputError
from trackfish3d.pipeline import importing
from trackfish3d.recordings import Recording, storage
from trackfish3d.recordings.importers.long import long_tables

FILES = ("detections.parquet", "recording.toml", "cameras.toml", "truth.parquet")


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    return tf.simulate(tmp_path_factory.mktemp("long") / "school", fish=4, frames=90, seed=2)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(long_tables, "BATCH", 2000)
    monkeypatch.setattr(long_tables, "ROWS", 100)
    monkeypatch.setattr(importing, "LONG_TRUTH", 10)
    for module in (long_tables, storage):
        monkeypatch.setattr(module, "ROWS_PER_GROUP", 150)
    monkeypatch.setattr("trackfish3d.recordings.recording.ROWS_PER_GROUP", 150)
    monkeypatch.setattr(long_tables.regrouped, "__defaults__", (150,))


def both(school, tmp_path, monkeypatch, files, **options):
    """Import as a whole and in pieces; compare files and what was left out."""
    made, left = [], []
    for long in (10**12, 0):
        monkeypatch.setattr(long_tables, "LONG", long)
        monkeypatch.setattr(importing, "LONG_TRUTH", 10**12 if long else 10)
        dropped = Counter()
        out = tmp_path / f"out{long}"
        rec = tf.import_recording(
            school.folder / "cameras.toml",
            files,
            out,
            truth=school.folder / "truth.parquet",
            dropped=dropped,
            **options,
        )
        made.append({n: (out / n).read_bytes() for n in FILES})
        left.append(dropped)
        assert len(rec.detections)
        assert not (out / ".import").exists()
    assert made[0] == made[1]
    assert left[0] == left[1]
    return rec, left[1]


def text(table, path):
    pacsv.write_csv(table, path)
    return path


def plain(school):
    table = school.detections.to_table()
    return table.set_column(1, "camera", table["camera"].cast(pa.string()))


def test_text_and_parquet_frame_by_frame(school, small, tmp_path, monkeypatch):
    rec, _ = both(school, tmp_path / "a", monkeypatch, text(plain(school), tmp_path / "d.csv"))
    np.testing.assert_array_equal(rec.detections.frame, school.detections.frame)
    both(school, tmp_path / "b", monkeypatch, school.folder / "detections.parquet", min_score=0.5)
    offsets = {school.rig.names[1]: -7}
    both(school, tmp_path / "c", monkeypatch, tmp_path / "d.csv", time_offset_frames=offsets, min_score=0.7)


def test_one_camera_after_the_other(school, small, tmp_path, monkeypatch):
    table = plain(school)
    order = np.argsort(school.detections.camera, kind="stable")[::-1].copy()
    table = table.take(order[np.argsort(school.detections.frame[order], kind="stable")])
    order = np.argsort(table["camera"].to_numpy(zero_copy_only=False), kind="stable")
    both(school, tmp_path, monkeypatch, text(table.take(order), tmp_path / "d.csv"), box_size=9)


def test_a_file_for_each_camera_and_shapes_in_some(school, small, tmp_path, monkeypatch):
    files = {}
    for k, name in enumerate(school.rig.names):
        mine = plain(school).filter(pa.array(school.detections.camera == k)).drop_columns(["camera"])
        if k == 1:
            mine = mine.drop_columns(["area"])
        files[name] = text(mine, tmp_path / f"{name}.csv")
    _, dropped = both(school, tmp_path, monkeypatch, files)
    assert any("mask shapes" in why for _, why in dropped)


def test_what_is_wrong_late_in_a_table_is_told(school, small, tmp_path, monkeypatch):
    monkeypatch.setattr(long_tables, "LONG", 0)
    table = plain(school)
    wild = table.set_column(2, "u", pa.array(np.where(np.arange(len(table)) == 900, 1e6, table["u"].to_numpy())))
    with pytest.raises(InputError, match=r"d\.csv: row \d+: u is 1e\+06, far outside.*counted from row \d+"):
        tf.import_recording(school.folder / "cameras.toml", text(wild, tmp_path / "d.csv"), tmp_path / "out")
    assert [p.name for p in (tmp_path / "out").iterdir()] in ([], [".trackfish3d.lock"])
    lines = (tmp_path / "d.csv").read_text().splitlines()
    lines[700] = "x" + lines[700]
    (tmp_path / "e.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=r"e\.csv: is not a complete CSV file \(.*conversion error"):
        tf.import_recording(school.folder / "cameras.toml", tmp_path / "e.csv", tmp_path / "out")


def test_frames_that_go_back_or_are_there_twice(school, small, tmp_path, monkeypatch):
    monkeypatch.setattr(long_tables, "LONG", 0)
    table = plain(school)
    back = text(pa.concat_tables([table.slice(500), table.slice(0, 500)]), tmp_path / "back.csv")
    with pytest.raises(InputError, match=r"back\.csv:.* goes back from frame \d+ to \d+.*--sort"):
        tf.import_recording(school.folder / "cameras.toml", back, tmp_path / "out")
    first = text(table.slice(0, 500), tmp_path / "first.csv")
    pq.write_table(table.slice(480), tmp_path / "second.parquet")
    with pytest.raises(InputError, match=r"second\.parquet: frame \d+ of camera \w+ is in .*first\.csv as well"):
        tf.import_recording(school.folder / "cameras.toml", [first, tmp_path / "second.parquet"], tmp_path / "out")
    tf.import_recording(school.folder / "cameras.toml", back, tmp_path / "out", sort=True)
    assert len(Recording.open(tmp_path / "out").detections) == len(table)


def test_a_recording_is_replaced_only_by_a_good_one(school, small, tmp_path, monkeypatch):
    monkeypatch.setattr(long_tables, "LONG", 0)
    table = plain(school)
    good, out = text(table, tmp_path / "good.csv"), tmp_path / "out"
    tf.import_recording(school.folder / "cameras.toml", good, out)
    before = {n: (out / n).read_bytes() for n in FILES[:3]}
    wild = table.set_column(2, "u", pa.array(np.where(np.arange(len(table)) == 900, 1e6, table["u"].to_numpy())))
    with pytest.raises(InputError, match="far outside"):
        tf.import_recording(school.folder / "cameras.toml", text(wild, tmp_path / "d.csv"), out, overwrite=True)
    assert {n: (out / n).read_bytes() for n in FILES[:3]} == before
    tf.import_recording(school.folder / "cameras.toml", good, out, overwrite=True, min_score=0.8)
    assert len(Recording.open(out).detections) < len(table)


def test_own_2d_tracks_come_along(school, small, tmp_path, monkeypatch):
    table = plain(school)
    rows = np.arange(len(table)) % 5 - 1
    table = table.append_column("tracklet", pa.array(rows))
    rec, _ = both(school, tmp_path, monkeypatch, text(table, tmp_path / "d.csv"))
    assert set(np.unique(rec.detections.tracklet)) == {-1, 0, 1, 2, 3}
