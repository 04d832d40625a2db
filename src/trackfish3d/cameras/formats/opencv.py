"""OpenCV's YAML and JSON, in the layouts in which people keep cameras there.

* ``cameras``: a list, or one mapping per camera, each with camera_matrix, distortion_coefficients, R (or rvec), T;
* numbered names: M1 D1 M2 D2 with R T from camera 1 to camera 2 (stereoCalibrate; camera 1 is then the world), or
  K_1 dist_1 R_1 T_1 ... with a pose for each; lenses and poses may lie in two files, intri*.yml and extri*.yml;
* one camera per file, in a folder; the file's name is the camera's.

Names are compared without case and underscores. x_cam = R X + T throughout; R may be a Rodrigues vector.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import InputError
from ..camera import Camera
from ..interface import AIR, WATER, Interface
from ..native import natural
from ..rig import CameraRig
from .common import Array, Size, need, numbers, reader, rotation, sizes_from_matrices
from .parsing.opencv_storage import load_storage, write_storage

Tree = dict[str, Any]
SUFFIXES = (".yml", ".yaml", ".json")
_NAMES = {
    "K": "k m mtx cm cameramatrix intrinsicmatrix intrinsics intrinsic matrix",
    "D": "d dist distcoeff distcoeffs distortion distortions distortioncoefficients distortioncoeffs",
    "R": "rot r rotation rotationmatrix rmat rvec",
    "T": "t tvec translation translationvector",
    "size": "size imagesize imgsize resolution",
    "width": "width imagewidth",
    "height": "height imageheight",
    "name": "name cameraname",
    "fisheye": "fisheye isfisheye fisheyemodel",
    "model": "model distortionmodel cameramodel",
    "interfaces": "interfaces",
}
_FIELD = {name: field for field, names in _NAMES.items() for name in names.split()}
_RANK = {name: rank for names in _NAMES.values() for rank, name in enumerate(names.split())}
_NUMBERED = re.compile(r"([A-Za-z_ .-]{1,40}?)[_ .-]?(\d{1,9}|left|right)", re.IGNORECASE)
_NAMED = re.compile(r"([A-Za-z]{1,40})_(.{1,80})")


@reader("OpenCV calibration")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read a file, a pair of lens and pose files, or a folder with a file per camera."""
    if path.is_dir():
        trees, units = _folder(path)
    else:
        tree = load_storage(path)
        trees, units = cameras_of(tree, path.stem), tree.get("units", "unit")
        if not all(_posed(t) for t in trees) and (poses := _pose_file(path)):
            trees = cameras_of({**load_storage(poses), **tree}, path.stem)
    if not trees:
        raise InputError("holds no camera; expected names such as camera_matrix, M1, K_1")
    for tree in trees:
        if not _posed(tree):
            raise InputError(f"camera {tree['name']}: no R and T; the file holds the lens but not where it stands")
    matrices = [numbers(t["K"], f"camera {t['name']}: K", (3, 3)) for t in trees]
    unsized = [i for i, t in enumerate(trees) if size is not None or not t.get("size")]
    if unsized:
        for i, guess in zip(unsized, sizes_from_matrices([matrices[i] for i in unsized], size)[0], strict=True):
            trees[i]["size"] = guess
    return CameraRig(tuple(_camera(t, K) for t, K in zip(trees, matrices, strict=True)), str(units))


def write(rig: CameraRig, path: str | Path) -> None:
    """Write all cameras into one ``.yml``, ``.yaml`` or ``.json``, or, if `path` has no suffix, a file per camera."""
    path = Path(path)
    trees = {camera.name: _tree(camera) for camera in rig}
    if path.suffix.lower() in SUFFIXES:
        write_storage({"units": rig.units, "cameras": list(trees.values())}, path)
        return
    if path.suffix and not path.is_dir():
        raise InputError(f"{path}: name an OpenCV file .yml, .yaml or .json, or give a folder")
    for name, tree in trees.items():
        write_storage({"units": rig.units, **tree}, path / f"{name}.yml")


def _tree(camera: Camera) -> Tree:
    tree: Tree = {
        "name": camera.name,
        "image_width": camera.size[0],
        "image_height": camera.size[1],
        "camera_matrix": np.array(camera.K),
        "distortion_coefficients": camera.distortion[None] if len(camera.distortion) else np.zeros((1, 5)),
        "fisheye": int(camera.fisheye),
        "R": np.array(camera.R),
        "T": camera.t[:, None],
    }
    if camera.interfaces:
        tree["interfaces"] = [
            {"point": f.point[None], "normal": f.normal[None], "n_camera": f.n_camera, "n_animal": f.n_animal}
            for f in camera.interfaces
        ]
    return tree


def _camera(tree: Tree, K: Array) -> Camera:
    name = tree["name"]
    faces = tree.get("interfaces", [])
    for face in faces:
        need(face, ["point", "normal"], f"camera {name}: interfaces")
    return Camera(
        name,
        tree["size"],
        K,
        numbers(tree.get("D", []), f"camera {name}: distortion").ravel(),
        rotation(tree["R"], f"camera {name}: R"),
        numbers(tree["T"], f"camera {name}: T", (3,)),
        tree["fisheye"],
        tuple(
            Interface(f["point"], f["normal"], float(f.get("n_camera", AIR)), float(f.get("n_animal", WATER)))
            for f in faces
        ),
    )


def cameras_of(tree: Tree, stem: str) -> list[Tree]:
    """All cameras of a tree under the field names of `_NAMES`; R and T may be missing."""
    single = _fields(tree)
    if "K" in single:
        return [{"name": stem, **single}]
    nested = _nested(tree)
    return nested or _indexed(tree)


def is_calibration(tree: Tree) -> bool:
    """Whether a tree holds a camera in any of the layouts."""
    return bool(cameras_of(tree, ""))


def _posed(tree: Tree) -> bool:
    return "R" in tree and "T" in tree


def _field(key: str) -> tuple[str | None, int]:
    """Field that a name means, and its rank among the field's names: a matrix is taken before a vector."""
    plain = re.sub(r"[^a-z0-9]", "", key.lower()) if len(key) <= 60 else ""
    return _FIELD.get(plain), _RANK.get(plain, 0)


def _fields(tree: Tree) -> Tree:
    ranked: dict[str, tuple[int, Any]] = {}
    for key, value in tree.items():
        field, rank = _field(str(key))
        if field and (field not in ranked or rank < ranked[field][0]):
            ranked[field] = rank, value
    return _tidy({field: value for field, (_, value) in ranked.items()})


def _tidy(fields: Tree) -> Tree:
    if isinstance(fields.get("K"), (dict, str)):  # a table that happens to be called so
        del fields["K"]
    if "size" not in fields and "width" in fields and "height" in fields:
        fields["size"] = [fields["width"], fields["height"]]
    if isinstance(fields.get("size"), np.ndarray):
        fields["size"] = fields["size"].ravel().tolist()
    model = str(fields.pop("model", "")).lower()
    flag = fields.get("fisheye", False)
    fields["fisheye"] = model in ("fisheye", "equidistant") or flag not in (False, 0, None, "", "0", "false")
    if "name" in fields:
        fields["name"] = str(fields["name"])
    return fields


def _nested(tree: Tree) -> list[Tree]:
    found = []
    for key, value in tree.items():
        if isinstance(value, list):
            entries = [(f"cam{i + 1}", v) for i, v in enumerate(value)]
        elif isinstance(value, dict):
            entries = [(str(key), value), *((str(k), v) for k, v in value.items())]
        else:
            continue
        for name, entry in entries:
            if isinstance(entry, dict) and "K" in (fields := _fields(entry)):
                found.append({"name": name, **fields})
    return found


def _indexed(tree: Tree) -> list[Tree]:
    """Cameras by numbered names. An R and T without number lead from the first camera to the second."""
    groups: dict[str, Tree] = {}
    for key, value in tree.items():
        match = _NUMBERED.fullmatch(key) or _NAMED.fullmatch(key)
        if match and _field(match[1])[0]:
            groups.setdefault(match[2].lower() if match[2].lower() in ("left", "right") else match[2], {})[match[1]] = (
                value
            )
    common = _fields(tree)
    lenses = [(k, _fields(groups[k])) for k in sorted(groups, key=natural)]
    found = [
        {**({"size": common["size"]} if "size" in common else {}), "name": f"cam{k}" if k.isdecimal() else k, **fields}
        for k, fields in lenses
        if "K" in fields
    ]
    if _posed(common):
        if len(found) != 2:
            raise InputError(f"one R and T, but {len(found)} cameras; it takes two, or a pose for each")
        # R1, R2 beside them are stereoRectify's turns of the pictures, no poses.
        found[0].update(R=np.eye(3), T=np.zeros(3))
        found[1].update(R=common["R"], T=common["T"])
    elif "Q" in tree or "P1" in tree:
        raise InputError("holds the rectified pair (R1, R2, P1, P2, Q) but not R and T from camera 1 to camera 2")
    return found


def _pose_file(path: Path) -> Path | None:
    """extri.yml beside intri.yml, extrinsics.yml beside intrinsics.yml."""
    other = path.with_name(path.name.replace("intri", "extri", 1))
    return other if other != path and other.is_file() else None


def _folder(folder: Path) -> tuple[list[Tree], Any]:
    files = sorted((f for f in folder.iterdir() if f.suffix.lower() in SUFFIXES), key=lambda f: natural(f.name))
    for file in files:
        if file.name.startswith("intri") and (poses := _pose_file(file)):
            return cameras_of({**load_storage(poses), **load_storage(file)}, file.stem), "unit"
    found: list[Tree] = []
    units: Any = "unit"
    for file in files:
        tree = load_storage(file)
        cameras = cameras_of(tree, file.stem)
        units = tree.get("units", units) if cameras else units
        found += cameras
    return found, units
