"""The core tests on every Python that is there: `python tests/packaging/matrix.py`, or `--here` for this one alone.

Interpreters are found as ``python3.X`` on PATH or among pyenv's versions. Each gets an environment of its own,
``.venv-3.X``, with the extra ``test``: no torch and no other groups' trackers, so that it is quick.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
WORDS = {None: "not here", True: "passed", False: "FAILED"}
CORE = (
    *(
        "core/test_files.py",
        "core/test_graph.py",
        "core/test_isolation.py",
        "core/test_resume.py",
        "core/test_settings.py",
    ),
    *("maths", "cameras", "recordings", "media", "evaluation", "docs/test_doctests.py", "docs/test_docstrings.py"),
    *("packaging/test_command.py", "test_front_door.py"),
)


def find(version: str) -> Path | None:
    """Interpreter of a version that starts, or None."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    pyenv = sorted(root.glob(f"versions/{version}.*/bin/python"))
    named = shutil.which(f"python{version}")
    for path in [*([Path(named)] if named else []), *reversed(pyenv)]:
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        told = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)  # pyenv's may be shims
        if told.stdout.strip() == version:
            return path
    return None


def core_tests(python: Path) -> bool:
    """Run the core tests; returns whether all passed."""
    return (
        subprocess.run([python, "-m", "pytest", "-q", *(f"tests/{c}" for c in CORE)], cwd=ROOT, check=False).returncode
        == 0
    )


def prepared(version: str, python: Path) -> Path | None:
    """Interpreter of the environment of a version, made or brought up to date; None where that fails."""
    folder = ROOT / f".venv-{version}"
    if not (folder / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    own = folder / "bin" / "python"
    done = subprocess.run([own, "-m", "pip", "install", "-q", "-e", ".[test]"], cwd=ROOT, check=False)
    return own if done.returncode == 0 else None


def main() -> int:
    """Run them all; 0 if there was one and every one passed."""
    if "--here" in sys.argv:
        return 0 if core_tests(Path(sys.executable)) else 1
    outcomes = {}
    for version in VERSIONS:
        python = find(version)
        if python is not None:
            own = prepared(version, python)
            outcomes[version] = own is not None and core_tests(own)
    for version in VERSIONS:
        print(f"Python {version}: {WORDS[outcomes.get(version)]}")
    return 0 if outcomes and all(outcomes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
