"""Small valid calibration files of every format, written from one rig, for the tests of the readers."""

import json
from pathlib import Path

import numpy as np
import scipy.io
import tomli_w
from scipy.spatial.transform import Rotation

from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.cameras.formats import write_calibration

SIZE = (1280, 960)


def rig(count=2, water=True, units="cm", distortion=(-0.1, 0.02, 0.001, -0.002, 0.005)):
    """Cameras on a circle above z = 0 (z up), all looking at the origin, no two alike."""
    cameras = []
    for i in range(count):
        angle = 0.4 + 2 * np.pi * i / max(count, 3)
        centre = np.array([40 * np.cos(angle), 40 * np.sin(angle), 60.0 + i])
        forward = -centre / np.linalg.norm(centre)
        right = np.cross(forward, [0, 0, 1.0])
        right /= np.linalg.norm(right)
        R = np.stack([right, np.cross(forward, right), forward])
        K = np.array([[1000.0 + 10 * i, 0, 641.25 + i], [0, 1005 + 10 * i, 478.5 - i], [0, 0, 1]])
        faces = (Interface([0, 0, 0], [0, 0, 1], 1.0, 1.333),) if water else ()
        cameras.append(Camera(f"view {i}", SIZE, K, np.array(distortion) * (1 + i / 10), R, -R @ centre, False, faces))
    return CameraRig(tuple(cameras), units)


def points(n=200, seed=0):
    return np.random.default_rng(seed).uniform([-10, -10, -12], [10, 10, -1], (n, 3))


def same_view(a, b, atol=1e-6):
    """Whether two rigs put points of the world on the same pixels."""
    X = points()
    for one, two in zip(a, b, strict=True):
        expected = one.project(X)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(two.project(X), expected, atol=atol)


def camera_one_as_world(r):
    """The same cameras in the coordinates of the first."""
    first = r[0]
    moved = [
        Camera(c.name, c.size, c.K, c.distortion, c.R @ first.R.T, c.t - c.R @ first.R.T @ first.t, c.fisheye)
        for c in r
    ]
    return CameraRig(tuple(moved), r.units)


def write_aquacal(r, path):
    cameras = {
        c.name: {
            "name": c.name,
            "intrinsics": {"K": c.K.tolist(), "dist_coeffs": c.distortion.tolist(), "image_size": list(c.size)},
            "extrinsics": {"R": c.R.tolist(), "t": c.t.tolist()},
            "water_z": 0.0,
        }
        for c in r
    }
    interface = {"normal": [0, 0, 1.0], "n_air": 1.0, "n_water": 1.333}
    tree = {
        "version": "1.0",
        "cameras": cameras,
        "interface": interface,
        "board": {},
        "diagnostics": {},
        "metadata": {},
    }
    path.write_text(json.dumps(tree, indent=2))


def write_caliscope(r, path, old=False, matrices=False):
    def table(i, c):
        R = c.R if matrices else Rotation.from_matrix(c.R).as_rotvec()
        known = {"size": list(c.size), "rotation_count": 1, "error": 0.3, "exposure": "null", "matrix": c.K.tolist()}
        pose = {"rotation": R.tolist(), "translation": c.t.tolist()}
        return {"port" if old else "cam_id": i, **known, "distortions": c.distortion.tolist(), **pose}

    tables = {str(i): table(i, c) for i, c in enumerate(r)}
    unposed = {"size": [10, 10], "matrix": "null", "rotation": "null", "translation": "null"}
    if old:
        stereo = {"stereo_0_1": {"rotation": np.eye(3).tolist(), "translation": [[0.0], [0.0], [0.0]]}}
        tree = {f"cam_{k}": v for k, v in tables.items()}
        tree = {"camera_count": len(r), **tree, "cam_99": {"port": 99, **unposed}, "charuco": {"units": "cm"}, **stereo}
    else:
        tree = {"cameras": {**tables, "99": {"cam_id": 99, **unposed}}}
    path.write_text(tomli_w.dumps(tree))


def write_colmap(r, folder):
    folder.mkdir(parents=True, exist_ok=True)
    lenses = ["# Camera list with one line of data per camera:", "#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]"]
    images = ["# Image list with two lines of data per image:"]
    for i, c in enumerate(r):
        k = np.append(c.distortion, np.zeros(8))[:8]
        parameters = [c.K[0, 0], c.K[1, 1], c.K[0, 2] + 0.5, c.K[1, 2] + 0.5, *k]
        lenses.append(f"{i + 7} FULL_OPENCV {c.size[0]} {c.size[1]} " + " ".join(repr(float(p)) for p in parameters))
        x, y, z, w = Rotation.from_matrix(c.R).as_quat()
        pose = " ".join(repr(float(v)) for v in (w, x, y, z, *c.t))
        images += [f"{i + 1} {pose} {i + 7} {c.name}.png", "10.5 20.5 -1 30.5 40.5 17 1.5 2.5 3 9.0 8.0 5" if i else ""]
    (folder / "cameras.txt").write_text("\n".join(lenses) + "\n")
    (folder / "images.txt").write_text("\n".join(images) + "\n")


def matlab_struct(r, old=True):
    """Struct of toStruct(stereoParams); `r` has camera 1 at the origin."""

    def lens(c):
        K = c.K.copy()
        K[:2, 2] += 1
        k1, k2, p1, p2, k3 = c.distortion
        matrix = {"IntrinsicMatrix": K.T} if old else {"K": K}
        radial = {"RadialDistortion": [k1, k2, k3], "TangentialDistortion": [p1, p2]}
        return {**matrix, **radial, "ImageSize": [float(c.size[1]), float(c.size[0])], "WorldUnits": "centimeters"}

    R, t = r[1].R, r[1].t
    pose = (
        {"RotationOfCamera2": R.T, "TranslationOfCamera2": t[None]}
        if old
        else {"PoseCamera2": {"A": np.vstack([np.column_stack([R, t]), [0, 0, 0, 1]])}}
    )
    return {"CameraParameters1": lens(r[0]), "CameraParameters2": lens(r[1]), **pose, "Version": {"Release": "R2021b"}}


def write_matlab73(struct, path):
    """What MATLAB's save -v7.3 makes of a struct: HDF5 behind a text header, arrays transposed, text as uint16."""
    import h5py

    def put(group, name, value):
        if isinstance(value, dict):
            inner = group.create_group(name)
            inner.attrs["MATLAB_class"] = np.bytes_("struct")
            for key, item in value.items():
                put(inner, key, item)
        elif isinstance(value, str):
            codes = np.array([[ord(c)] for c in value], np.uint16)
            group.create_dataset(name, data=codes).attrs["MATLAB_class"] = np.bytes_("char")
        else:
            data = np.atleast_2d(np.asarray(value, float)).T
            group.create_dataset(name, data=data).attrs["MATLAB_class"] = np.bytes_("double")

    with h5py.File(path, "w", userblock_size=512) as file:
        put(file, "stereo", struct)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM")


def write_zef(r, folder, comments=True):
    """Pairs of files: the corners of a 20 x 20 square of the surface, seen in air."""
    folder.mkdir(parents=True, exist_ok=True)
    corners = np.array([[-10, -10, 0], [10, -10, 0], [10, 10, 0], [-10, 10, 0.0]])
    for i, c in enumerate(r):
        pixels = c.without_water().project(corners)
        pairs = [
            {"camera": {"x": float(u), "y": float(v)}, "world": {"x": float(x), "y": float(y), "z": float(z)}}
            for (u, v), (x, y, z) in zip(pixels, corners, strict=True)
        ]
        comment = '/* corners, "clockwise"\n from the left */\n' if comments else ""
        (folder / f"cam{i + 1}_references.json").write_text(comment + json.dumps(pairs, indent=1))
        lens = {"K": c.K.tolist(), "Distortion": [c.distortion.tolist()]}
        (folder / f"cam{i + 1}_intrinsic.json").write_text(json.dumps(lens) + " /* px */")


def write_dlt(r, path, from_bottom=True):
    columns = []
    for c in r:
        P = c.matrix
        if from_bottom:
            P = np.array([[1, 0, 0], [0, -1, c.size[1]], [0, 0, 1.0]]) @ P
        columns.append((P / P[2, 3]).ravel()[:11])
    rows = np.array(columns).T
    path.write_text("\n".join(",".join(repr(float(x)) for x in row) for row in rows) + "\n")


def write_plain(r, path, bare=False):
    keys = [{"K": c.K.tolist(), "dist": c.distortion.tolist(), "R": c.R.tolist(), "t": c.t.tolist()} for c in r]
    if not bare:
        plane = {"plane_point": [0.0, 0.0, 0.0], "plane_normal": [0.0, 0.0, 1.0]}
        keys = [{"name": c.name, **k, **(plane if c.interfaces else {})} for c, k in zip(r, keys, strict=True)]
    whole = {"units": r.units, "image_size": list(SIZE), "n_air": 1.0, "n_water": 1.333, "cameras": keys}
    path.write_text(json.dumps(keys if bare else whole, indent=1))


def vicon_terms(camera, focal):
    """Polynomial (r^2, r^4, r^6 in px) from distorted to ideal pixels that undoes a camera's radial distortion."""
    r = np.linspace(0, 0.7, 300)[1:]
    k1, k2, _, _, k3 = camera.distortion
    distorted = r * (1 + k1 * r**2 + k2 * r**4 + k3 * r**6) * focal
    powers = np.column_stack([distorted**p for p in (3, 5, 7)])
    return np.linalg.lstsq(powers / powers.max(0), r * focal - distorted, rcond=None)[0] / powers.max(0)


def write_vicon(r, path, old=False):
    """XCP of cameras with square pixels; ``old`` has VICON_RADIAL with two numbers."""
    lines = ['<?xml version="1.0" encoding="UTF-8" standalone="no" ?>', '<Cameras NAME="" VERSION="1.0">']
    for i, c in enumerate(r):
        focal = c.K[0, 0]
        k = vicon_terms(c, focal) if np.any(c.distortion) else np.zeros(3)
        q = " ".join(repr(float(x)) for x in Rotation.from_matrix(c.R).as_quat())
        place = " ".join(repr(float(x)) for x in c.centre)
        pp = f"{float(c.K[0, 2])!r} {float(c.K[1, 2])!r}"
        radial = " ".join(repr(float(x)) for x in k)
        lens = f'VICON_RADIAL="{radial}"' if old else f'VICON_RADIAL2="ViconRadial2 {pp} {radial}"'
        lines.append(
            f'<Camera DEVICEID="{2100 + i}" DISPLAY_TYPE="Vue" PIXEL_ASPECT_RATIO="{float(focal / c.K[1, 1])!r}" '
            f'SENSOR_SIZE="{c.size[0]} {c.size[1]}" USERID="{i + 1}"><KeyFrames><KeyFrame FRAME="0" '
            f'FOCAL_LENGTH="{float(focal)!r}" ORIENTATION="{q}" POSITION="{place}" '
            f'PRINCIPAL_POINT="{pp}" {lens}/></KeyFrames></Camera>'
        )
    lines += ['<Camera DEVICEID="9" SENSOR_SIZE="10 10"><KeyFrames/></Camera>', "</Cameras>"]
    path.write_text("\n".join(lines))


def write_projection(r, path):
    path.write_text("\n".join(",".join(repr(float(x)) for x in row) for c in r for row in c.matrix) + "\n")


def write_all(folder: Path) -> dict[str, Path]:
    """One valid file (the one to damage) of every format; the others that belong to it lie beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}

    def at(name, *parts):
        made[name] = folder.joinpath(*parts)
        made[name].parent.mkdir(parents=True, exist_ok=True)
        return made[name]

    write_calibration(rig(), at("trackfish3d", "cameras.toml"), "trackfish3d")
    write_calibration(rig(water=False), at("anipose", "calibration.toml"), "anipose")
    write_calibration(rig(), at("opencv", "rig.yml"), "opencv")
    write_calibration(rig(), at("opencv-json", "rig.json"), "opencv")
    write_aquacal(rig(units="m"), at("aquacal", "aquacal.json"))
    write_caliscope(rig(water=False), at("caliscope", "camera_array.toml"))
    write_plain(rig(), at("json", "cameras.json"))
    write_dlt(rig(water=False, distortion=()), at("dlt", "dlt.csv"))
    write_colmap(rig(water=False), folder / "colmap")
    at("colmap", "colmap", "images.txt")
    at("colmap-lenses", "colmap", "cameras.txt")
    write_zef(rig(), folder / "zef")
    at("zef", "zef", "cam1_references.json")
    at("zef-lens", "zef", "cam2_intrinsic.json")
    stereo = matlab_struct(camera_one_as_world(rig(water=False)))
    scipy.io.savemat(at("matlab", "stereo.mat"), {"stereo": stereo})
    write_matlab73(stereo, at("matlab-hdf5", "stereo73.mat"))
    write_vicon(rig(water=False), at("vicon", "cal.xcp"))
    write_projection(rig(water=False, distortion=()), at("projection", "matrices.csv"))
    return made
