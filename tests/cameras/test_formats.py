"""Readers of calibration files: every format gives back the rig it was written from."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
import scipy.io
import tomli_w
from scipy.spatial.transform import Rotation

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.cameras.formats import (
    FORMATS,
    CalibrationWarning,
    anipose,
    caliscope,
    colmap,
    detect_format,
    dlt,
    matlab,
    plain_json,
    read_calibration,
    write_calibration,
    zef,
)
from trackfish3d.cameras.native import read_toml
from trackfish3d.core.errors import InputError, MissingExtraError

from . import formats_samples as samples

RIG = samples.rig()
DRY = samples.rig(water=False)


def equal(a, b, atol=1e-12):
    assert a.names == b.names
    assert a.units == b.units
    for one, two in zip(a, b, strict=True):
        assert one.size == two.size
        assert one.fisheye == two.fisheye
        for x, y in ((one.K, two.K), (one.R, two.R), (one.t, two.t), (one.distortion, two.distortion)):
            np.testing.assert_allclose(x, y, atol=atol, rtol=1e-14)
        for f, g in zip(one.interfaces, two.interfaces, strict=True):
            np.testing.assert_allclose([*f.point, *f.normal], [*g.point, *g.normal], atol=atol)
            assert (f.n_camera, f.n_animal) == (g.n_camera, g.n_animal)


def test_every_format_is_found_by_its_content_under_any_name(tmp_path):
    for name, path in samples.write_all(tmp_path).items():
        form = {"colmap-lenses": "colmap", "zef-lens": "zef"}.get(name, name.split("-")[0])
        assert detect_format(path) == form, name
        if form not in ("colmap", "zef"):  # these go by pairs of files
            other = tmp_path / "unnamed"
            other.write_bytes(path.read_bytes())
            assert detect_format(other) == form, name
            other.unlink()


def test_folders_are_found_by_their_files(tmp_path):
    samples.write_all(tmp_path)
    assert detect_format(tmp_path / "colmap") == "colmap"
    assert detect_format(tmp_path / "zef") == "zef"
    assert detect_format(tmp_path) == "trackfish3d"  # cameras.toml before calibration.toml
    write_calibration(RIG, tmp_path / "each", "opencv")
    assert detect_format(tmp_path / "each") == "opencv"
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="holds no calibration"):
        read_calibration(tmp_path / "none")


@pytest.mark.parametrize("target", ["a.toml", "a.yml", "a.yaml", "a.json", "folder"])
def test_written_files_are_read_as_the_same_rig(tmp_path, target):
    tilted = Interface([0, 0, -0.5], [0.05, 0, 1], 1.5, 1.333)
    first = RIG[0]
    double = Camera(
        "größe 1e-5", (640, 480), first.K, [1e-5, 2e-17, 0, 0], first.R, first.t, True, (*first.interfaces, tilted)
    )
    rig = CameraRig((RIG[1], RIG[0], double), "mm")
    form = "trackfish3d" if target.endswith(".toml") else "opencv"
    write_calibration(rig, tmp_path / target, form)
    back = read_calibration(tmp_path / target)
    equal(back.select(rig.names), rig)


def test_anipose_keeps_each_of_twelve_cameras_with_its_own_parameters(tmp_path):
    rig = samples.rig(12, water=False)
    write_calibration(rig, tmp_path / "calibration.toml", "anipose")
    equal(read_calibration(tmp_path / "calibration.toml"), rig)
    # As Anipose itself writes it: unpadded names, which sort as cam_0 cam_1 cam_10 cam_11 cam_2 ...
    tables = {
        f"cam_{i}": {
            "name": c.name,
            "size": list(c.size),
            "matrix": c.K.tolist(),
            "distortions": c.distortion.tolist(),
            "rotation": cv2.Rodrigues(c.R)[0].ravel().tolist(),
            "translation": c.t.tolist(),
        }
        for i, c in enumerate(rig)
    }
    text = tomli_w.dumps({k: tables[k] for k in sorted(tables)}) + "\n[metadata]\nadjusted = false\nerror = 0.3\n"
    (tmp_path / "plain.toml").write_text(text)
    assert detect_format(tmp_path / "plain.toml") == "anipose"
    back = anipose.read(tmp_path / "plain.toml")
    assert back.names == rig.names
    for camera in rig:
        equal(CameraRig((back[camera.name],), "cm"), CameraRig((camera,), "cm"), atol=1e-9)


def test_anipose_file_is_in_the_order_in_which_anipose_sorts_it(tmp_path):
    rig = samples.rig(12, water=False)
    anipose.write(rig, tmp_path / "c.toml")
    tables = read_toml(tmp_path / "c.toml")
    assert [tables[k]["name"] for k in sorted(k for k in tables if k != "metadata")] == list(rig.names)


def test_anipose_fisheye_and_lost_water(tmp_path):
    c = DRY[0]
    lens = Camera("f", c.size, c.K, [0.01, 0.02, -0.01, 0.001], c.R, c.t, fisheye=True)
    anipose.write(CameraRig((lens,), "m"), tmp_path / "f.toml")
    back = anipose.read(tmp_path / "f.toml")
    assert back["f"].fisheye
    np.testing.assert_array_equal(back["f"].distortion, lens.distortion)
    with pytest.warns(CalibrationWarning, match="water is left out"):
        anipose.write(RIG, tmp_path / "w.toml")
    assert not anipose.read(tmp_path / "w.toml").refractive


def test_order_of_an_own_file_must_name_its_cameras(tmp_path):
    write_calibration(RIG, tmp_path / "c.toml")
    text = (tmp_path / "c.toml").read_text().replace('"view 1",\n]', '"view 9",\n]')
    (tmp_path / "c.toml").write_text(text)
    with pytest.raises(InputError, match=r"metadata\.order must list every camera once: view 0, view 1"):
        read_calibration(tmp_path / "c.toml")


def test_aquacal_water_is_the_plane_at_water_z(tmp_path):
    rig = samples.rig(3, units="m")
    samples.write_aquacal(rig, tmp_path / "a.json")
    back = read_calibration(tmp_path / "a.json")
    equal(back, rig)
    text = (
        (tmp_path / "a.json")
        .read_text()
        .replace('"water_z"', '"interface_distance"')
        .replace("[\n      0,\n", "[\n 0,\n")
    )
    (tmp_path / "old.json").write_text(text)
    equal(read_calibration(tmp_path / "old.json"), rig)
    # The normal may point either way in a file: an interface here always faces its camera.
    (tmp_path / "down.json").write_text(text.replace('"normal": [\n 0,\n      0,\n      1.0', '"normal": [0, 0, -1.0'))
    equal(read_calibration(tmp_path / "down.json"), rig)


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("matrices", [False, True])
def test_caliscope_old_and_new(tmp_path, old, matrices):
    rig = samples.rig(12, water=False, units="m")
    samples.write_caliscope(rig, tmp_path / "c.toml", old, matrices)
    assert detect_format(tmp_path / "c.toml") == "caliscope"
    with pytest.warns(CalibrationWarning, match="left out: cam_99"):
        back = caliscope.read(tmp_path / "c.toml")
    assert back.names == tuple(f"cam_{i}" for i in range(12))
    samples.same_view(rig, back)
    assert back.units == "m"


@pytest.mark.parametrize("old", [True, False])
def test_matlab_struct_is_the_pair_relative_to_camera_one(tmp_path, old):
    pair = samples.camera_one_as_world(DRY)
    struct = samples.matlab_struct(pair, old)
    scipy.io.savemat(tmp_path / "v5.mat", {"s": struct, "other": np.eye(3)})
    samples.write_matlab73(struct, tmp_path / "v73.mat")
    for name in ("v5.mat", "v73.mat"):
        back = read_calibration(tmp_path / name)
        equal(
            back,
            CameraRig(
                tuple(Camera(f"cam{i + 1}", c.size, c.K, c.distortion, c.R, c.t) for i, c in enumerate(pair)), "cm"
            ),
        )


def test_matlab_object_and_missing_extra_say_what_to_do(tmp_path, monkeypatch):
    scipy.io.savemat(tmp_path / "o.mat", {"x": np.eye(3)})
    with pytest.raises(InputError, match=r"toStruct\(stereoParams\)"):
        matlab.read(tmp_path / "o.mat")
    samples.write_matlab73(samples.matlab_struct(samples.camera_one_as_world(DRY)), tmp_path / "v73.mat")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="matlab73"):
        read_calibration(tmp_path / "v73.mat")


COLMAP_MODELS = {
    "SIMPLE_PINHOLE": ([900, 640.5, 480.5], [900, 900], []),
    "PINHOLE": ([900, 910, 640.5, 480.5], [900, 910], []),
    "SIMPLE_RADIAL": ([900, 640.5, 480.5, -0.1], [900, 900], [-0.1, 0, 0, 0]),
    "RADIAL": ([900, 640.5, 480.5, -0.1, 0.02], [900, 900], [-0.1, 0.02, 0, 0]),
    "OPENCV": ([900, 910, 640.5, 480.5, -0.1, 0.02, 0.001, 0.002], [900, 910], [-0.1, 0.02, 0.001, 0.002]),
    "FULL_OPENCV": ([900, 910, 640.5, 480.5, *np.arange(1, 9) / 100], [900, 910], np.arange(1, 9) / 100),
    "OPENCV_FISHEYE": ([900, 910, 640.5, 480.5, 0.01, 0.02, 0.03, 0.04], [900, 910], [0.01, 0.02, 0.03, 0.04]),
}


@pytest.mark.parametrize("model", COLMAP_MODELS)
def test_colmap_models_and_pixel_centre(tmp_path, model):
    parameters, focal, distortion = COLMAP_MODELS[model]
    (tmp_path / "cameras.txt").write_text(f"1 {model} 1280 960 {' '.join(map(str, parameters))}\n")
    (tmp_path / "images.txt").write_text(
        "3 0.5 0.5 -0.5 0.5 1 2 3 1 cam1/0001.png\n\n2 1 0 0 0 0 0 0 1 cam0/0001.png\n\n"
    )
    rig = colmap.read(tmp_path)
    assert rig.names == ("cam0", "cam1")
    camera = rig["cam1"]
    np.testing.assert_allclose(camera.K, [[focal[0], 0, 640], [0, focal[1], 480], [0, 0, 1]])
    np.testing.assert_allclose(camera.distortion, distortion)
    assert camera.fisheye == ("FISHEYE" in model)
    np.testing.assert_allclose(camera.R, Rotation.from_quat([0.5, -0.5, 0.5, 0.5]).as_matrix())
    np.testing.assert_allclose(camera.t, [1, 2, 3])


def test_colmap_model_of_a_rig(tmp_path):
    samples.write_colmap(DRY, tmp_path)
    back = read_calibration(tmp_path, units="cm")
    assert back.names == DRY.names
    samples.same_view(DRY, back, atol=1e-8)
    text = (tmp_path / "cameras.txt").read_text().splitlines()
    (tmp_path / "cameras.txt").write_text("\n".join(text[:2] + text[3:]))
    with pytest.raises(InputError, match="of camera 7, which cameras"):
        colmap.read(tmp_path)


@pytest.mark.parametrize("seed", range(5))
def test_zef_pose_from_corners_is_opencvs(tmp_path, seed):
    """With pixel noise no pose fits exactly; both solvers must end in the same least-squares pose."""
    rng = np.random.default_rng(seed)
    samples.write_zef(RIG, tmp_path)
    rig = zef.read(tmp_path, size=samples.SIZE)
    samples.same_view(RIG, CameraRig(tuple(rig), "cm"), atol=2.5)  # water of 1.33, not 1.333
    np.testing.assert_allclose([c.centre for c in rig], [c.centre for c in RIG], atol=1e-5)
    for i, camera in enumerate(RIG):
        file = tmp_path / f"cam{i + 1}_references.json"
        entries = json.loads(file.read_text().split("*/")[1])
        for entry in entries:
            entry["camera"] = {k: v + rng.normal(scale=3) for k, v in entry["camera"].items()}
        file.write_text(json.dumps(entries))
        world = np.array([[e["world"][k] for k in "xyz"] for e in entries])
        pixels = np.array([[e["camera"][k] for k in "xy"] for e in entries])
        _, rvec, tvec = cv2.solvePnP(world, pixels, camera.K, camera.distortion, flags=cv2.SOLVEPNP_ITERATIVE)
        ours = zef.read(tmp_path, size=samples.SIZE)[i]
        np.testing.assert_allclose(ours.R, cv2.Rodrigues(rvec)[0], atol=1e-5)
        np.testing.assert_allclose(ours.t, tvec.ravel(), atol=1e-3)
        np.testing.assert_allclose(ours.interfaces[0].normal, [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("from_bottom", [True, False])
def test_dlt_keeps_the_projection_and_turns_v_around(tmp_path, from_bottom):
    rig = samples.rig(3, water=False, distortion=())
    samples.write_dlt(rig, tmp_path / "d.csv", from_bottom)
    L = np.loadtxt(tmp_path / "d.csv", delimiter=",")
    X = samples.points()
    back = read_calibration(tmp_path / "d.csv", size=samples.SIZE)
    for i, camera in enumerate(back):
        P = np.append(L[:, i], 1).reshape(3, 4)
        x = np.column_stack([X, np.ones(len(X))]) @ P.T
        u, v = (x[:, :2] / x[:, 2:]).T
        expected = np.column_stack([u, samples.SIZE[1] - v if from_bottom else v])
        np.testing.assert_allclose(camera.project(X), expected, atol=1e-8)
        np.testing.assert_allclose(camera.K, rig[i].K, atol=1e-8)
    samples.same_view(rig, back, atol=1e-8)
    # The size is told by the principal point here; told wrong on purpose, all points are behind the cameras.
    with pytest.warns(CalibrationWarning, match="1280 x 960"):
        dlt.read(tmp_path / "d.csv")
    wrong = dlt.read(tmp_path / "d.csv", size=samples.SIZE, origin="top" if from_bottom else "bottom")
    assert np.isnan(wrong[0].project(X)).all()


def test_dlt_layouts_and_refusals(tmp_path):
    samples.write_dlt(samples.rig(3, water=False, distortion=()), tmp_path / "d.csv")
    L = np.loadtxt(tmp_path / "d.csv", delimiter=",")
    np.savetxt(tmp_path / "rows.txt", L.T, fmt="%.17g")
    np.savetxt(tmp_path / "named.csv", L, fmt="%.17g", delimiter=",", header="left,middle,right", comments="")
    np.savetxt(tmp_path / "odd.csv", L * np.array([1, 1, 1, 1, *[2] * 4, 1, 1, 1])[:, None], delimiter=",")
    plain = dlt.read(tmp_path / "d.csv", size=samples.SIZE)
    equal(dlt.read(tmp_path / "rows.txt", size=samples.SIZE), plain, atol=1e-9)
    assert dlt.read(tmp_path / "named.csv", size=samples.SIZE).names == ("left", "middle", "right")
    with pytest.raises(InputError, match="from the bottom of the image: give the image size"):
        dlt.read(tmp_path / "odd.csv")
    with pytest.raises(InputError, match="origin is for DLT"):
        read_calibration(tmp_path / "d.csv", "json", origin="top")


def test_plain_json_of_both_layouts(tmp_path):
    samples.write_plain(RIG, tmp_path / "whole.json")
    equal(plain_json.read(tmp_path / "whole.json"), RIG)
    samples.write_plain(DRY, tmp_path / "dry.json")
    equal(plain_json.read(tmp_path / "dry.json"), DRY)
    samples.write_plain(RIG, tmp_path / "bare.json", bare=True)
    with pytest.warns(CalibrationWarning, match="1280 x 960"):
        bare = read_calibration(tmp_path / "bare.json", units="cm", water="z=0", names=RIG.names)
    equal(bare, RIG)
    assert plain_json.read(tmp_path / "bare.json", size=(1000, 900))["cam-2"].size == (1000, 900)


def test_scale_units_and_water_index(tmp_path):
    path = tmp_path / "c.toml"
    write_calibration(RIG, path)
    big = read_calibration(path, scale=10.0, units="mm", water_index=1.34)
    assert big.units == "mm"
    np.testing.assert_allclose(big[1].centre, 10 * RIG[1].centre)
    assert big[0].interfaces[0].n_animal == 1.34
    plane = np.array([0, 0, 1.0]), np.array([0.1, 0, -1.0])
    tilted = read_calibration(path, water=plane, override=("water",))
    assert all((c.centre - c.interfaces[0].point) @ c.interfaces[0].normal > 0 for c in tilted)
    X = samples.points()
    np.testing.assert_allclose(read_calibration(path, scale=10.0)[0].project(10 * X), RIG[0].project(X), atol=1e-8)
    for wrong, match in (
        (dict(scale=-1.0), "scale"),
        (dict(water="z=a"), "write z=0"),
        (dict(names=["a"]), "1 names for 2"),
    ):
        with pytest.raises(InputError, match=match):
            read_calibration(path, **wrong)
    write_calibration(DRY, path)
    with pytest.raises(InputError, match="give the water plane"):
        read_calibration(path, water_index=1.3)


def test_unknown_names_are_refused(tmp_path):
    write_calibration(RIG, tmp_path / "c.toml")
    with pytest.raises(InputError, match="unknown calibration format 'qualisys'"):
        read_calibration(tmp_path / "c.toml", "qualisys")
    with pytest.raises(InputError, match="unknown camera 'side'; the rig has view 0, view 1"):
        read_calibration(tmp_path / "c.toml")["side"]
    with pytest.raises(InputError, match="can only be read; trackfish3d, anipose, opencv"):
        write_calibration(RIG, tmp_path / "c.mat", "matlab")
    with pytest.raises(InputError, match="no such file"):
        read_calibration(tmp_path / "missing.toml")


def test_documentation_names_every_format():
    page = Path(__file__).parents[2] / "docs" / "formats-calibration.md"
    assert [name for name in FORMATS if f"`{name}`" not in page.read_text()] == []


def test_what_contradicts_the_file_is_refused_unless_it_is_meant(tmp_path):
    path = tmp_path / "c.toml"
    write_calibration(RIG, path)
    for wrong, match, what in (
        (dict(units="mm"), "its world is in cm, --units says mm", "units"),
        (dict(size=(640, 480)), "camera view 0 has images of 1280x960 px, --size says 640x480", "size"),
        (dict(water="z=-3"), "looks through water already", "water"),
    ):
        with pytest.raises(InputError, match=match):
            read_calibration(path, **wrong)
        read_calibration(path, **wrong, override=(what,))
    assert read_calibration(path, units="mm", override=("units",)).units == "mm"
    assert read_calibration(path, size=(640, 480), override=("size",))[0].size == (640, 480)
    assert read_calibration(path, water="z=-3", override=("water",))[0].interfaces[0].point[2] == -3
    equal(read_calibration(path, units="centimetres", size=samples.SIZE, water="z=0"), RIG)
    with pytest.raises(InputError, match="'bananas': is no unit of length"):
        read_calibration(path, units="bananas", override=("units",))


def test_cameras_are_renamed_by_their_old_names(tmp_path):
    path = tmp_path / "c.toml"
    write_calibration(RIG, path)
    assert read_calibration(path, names={"view 1": "front"}).names == ("view 0", "front")
    with pytest.raises(InputError, match="unknown camera 'side'"):
        read_calibration(path, names={"side": "front"})
    with pytest.raises(InputError, match="used twice"):
        read_calibration(path, names={"view 1": "view 0"})


@pytest.mark.parametrize("old", [False, True])
def test_vicon_puts_points_on_the_same_pixels(tmp_path, old):
    """The lens of an XCP file is the inverse of OpenCV's: pixels agree to what three radial terms can match."""
    rig = samples.rig(3, water=False, units="mm", distortion=(-0.1, 0.02, 0, 0, 0.005))
    samples.write_vicon(rig, tmp_path / "cal.xcp", old)
    assert detect_format(tmp_path / "cal.xcp") == "vicon"
    with pytest.warns(CalibrationWarning, match="were not calibrated and are left out: 9"):
        back = read_calibration(tmp_path / "cal.xcp")
    assert back.names == ("2100", "2101", "2102")
    assert back.units == "mm"
    samples.same_view(rig, back, atol=0.02)


def test_vicon_that_is_none(tmp_path):
    path = tmp_path / "cal.xcp"
    for text, match in (
        ("<Cameras><Camera><KeyFrames><KeyFrame ORIENTATION='1'/></KeyFrames></Camera>", "is not XML"),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><Cameras/>", "declares entities"),
        ("<Cameras></Cameras>", "at least one camera"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=match):
            read_calibration(path, "vicon")


@pytest.mark.parametrize("layout", ["stacked", "rows", "stack.mat", "named.mat", "toolbox.mat"])
@pytest.mark.filterwarnings("ignore")
def test_projection_matrices_keep_the_projection(tmp_path, layout):
    rig = samples.rig(3, water=False, distortion=())
    path = tmp_path / (layout if layout.endswith(".mat") else "p.csv")
    scale = np.array([2.0, 0.5, -3.0])  # a projection matrix is one up to a factor, of any sign
    matrices = rig.matrices * scale[:, None, None]
    if layout == "stacked":
        np.savetxt(path, matrices.reshape(-1, 4), delimiter=",")
    elif layout == "rows":
        np.savetxt(path, matrices.reshape(-1, 12), delimiter=";")
    elif layout == "stack.mat":
        scipy.io.savemat(path, {"P": matrices.transpose(1, 2, 0), "other": np.eye(5)})
    elif layout == "named.mat":
        scipy.io.savemat(path, {"left": matrices[0], "middle": matrices[1], "right": matrices[2], "n": 3.0})
    else:
        one = np.array([[1, 0, 1.0], [0, 1, 1], [0, 0, 1]])  # MATLAB counts pixels from 1, points are rows
        scipy.io.savemat(path, {f"c{k}": (one @ P).T for k, P in enumerate(matrices)})
    assert detect_format(path) == ("matlab" if path.suffix == ".mat" else "projection")
    back = read_calibration(path, size=samples.SIZE)
    assert back.names == {"named.mat": ("left", "middle", "right"), "stack.mat": ("P1", "P2", "P3")}.get(
        layout, ("c0", "c1", "c2") if layout == "toolbox.mat" else ("cam1", "cam2", "cam3")
    )
    samples.same_view(rig, back, atol=1e-6)
