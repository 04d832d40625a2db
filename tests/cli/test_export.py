"""``trackfish3d export``, as people type it."""

from pathlib import Path

import pytest

from tests.recordings.worlds import make_rig, tracked_recording
from trackfish3d.cli.app import main
from trackfish3d.recordings import Recording

NEEDS = {"netcdf": "xarray", "nwb": "ndx_pose", "slp": "sleap_io", "rrd": "rerun"}


def run(line: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(line.split())
    return int(leaving.value.code or 0)


@pytest.mark.parametrize("format", ["zef3d", "netcdf", "nwb", "slp", "rrd", "parquet", "csv"])
def test_every_format_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str) -> None:
    if format in NEEDS:
        pytest.importorskip(NEEDS[format])
    tracks = tracked_recording(tmp_path / "rec").tracks
    out = tmp_path / "new" / f"tracks.{format}"
    assert run(f"export {tmp_path}/rec --format {format} --out {out}") == 0
    assert out.stat().st_size > 0
    assert [p.name for p in out.parent.iterdir()] == [out.name]  # nothing temporary is left
    assert f"wrote 3 tracks, {len(tracks)} points" in capsys.readouterr().out


def test_other_tracks_than_the_recordings_own(tmp_path: Path) -> None:
    tracked_recording(tmp_path / "rec")
    (tmp_path / "mine.csv").write_text("frame,id,x,y,z\n4,8,1,2,3\n")
    line = f"export {tmp_path}/rec --format zef3d --tracks {tmp_path}/mine.csv --out {tmp_path}/o.txt"
    assert run(line) == 0
    assert (tmp_path / "o.txt").read_text() == "4,8,1,2,3\n"


def test_points_that_the_zef_evaluation_ignores_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tracked_recording(tmp_path / "rec")
    assert run(f"export {tmp_path}/rec --format zef3d --out {tmp_path}/o.txt") == 0
    assert "note: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{0}/rec --format xml --out {0}/o", "unknown format 'xml'; known are zef3d, netcdf"),
        ("{0}/empty --format csv --out {0}/o", "has no tracks yet"),
        ("{0}/nothing --format csv --out {0}/o", "is not a folder"),
        ("{0}/rec --format csv --out {0}", "is a folder; name a file"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    tracked_recording(tmp_path / "rec")
    Recording.create(tmp_path / "empty", make_rig())
    assert run("export " + line.format(tmp_path)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
