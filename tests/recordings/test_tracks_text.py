"""Tracks as text: the same numbers in every unit, columns that say their unit, and edits that are noticed."""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cli.app import main
from trackfish3d.core.errors import Note
from trackfish3d.recordings import Recording, Tracks, read_tracks, write_tracks_csv, write_tracks_table

from .worlds import tracked_recording


def some_tracks(scale: float = 1.0, offset: float = 0.0) -> Tracks:
    rng = np.random.default_rng(1)
    position = scale * rng.uniform(-30, 30, (50, 3)) + offset
    covariance = np.tile(np.diag([1.0, 4.0, 4.0]) * (0.1 * scale) ** 2, (50, 1, 1))
    frame, track = np.repeat(np.arange(5, 30), 2), np.tile([3, 7], 25)
    observed = np.arange(50) % 5 > 0
    return Tracks.build(frame, track, position, covariance=covariance, observed=observed, views=observed * 2)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_digits_are_significant_whatever_the_unit(tmp_path: Path, scale: float, offset: float) -> None:
    """Read back, a point is where it was to a millionth of the tank, or to a part in 1e9 of a faraway origin."""
    tracks = some_tracks(scale, offset)
    write_tracks_csv(tracks, tmp_path / "t.csv")
    back = read_tracks(tmp_path / "t.csv")
    np.testing.assert_allclose(back.position, tracks.position, rtol=1e-9, atol=0)
    write_tracks_table(tracks, tmp_path / "table.csv", "cm", 25.0)
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [[float(r[f"{a}_cm"]) for a in "xyz"] for r in rows]
    np.testing.assert_allclose(found, tracks.position, rtol=1e-9, atol=0)


def test_the_table_for_people(tmp_path: Path) -> None:
    tracks = some_tracks()
    write_tracks_table(tracks, tmp_path / "t.csv", "mm", 50.0)
    with (tmp_path / "t.csv").open() as file:
        rows = list(csv.DictReader(file))
    names = ["track", "frame", "time_s", "x_mm", "y_mm", "z_mm", "sigma_mm", "views", "observed", "confidence"]
    assert list(rows[0]) == names
    assert [int(r["track"]) for r in rows] == tracks.track.tolist()
    assert [float(r["time_s"]) for r in rows] == pytest.approx(tracks.frame / 50)
    assert [float(r["sigma_mm"]) for r in rows] == pytest.approx(50 * [0.1 * np.sqrt((1 + 4 + 4) / 3)], rel=1e-3)
    assert [r["observed"] == "1" for r in rows] == tracks.observed.tolist()
    assert {r["confidence"] for r in rows} == {""}  # not known


def test_times_are_left_empty_where_the_rate_is_unknown(tmp_path: Path) -> None:
    made = tracked_recording(tmp_path / "rec")
    unknown = Recording.create(tmp_path / "new", made.rig, fps=None, detections=made.detections)
    unknown.write_tracks(made.tracks)
    with (tmp_path / "new" / "tracks_table.csv").open() as file:
        assert {row["time_s"] for row in csv.DictReader(file)} == {""}


def test_an_edited_csv_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = tracked_recording(tmp_path / "rec")
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        _ = Recording.open(tmp_path / "rec").tracks
    path = made.folder / "tracks.csv"
    text = path.read_text()
    last = text.rstrip()[-1]
    path.write_text(text.rstrip()[:-1] + ("1" if last != "1" else "2") + "\n")  # same size
    with pytest.warns(Note, match=r"tracks\.csv was edited since, and tracks\.parquet is what is read"):
        _ = Recording.open(tmp_path / "rec").tracks
    with pytest.raises(SystemExit) as leaving:
        main(["export", str(made.folder), "--format", "zef3d", "--out", str(tmp_path / "z.txt")])
    assert not leaving.value.code
    notes = [line for line in capsys.readouterr().err.splitlines() if "was edited" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: ")


def test_tracks_that_were_written_again_are_not_called_edited(tmp_path: Path) -> None:
    made = tracked_recording(tmp_path / "rec")
    (made.folder / "tracks.csv").write_text("edited")
    with pytest.warns(Note):
        found = made.tracks
    with pytest.warns(Note, match="is kept as"):
        made.write_tracks(found)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)
        _ = Recording.open(made.folder).tracks


def test_an_edited_csv_is_kept_when_tracks_are_written_anew(tmp_path: Path) -> None:
    made = tracked_recording(tmp_path / "rec")
    path = made.folder / "tracks.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("error", Note)  # what was not edited is replaced without a word
        tracks = made.tracks
        made.write_tracks(tracks)
    for name in ("tracks.edited.csv", "tracks.edited2.csv"):
        mine = path.read_text() + "99,1,2,3,4,2\n"
        path.write_text(mine)
        with pytest.warns(Note, match=f"was edited by hand; it is kept as .*{name}"):
            made.write_tracks(tracks)
        assert (made.folder / name).read_text() == mine
        assert "99,1,2" not in path.read_text()
