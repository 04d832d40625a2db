"""Tracks written for other tools are the same when those tools' own libraries read them."""

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.recordings import Recording, Tracks, read_tracks
from trackfish3d.recordings.exporters import FORMATS, export_tracks
from trackfish3d.recordings.importers import read_detections

from .worlds import tracked_recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return tracked_recording(tmp_path / "rec", offset=3)


def assert_points(found: dict[tuple[int, int], Any], tracks: Tracks, atol: float = 0.0) -> None:
    """``found`` maps (frame, track) to a position; it holds every point of `tracks` and no other."""
    keys = list(zip(tracks.frame.tolist(), tracks.track.tolist(), strict=True))
    assert sorted(found) == sorted(keys)
    np.testing.assert_allclose([found[k] for k in keys], tracks.position, rtol=0, atol=atol)


def test_zef3d_has_five_numbers_a_line_and_no_header(recording: Recording, tmp_path: Path) -> None:
    notes = export_tracks(recording, tmp_path / "t.txt", "zef3d")
    rows = np.loadtxt(tmp_path / "t.txt", delimiter=",")
    assert_points({(int(f), int(t)): p for f, t, *p in rows}, recording.tracks, atol=5e-7)
    lost = int((recording.tracks.position <= 0).any(1).sum())
    assert lost > 0
    assert notes == [
        f"{lost} of {len(rows)} points have a coordinate of 0 or less; the 3D-ZeF evaluation ignores those"
    ]
    np.testing.assert_array_equal(read_tracks(tmp_path / "t.txt").track, recording.tracks.track)


def test_parquet_keeps_every_column_and_says_the_unit(recording: Recording, tmp_path: Path) -> None:
    export_tracks(recording, tmp_path / "t.parquet", "parquet")
    back, tracks = read_tracks(tmp_path / "t.parquet"), recording.tracks
    for name in ("frame", "track", "position", "covariance", "views", "observed", "confidence", "detection"):
        np.testing.assert_array_equal(getattr(back, name), getattr(tracks, name), err_msg=name)
    assert pq.read_schema(tmp_path / "t.parquet").metadata == {b"fps": b"25.0", b"units": b"cm"}


def test_csv_is_the_papers(recording: Recording, tmp_path: Path) -> None:
    export_tracks(recording, tmp_path / "t.csv", "csv")
    assert (tmp_path / "t.csv").read_bytes() == (recording.folder / "tracks.csv").read_bytes()


def test_netcdf_has_the_dimensions_of_movement(recording: Recording, tmp_path: Path) -> None:
    xr = pytest.importorskip("xarray")
    export_tracks(recording, tmp_path / "t.nc", "netcdf")
    with xr.open_dataset(tmp_path / "t.nc") as data:
        assert data.position.dims == ("time", "space", "keypoints", "individuals")
        assert data.confidence.dims == ("time", "keypoints", "individuals")
        assert data.attrs["ds_type"] == "poses"
        assert (data.attrs["fps"], data.attrs["time_unit"]) == (25.0, "seconds")
        found = {}
        for k, name in enumerate(data.individuals.values):
            for time, point in zip(data.time.values, data.position.values[:, :, 0, k], strict=True):
                if np.isfinite(point).all():
                    found[round(float(time) * 25), int(str(name).removeprefix("track_"))] = point
        assert_points(found, recording.tracks)
        tracks = recording.tracks
        sure = np.isfinite(tracks.confidence)
        assert np.sort(data.confidence.values[np.isfinite(data.confidence.values)]).tolist() == sorted(
            tracks.confidence[sure]
        )


def test_movement_takes_the_netcdf_for_its_own(recording: Recording, tmp_path: Path) -> None:
    validators = pytest.importorskip("movement.validators.datasets")
    kinematics = pytest.importorskip("movement.kinematics")
    xr = pytest.importorskip("xarray")
    export_tracks(recording, tmp_path / "t.nc", "netcdf")
    with xr.open_dataset(tmp_path / "t.nc") as data:
        validators.ValidPosesInputs.validate(data)
        velocity = kinematics.compute_velocity(data.position)
        assert velocity.dims == data.position.dims


@pytest.mark.parametrize(("units", "metres"), [("cm", 0.01), ("mm", 0.001), ("m", 1.0), ("unit", None)])
def test_nwb_is_in_metres(tmp_path: Path, units: str, metres: float | None) -> None:
    pynwb = pytest.importorskip("pynwb")
    pytest.importorskip("ndx_pose")
    recording = tracked_recording(tmp_path / "rec", units=units)
    export_tracks(recording, tmp_path / "t.nwb", "nwb")
    tracks = recording.tracks
    with pynwb.NWBHDF5IO(str(tmp_path / "t.nwb"), "r") as io:
        module = io.read().processing["behavior"]
        found = {}
        for track in tracks.identities.tolist():
            series = module[f"track_{track}"].pose_estimation_series["centroid"]
            assert series.unit == ("meters" if metres else "unit")
            assert series.conversion == (metres or 1.0)
            np.testing.assert_array_equal(series.confidence[:], tracks.confidence[tracks.track == track])
            for time, point in zip(series.timestamps[:], series.data[:], strict=True):
                found[round(float(time) * recording.fps), track] = point
        assert_points(found, tracks)


def test_nwb_is_valid(recording: Recording, tmp_path: Path) -> None:
    pynwb = pytest.importorskip("pynwb")
    pytest.importorskip("ndx_pose")
    export_tracks(recording, tmp_path / "t.nwb", "nwb")
    errors = pynwb.validate(path=str(tmp_path / "t.nwb"))
    assert not (errors[0] if isinstance(errors, tuple) else errors)


def test_sleap_groups_hold_the_points_and_what_they_came_from(recording: Recording, tmp_path: Path) -> None:
    sio = pytest.importorskip("sleap_io")
    notes = export_tracks(recording, tmp_path / "t.slp", "slp")
    assert any("refraction" in n for n in notes)
    labels = sio.load_slp(str(tmp_path / "t.slp"), open_videos=False)
    (session,) = labels.sessions
    cameras = {c.name: c for c in session.camera_group.cameras}
    for camera in recording.rig:
        np.testing.assert_allclose(cameras[camera.name].matrix, camera.K)
        np.testing.assert_allclose(cameras[camera.name].tvec, camera.t)
    tracks, detections = recording.tracks, recording.detections
    found, pixels = {}, {}
    for frame, group in session.frame_groups.items():
        for animal in group.instance_groups:
            key = int(frame), int(animal.metadata["track"].removeprefix("track_"))
            found[key] = animal.instance_3d.points[0]
            pixels[key] = {c.name: animal.get_instance(c) for c in animal.cameras}
        for camera, labelled in group._labeled_frame_by_camera.items():
            assert labelled.frame_idx == frame - {"top": 0, "front": 3}[camera.name]
    assert_points(found, tracks)
    for row, key in enumerate(zip(tracks.frame.tolist(), tracks.track.tolist(), strict=True)):
        seen = {n: tracks.detection[row, k] for k, n in enumerate(tracks.cameras) if tracks.detection[row, k] >= 0}
        assert set(pixels[key]) == set(seen)
        for name, k in seen.items():
            np.testing.assert_allclose(pixels[key][name].numpy()[0], detections.centroids[k])
            assert pixels[key][name].track.name == f"track_{key[1]}"


def test_sleap_files_can_be_imported_again(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("sleap_io")
    export_tracks(recording, tmp_path / "t.slp", "slp")
    back = read_detections(tmp_path / "t.slp", recording.rig, box_size=10).shifted([0, 3])
    used = np.unique(recording.tracks.detection[recording.tracks.detection >= 0])
    expected = recording.detections.select(used)
    assert sorted(map(tuple, back.centroids.tolist())) == sorted(map(tuple, expected.centroids.tolist()))
    np.testing.assert_array_equal(np.bincount(back.frame), np.bincount(expected.frame))


def test_sleap_keeps_points_that_came_from_no_detection(recording: Recording, tmp_path: Path) -> None:
    sio = pytest.importorskip("sleap_io")
    tracks = recording.tracks
    position = tracks.position.copy()
    position[3] = [0, 0, -50]  # behind every camera
    bare = Tracks.build(tracks.frame, tracks.track, position)
    export_tracks(recording, tmp_path / "t.slp", "slp", bare)
    (session,) = sio.load_slp(str(tmp_path / "t.slp"), open_videos=False).sessions
    found, shown = {}, {}
    for frame, group in session.frame_groups.items():
        for animal in group.instance_groups:
            key = int(frame), int(animal.metadata["track"].removeprefix("track_"))
            found[key] = animal.instance_3d.points[0]
            shown[key] = {c.name: animal.get_instance(c) for c in animal.cameras}
    assert_points(found, bare)
    for camera in recording.rig:
        for row, pixel in enumerate(camera.project(position)):
            if row != 3:
                instance = shown[int(tracks.frame[row]), int(tracks.track[row])][camera.name]
                np.testing.assert_allclose(instance.numpy()[0], pixel)
                assert instance.score == 0


def test_tracks_of_another_tracking_are_refused_for_sleap(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("sleap_io")
    tracks = recording.tracks
    wrong = Tracks.build(
        tracks.frame, tracks.track, tracks.position, detection=tracks.detection + 10**6, cameras=tracks.cameras
    )
    with pytest.raises(InputError, match="track it again"):
        export_tracks(recording, tmp_path / "t.slp", "slp", wrong)


def test_rerun_shows_every_point(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    from .read_rrd import read_points

    export_tracks(recording, tmp_path / "t.rrd", "rrd")
    assert_points(read_points(tmp_path / "t.rrd"), recording.tracks, atol=1e-5)


MODULES = {"netcdf": "xarray", "nwb": "ndx_pose", "slp": "sleap_io", "rrd": "rerun"}


@pytest.mark.parametrize("format", MODULES)
def test_a_missing_extra_names_its_pip_install(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.split(".")[0] == MODULES[format]:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    tracks = recording.tracks
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=r"pip install 'trackfish3d\[(netcdf|nwb|sleap|rerun)\]'"):
        export_tracks(recording, tmp_path / "t.any", format, tracks)
    assert not (tmp_path / "t.any").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_no_tracks_is_an_error_or_an_empty_table(recording: Recording, tmp_path: Path, format: str) -> None:
    if format in MODULES:
        pytest.importorskip(MODULES[format])
    nothing = recording.tracks.select(np.zeros(len(recording.tracks), bool))
    path = tmp_path / "t.any"
    if format in MODULES:
        with pytest.raises(InputError, match="there is no track to write"):
            export_tracks(recording, path, format, nothing)
        assert not path.exists()
    else:
        export_tracks(recording, path, format, nothing)
        assert path.exists()


def test_a_grid_that_would_not_fit_is_refused(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    far = Tracks.build([0, 10**12], [1, 2], np.ones((2, 3)))
    with pytest.raises(InputError, match="export parquet instead"):
        export_tracks(recording, tmp_path / "t.nc", "netcdf", far)
