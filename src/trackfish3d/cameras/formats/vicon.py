"""Vicon's ``.xcp``: XML with a key frame for each camera.

Cameras look along +z of their frame and count pixels from the top left. ORIENTATION is the rotation from world to
camera as a quaternion x y z w, POSITION the camera's place in mm. The lens is described the other way round than
OpenCV's: a polynomial of the distance to the centre, in px, brings the distorted pixel to the ideal one. OpenCV's
three radial terms are fitted to that over the image.
"""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from ...core.errors import InputError
from ..camera import Camera
from ..rig import CameraRig
from .common import Array, Size, load_text, note, numbers, reader

_POOR_FIT = 0.1  # px


@reader("Vicon XCP")
def read(path: Path, *, size: Size | None = None) -> CameraRig:
    """Read all cameras that were calibrated, called by their DEVICEID."""
    text = load_text(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError("declares entities, which no XCP file does")
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise InputError(f"is not XML ({error})") from None
    cameras, left_out = [], []
    for k, element in enumerate(root.iter("Camera")):
        name = element.get("DEVICEID") or f"cam{k + 1}"
        frame = element.find("KeyFrames/KeyFrame")
        if frame is None or frame.get("FOCAL_LENGTH") is None:
            left_out.append(name)
        else:
            cameras.append(_camera(name, element, frame, size))
    if left_out:
        note(f"cameras without a key frame were not calibrated and are left out: {', '.join(left_out)}")
    return CameraRig(tuple(cameras), "mm")


def is_xcp(text: str) -> bool:
    """Whether a text is Vicon's XML."""
    return text.lstrip().startswith("<") and "<KeyFrame" in text and "ORIENTATION" in text


def _camera(name: str, element: ET.Element, frame: ET.Element, size: Size | None) -> Camera:
    def values(source: ET.Element, key: str, count: int) -> Array:
        words = (source.get(key) or "").split()
        return numbers([float(w) for w in words[:count]], f"camera {name}: {key}", (count,))

    width, height = size or (int(n) for n in values(element, "SENSOR_SIZE", 2))
    focal = float(values(frame, "FOCAL_LENGTH", 1)[0])
    aspect = float(element.get("PIXEL_ASPECT_RATIO") or 1.0)
    centre = values(frame, "PRINCIPAL_POINT", 2)
    K = np.array([[focal, 0, centre[0]], [0, focal / aspect, centre[1]], [0, 0, 1]])
    R = Rotation.from_quat(values(frame, "ORIENTATION", 4)).as_matrix()
    terms = _radial(name, frame, centre)
    corner = float(np.hypot(*np.maximum(centre, np.array([width, height]) - centre)))
    return Camera(
        name, (width, height), K, _as_opencv(name, terms, focal, corner), R, -R @ values(frame, "POSITION", 3)
    )


def _radial(name: str, frame: ET.Element, centre: Array) -> Array:
    """Coefficients of r^2, r^4, r^6 in px, of VICON_RADIAL2 (a word, the centre, coefficients) or VICON_RADIAL."""
    words = (frame.get("VICON_RADIAL2") or "").split()
    if words:
        told = numbers([float(w) for w in words[1:]], f"camera {name}: VICON_RADIAL2")
        if told.size < 2:
            raise InputError(f"camera {name}: VICON_RADIAL2 must hold a centre and coefficients")
        if np.abs(told[:2] - centre).max() > 1:
            note(f"camera {name}: the centre of its distortion is not its principal point, which is taken for both")
        told = told[2:5]
    else:
        told = numbers(
            [float(w) for w in (frame.get("VICON_RADIAL") or "").split()[:3]], f"camera {name}: VICON_RADIAL"
        )
    return np.append(told, np.zeros(3 - told.size))


def _as_opencv(name: str, terms: Array, focal: float, corner: float) -> Array:
    """k1 k2 p1 p2 k3 that bring ideal radii (shares of the focal length) to distorted ones, fitted up to the corner."""
    if not np.any(terms):
        return np.zeros(5)
    distorted = np.linspace(0, corner, 400)[1:]
    ideal = distorted * (1 + sum(k * distorted ** (2 * i + 2) for i, k in enumerate(terms)))
    r = ideal / focal
    powers = np.column_stack([r**3, r**5, r**7])
    if not np.isfinite(powers).all() or (np.diff(ideal) <= 0).any():
        raise InputError(f"camera {name}: its distortion folds the image over")
    fitted, *_ = np.linalg.lstsq(powers, distorted / focal - r, rcond=None)
    off = float(np.abs(powers @ fitted - (distorted / focal - r)).max()) * focal
    if off > _POOR_FIT:
        note(f"camera {name}: its distortion is matched to {off:.2g} px only")
    return np.array([fitted[0], fitted[1], 0, 0, fitted[2]])
