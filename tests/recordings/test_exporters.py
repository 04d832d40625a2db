"""Tracks written for other tools are the same when those tools' own libraries read them."""

import builtins
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.recordings import Recording, Tracks, read_tracks
from trackfish3d.recordings.exporters import FORMATS, export_tracks
from trackfish3d.recordings.importers import import_truth, read_detections

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
        assert data.position.dims == ("time", "space", "keypoint", "individual")
        assert data.confidence.dims == ("time", "keypoint", "individual")
        assert data.attrs["ds_type"] == "poses"
        assert (data.attrs["fps"], data.attrs["time_unit"]) == (25.0, "seconds")
        found = {}
        for k, name in enumerate(data.individual.values):
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
        if "keypoints" in validators.ValidPosesInputs.DIM_NAMES:  # before 0.17, as docs/formats.md says
            data = data.rename(keypoint="keypoints", individual="individuals")
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
    if format in MODULES or format in ("mat", "dltdv", "trackmate", "geff"):
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


def test_mat_holds_arrays_over_frames_and_tracks(recording: Recording, tmp_path: Path) -> None:
    import scipy.io

    tracks = recording.tracks
    export_tracks(recording, tmp_path / "t.mat", "mat")
    data = scipy.io.loadmat(tmp_path / "t.mat", squeeze_me=True)
    found = {}
    for i, frame in enumerate(data["frame"]):
        for k, track in enumerate(data["track"]):
            if np.isfinite(data["xyz"][i, k]).all():
                found[int(frame), int(track)] = data["xyz"][i, k]
    assert_points(found, tracks)
    np.testing.assert_allclose(data["time_s"], data["frame"] / 25)
    assert (str(data["units"]), float(data["fps"])) == ("cm", 25.0)
    assert np.nansum(data["views"]) == tracks.views.sum()
    export_tracks(recording, tmp_path / "again.mat", "mat")
    assert (tmp_path / "t.mat").read_bytes() == (tmp_path / "again.mat").read_bytes()


def test_dltdv_comes_back_as_it_was_written(recording: Recording, tmp_path: Path) -> None:
    tracks = recording.tracks
    notes = export_tracks(recording, tmp_path / "xyzpts.csv", "dltdv")
    assert notes == ["pt1 is track 2, pt2 is track 5, pt3 is track 11"]
    back = import_truth(tmp_path / "xyzpts.csv", recording.rig)
    names = {1: 2, 2: 5, 3: 11}
    keys = zip(back.frame.tolist(), back.identity.tolist(), strict=True)
    assert_points({(f, names[i]): p for (f, i), p in zip(keys, back.position, strict=True)}, tracks, atol=1e-8)
    early = Tracks.build(tracks.frame - 10, tracks.track, tracks.position)
    assert export_tracks(recording, tmp_path / "early.csv", "dltdv", early)[1] == (
        "frame -3 is in the first row: frames are moved by 4"
    )
    assert import_truth(tmp_path / "early.csv", recording.rig).frame.min() == 1


def test_trackmate_has_spots_and_edges(recording: Recording, tmp_path: Path) -> None:
    from xml.etree import ElementTree

    tracks = recording.tracks
    export_tracks(recording, tmp_path / "t.xml", "trackmate")
    root = ElementTree.parse(tmp_path / "t.xml").getroot()
    model = root.find("Model")
    assert model is not None
    assert (model.get("spatialunits"), model.get("timeunits")) == ("cm", "sec")
    spots = {s.get("ID"): s for s in model.iter("Spot")}
    assert len(spots) == int(model.find("AllSpots").get("nspots")) == len(tracks)
    found, ends = {}, set()
    for track in model.iter("Track"):
        edges = [(e.get("SPOT_SOURCE_ID"), e.get("SPOT_TARGET_ID")) for e in track.iter("Edge")]
        assert all(int(spots[a].get("FRAME")) < int(spots[b].get("FRAME")) for a, b in edges)
        assert [b for _, b in edges[:-1]] == [a for a, _ in edges[1:]]
        ends.add(track.get("TRACK_ID"))
        for spot in {s for edge in edges for s in edge}:
            at = spots[spot]
            assert float(at.get("POSITION_T")) == pytest.approx(int(at.get("FRAME")) / 25)
            found[int(at.get("FRAME")), int(track.get("TRACK_ID"))] = [float(at.get(f"POSITION_{a}")) for a in "XYZ"]
    assert_points(found, tracks, atol=1e-8)
    assert {t.get("TRACK_ID") for t in model.find("FilteredTracks")} == ends


def zarr_array(folder: Path) -> np.ndarray:
    """Read an array of Zarr 2 by its specification."""
    about = json.loads((folder / ".zarray").read_text())
    pieces = []
    for k in range(-(-about["shape"][0] // about["chunks"][0])):
        name = ".".join([str(k), *["0"] * (len(about["shape"]) - 1)])
        pieces.append(np.frombuffer(zlib.decompress((folder / name).read_bytes()), about["dtype"]))
    return np.concatenate(pieces).reshape(-1, *about["shape"][1:])[: about["shape"][0]]


def test_geff_is_a_graph_of_points(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = recording.tracks
    covariance = np.tile(np.diag([1.0, 2.0, 3.0]), (len(tracks), 1, 1))
    covariance[4] = np.nan
    tracks = replace(tracks, covariance=covariance)
    monkeypatch.setattr("trackfish3d.recordings.exporters.geff.ROWS", 10)
    path = tmp_path / "t.geff"
    export_tracks(recording, path, "geff", tracks)
    about = json.loads((path / ".zattrs").read_text())["geff"]
    assert about["geff_version"] == "1.3"
    assert [(a["name"], a["unit"]) for a in about["axes"]][1:] == [(a, "centimeter") for a in "xyz"]
    props = path / "nodes" / "props"
    frame, track = zarr_array(props / "t" / "values"), zarr_array(props / "track" / "values")
    place = np.column_stack([zarr_array(props / a / "values") for a in "xyz"])
    assert_points(dict(zip(zip(frame.tolist(), track.tolist(), strict=True), place, strict=True)), tracks)
    ends = zarr_array(path / "edges" / "ids").astype(int)
    assert len(ends) == len(tracks) - len(tracks.identities)
    assert (track[ends[:, 0]] == track[ends[:, 1]]).all()
    assert (frame[ends[:, 0]] < frame[ends[:, 1]]).all()
    sure = zarr_array(path / "edges" / "props" / "confidence" / "values")
    unknown = zarr_array(path / "edges" / "props" / "confidence" / "missing")
    expected = tracks.confidence[ends].min(1)
    assert unknown.tolist() == np.isnan(expected).tolist()
    np.testing.assert_array_equal(sure[~unknown], expected[~unknown])
    assert zarr_array(props / "covariance" / "missing").tolist() == [k == 4 for k in range(len(tracks))]
    assert zarr_array(props / "covariance" / "values")[0].tolist() == covariance[0].tolist()
    with pytest.raises(InputError, match="is there already"):
        export_tracks(recording, path, "geff", tracks)


def test_the_geff_library_takes_it(recording: Recording, tmp_path: Path) -> None:
    geff = pytest.importorskip("geff")
    export_tracks(recording, tmp_path / "t.geff", "geff")
    geff.validate_structure(tmp_path / "t.geff")
    graph, _ = geff.read(tmp_path / "t.geff")
    assert graph.number_of_nodes() == len(recording.tracks)


def test_sleap_counts_the_pictures_that_a_film_holds(recording: Recording, tmp_path: Path) -> None:
    sio = pytest.importorskip("sleap_io")
    from fractions import Fraction

    from tests.detection.worlds import encode, numbered_picture, read_number
    from trackfish3d.media.video import Video

    kept = [k for k in range(30) if not 5 <= k < 9]  # the camera lost four frames
    film = encode(
        recording.folder / "videos" / "top.mp4", (numbered_picture(k) for k in kept), pts=kept,
        time_base=Fraction(1, 25), fps=25,
    )  # fmt: skip
    burnt = [read_number(p.grey) for p in Video.open(film).read()]
    notes = export_tracks(recording, tmp_path / "t.slp", "slp")
    assert "camera top: 4 frames have no picture, and no view in the file" in notes
    labels = sio.load_slp(str(tmp_path / "t.slp"), open_videos=False)
    (session,) = labels.sessions
    seen = 0
    for frame, group in session.frame_groups.items():
        for camera in group.cameras:
            if camera.name == "top":
                picture = group.get_frame(camera).frame_idx
                assert burnt[picture] == frame - 7  # what SLEAP shows is of that moment
                seen += 1
    assert seen == len([f for f in set(recording.tracks.frame.tolist()) if not 5 <= f - 7 < 9])
