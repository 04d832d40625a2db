"""What happens to labs: full disks, folders that may not be written, recordings that vanish or belong to another."""

import hashlib
import os
import shutil
import subprocess
import threading
import time

import pytest

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.lock import locked
from trackfish3d.methods.joint.long import sections
from trackfish3d.methods.registry import make_method
from trackfish3d.pipeline.track_files import track_into
from trackfish3d.recordings import Recording

from ..methods.joint.test_long import shorten

MADE = ("check.json", "tracks.parquet", "tracks.csv")


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    home = tmp_path_factory.mktemp("hard") / "school"
    tf.simulate(home, fish=3, frames=60, seed=1)
    return home


@pytest.fixture
def disk(tmp_path):
    """Make a small disk of its own; needs the right to mount one."""
    made = []

    def mount(name, kib):
        place = tmp_path / name
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(place)], capture_output=True)
        if done.returncode:
            pytest.skip("disks cannot be mounted here")
        made.append(place)
        return place

    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("disks cannot be mounted here")
    yield mount
    for place in made:
        subprocess.run(["mount", "-o", "remount,rw", str(place)], capture_output=True)
        subprocess.run(["umount", str(place)], check=True)


def sums(folder, names):
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names}


def test_each_is_one_line_nothing_is_corrupted_and_the_others_go_on(school, disk, tmp_path, capsys):
    small, fixed, recs = disk("small", 600), disk("fixed", 600), tmp_path / "recs"
    folders = [small / "full", fixed / "fixed", *(recs / name for name in ("vanishing", "taken", "good"))]
    for place in folders:
        shutil.copytree(school, place)
    before = {p: sums(p, os.listdir(school)) for p in (small / "full", fixed / "fixed", recs / "taken")}
    free = shutil.disk_usage(small).free
    (small / "ballast").write_bytes(b"x" * (free - 12 * 1024))
    subprocess.run(["mount", "-o", "remount,ro", str(fixed)], check=True)
    end = time.monotonic() + 300

    def vanish():
        while not (recs / "vanishing" / "check.json").exists() and time.monotonic() < end:
            time.sleep(0.001)
        shutil.rmtree(recs / "vanishing", ignore_errors=True)

    thread = threading.Thread(target=vanish)
    thread.start()
    with locked(recs / "taken"), pytest.raises(SystemExit) as stop:
        main(["batch", *map(str, folders), "--steps", "check,track", "--workers", "1", "--out", "none"])
    thread.join()
    assert stop.value.code == 1
    said = [line for line in capsys.readouterr().out.splitlines() if " failed: " in line]
    assert len(said) == 4, said
    lines = {
        name: next(line for line in said if f"/{name}" in line) for name in ("full", "fixed", "vanishing", "taken")
    }
    assert "No space left on device" in lines["full"]
    assert "Read-only file system" in lines["fixed"]
    assert "is gone" in lines["vanishing"] or "No such file" in lines["vanishing"]
    assert "is being worked on by process" in lines["taken"]
    for place, expected in before.items():
        assert sums(place, expected) == expected
        assert not list(place.glob("*tf3d-*"))
        assert not (place / "tracks.parquet").exists()
    assert (recs / "good" / "tracks.parquet").exists()
    (small / "ballast").unlink()
    with pytest.raises(SystemExit) as stop:  # with room again, the same command goes on
        main(["batch", str(small / "full"), "--steps", "check,track", "--workers", "1", "--out", "none"])
    assert not stop.value.code
    assert sums(small / "full", MADE[1:]) == sums(recs / "good", MADE[1:])


def test_a_disk_that_fills_up_during_a_long_run_costs_nothing_that_was_finished(school, disk, monkeypatch, capsys):
    place = disk("long", 1200)
    shutil.copytree(school, place / "rec")
    shorten(monkeypatch.setattr)
    monkeypatch.setattr(sections, "LEAST_FRAMES", 20)
    monkeypatch.setattr(sections, "SECTION", 150)
    for module in ("joint.method", "joint.long.sections"):
        monkeypatch.setattr(f"trackfish3d.methods.{module}.WHOLE", 150)
    monkeypatch.setattr("trackfish3d.pipeline.track_files.WHOLE", 150)
    kept = place / "ballast"

    def fill_up(*_):
        if not kept.exists() and len(list((place / "rec" / ".track").glob("part-*.json"))) >= 1:
            kept.write_bytes(b"x" * shutil.disk_usage(place).free)

    with pytest.raises(OSError, match="No space left"):
        track_into(Recording.open(place / "rec"), make_method("joint", {}), fill_up)
    assert kept.exists()
    assert not (place / "rec" / "tracks.parquet").exists()
    kept.unlink()
    taken = []
    made = track_into(Recording.open(place / "rec"), make_method("joint", {}), lambda done, _: taken.append(done))
    assert made.points > 150
    assert min(taken) > 1  # the sections that were finished are not done again
