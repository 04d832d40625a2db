"""Long recordings: the same tracks however they are read, stopped and resumed, in memory that does not grow."""

import hashlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.methods.joint import method as joint_method
from trackfish3d.methods.joint.long import sections
from trackfish3d.methods.registry import make_method
from trackfish3d.pipeline import track_files
from trackfish3d.recordings import Recording, whole_frames
from trackfish3d.recordings.storage import write_pieces, write_table

FILES = ("tracks.parquet", "tracks.csv", "tracks_table.csv", "tracks.settings.json")
FRAMES, SECTION, MARGIN = 260, 900, 40


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """Five simulated fish before three cameras, one of which is lost for some frames about the border of sections."""
    home = tmp_path_factory.mktemp("long")
    rec = tf.simulate(home / "school", fish=5, frames=FRAMES, seed=3)
    return rec.folder


@pytest.fixture
def short_sections(monkeypatch):
    """Sections so short that a small recording has several."""
    shorten(monkeypatch.setattr)


def shorten(put):
    put(sections, "SECTION", SECTION)
    put(sections, "MARGIN", MARGIN)
    put(sections, "LEAST_FRAMES", 2 * MARGIN)
    put("trackfish3d.methods.joint.long.long_run.MARGIN", MARGIN)
    put("trackfish3d.methods.joint.long.windows.MARGIN", MARGIN)
    for module in (joint_method, track_files):
        put(module, "WHOLE", SECTION)


def copy_of(folder, tmp_path):
    rec = Recording.open(folder)
    made = Recording.create(
        tmp_path / "copy", rec.rig, fps=rec.fps, detections=rec.detections, truth=rec.truth, frames=(0, FRAMES)
    )
    return Recording.open(made.folder)  # cameras as they are in the file, to the last bit


def sums(folder):
    return {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in FILES}


def test_sections_are_cut_at_the_same_frames_whatever_is_read_at_once(school, short_sections):
    whole = Recording.open(school).detections
    made = []
    for rows in (1, 50, 333, 10**6):
        parts = list(sections.cut(whole_frames.cut(whole, rows)))
        made.append([(p.row, len(p.detections), int(p.detections.frame[0])) for p in parts])
        np.testing.assert_array_equal(np.concatenate([p.detections.u for p in parts]), whole.u)
    assert made.count(made[0]) == 4
    assert len(made[0]) > 3
    for (_, _, first), (_, _, after) in zip(made[0][:-1], made[0][1:], strict=True):
        assert after - first >= 2 * MARGIN  # a margin never needs more than the section that follows


def test_files_are_the_same_in_memory_and_for_every_chunk(school, short_sections, tmp_path):
    rec = copy_of(school, tmp_path)
    make_method("joint", {}).track(rec.rig, rec.detections, rec.fps).save(rec)
    expected = sums(rec.folder)
    for rows in (60, 700, 10**6):
        made = track_files.track_into(Recording.open(rec.folder), make_method("joint", {}), rows=rows)
        assert made.points > 4.9 * FRAMES
        assert sums(rec.folder) == expected
    assert not (rec.folder / ".track").exists()


def test_sections_find_what_the_whole_finds(school, short_sections, monkeypatch):
    rec = Recording.open(school)
    made = tf.track(rec)
    monkeypatch.setattr(joint_method, "WHOLE", 10**9)
    whole = tf.track(rec)
    assert len(made.tracks.identities) == len(whole.tracks.identities) == 5
    ours, theirs = (tf.evaluate(r, rec, gate=1.0) for r in (made, whole))
    assert ours.clear.switches == theirs.clear.switches == 0
    assert ours.identity.idf1 == pytest.approx(theirs.identity.idf1, abs=0.005)
    both = made.tracks.array() - whole.tracks.array()
    assert np.nanmax(np.abs(both)) < 0.1 * whole.body_length  # smoothing forgets what is a margin away


def test_an_animal_lost_about_a_border_of_sections_stays_itself(school, short_sections, tmp_path):
    rec = copy_of(school, tmp_path)
    found = rec.detections
    border = int(list(sections.cut(whole_frames.cut(found)))[1].detections.frame[0])
    truth = rec.truth
    gone = np.zeros(len(found), bool)
    for frame in range(border - 10, border + 10):  # of animal 0, nobody sees anything for twenty frames
        row = np.flatnonzero((truth.frame == frame) & (truth.identity == 0))[0]
        taken = truth.detection[row]
        gone[taken[taken >= 0]] = True
    rec.write_detections(iter([found.select(~gone)]))
    made = tf.track(Recording.open(rec.folder))
    scores = tf.evaluate(made, rec.truth, gate=1.0)
    assert len(made.tracks.identities) == 5
    assert scores.clear.switches == 0


def test_pieces_written_one_by_one_are_the_file_of_the_whole(school, tmp_path, monkeypatch):
    monkeypatch.setattr("trackfish3d.recordings.storage.ROWS_PER_GROUP", 100)
    table = Recording.open(school).detections.to_table()
    write_table(table, tmp_path / "whole.parquet")
    for cut in (7, 100, 250, 5000):
        write_pieces((table.slice(k, cut) for k in range(0, table.num_rows, cut)), tmp_path / "pieces.parquet")
        assert (tmp_path / "pieces.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()


def test_a_resumed_run_reads_no_row_group_before_the_section_it_is_in(school, short_sections, tmp_path, monkeypatch):
    monkeypatch.setattr("trackfish3d.recordings.recording.ROWS_PER_GROUP", 300)
    rec = copy_of(school, tmp_path)
    rec.write_detections(iter([rec.detections]))
    last, read = [0], []
    plain = Recording.iter_detections

    def stop(done, total):
        last[0] = done
        if done > 0.8 * total:
            raise KeyboardInterrupt

    def counted(self, rows, first=-(2**62)):
        for piece in plain(self, rows, first):
            read.append((first, int(piece.frame[0])))
            yield piece

    with pytest.raises(KeyboardInterrupt):
        track_files.track_into(Recording.open(rec.folder), make_method("joint", {}), stop)
    monkeypatch.setattr(Recording, "iter_detections", counted)
    made = track_files.track_into(Recording.open(rec.folder), make_method("joint", {}), rows=200)
    assert made.points > 4.9 * FRAMES
    assert all(frame >= first > 0 for first, frame in read)  # never from the beginning
    assert max(first for first, _ in read) > 0.5 * FRAMES


def test_a_look_through_a_recording_that_was_stopped_goes_on(school, short_sections, tmp_path, monkeypatch):
    monkeypatch.setattr("trackfish3d.recordings.recording.ROWS_PER_GROUP", 300)
    monkeypatch.setattr(track_files, "KEPT_EVERY", 0.0)
    rec = copy_of(school, tmp_path)
    rec.write_detections(iter([rec.detections]))
    plain, read, most = Recording.iter_detections, [], [0.8 * FRAMES]

    def stopping(self, rows, first=-(2**62)):
        for piece in plain(self, 200, first):
            read.append(int(piece.frame[0]))
            if read[-1] > most[0]:
                raise KeyboardInterrupt
            yield piece

    method = make_method("joint", {})
    whole = method.survey(rec.rig, lambda first: plain(rec, 500, first))
    monkeypatch.setattr(Recording, "iter_detections", stopping)
    with pytest.raises(KeyboardInterrupt):
        track_files.track_into(Recording.open(rec.folder), method)
    read.clear()
    most[0] = FRAMES
    monkeypatch.setattr(type(method), "long_run", lambda self, rig, pieces, known: found.append(known))
    found = []
    track_files.track_into(Recording.open(rec.folder), method)
    assert vars(found[0]) == vars(whole)
    assert min(read) in [begin for begin, _, _ in whole.sections[1:]]  # not from the recording's first on


def test_frames_are_found_by_the_index_of_row_groups_whatever_clocks_the_cameras_have(school, tmp_path, monkeypatch):
    monkeypatch.setattr("trackfish3d.recordings.recording.ROWS_PER_GROUP", 200)
    rec = copy_of(school, tmp_path)
    rec.write_detections(iter([rec.detections]))
    monkeypatch.setattr(Recording, "offsets", np.array([0, 3, -2]))
    whole = Recording.open(rec.folder).detections
    for first in (-5, 0, 1, 77, 150, FRAMES - 1, 10**6):
        pieces = list(Recording.open(rec.folder).iter_detections(150, first))
        found = np.concatenate([p.frame for p in pieces]) if pieces else np.zeros(0)
        np.testing.assert_array_equal(found, whole.frame[whole.frame >= first])


def test_a_run_that_is_killed_goes_on_and_ends_in_the_same_bytes(school, short_sections, tmp_path):
    rec = copy_of(school, tmp_path)
    track_files.track_into(rec, make_method("joint", {}), rows=500)
    expected = sums(rec.folder)
    for name in FILES:
        (rec.folder / name).unlink()
    code = (
        "import sys, time, importlib\n"
        "from tests.methods.joint.test_long import shorten\n"
        "from trackfish3d.methods.registry import make_method\n"
        "from trackfish3d.pipeline import track_files\n"
        "from trackfish3d.recordings import Recording\n"
        "def put(where, name, value=None):\n"
        "    if value is None:\n"
        "        module, _, name_ = where.rpartition('.')\n"
        "        where, name, value = importlib.import_module(module), name_, name\n"
        "    setattr(where, name, value)\n"
        "shorten(put)\n"
        "def slow(done, total):\n"
        "    time.sleep(0.005)\n"
        "track_files.track_into(Recording.open(sys.argv[1]), make_method('joint', {}), slow)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    work, seen = rec.folder / ".track", 0
    for parts in (1, 2):  # killed after the first section, and after the second
        process = subprocess.Popen([sys.executable, "-c", code, str(rec.folder)], env=environment)
        end = time.monotonic() + 120
        while len(list(work.glob("part-*.json"))) < parts and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
        seen = max(seen, len(list(work.glob("part-*.json"))))
    assert seen >= 1
    assert not (rec.folder / "tracks.parquet").exists()
    before = {p.name: p.stat().st_mtime_ns for p in work.glob("part-*.parquet")}
    taken = []
    run = track_files.track_into(
        Recording.open(rec.folder), make_method("joint", {}), lambda done, _: taken.append(done)
    )
    assert sums(rec.folder) == expected
    assert run.points
    assert before
    assert min(taken) > 1  # finished sections were not done again
