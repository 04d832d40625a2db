"""Where compiled kernels are kept between runs.

Numba keeps them beside the code, or in the user's cache folder. In a container or on a cluster neither may be writable,
and then it refuses to start at all. They go to the temporary folder instead, where nobody else may write.
"""

import os
import stat
import sys
import tempfile
from pathlib import Path


def choose_cache() -> None:
    """Set ``NUMBA_CACHE_DIR`` where Numba would find no place of its own; called before it is first imported.

    Matplotlib has the same trouble with its settings, and says so in every command.
    """
    if not os.environ.get("MPLCONFIGDIR") and not _home_is_writable():
        os.environ["MPLCONFIGDIR"] = str(_private_folder())
    if os.environ.get("NUMBA_CACHE_DIR") or _writable(Path(__file__).parents[1]) or _home_is_writable():
        return
    os.environ["NUMBA_CACHE_DIR"] = folder = str(_private_folder())
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _home_is_writable() -> bool:
    """Whether the user's cache folder is there or can be made."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~")) / ".cache")
    while not home.exists() and home != home.parent:
        home = home.parent
    return home != home.parent and _writable(home)


def _private_folder() -> Path:
    """Return a folder of this user's alone: what is cached there is run."""
    user = os.getuid() if hasattr(os, "getuid") else os.getpid()
    path = Path(tempfile.gettempdir()) / f"trackfish3d-{user}"
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        facts = path.lstat()
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != user or facts.st_mode & 0o077:
            return Path(tempfile.mkdtemp(prefix="trackfish3d-"))
    return path
