"""Work is done once: again only where what it is made from changed, or what it made is gone."""

import json
import math

import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.core.files import digest, read_json, stamp, write_json
from trackfish3d.core.resume import Journal, key_of, open_work


def test_a_key_is_of_values_and_not_of_their_order():
    assert key_of({"a": 1, "b": (2, 3)}) == key_of({"b": [2, 3], "a": 1})
    assert key_of({"a": 1}) != key_of({"a": 2})


def test_work_holds_while_its_key_and_its_files_do(tmp_path):
    made = tmp_path / "made.txt"
    made.write_text("x")
    journal = Journal(tmp_path / "run.json")
    assert journal.facts("track", "k1", [made]) is None
    journal.note("track", "k1", line="5 tracks")
    assert json.loads((tmp_path / "run.json").read_text()) == {"track": {"key": "k1", "line": "5 tracks"}}
    again = Journal(tmp_path / "run.json")
    assert again.facts("track", "k1", [made]) == {"line": "5 tracks"}
    assert again.facts("track", "k2", [made]) is None
    assert again.facts("check", "k1") is None
    made.unlink()
    assert again.facts("track", "k1", [made]) is None


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"track": 3}', '{"track": {"line": "x"}}', '{"track": {"key": 3}}'])
def test_a_damaged_journal_is_an_empty_one(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert Journal(tmp_path / "run.json").facts("track", "3") is None


def test_a_folder_keeps_the_work_of_its_key_and_loses_that_of_another(tmp_path):
    folder = tmp_path / "work"
    open_work(folder, "k1").note("camera", "k1", reached=3)
    (folder / "part").write_text("x")
    assert open_work(folder, "k1").facts("camera", "k1") == {"reached": 3}
    assert (folder / "part").exists()
    assert open_work(folder, "k2").facts("camera", "k1") is None
    assert not (folder / "part").exists()


def test_a_folder_of_somebody_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="was not made by trackfish3d"):
        open_work(tmp_path, "k")
    assert (tmp_path / "thesis.txt").read_text() == "x"


def test_json_is_what_every_reader_takes(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": [1.5, math.nan], "b": {"c": (math.inf, "x")}})
    assert read_json(path) == {"a": [1.5, None], "b": {"c": [None, "x"]}}
    assert read_json(tmp_path / "none.json") is None


def test_a_file_is_known_by_its_content_or_by_its_stamp(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"abc")
    two.write_bytes(b"abc")
    assert digest(one) == digest(two) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert digest(tmp_path / "none") == "missing"
    assert stamp(one) != stamp(two)
    before = stamp(one)
    assert before == stamp(one)
    one.write_bytes(b"abcd")
    assert before != stamp(one)
