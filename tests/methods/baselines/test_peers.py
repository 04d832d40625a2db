"""Other programs' trackers: 2D trackers lifted to 3D, files of 2D tracks, OpenPTV."""

import numpy as np
import pytest

from tests.methods.worlds import observe, pinhole_world, swim, tank_world
from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.baselines.external import read_mot_tracks
from trackfish3d.methods.baselines.openptv_rig import convert_rig
from trackfish3d.methods.registry import make_method
from trackfish3d.synfish.rigs import random_rig, tank_rig


def mota(truth, tracks, gate=0.5):
    found = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)
    return found.clear.mota


@pytest.mark.parametrize("name", ["bytetrack", "ocsort", "sort2d"])
def test_lone_fish_are_lifted_to_3d(name):
    pytest.importorskip("trackers")
    rig, detections, truth = pinhole_world(fish=3, box=60.0)
    assert mota(truth, make_method(name).track(rig, detections).tracks) > 0.9


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trackers", None)
    rig, detections, _ = pinhole_world(fish=1, frames=3)
    with pytest.raises(MissingExtraError, match=r"trackfish3d\[trackers\]"):
        make_method("bytetrack").track(rig, detections)


def write_mot(folder, rig, detections, who, first=1):
    folder.mkdir()
    for c, name in enumerate(rig.names):
        rows = np.flatnonzero((detections.camera == c) & (who >= 0))
        lines = [
            f"{detections.frame[r] + first},{who[r]},{detections.x1[r]},{detections.y1[r]},"
            f"{detections.x2[r] - detections.x1[r]},{detections.y2[r] - detections.y1[r]},1,-1,-1,-1"
            for r in rows
        ]
        (folder / f"{name}.txt").write_text("\n".join(lines))


def test_true_2d_tracks_become_the_true_3d_tracks(tmp_path):
    rig, detections, truth = tank_world()
    who = truth.identity_of_detections(len(detections))
    write_mot(tmp_path / "mot", rig, detections, who)
    method = make_method("external", {"folder": str(tmp_path / "mot"), "frame_offset": "-1"})
    tracks = method.track(rig, detections).tracks
    assert mota(truth, tracks) > 0.99
    used = tracks.detection[0]
    assert len(set(who[used[used >= 0]])) == 1


def test_boxes_without_a_detection_use_their_centre(tmp_path):
    rig, detections, truth = pinhole_world(fish=3, noise=0.0)
    write_mot(tmp_path / "mot", rig, detections, truth.identity_of_detections(len(detections)))
    far = detections.select(detections.frame == 0)
    tracks = make_method("external", {"folder": str(tmp_path / "mot"), "frame_offset": -1}).track(rig, far).tracks
    assert mota(truth, tracks, 0.05) == 1.0
    assert (tracks.detection[tracks.frame > 0] == -1).all()
    assert (tracks.views[tracks.frame > 0] >= 2).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,1,0,0,5", "row 1: needs frame, id"),
        ("1,1,0,0,5,5\n1,x,0,0,5,5", "row 2: needs frame, id"),
        ("1.5,1,0,0,5,5", "row 1: frame and id must be whole"),
        ("1,1,0,0,-5,5", "row 1: width and height"),
    ],
)
def test_bad_mot_files_name_file_and_row(tmp_path, text, message):
    path = tmp_path / "cam0.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=f"cam0.txt: {message}"):
        read_mot_tracks(path)


def test_external_needs_its_folder(tmp_path):
    rig, detections, _ = pinhole_world(fish=1, frames=3)
    with pytest.raises(InputError, match="--set folder=FOLDER"):
        make_method("external").track(rig, detections)
    with pytest.raises(InputError, match=r"cam0\.txt: no such file"):
        make_method("external", {"folder": str(tmp_path)}).track(rig, detections)


@pytest.mark.parametrize("linker", ["trackpy", "laptrack"])
def test_openptv_tracks_sparse_fish(linker):
    pytest.importorskip("optv")
    pytest.importorskip(linker)
    rig, detections, truth = pinhole_world()
    tracks = make_method("openptv", {"linker": linker}).track(rig, detections).tracks
    assert mota(truth, tracks) > 0.98


def test_openptv_sees_the_pixels_that_we_see():
    pytest.importorskip("optv")
    from optv.imgcoord import image_coordinates
    from optv.transforms import convert_arr_metric_to_pixel

    from trackfish3d.methods.baselines.openptv_rig import _search_axis, _turn

    top = tank_rig().select(("top",))
    span = np.array([[4.0, 4.0, 3.0], [25.0, 25.0, 12.0]])
    for rig, box, tolerance in ((random_rig(3, 5), np.array([[-4.0, -12, 14], [8, 0, 26]]), 1e-6), (top, span, 0.02)):
        converted = convert_rig(rig, box, 3.0)
        points = np.random.default_rng(0).uniform(box[0], box[1], (30, 3))
        turned = (points - box.mean(0)) @ _turn(_search_axis(rig)).T
        media = converted.control.get_multimedia_params()
        for c, camera in enumerate(rig):
            metric = image_coordinates(np.ascontiguousarray(turned), converted.calibrations[c], media)
            theirs = convert_arr_metric_to_pixel(metric, converted.control)
            np.testing.assert_allclose(theirs, converted.image(c, camera.project(points)), atol=tolerance)


def test_openptv_says_what_it_cannot_do():
    pytest.importorskip("optv")
    rig, detections, _ = tank_world()
    with pytest.raises(InputError, match="walls of several directions"):
        make_method("openptv").track(rig, detections)
    five = random_rig(5, 1)
    seen, _ = observe(five, swim(2, 3, [2.0, -6.0, 20.0], 5.0))
    with pytest.raises(InputError, match="at most 4 cameras"):
        make_method("openptv").track(five, seen)
