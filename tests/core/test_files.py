"""Files are complete or not there."""

from pathlib import Path

import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.core.files import atomic_path, read_text


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_way_is_named_before_any_work_is_lost(tmp_path: Path) -> None:
    (tmp_path / "tracks.csv").mkdir()
    with pytest.raises(InputError, match=r"tracks\.csv: is a folder"), atomic_path(tmp_path / "tracks.csv"):
        pass
    assert list(tmp_path.iterdir()) == [tmp_path / "tracks.csv"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_text_of_every_system(tmp_path: Path, end: str, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(end.join(["frame,é", "1,2", ""]).encode(encoding))
    assert read_text(tmp_path / "t.csv") == "frame,é\n1,2\n"
