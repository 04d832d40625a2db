"""Poses in other tools' files, read back by those tools."""

import csv
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Poses, Recording, Skeleton
from trackfish3d.recordings.exporters.poses import POSE_FORMATS, export_poses

from .worlds import make_rig

PARTS = ("snout", "left_eye", "right_eye", "tail")


@pytest.fixture
def posed(tmp_path: Path) -> tuple[Recording, Poses]:
    rng = np.random.default_rng(0)
    position = rng.uniform(-1, 1, (9, 4, 3))
    position[3, 2] = np.nan
    cov = np.broadcast_to(np.diag([0.01, 0.02, 0.03]), (9, 4, 3, 3)).copy()
    poses = Poses.build(
        [2, 2, 3, 3, 4, 6, 6, 7, 7], [0, 1, 0, 1, 0, 0, 1, 0, 1], position, Skeleton(PARTS, ((0, 3),)), covariance=cov,
        views=np.full((9, 4), 2),
    )  # fmt: skip
    recording = Recording.create(tmp_path / "rec", make_rig(), fps=50.0, frames=(0, 10))
    recording.write_poses(poses)
    return recording, poses


def at(poses: Poses, frame: int, track: int) -> np.ndarray:
    return poses.position[(poses.frame == frame) & (poses.track == track)][0]


def test_movement(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    xr = pytest.importorskip("xarray")
    recording, poses = posed
    export_poses(recording, tmp_path / "p.nc", "movement-poses")
    with xr.open_dataset(tmp_path / "p.nc", decode_times=False) as data:
        assert data["position"].dims == ("time", "space", "keypoint", "individual")
        assert list(data["keypoint"].values) == list(PARTS)
        one = data["position"].sel(individual="track_1").isel(time=4).transpose("keypoint", "space").values
        np.testing.assert_allclose(one, at(poses, 6, 1))
        assert np.isnan(data["position"].isel(time=3)).all()
        assert float(data["time"][0]) == pytest.approx(2 / 50)


def test_points3d_has_the_shape_that_sleap_anipose_writes(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    h5py = pytest.importorskip("h5py")
    recording, poses = posed
    export_poses(recording, tmp_path / "points3d.h5", "points3d")
    with h5py.File(tmp_path / "points3d.h5") as file:
        assert file["tracks"].shape == (6, 2, 4, 3)
        np.testing.assert_array_equal(file["tracks"][0, 1], at(poses, 2, 1))


def test_anipose_writes_a_file_for_each_animal(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    recording, poses = posed
    notes = export_poses(recording, tmp_path / "pose-3d.csv", "anipose")
    assert "2 files" in notes[0]
    with (tmp_path / "pose-3d_track_1.csv").open() as file:
        rows = list(csv.DictReader(file))
    row = next(r for r in rows if r["fnum"] == "6")
    np.testing.assert_allclose([float(row[f"tail_{a}"]) for a in "xyz"], at(poses, 6, 1)[3])
    assert float(row["tail_error"]) == pytest.approx(np.sqrt(0.02))
    assert float(row["tail_ncams"]) == 2


@pytest.mark.parametrize("kind", ["csv", "h5"])
def test_deeplabcut(tmp_path: Path, posed: tuple[Recording, Poses], kind: str) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("tables")
    recording, poses = posed
    path = tmp_path / f"d.{kind}"
    export_poses(recording, path, "deeplabcut3d")
    table = pd.read_csv(path, header=[0, 1, 2, 3], index_col=0) if kind == "csv" else pd.read_hdf(path)
    values = table.xs("track_0", axis=1, level=1).loc[4].to_numpy(float).reshape(4, 3)
    np.testing.assert_allclose(values, at(poses, 4, 0))


def test_c3d(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    ezc3d = pytest.importorskip("ezc3d")
    recording, poses = posed
    export_poses(recording, tmp_path / "p.c3d", "c3d")
    file = ezc3d.c3d(str(tmp_path / "p.c3d"))
    labels = file["parameters"]["POINT"]["LABELS"]["value"]
    k = labels.index("track_1:snout")
    np.testing.assert_allclose(file["data"]["points"][:3, k, 4], at(poses, 6, 1)[0], rtol=1e-6)
    assert file["parameters"]["POINT"]["RATE"]["value"][0] == 50
    assert np.isnan(file["data"]["points"][0, k, 3])


def test_nwb_passes_its_inspector(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    pynwb = pytest.importorskip("pynwb")
    pytest.importorskip("ndx_pose")
    recording, poses = posed
    about = {
        "session_start": "2026-05-04T13:30:00+02:00", "lab": "Lab", "institution": "Institute",
        "experimenter": "Doe, Jane", "subject_id": "fish", "species": "Danio rerio", "sex": "U", "age": "P90D",
        "session_description": "two fish swim", "experiment_description": "swimming", "keywords": "fish; poses",
    }  # fmt: skip
    path = tmp_path / "p.nwb"
    assert export_poses(recording, path, "nwb-poses", about) == []
    with pynwb.NWBHDF5IO(str(path), "r") as io:
        module = io.read().processing["behavior"]
        series = module["track_1"]["tail"]
        np.testing.assert_allclose(series.data[2], at(poses, 6, 1)[3])
        assert series.timestamps[2] == pytest.approx(6 / 50)
    inspector = pytest.importorskip("nwbinspector")
    found = list(inspector.inspect_nwbfile(nwbfile_path=str(path)))
    assert [m.message for m in found if m.importance.name in ("CRITICAL", "ERROR", "PYNWB_VALIDATION")] == []
    with pytest.raises(InputError, match="'colour' is not known"):
        export_poses(recording, path, "nwb-poses", {"colour": "red"})
    with pytest.raises(InputError, match="write it as"):
        export_poses(recording, path, "nwb-poses", {"session_start": "yesterday"})


def test_sleap_session(tmp_path: Path, posed: tuple[Recording, Poses]) -> None:
    sio = pytest.importorskip("sleap_io")
    recording, poses = posed
    export_poses(recording, tmp_path / "p.slp", "slp-poses")
    labels = sio.load_slp(str(tmp_path / "p.slp"), open_videos=False)
    assert labels.skeletons[0].node_names == list(PARTS)
    group = labels.sessions[0].frame_groups[6].instance_groups
    points = [np.asarray(g.instance_3d.points if g.instance_3d is not None else g.points) for g in group]
    np.testing.assert_allclose(points[1], at(poses, 6, 1), rtol=1e-6)


def test_without_poses_there_is_nothing_to_write(tmp_path: Path) -> None:
    recording = Recording.create(tmp_path / "rec", make_rig(), fps=50.0, frames=(0, 10))
    for format in POSE_FORMATS:
        with pytest.raises(InputError, match="has no poses"):
            export_poses(recording, tmp_path / "x.csv", format)
