"""README's Python, as it is typed there, where nothing is but the wheel: `python tests/packaging/readme.py`.

Builds the wheel of a copy, installs it with the extras that the lines need into a fresh environment, films a simulated
school there, and runs the block statement by statement in a folder that holds two films and their cameras. The truth is
laid beside the tracks where the lines speak of it.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILM = "simulate --fish 5 --rig 5 --frames 90 --seed 4 --video --out school"
SCORED = "tf.evaluate"


def block() -> str:
    """Lines of README's first block of Python."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def installed(folder: Path) -> Path:
    """Folder of the programs of a fresh environment that holds the wheel and what it needs."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "--wheel-dir", folder / "dist", source], check=True)
    shutil.rmtree(source)
    (wheel,) = (folder / "dist").glob("*.whl")
    venv.create(folder / "env", with_pip=False)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    subprocess.run([*pip, "--python", python, "install", "-q", f"{wheel}[video,netcdf,pandas]"], check=True)
    return programs


def main() -> int:
    """Run it all; exit code 0 if every line ran."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = installed(folder)
        work = folder / "work"
        work.mkdir()
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}
        environment["MPLBACKEND"] = "agg"
        subprocess.run([programs / "trackfish3d", *FILM.split()], cwd=work, env=environment, check=True)
        cameras = (work / "school" / "cameras.toml").read_text(encoding="utf-8")
        films = sorted((work / "school" / "videos").glob("*.mp4"))[:2]
        for film, wanted in zip(films, ("top", "front"), strict=True):
            shutil.copy(film, work / f"{wanted}.mp4")
            cameras = re.sub(rf"\b{film.stem}\b", wanted, cameras)
        (work / "cameras.toml").write_text(cameras, encoding="utf-8")
        steps = [ast.unparse(statement) for statement in ast.parse(block()).body]
        code = ["import pathlib, shutil, trackfish3d", "print(trackfish3d.__file__)"]
        for step in steps:
            if step.startswith(SCORED):
                code.append("shutil.copy('school/truth.parquet', 'REC'); rec = tf.open('REC')")
            code.append(f"print('>>>', {step!r}, flush=True)\n{step}")
        code.append("assert positions.ndim == 3 and positions.shape[2] == 3, positions.shape")
        code.append(f"assert pathlib.Path(trackfish3d.__file__).is_relative_to({str(folder / 'env')!r})")
        script = work / "typed.py"
        script.write_text("if __name__ == '__main__':\n    " + "\n    ".join("\n".join(code).split("\n")) + "\n")
        done = subprocess.run([programs / "python", script], cwd=work, env=environment, check=False)
    print("README's lines ran" if done.returncode == 0 else "README's lines FAILED")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
