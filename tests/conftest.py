"""Fixtures that many tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real recordings, named by TRACKFISH3D_DATA; the test is skipped where there is none."""
    folder = os.environ.get("TRACKFISH3D_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TRACKFISH3D_DATA does not name a folder of real recordings")
    return Path(folder)
