"""The wheel holds everything, and works where nothing of the repository is."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

import trackfish3d

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built of a copy: a build leaves files beside its sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", folder / "dist", folder]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (made,) = (folder / "dist").glob("*.whl")
    return made


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(wheel):
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    source = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src" / "trackfish3d").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == source
    assert {Path(name).suffix for name in held} > {".py", ".typed", ".safetensors", ".html", ".json"}


def test_the_version_is_written_in_one_place(wheel):
    assert wheel.name.split("-")[1] == trackfish3d.__version__
    written = re.escape(trackfish3d.__version__)
    for name in ("pyproject.toml", "CITATION.cff"):
        assert not re.search(rf"^version\W+{written}", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert f"## {trackfish3d.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_wheel_works_in_a_fresh_environment(wheel, tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    bin_ = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    own = subprocess.run(
        [bin_ / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        bin_ / "python",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run(install, check=True)
    theirs = [p for p in sys.path if p.endswith("site-packages")]  # the packages it needs, but not the repository
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PYTHONPATH": os.pathsep.join([own, *theirs])}
    code = (
        "import trackfish3d as tf; print(tf.__file__); print(tf.method_names()); "
        "from trackfish3d.synfish.rigs import paper_rig; print(paper_rig(0).names)"
    )
    told = subprocess.run(
        [bin_ / "python", "-c", code], capture_output=True, text=True, cwd=tmp_path, env=env, check=False
    )
    assert told.returncode == 0, told.stderr
    file, names, cameras = told.stdout.splitlines()
    assert Path(file).is_relative_to(own)
    assert "'joint'" in names
    assert "cam" in cameras  # read from a file of the package
    help_ = subprocess.run([bin_ / "trackfish3d", "--help"], capture_output=True, text=True, env=env, check=True).stdout
    assert "track" in help_
