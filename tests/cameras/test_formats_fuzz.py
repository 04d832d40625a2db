"""Damaged calibration files: an `InputError`, whatever was done to them, and never anything else."""

import re
import shutil
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.formats import FORMATS, read_calibration
from trackfish3d.core.errors import InputError

from . import formats_samples as samples

NAMES = (
    "trackfish3d", "anipose", "opencv", "opencv-json", "aquacal", "caliscope", "json", "dlt", "colmap",
    "colmap-lenses", "zef", "zef-lens", "matlab", "matlab-hdf5", "vicon", "projection",
)  # fmt: skip
FEW = settings(max_examples=40, deadline=30_000, suppress_health_check=list(HealthCheck), derandomize=True)
# What a number, a word or a bracket in a file may be replaced by.
WRONG = (
    "NaN", ".nan", "1e999", "-1", "0", "null", "true", '"x"', "[]", "{}", "[[[]]]", "9" * 400, "1e-320", "", "\n",
    "[1,2,3]", "\x00", "é", "&a", "*a", "!!python/object:os.system", "%YAML:1.0", "2001-13-45", "0x7fffffffffffffff",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return samples.write_all(tmp_path_factory.mktemp("valid"))


def attempt(made, name, content):
    """Put `content` in the place of a valid file and read it, by name of the format and by detection."""
    valid = made[name]
    folder = valid.parent.parent / f"fuzz-{name}"
    if not folder.exists():
        folder.mkdir()
        for file in valid.parent.iterdir():
            if file.is_file() and (name.startswith(("colmap", "zef"))):
                shutil.copy(file, folder)
    path = folder / valid.name
    path.write_bytes(content)
    form = {"colmap-lenses": "colmap", "zef-lens": "zef"}.get(name, name.split("-")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for read in (FORMATS[form].read, read_calibration):
            message, rig = str(path), None
            try:
                rig = read(path)
            except InputError as error:
                message = str(error)
            assert str(folder) in message
            assert "\n" not in message
            assert rig is None or isinstance(rig, CameraRig)
            assert rig is None or all(np.isfinite(c.K).all() and np.isfinite(c.t).all() for c in rig)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(content=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_arbitrary_bytes(made, name, content):
    attempt(made, name, content)


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(share=st.floats(0, 1))
def test_cut_short(made, name, share):
    whole = made[name].read_bytes()
    attempt(made, name, whole[: int(share * len(whole))])


@pytest.mark.parametrize("name", NAMES)
@FEW
@given(data=st.data())
def test_changed_bytes(made, name, data):
    content = bytearray(made[name].read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    attempt(made, name, bytes(content))


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("matlab")])
@FEW
@given(data=st.data())
def test_changed_words(made, name, data):
    parts = re.split(r"([\w.+-]+|[\[\]{}\"=:,])", made[name].read_text())
    for _ in range(data.draw(st.integers(1, 3))):
        i = data.draw(st.integers(0, len(parts) - 1))
        parts[i] = data.draw(st.sampled_from(WRONG) | st.sampled_from(parts))
    attempt(made, name, "".join(parts).encode())


@pytest.mark.parametrize("name", NAMES)
def test_deep_nesting_and_empty_files(made, name):
    attempt(made, name, b"")
    for piece in (b"[", b'{"a":', b"/*", b'"\\', b"1.", b"1 "):
        attempt(made, name, 50_000 * piece)
    attempt(made, name, b"- " * 2_000)
    attempt(made, name, b"a.b." * 20_000 + b"c=1")


@pytest.mark.parametrize("name", ["trackfish3d", "anipose", "opencv", "opencv-json", "aquacal", "caliscope", "json"])
def test_values_that_make_no_camera_are_refused_by_name(made, name, tmp_path):
    """NaN, a singular K and an R that is no rotation, each put into the place of the right number."""
    text = made[name].read_text()
    focal = re.search(r"1000\.0", text).span()
    nan = {"opencv": ".Nan", "trackfish3d": "nan", "anipose": "nan", "caliscope": "nan"}.get(name, "NaN")
    damages = [(focal, nan, "not finite"), (focal, "0.0", "K is singular"), (focal, "-1000.0", "focal length")]
    if name not in ("trackfish3d", "anipose", "caliscope"):  # these hold Rodrigues vectors, which are never wrong
        first = re.search(r"\bR\"?:(?:\D*rows\D+3\D+3)?\D*?(-?\d+\.\d+)", text).span(1)
        damages.append((first, "7.5", "R is not a rotation"))
    path = tmp_path / made[name].name
    for (begin, end), value, match in damages:
        path.write_text(text[:begin] + value + text[end:])
        with pytest.raises(InputError, match=f"(view 0|cam_0).*{match}"):
            read_calibration(path)


@pytest.mark.parametrize(("place", "value"), [(888, 83), (1137, 231), (1137, 172), (1345, 93), (665, 169)])
def test_matlab_files_that_end_scipy_with_a_segmentation_fault(made, place, value, tmp_path):
    """One byte of a type or a size: SciPy's compiled reader jumps to where nothing is (34 of 1500 such files)."""
    content = bytearray(made["matlab"].read_bytes())
    content[place] = value
    path = tmp_path / "stereo.mat"
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"stereo\.mat: is damaged"):
        read_calibration(path)
