import pytest

from .scenes import make_recording


@pytest.fixture(scope="session")
def school(tmp_path_factory):
    """The size the page is built for: 16 fish, 400 frames, 3 cameras."""
    return make_recording(tmp_path_factory.mktemp("report") / "school")


@pytest.fixture
def small(tmp_path):
    return make_recording(tmp_path / "small", fish=3, frames=40)
