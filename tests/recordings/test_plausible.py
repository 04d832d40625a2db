"""What no camera could see, no tank could hold and no film has is refused with its row."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trackfish3d.cameras import Camera
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Recording, read_tracks, read_truth
from trackfish3d.recordings.importers import import_truth, read_detections, read_timestamps

from .worlds import make_rig, random_detections, tracked_recording
from .writers import write_csv

RIG = make_rig()


@pytest.mark.parametrize("value", ["1e308", "-1e18", "4.6e18", "7681", "-6401"])
@pytest.mark.parametrize("column", ["u", "x2"])
def test_pixels_that_no_image_comes_near_to(tmp_path: Path, column: str, value: str) -> None:
    path = write_csv(random_detections(1, n=8), tmp_path / "d.csv")
    lines = path.read_text().splitlines()
    at = lines[0].split(",").index(column)
    cells = lines[4].split(",")
    cells[at] = value
    path.write_text("\n".join([*lines[:4], ",".join(cells), *lines[5:]]))
    with pytest.raises(InputError, match=rf"d.csv: row 3: {column} is .*, far outside"):
        read_detections(path, RIG, sort=True)


def test_a_point_somewhat_outside_of_the_image_is_kept(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("frame,camera,u,v\n1,top,-3000,2000\n")
    assert read_detections(tmp_path / "d.csv", RIG, box_size=4).u.tolist() == [-3000]


def test_a_recording_from_elsewhere_is_not_trusted(tmp_path: Path) -> None:
    made = tracked_recording(tmp_path / "rec")
    path = tmp_path / "rec" / "detections.parquet"
    table = pq.read_table(path)
    wild = table["v"].to_numpy().copy()
    wild[5] = 1e9
    pq.write_table(table.set_column(table.column_names.index("v"), "v", pa.array(wild)), path)
    made.forget()
    with pytest.raises(InputError, match="row 5: v is 1e"):
        _ = made.detections
    with pytest.raises(InputError, match="row 5: v is 1e"):
        list(made.iter_detections())


@pytest.mark.parametrize("value", ["4.6e18", "-1e308", "1e11"])
def test_positions_that_no_tank_holds(tmp_path: Path, value: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"frame,id,x,y,z\n1,1,1,2,3\n2,1,1,{value},3\n")
    for read in (read_truth, read_tracks):
        with pytest.raises(InputError, match=r"t.csv: row 1: x, y or z is beyond 1e\+10"):
            read(path)
    path.write_text(f"pt1_X,pt1_Y,pt1_Z\n1,2,3\n1,{value},3\n")
    with pytest.raises(InputError, match="row 1: x, y or z is beyond"):
        import_truth(path, RIG)


def test_truth_a_hundred_thousand_rigs_away_is_of_another_world(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("frame,id,x,y,z\n1,1,1,2,3\n2,1,1,9e6,3\n")
    with pytest.raises(InputError, match="row 1: is 100000 times as far"):
        import_truth(path, RIG)


@pytest.mark.parametrize("frame", ["9007199254740993", "1e18", "-1099511627776", "2000000000"])
def test_frames_that_no_film_has(tmp_path: Path, frame: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"frame,id,x,y,z\n1,1,1,2,3\n{frame},1,1,2,3\n3,1,1,2,3\n")
    with pytest.raises(InputError, match=r"row 1: .*frame"):
        read_tracks(path)
    path.write_text(f"frame,camera,u,v\n1,top,5,5\n{frame},top,5,5\n3,top,5,5\n")
    with pytest.raises(InputError, match=r"row 1: .*frame"):
        read_detections(path, RIG, sort=True, box_size=4)


def test_frames_that_begin_late_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("frame,id,x,y,z\n1700000000000,1,1,2,3\n1700000000001,1,1,2,3\n")
    assert len(read_tracks(path)) == 2


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("y", 1e18, "beyond"),
        ("cov_xx", -1.0, "variance below 0"),
        ("cov_xy", 1e300, "cov_xy is beyond"),
        ("confidence", 1.5, "outside 0..1"),
        ("sigma_velocity", -0.1, "no standard deviation"),
        ("error_px", -np.inf, "no distance"),
        ("views", -1, "no number of cameras"),
        ("frame", 2**41, "frames away"),
    ],
)
def test_tracks_that_say_what_no_track_says(tmp_path: Path, column: str, value: float, says: str) -> None:
    made = tracked_recording(tmp_path / "rec")
    path = tmp_path / "rec" / "tracks.parquet"
    table = pq.read_table(path)
    values = table[column].to_numpy().copy()
    values[3] = value
    pq.write_table(table.set_column(table.column_names.index(column), column, pa.array(values)), path)
    with pytest.raises(InputError, match=f"row 3: .*{says}"):
        _ = made.tracks


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("fps = inf", "fps"),
        ("fps = 1e300", "fps"),
        ("fps = nan", "fps"),
        ("first_frame = 9223372036854775807", "first_frame"),
        ("frame_count = 1099511627776", "frame_count"),
        ("[time_offset_frames]\ntop = 1180591620717411303424", "time_offset_frames.top"),
    ],
)
def test_clocks_that_nothing_has(tmp_path: Path, line: str, says: str) -> None:
    tracked_recording(tmp_path / "rec")
    (tmp_path / "rec" / "recording.toml").write_text(line + "\n")
    with pytest.raises(InputError, match=rf"recording.toml: {says}: "):
        Recording.open(tmp_path / "rec")


def test_times_beyond_all_ages(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("frame,time\n1,0.1\n2,1e300\n")
    with pytest.raises(InputError, match="row 1: time is beyond"):
        read_timestamps(tmp_path / "c.csv")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"t": [0, 1e18, 0]}, "beyond"),
        ({"t": [0, 1e308, 0]}, "beyond"),
        ({"distortion": [1e18, 0, 0, 0, 0]}, "coefficient 1 is 1e.18"),
        ({"distortion": [0, 0, 0, -1e300, 0]}, "coefficient 4"),
        ({"distortion": np.append(np.zeros(13), 9.0)}, "tilted"),
        ({"K": [[1e12, 0, 320], [0, 500, 240], [0, 0, 1]]}, "focal length"),
        ({"K": [[1e-6, 0, 320], [0, 500, 240], [0, 0, 1]]}, "focal length"),
        ({"K": [[500, 0, 1e15], [0, 500, 240], [0, 0, 1]]}, "principal point"),
    ],
)
def test_cameras_that_nobody_makes(change: dict, says: str) -> None:
    camera = make_rig()[1]
    values = {k: np.asarray(v, dtype=np.float64) for k, v in change.items()}
    with pytest.raises(InputError, match=f"camera front: .*{says}"):
        replace(camera, **values)


def test_long_and_wide_lenses_are_fine() -> None:
    """A tele lens has coefficients of 1e5 because the radius is a hundredth; a rational model's cancel each other."""
    eye, t = np.eye(3), np.zeros(3)
    tele = np.array([[60000.0, 0, 960], [0, 60000, 540], [0, 0, 1]])
    Camera("tele", (1920, 1080), tele, np.array([-12.0, 3000.0, 0.001, 0.001, 1e6]), eye, t)
    wide = np.array([[400.0, 0, 960], [0, 400, 540], [0, 0, 1]])
    Camera("wide", (1920, 1080), wide, np.array([9.5, 3.1, 0, 0, 0.2, 9.8, 5.0, 0.9]), eye, t)
