"""What a recording was made from is written down, the same bytes for the same inputs."""

import hashlib
import json
import os
from pathlib import Path

import pytest

from trackfish3d import __version__
from trackfish3d.core import provenance


def test_files_options_and_versions(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"frame,camera\n")
    provenance.note(tmp_path, "import", [tmp_path / "a.csv", tmp_path / "gone"], {"fps": 30.0, "cameras": Path("c")})
    found = json.loads((tmp_path / "run.json").read_text())["import"]
    assert found["inputs"] == [
        {"path": str(tmp_path / "a.csv"), "bytes": 13, "sha256": hashlib.sha256(b"frame,camera\n").hexdigest()},
        {"path": str(tmp_path / "gone"), "sha256": "missing"},
    ]
    assert found["options"] == {"cameras": "c", "fps": 30.0}
    assert found["versions"]["trackfish3d"] == __version__


def test_stages_are_chapters_and_the_same_work_the_same_bytes(tmp_path: Path) -> None:
    provenance.note(tmp_path, "import", [], {"b": 1, "a": 2})
    provenance.note(tmp_path, "track", [], {"method": "joint"})
    first = (tmp_path / "run.json").read_bytes()
    provenance.note(tmp_path, "import", [], {"a": 2, "b": 1})
    assert (tmp_path / "run.json").read_bytes() == first
    assert list(provenance.read(tmp_path)) == ["import", "track"]


def test_a_folder_is_known_by_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "labels"
    (folder / "top").mkdir(parents=True)
    (folder / "top" / "1.txt").write_text("0")

    def known() -> str:
        provenance.note(tmp_path, "import", [folder], {})
        return str(provenance.read(tmp_path)["import"]["inputs"][0]["sha256"])

    first = known()
    (folder / "top" / "1.txt").rename(folder / "top" / "2.txt")
    second = known()
    (folder / "top" / "2.txt").write_text("1")
    assert len({first, second, known()}) == 3


def test_large_files_are_known_by_their_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "LARGE", 2**21)
    path = tmp_path / "film.mp4"
    path.write_bytes(bytes(3 * 2**20) + b"end")
    provenance.note(tmp_path, "detect", [path], {})
    entry = provenance.read(tmp_path)["detect"]["inputs"][0]
    ends = bytes(2**20) + (bytes(2**20) + b"end")[3:]
    assert entry["sha256_of_first_and_last_mebibyte"] == hashlib.sha256(ends).hexdigest()


def test_damage_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    odd = os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.csv")
    Path(odd).write_text("x")
    provenance.note(tmp_path, "import", [odd], {"detections": [odd]})
    assert provenance.read(tmp_path)["import"]["inputs"][0]["bytes"] == 1
