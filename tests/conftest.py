"""Fixtures that many tests share."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# the same examples in every run, so that a change is judged by itself; HYPOTHESIS_PROFILE=explore draws new ones
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


@pytest.fixture(autouse=True)
def seed() -> None:
    """Let PyTorch draw the same numbers in every run, whichever tests ran before."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real recordings, named by TRACKFISH3D_DATA; the test is skipped where there is none."""
    folder = os.environ.get("TRACKFISH3D_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TRACKFISH3D_DATA does not name a folder of real recordings")
    return Path(folder)
