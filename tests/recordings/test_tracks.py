"""Tracks and truth: files come back as they went, and bad ones are refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Tracks, Truth, read_tracks, read_truth, write_table, write_tracks_csv

from .fuzz import assert_input_error_or_fine, damaged


def some_tracks(seed: int = 0) -> Tracks:
    rng = np.random.default_rng(seed)
    n = 60
    places = rng.permutation(100)[:n]
    half = rng.normal(size=(n, 3, 3))
    return Tracks.build(
        places // 5,
        places % 5,
        rng.normal(size=(n, 3)),
        covariance=half @ half.transpose(0, 2, 1),
        sigma_velocity=rng.uniform(size=n),
        error_px=rng.uniform(size=n),
        observed=rng.uniform(size=n) < 0.5,
        confidence=rng.uniform(size=n),
        detection=rng.integers(-1, 50, (n, 2)),
        cameras=("top", "front"),
    )


def test_parquet_keeps_every_column(tmp_path: Path) -> None:
    tracks = some_tracks()
    write_table(tracks.to_table(), tmp_path / "tracks.parquet")
    back = read_tracks(tmp_path / "tracks.parquet")
    assert back.cameras == tracks.cameras
    for name in (
        "frame",
        "track",
        "position",
        "covariance",
        "sigma_velocity",
        "views",
        "error_px",
        "observed",
        "confidence",
        "detection",
    ):
        np.testing.assert_array_equal(getattr(back, name), getattr(tracks, name), err_msg=name)


def test_views_are_counted_from_detections() -> None:
    tracks = some_tracks()
    np.testing.assert_array_equal(tracks.views, (tracks.detection >= 0).sum(1))


def test_the_papers_csv_keeps_points_to_a_millionth(tmp_path: Path) -> None:
    tracks = some_tracks()
    write_tracks_csv(tracks, tmp_path / "tracks.csv")
    assert (tmp_path / "tracks.csv").read_text().startswith("object,Timestamp,X,Y,Z,group\n")
    back = read_tracks(tmp_path / "tracks.csv")
    order = np.lexsort((back.position[:, 0], back.frame))
    expected = np.lexsort((tracks.position[:, 0], tracks.frame))
    np.testing.assert_allclose(back.position[order], tracks.position[expected], atol=5.1e-7)
    assert len(back.identities) == len(tracks.identities)


def test_tracks_csv_names_a_track_as_every_other_file_does(tmp_path: Path) -> None:
    tracks = some_tracks()
    odd = replace(tracks, track=10 * tracks.track + 7)  # as after people joined, cut and renamed
    write_tracks_csv(odd, tmp_path / "tracks.csv")
    back = read_tracks(tmp_path / "tracks.csv")
    assert set(back.identities.tolist()) == set(odd.identities.tolist())
    order, expected = (np.lexsort((t.track, t.frame)) for t in (back, odd))
    np.testing.assert_allclose(back.position[order], odd.position[expected], rtol=1e-9)


def test_truth_comes_back_from_parquet(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    n = 20
    per_camera = {k: rng.uniform(size=(n, 2)) for k in ("u", "v", "x1", "y1", "x2", "y2", "visible")}
    truth = Truth.build(
        np.arange(n) // 4,
        np.arange(n) % 4,
        rng.normal(size=(n, 3)),
        heading=rng.normal(size=(n, 3)),
        head=rng.normal(size=(n, 3)),
        cameras=("top", "front"),
        detection=rng.integers(-1, 9, (n, 2)),
        **per_camera,
    )
    write_table(truth.to_table(), tmp_path / "truth.parquet")
    back = read_truth(tmp_path / "truth.parquet")
    assert back.cameras == truth.cameras
    for name in ("frame", "identity", "position", "heading", "head", "detection", *per_camera):
        np.testing.assert_array_equal(getattr(back, name), getattr(truth, name), err_msg=name)


def test_truth_without_heads_is_read_as_before() -> None:
    table = Truth.build([0], [1], np.zeros((1, 3)), heading=np.ones((1, 3))).to_table()
    back = Truth.from_table(table)
    assert back.head is None
    assert back.heading is not None


def test_a_merged_blob_belongs_to_the_most_visible_animal() -> None:
    truth = Truth.build(
        [0, 0], [7, 8], np.zeros((2, 3)), cameras=("top",), detection=[[1], [1]], visible=[[0.3], [0.7]]
    )
    assert truth.identity_of_detections(3).tolist() == [-1, 8, -1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a CSV|needs columns"),
        ("frame,id,x,y,z\n", ""),
        ("frame,id,x,y\n1,1,1,1\n", "needs columns"),
        ("frame,id,x,y,z\n1,1,nan,1,1\n", "row 0: x, y or z is not a finite number"),
        ("frame,id,x,y,z\n1,1,1,1,1\n1,1,2,2,2\n", "two points in frame 1|twice in frame 1"),
        ("frame,id,x,y,z\n1.5,1,1,1,1\n", "row 0: frame is not a whole number"),
        ("frame,id,x,y,z\n1,,1,1,1\n", "no id"),
        ("frame,id,x,y,z\n1,A,1,1,1\n2,,1,1,1\n3,B,1,1,b\n", "not numbers"),
        ("frame,id,x,y,z,x\n1,1,1,1,1,1\n", "twice"),
        ("frame,id,x,y,z\n1,1,1,1\n", "not a CSV"),
    ],
)
def test_bad_csv_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tracks.csv"
    path.write_text(text)
    for read in (read_tracks, read_truth):
        if not says:
            assert len(read(path)) == 0
            continue
        with pytest.raises(InputError, match=says):
            read(path)


def test_a_text_column_that_ends_like_a_camera_is_no_coordinate(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv"
    path.write_text("frame,id,x,y,z,u1,v1,note1\n1,1,1,2,3,10,20,hidden\n")
    assert read_truth(path).u.tolist() == [[10.0]]


VALID = b"frame,id,x,y,z,u1,v1,l1,t1,w1,h1,occ1\n1,1,1,2,3,10,20,5,5,10,30,0\n2,1,1.5,2,3,11,21,5,5,10,30,1\n"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), parquet=st.booleans())
def test_damaged_files_give_input_errors_only(tmp_path: Path, data: st.DataObject, parquet: bool) -> None:
    path = tmp_path / ("t.parquet" if parquet else "t.csv")
    if parquet:
        write_table(some_tracks().to_table(), path)
        valid = path.read_bytes()
    else:
        valid = VALID
    path.write_bytes(data.draw(damaged(valid)))
    for read in (read_tracks, read_truth):
        assert_input_error_or_fine(lambda read=read: read(path), path)
