"""``trackfish3d evaluate`` on files as users have them."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.cli.app import main
from trackfish3d.cli.results.evaluate import same_detections, short_names
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Detections, Recording, Tracks, Truth, write_table, write_tracks_csv

FRAME = np.repeat(np.arange(100), 2)
FISH = np.tile([0, 1], 100)
XYZ = np.stack([10.0 * FISH, 0.1 * FRAME, 40.0 + 0 * FRAME], axis=1)
SWAPPED = np.where(FRAME < 50, FISH, 1 - FISH)


def write_points(path: Path, frame: np.ndarray, identity: np.ndarray, xyz: np.ndarray, header: bool = True) -> Path:
    lines = ["frame,id,x,y,z"] if header else []
    lines += [f"{f},{i},{x},{y},{z}" for f, i, (x, y, z) in zip(frame, identity, xyz, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return write_points(tmp_path / "truth.csv", FRAME, FISH, XYZ)


@pytest.fixture
def swapped(tmp_path: Path) -> Path:
    return write_points(tmp_path / "swapped.csv", FRAME, SWAPPED, XYZ)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    try:
        main(["evaluate", *(str(a) for a in arguments)])
    except SystemExit as stop:
        code = int(stop.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def scores_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, dict[str, float]]:
    code, out, _ = run(capsys, *arguments, "--json")
    assert code == 0
    found: dict[str, dict[str, float]] = json.loads(out)
    return found


def test_two_files_side_by_side(capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path, tmp_path: Path) -> None:
    perfect = write_points(tmp_path / "perfect.csv", FRAME, FISH + 5, XYZ)
    scores = scores_of(capsys, swapped, perfect, "--truth", truth, "--gate", 1)
    assert scores["swapped"]["switches"] == 2
    assert scores["swapped"]["mtbf_m"] == 50.0
    assert scores["swapped"]["mtbf_m_compat"] == pytest.approx(33.333, abs=1e-3)
    assert scores["perfect"]["idf1"] == 1.0


def test_every_way_to_write_the_same_tracks_scores_the_same(
    capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path, tmp_path: Path
) -> None:
    tracks = Tracks.build(FRAME, SWAPPED, XYZ)
    write_table(tracks.to_table(), tmp_path / "b.parquet")
    write_tracks_csv(tracks, tmp_path / "c.csv")
    write_points(tmp_path / "d.txt", FRAME, SWAPPED, XYZ, header=False)
    files = [swapped, tmp_path / "b.parquet", tmp_path / "c.csv", tmp_path / "d.txt"]
    scores = scores_of(capsys, *files, "--truth", truth, "--gate", 1)
    assert list(scores) == ["swapped.csv", "b.parquet", "c.csv", "d.txt"]
    for row in scores.values():
        assert row == pytest.approx(scores["swapped.csv"], abs=1e-6)


@pytest.mark.parametrize(
    ("form", "begins"),
    [("md", "| | MOTA %"), ("csv", "name,gate,mota"), ("latex", r"\begin{tabular}{lrrrrrrrrr}"), ("json", "{")],
)
def test_tables_come_in_every_form(
    capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path, form: str, begins: str
) -> None:
    code, out, _ = run(capsys, swapped, "--truth", truth, "--gate", 1, "--format", form, "--compat")
    assert code == 0
    assert out.startswith(begins)
    assert "swapped" in out


def test_terminal_table_has_all_scores_and_compat_on_demand(
    capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path
) -> None:
    _, out, _ = run(capsys, swapped, "--truth", truth, "--gate", 1)
    assert "MOTA %" in out
    assert "RMSE z" in out
    assert "compat" not in out
    _, out, _ = run(capsys, swapped, "--truth", truth, "--gate", 1, "--compat")
    assert "33.3" in out


def test_csv_reads_back(capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path) -> None:
    _, out, _ = run(capsys, swapped, "--truth", truth, "--gate", 1, "--format", "csv")
    row = next(csv.DictReader(io.StringIO(out)))
    assert float(row["mota"]) == 0.99


def test_plots_are_one_picture_per_file(
    capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path, tmp_path: Path
) -> None:
    code, _, _ = run(capsys, swapped, "--truth", truth, "--gate", 1, "--plots", tmp_path / "plots")
    assert code == 0
    assert [p.name for p in (tmp_path / "plots").iterdir()] == ["swapped.png"]


def recording_of_two(folder: Path, with_truth: bool = True) -> Recording:
    """Two fish seen by three cameras, tracked from those very detections."""
    K = np.array([[900.0, 0, 640], [0, 900, 360], [0, 0, 1]])
    cameras = [
        Camera(name, (1280, 720), K, np.zeros(5), np.eye(3), np.array([-x, -y, 0.0]))
        for name, x, y in (("a", 0, 0), ("b", 10, 0), ("c", 5, 8))
    ]
    rig = CameraRig(tuple(cameras), units="cm")
    pixels = np.stack([camera.project(XYZ) for camera in rig], axis=1)
    rows = np.arange(600).reshape(100, 3, 2).transpose(0, 2, 1).reshape(200, 3)
    flat = np.empty((600, 2))
    flat[rows] = pixels
    detections = Detections.build(rig.names, np.repeat(np.arange(100), 6), np.tile([0, 0, 1, 1, 2, 2], 100), *flat.T)
    known = Truth.build(FRAME, FISH, XYZ) if with_truth else None
    recording = Recording.create(folder, rig, detections=detections, truth=known)
    recording.write_tracks(Tracks.build(FRAME, FISH, XYZ, detection=rows, cameras=rig.names))
    return recording


def test_a_recording_has_its_own_truth(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recording_of_two(tmp_path / "rec")
    scores = scores_of(capsys, tmp_path / "rec", "--gate", 1)
    assert scores["rec"]["mota"] == 1.0


def test_a_recording_is_truth_for_other_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, swapped: Path
) -> None:
    recording_of_two(tmp_path / "rec")
    scores = scores_of(capsys, swapped, tmp_path / "rec" / "tracks.csv", "--truth", tmp_path / "rec", "--gate", 1)
    assert scores["swapped"]["switches"] == 2
    assert scores["tracks"]["switches"] == 0


def test_without_truth_a_recording_is_judged_by_held_out_cameras(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    recording_of_two(tmp_path / "rec", with_truth=False)
    scores = scores_of(capsys, tmp_path / "rec")["rec"]
    assert scores["held_out_count"] == 600
    assert scores["held_out_median_px"] < 1e-4
    assert scores["full_length_tracks"] == 2


def test_without_truth_a_plain_file_has_lengths_only(capsys: pytest.CaptureFixture[str], swapped: Path) -> None:
    scores = scores_of(capsys, swapped)["swapped"]
    assert scores["length_median"] == 100
    assert "held_out_count" not in scores


def assert_one_line(code: int, err: str, *words: str) -> None:
    assert code == 2
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path, tmp_path: Path) -> None:
    code, _, err = run(capsys, swapped, "--truth", truth)
    assert_one_line(code, err, "--gate is missing")
    code, _, err = run(capsys, swapped, "--truth", tmp_path / "nowhere.csv", "--gate", 1)
    assert_one_line(code, err, "nowhere.csv", "no such file")
    code, _, err = run(capsys, swapped, swapped, "--truth", truth, "--gate", 1)
    assert_one_line(code, err, "swapped.csv", "twice")
    code, _, err = run(capsys, swapped, "--gate", 1)
    assert_one_line(code, err, "--truth")
    code, _, err = run(capsys, swapped, "--truth", truth, "--gate", -1)
    assert_one_line(code, err, "--gate -1:")


def test_an_id_twice_in_a_frame_names_file_frame_and_id(
    capsys: pytest.CaptureFixture[str], truth: Path, tmp_path: Path
) -> None:
    doubled = tmp_path / "doubled.csv"
    doubled.write_text("frame,id,x,y,z\n7,3,0,0,0\n7,3,1,0,0\n")
    code, _, err = run(capsys, doubled, "--truth", truth, "--gate", 1)
    assert_one_line(code, err, "doubled.csv", "track 3", "frame 7")


def test_a_recording_without_truth_cannot_be_the_truth(
    capsys: pytest.CaptureFixture[str], swapped: Path, tmp_path: Path
) -> None:
    recording_of_two(tmp_path / "rec", with_truth=False)
    code, _, err = run(capsys, swapped, "--truth", tmp_path / "rec", "--gate", 1)
    assert_one_line(code, err, "rec", "has no truth")


def test_frames_that_never_match_are_refused_and_others_noted(
    capsys: pytest.CaptureFixture[str], truth: Path, tmp_path: Path
) -> None:
    late = write_points(tmp_path / "late.csv", FRAME + 1000, FISH, XYZ)
    code, _, err = run(capsys, late, "--truth", truth, "--gate", 1)
    assert_one_line(code, err, "late.csv", "1000..1099", "0..99")
    shifted = write_points(tmp_path / "shifted.csv", FRAME + 1, FISH, XYZ)
    code, out, err = run(capsys, shifted, "--truth", truth, "--gate", 1, "--json")
    assert code == 0
    assert "2 of 200 points are in frames without truth" in err
    assert json.loads(out)["shifted"]["false_positives"] == 2


def test_empty_tracks_give_scores(capsys: pytest.CaptureFixture[str], truth: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("frame,id,x,y,z\n")
    code, out, err = run(capsys, empty, "--truth", truth, "--gate", 1, "--json", "--plots", tmp_path)
    assert code == 0
    assert json.loads(out)["empty"]["mota"] == 0.0
    assert json.loads(out)["empty"]["precision"] is None
    assert "holds no tracks" in err


def test_empty_truth_is_refused(capsys: pytest.CaptureFixture[str], swapped: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("frame,id,x,y,z\n")
    code, _, err = run(capsys, swapped, "--truth", empty, "--gate", 1)
    assert_one_line(code, err, "empty.csv", "no true position")


def test_positions_left_blank_name_the_row(capsys: pytest.CaptureFixture[str], truth: Path, swapped: Path) -> None:
    lines = swapped.read_text().splitlines()
    lines[5] = ",".join([*lines[5].split(",")[:2], "", "", ""])
    swapped.write_text("\n".join(lines) + "\n")
    code, _, err = run(capsys, swapped, "--truth", truth, "--gate", 1)
    assert_one_line(code, err, "swapped.csv", "row 4")


def test_positions_that_are_not_numbers_are_left_out_and_noted(
    capsys: pytest.CaptureFixture[str], truth: Path, tmp_path: Path
) -> None:
    xyz = XYZ.copy()
    xyz[5] = np.nan
    write_table(Tracks.build(FRAME, FISH, xyz).to_table(), tmp_path / "gaps.parquet")
    code, out, err = run(capsys, tmp_path / "gaps.parquet", "--truth", truth, "--gate", 1, "--json")
    assert code == 0
    assert json.loads(out)["gaps"]["misses"] == 1
    assert "1 points without a finite position are left out" in err


def test_names_are_as_short_as_tells_them_apart() -> None:
    assert short_names([Path("x/a.csv"), Path("y/b.csv")]) == ["a", "b"]
    assert short_names([Path("x/a.csv"), Path("x/a.parquet")]) == ["a.csv", "a.parquet"]
    assert short_names([Path("x/a.csv"), Path("y/a.csv")]) == ["x/a", "y/a"]
    with pytest.raises(InputError, match="given twice"):
        short_names([Path("x/a.csv"), Path("x/../x/a.csv")])


@pytest.mark.parametrize("gate", ["-1", "0", "nan", "inf"])
def test_a_gate_that_is_no_distance_is_named_as_typed(
    capsys: pytest.CaptureFixture[str], swapped: Path, truth: Path, gate: str
) -> None:
    code, _, err = run(capsys, swapped, "--truth", truth, "--gate", gate)
    assert code == 2
    assert f"--gate {gate}:" in err
    assert err.count("\n") == 1


def test_rows_of_other_detections_are_not_taken_for_those_of_the_truth(tmp_path: Path) -> None:
    camera = Camera("c0", (100, 100), np.diag([50.0, 50.0, 1.0]), [], np.eye(3), np.zeros(3))
    rig, u = CameraRig((camera,)), np.array([10.0, 20.0, 30.0])
    for name, shift in (("school", 0.0), ("copy", 0.0), ("film", 0.5)):
        Recording.create(
            tmp_path / name, rig, detections=Detections.build(rig.names, [0, 1, 2], [0, 0, 0], u + shift, u)
        )
    assert same_detections(tmp_path / "school", tmp_path / "school")
    assert same_detections(tmp_path / "copy", tmp_path / "school" / "truth.parquet")
    assert not same_detections(tmp_path / "film", tmp_path / "school")
    assert same_detections(tmp_path / "tracks.csv", tmp_path / "school")


def test_recordings_with_truth_inside_are_each_scored_against_their_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folders = []
    for name, track in (("a", FISH), ("b", SWAPPED), ("c", FISH)):
        shift = {"a": 0, "b": 1000, "c": 2000}[name]
        rig = CameraRig((Camera("top", (64, 48), np.diag([50.0, 50, 1]), np.zeros(5), np.eye(3), np.zeros(3)),), "cm")
        truth = Truth.build(FRAME + shift, FISH, XYZ)
        made = Recording.create(tmp_path / name, rig, truth=truth, detections=Detections.empty(("top",)))
        made.write_tracks(Tracks.build(FRAME + shift, track, XYZ))
        folders.append(made.folder)
    scores = scores_of(capsys, *folders)
    assert {n: s["switches"] for n, s in scores.items()} == {"a": 0, "b": 2, "c": 0}
    code, out, _ = run(capsys, *folders, "--gate", 1)
    assert code == 0
    assert "truth of each, gate 1" in out
    (folders[1] / "truth.parquet").unlink()
    code, _, err = run(capsys, *folders)
    assert code == 2
    assert "b: has no truth of its own" in err
    code, _, err = run(capsys, folders[0], tmp_path / "nowhere")
    assert code == 2
    assert "nowhere: no such file or folder" in err
