"""``trackfish3d import``, as people type it."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.recordings.worlds import assert_same, make_rig, random_detections
from tests.recordings.writers import write_csv, write_mot
from trackfish3d.cameras.native import write_cameras
from trackfish3d.cli.app import main
from trackfish3d.core import provenance
from trackfish3d.core.files import digest
from trackfish3d.recordings import Recording, Tracks

DATA = os.environ.get("TRACKFISH3D_DATA")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a calibration and the same detections as one table and as a file a camera."""
    monkeypatch.chdir(tmp_path)
    write_cameras(make_rig(), tmp_path / "cal.toml")
    found = random_detections(21, first_frame=50)
    write_csv(found, tmp_path / "det.csv")
    for name in found.cameras:
        write_mot(found, name, tmp_path / f"det_{name}.txt")
    return tmp_path


def run(line: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(line.split())
    return int(leaving.value.code or 0)


def test_the_line_that_scripts_rely_on(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lab / "gt.csv").write_text("frame,id,x,y,z\n50,1,1,2,30\n51,1,1,2,30\n")
    line = "import --cameras cal.toml --detections det.csv --min-score 0.3 --truth gt.csv --fps 60 --out rec"
    assert run(line) == 0
    recording = Recording.open("rec")
    found = random_detections(21, first_frame=50)
    assert_same(recording.detections, found.select(found.score >= 0.3))
    assert recording.fps == 60
    assert recording.truth is not None
    assert recording.truth.frame.tolist() == [50, 51]
    printed = capsys.readouterr().out
    for camera, name in enumerate(found.cameras):
        low = int(((found.score < 0.3) & (found.camera == camera)).sum())
        assert f"left out, camera {name}: {low} score below 0.3" in printed
    assert "truth: 1 animals, 2 points" in printed


def test_a_file_for_each_camera(lab: Path) -> None:
    assert run("import --cameras cal.toml --detections top=det_top.txt --detections front=det_front.txt --out rec") == 0
    assert_same(Recording.open("rec").detections, random_detections(21, first_frame=50), atol=1e-9)


def test_what_it_was_made_from_is_written_down(lab: Path) -> None:
    line = "import --cameras cal.toml --detections top=det_top.txt --detections front=det_front.txt --fps 25 --out rec"
    assert run(line) == 0
    found = provenance.read(lab / "rec")["import"]
    names = ["cal.toml", "det_top.txt", "det_front.txt"]
    assert [(f["path"], f["sha256"]) for f in found["inputs"]] == [(n, digest(lab / n)) for n in names]
    assert found["options"] == {
        "cameras": "cal.toml", "detections": {"top": "det_top.txt", "front": "det_front.txt"}, "fps": 25.0,
        "out": "rec",
    }  # fmt: skip
    first = (lab / "rec" / "run.json").read_bytes()
    assert run(f"{line} --overwrite") == 0
    assert provenance.read(lab / "rec")["import"]["options"]["overwrite"] is True
    assert len((lab / "rec" / "run.json").read_bytes()) > len(first)


def test_a_time_offset_is_kept_and_applied(lab: Path) -> None:
    assert run("import --cameras cal.toml --detections det.csv --time-offset front=-4 --out rec") == 0
    recording = Recording.open("rec")
    assert recording.info.time_offset_frames == {"front": -4}
    assert_same(recording.detections, random_detections(21, first_frame=50).shifted([0, -4]))
    assert recording.info.first_frame == recording.detections.frame[0]


def test_timestamps_bring_cameras_to_one_clock(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frames = np.arange(50, 90)
    for name, late in (("top", 0.0), ("front", 0.2)):
        rows = "".join(f"{f},{100 + f / 10 + late:.3f}\n" for f in frames)
        (lab / f"{name}.csv").write_text("frame,time\n" + rows)
    line = (
        "import --cameras cal.toml --detections det.csv --timestamps top=top.csv --timestamps front=front.csv --fps 10"
    )
    assert run(f"{line} --out rec") == 0
    found = random_detections(21, first_frame=50)
    fits = (found.camera == 0) | (found.frame + 2 < 90)
    assert_same(Recording.open("rec").detections, found.select(fits).shifted([0, 2]))
    assert f"{(~fits).sum()} detections in frames outside the reference camera's time" in capsys.readouterr().out


def test_units_and_columns(lab: Path) -> None:
    (lab / "other.csv").write_text("FrameNumber,cam,cx,cy\n7,top,10,20\n")
    line = "import --cameras cal.toml --detections other.csv --columns frame=FrameNumber,camera=cam,u=cx,v=cy"
    assert run(f"{line} --units mm --override-units --box-size 6 --out rec") == 0
    recording = Recording.open("rec")
    assert recording.units == "mm"
    assert recording.detections.boxes.tolist() == [[7, 17, 13, 23]]


def test_boxes_that_had_to_be_assumed_are_said(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (lab / "points.csv").write_text("frame,camera,u,v\n7,top,10,20\n")
    assert run("import --cameras cal.toml --detections points.csv --out rec") == 0
    assert "note: points.csv: has no boxes" in capsys.readouterr().err


def test_an_existing_recording_is_replaced_only_if_asked_for(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "import --cameras cal.toml --detections det.csv --out rec"
    assert run(line) == 0
    Recording.open("rec").write_tracks(Tracks.build([50], [1], [[0, 0, 1]]))
    (lab / "rec" / "notes.txt").write_text("mine")
    capsys.readouterr()
    assert run(line) == 2
    assert capsys.readouterr().err == (
        "trackfish3d: rec: is already a recording; --overwrite replaces it, with its tracks\n"
    )
    assert len(Recording.open("rec").tracks) == 1
    assert run(f"{line} --overwrite --min-score 0.5") == 0
    assert not (lab / "rec" / "tracks.parquet").exists()
    assert (lab / "rec" / "notes.txt").read_text() == "mine"


def test_a_failed_overwrite_leaves_the_recording(lab: Path) -> None:
    line = "import --cameras cal.toml --out rec --detections"
    assert run(f"{line} det.csv") == 0
    (lab / "broken.csv").write_text("frame,camera,u,v\n1,nobody,1,1\n")
    assert run(f"{line} broken.csv --overwrite") == 2
    assert len(Recording.open("rec").detections) == 200


def test_what_the_calibration_says_can_be_overridden_on_purpose(lab: Path) -> None:
    line = "import --cameras cal.toml --detections det.csv --fps 30 --out rec"
    assert run(f"{line} --size 641x480 --override-size --water-plane z=10 --override-water-plane --index 1.34") == 0
    rig = Recording.open("rec").rig
    assert rig["front"].size == (641, 480)
    assert [c.interfaces[0].point[2] for c in rig] == [10, 10]
    assert [c.interfaces[0].n_animal for c in rig] == [1.34, 1.34]


def test_an_index_alone_holds_for_the_water_that_is_there(lab: Path) -> None:
    assert run("import --cameras cal.toml --detections det.csv --fps 30 --index 1.34 --out rec") == 0
    assert [[f.n_animal for f in c.interfaces] for c in Recording.open("rec").rig] == [[1.34], []]


def test_cameras_are_renamed(lab: Path) -> None:
    text = (lab / "det.csv").read_text().replace("top", "GX01").replace("front", "GX02")
    (lab / "det.csv").write_text(text)
    line = "import --cameras cal.toml --detections det.csv --fps 30 --out rec"
    assert run(line) == 2
    assert run(f"{line} --rename top=GX01 --rename front=GX02") == 0
    assert Recording.open("rec").rig.names == ("GX01", "GX02")


def test_an_unknown_frame_rate_is_said_loudly_and_written_down(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("import --cameras cal.toml --detections det.csv --out rec") == 0
    printed = capsys.readouterr()
    assert "at an unknown rate" in printed.out
    assert printed.err.count("WARNING") == 3
    info = Recording.open("rec").info
    assert (info.fps, info.fps_known) == (30.0, False)
    assert "fps_known = false" in (lab / "rec" / "recording.toml").read_text()
    assert run("import --cameras cal.toml --detections det.csv --fps 25 --out known") == 0
    assert capsys.readouterr().err == ""
    assert Recording.open("known").info.fps_known
    assert "fps_known" not in (lab / "known" / "recording.toml").read_text()


def test_timestamps_tell_the_frame_rate(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{f},{f / 59.94:.6f}\n" for f in range(50, 90))
    (lab / "clock.csv").write_text("frame,time\n" + rows)
    line = "import --cameras cal.toml --detections det.csv --timestamps top=clock.csv --timestamps front=clock.csv"
    assert run(f"{line} --out rec") == 0
    info = Recording.open("rec").info
    assert info.fps == pytest.approx(59.94, rel=1e-4)
    assert info.fps_known
    assert "WARNING" not in capsys.readouterr().err


def test_one_file_given_for_every_camera_is_split_by_its_cameras(lab: Path) -> None:
    line = "import --cameras cal.toml --fps 30 --out rec --detections"
    assert run(f"{line} top=det.csv --detections front=det.csv") == 0
    assert_same(Recording.open("rec").detections, random_detections(21, first_frame=50))
    assert run(f"{line} front=det.csv --overwrite") == 0
    found = random_detections(21, first_frame=50)
    assert_same(Recording.open("rec").detections, found.select(found.camera == 1))


def test_one_file_that_names_no_camera_cannot_be_that_of_both(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "import --cameras cal.toml --fps 30 --out rec --detections"
    assert run(f"{line} top=det_top.txt --detections front=det_top.txt") == 2
    assert "does not say which camera saw it" in capsys.readouterr().err
    (lab / "det.csv").write_text((lab / "det.csv").read_text().replace("front", "side"))
    assert run(f"{line} front=det.csv") == 2
    assert "its column camera says" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("--detections missing.csv", "missing.csv: no such file"),
        ("--detections side=det.csv", "unknown camera 'side'; the rig has top, front"),
        ("--detections det_top.txt", "does not say which camera"),
        ("--detections top=det_top.txt --detections det.csv", "for every file, or for none"),
        ("--detections top=det_top.txt --detections top=det_front.txt", "names camera top twice"),
        ("--detections det.csv --time-offset front=x", "whole number of frames"),
        ("--detections det.csv --time-offset side=3", "unknown camera 'side'"),
        ("--detections det.csv --time-offset 3", "not NAME=VALUE"),
        ("--detections det.csv --format xml", "unknown format 'xml'"),
        ("--detections det.csv --columns frame", "not NAME=VALUE"),
        ("--detections det.csv --min-score nan", "between 0 and 1"),
        ("--detections det.csv --min-score 30", "between 0 and 1"),
        ("--detections det.csv --size 640", "write width and height"),
        ("--detections det.csv --truth missing.csv", "missing.csv: no such file"),
        ("--detections det.csv --timestamps front=missing.csv", "missing.csv: no such file"),
        ("--detections det.csv --cameras missing.toml", "missing.toml"),
        ("--detections det.csv --units bananas", "is no unit of length that is known"),
        ("--detections det.csv --units mm", "its world is in cm, --units says mm"),
        ("--detections det.csv --size 800x600", "has images of 640x480 px, --size says 800x600"),
        ("--detections det.csv --water-plane z=10", "looks through water already"),
        ("--detections det.csv --index 13", "not a refractive index"),
        ("--detections det.csv --rename top", "not NAME=VALUE"),
        ("--detections det.csv --rename side=top", "unknown camera 'side'"),
        ("--detections det.csv --fps inf", "no camera has that frame rate"),
        ("--detections det.csv --fps 1e300", "no camera has that frame rate"),
        ("--detections det.csv --fps 0", "no camera has that frame rate"),
        ("--detections det.csv --time-offset front=1180591620717411303424", "is too large"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    lab: Path, capsys: pytest.CaptureFixture[str], arguments: str, says: str
) -> None:
    assert run(f"import --cameras cal.toml --out rec {arguments}") == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (lab / "rec").exists()


@pytest.mark.skipif(not DATA, reason="TRACKFISH3D_DATA does not point at the real recordings")
def test_zebrafish_as_they_are(tmp_path: Path) -> None:
    zef = Path(str(DATA)) / "zef" / "02"
    line = f"import --cameras {zef}/cameras.json --detections {zef}/detections_yolox.csv --min-score 0.3"
    assert run(f"{line} --truth {zef}/ground_truth_head.csv --fps 60 --out {tmp_path}/rec") == 0
    recording = Recording.open(tmp_path / "rec")
    assert recording.rig.refractive
    assert (recording.info.first_frame, recording.info.frame_count) == (1, 900)
    assert recording.truth is not None
    assert recording.truth.cameras == ("top", "front")
    assert len(np.unique(recording.truth.identity)) == 5
