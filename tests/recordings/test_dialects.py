"""Tables as spreadsheets of the world write them: separators, decimal signs, encodings."""

from pathlib import Path

import numpy as np
import pytest

from tests.cameras import formats_samples as samples
from trackfish3d.cameras.formats import read_calibration
from trackfish3d.core.errors import InputError
from trackfish3d.core.reading.dialect import Dialect, dialect_of
from trackfish3d.recordings import read_tracks, read_truth
from trackfish3d.recordings.importers import import_truth, read_detections, read_timestamps

from .test_pose_importers import deeplabcut_frame, poses
from .worlds import assert_same, make_rig, random_detections
from .writers import write_csv, write_mot

RIG = make_rig()
DIALECTS = [(";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", "."), (",", ".")]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"]


def rewritten(path: Path, separator: str, decimal: str, encoding: str = "utf-8") -> Path:
    """The same table in another dialect."""
    text = path.read_text().replace(",", separator)
    path.write_bytes((text.replace(".", ",") if decimal == "," else text).encode(encoding))
    return path


@pytest.mark.parametrize(("separator", "decimal"), DIALECTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_detections(tmp_path: Path, separator: str, decimal: str, encoding: str) -> None:
    found = random_detections(4, n=30)
    path = rewritten(write_csv(found, tmp_path / "d.csv"), separator, decimal, encoding)
    assert_same(read_detections(path, RIG, sort=True), found)
    top = rewritten(write_mot(found, "top", tmp_path / "top.txt"), separator, decimal, encoding)
    back = read_detections({"top": top}, RIG, sort=True)
    assert_same(back, found.select(found.camera == 0), atol=1e-9)


@pytest.mark.parametrize(("separator", "decimal"), DIALECTS)
@pytest.mark.filterwarnings("ignore")
def test_poses(tmp_path: Path, separator: str, decimal: str) -> None:
    deeplabcut_frame(poses(2, frames=4), True).to_csv(tmp_path / "a.csv")
    plain = read_detections({"top": tmp_path / "a.csv"}, RIG, keypoint="mean")
    path = rewritten(tmp_path / "a.csv", separator, decimal)
    assert_same(read_detections({"top": path}, RIG, keypoint="mean"), plain)


@pytest.mark.parametrize(("separator", "decimal"), DIALECTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_truth_tracks_and_clocks(tmp_path: Path, separator: str, decimal: str, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("frame,id,x,y,z\n1,1,1.5,2.25,30.5\n2,1,1.75,2.25,30.0\n")
    rewritten(path, separator, decimal, encoding)
    for read in (read_truth, read_tracks):
        assert read(path).position.tolist() == [[1.5, 2.25, 30.5], [1.75, 2.25, 30.0]]
    path.write_text("1,1,1.5,2.25,30.5\n2,1,1.75,2.25,30.0\n")
    assert read_tracks(rewritten(path, separator, decimal, encoding)).frame.tolist() == [1, 2]
    path.write_text("pt1_X,pt1_Y,pt1_Z\n1.5,2.25,30.5\nNaN,NaN,NaN\n")
    assert import_truth(rewritten(path, separator, decimal, encoding), RIG).position.tolist() == [[1.5, 2.25, 30.5]]
    path.write_text("frame,time\n1,0.25\n2,0.5\n")
    assert read_timestamps(rewritten(path, separator, decimal, encoding))[1].tolist() == [0.25, 0.5]


@pytest.mark.parametrize(("separator", "decimal"), [*DIALECTS, (" ", ".")])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.filterwarnings("ignore")
def test_calibrations(tmp_path: Path, separator: str, decimal: str, encoding: str) -> None:
    rig = samples.rig(3, water=False, distortion=())
    path = tmp_path / "dlt.csv"
    samples.write_dlt(rig, path)
    plain = read_calibration(path, size=samples.SIZE)
    back = read_calibration(rewritten(path, separator, decimal, encoding), size=samples.SIZE)
    np.testing.assert_array_equal(back.matrices, plain.matrices)


def test_other_encodings_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("frame;id;x;y;z;Höhe\n1;1;1;2;3;4\n".encode("cp1252"))
    with pytest.raises(InputError, match="UTF-8 or UTF-16; save it so"):
        read_truth(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("a,b\n1,2\n", Dialect()),
        ("a,b;c\n1,2;3\n", Dialect()),  # most cells: a semicolon and a comma make two each, the comma is the usual one
        ("a;b\n1,5;2\n", Dialect(";", ",")),
        ("a;b\n1.5;2\n", Dialect(";", ".")),
        ("1;2;3;4;5,5;6\n1;2;3;4;5;6\n", Dialect(";", ",")),
        ("1\t2,5\n", Dialect("\t", ",")),
        ("", Dialect()),
        ("one\n", Dialect()),
    ],
)
def test_dialects_told_by_the_first_lines(text: str, dialect: Dialect) -> None:
    assert dialect_of(text) == dialect
