"""Edits against a plain dictionary of points; the log against kills, links, other writers and other tracks."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError, Note
from trackfish3d.recordings import Recording, Tracks
from trackfish3d.recordings.edits import Editor, Mending, read_log
from trackfish3d.recordings.edits.pieces import Pieces

from .worlds import make_rig, tracked_recording

FRAMES, NAMES = 24, (0, 1, 2, 5)


def small(folder: Path) -> Recording:
    """Four tracks with gaps; every point is in a place of its own."""
    rng = np.random.default_rng(3)
    frame, track = (a.ravel() for a in np.meshgrid(np.arange(FRAMES), NAMES, indexing="ij"))
    keep = rng.uniform(size=len(frame)) < 0.85
    frame, track = frame[keep], track[keep]
    rig = make_rig()
    place = np.column_stack([rng.uniform(-3, 3, (len(frame), 2)), rng.uniform(25, 30, len(frame))])
    recording = Recording.create(folder, rig, frames=(0, FRAMES))
    rows = rng.integers(-1, 50, (len(frame), 2))
    recording.write_tracks(
        Tracks.build(frame, track, place, detection=rows, confidence=np.full(len(frame), 0.5), cameras=rig.names)
    )
    return recording


def points(tracks: Tracks) -> dict[tuple[int, int], tuple[float, ...]]:
    """Tracks as a dictionary: (track, frame) to place."""
    rows = zip(tracks.track.tolist(), tracks.frame.tolist(), tracks.position.round(9).tolist(), strict=True)
    return {(t, f): tuple(p) for t, f, p in rows}


def oracle(held: dict, edit) -> dict:
    """What an edit makes of a dictionary of points, point by point."""
    out = {}
    for (t, f), p in held.items():
        if edit.kind == "swap" and edit.first <= f <= (f if edit.last is None else edit.last):
            t = {edit.one: edit.other, edit.other: edit.one}.get(t, t)
        elif edit.kind == "join" and t == edit.other:
            t = edit.one
        elif edit.kind == "cut" and t == edit.track and f >= edit.frame:
            t = edit.new
        elif edit.kind == "delete" and t == edit.track and edit.first <= f <= edit.last:
            continue
        elif edit.kind == "rename" and t == edit.track:
            t = edit.new
        out[t, f] = p
    if edit.kind == "point":
        out[edit.track, edit.frame] = tuple(np.round(edit.at, 9).tolist())
    if edit.kind == "fill":
        n = edit.last - edit.first + 2
        for k, f in enumerate(range(edit.first, edit.last + 1), 1):
            line = (1 - k / n) * np.array(edit.begin) + k / n * np.array(edit.end)
            out[edit.track, f] = tuple(line.round(9).tolist())
    return out


def random_edit(editor: Editor, rng: np.random.Generator):
    names = editor.mending.pieces.names.tolist()
    one, other = (int(n) for n in rng.choice(names, 2, replace=False)) if len(names) > 1 else (names[0], names[0])
    first, last = sorted(int(f) for f in rng.integers(0, FRAMES, 2))
    kind = rng.choice(["swap", "range", "join", "cut", "delete", "rename", "point", "fill", "accept", "undo", "redo"])
    try:
        if kind == "swap":
            return editor.swap(one, other, first)
        if kind == "range":
            return editor.swap(one, other, first, last)
        if kind == "join":
            return editor.join(one, other)
        if kind == "cut":
            return editor.cut(one, first)
        if kind == "delete":
            return editor.delete(one, first, first + 2)
        if kind == "rename":
            return editor.rename(one, int(rng.integers(0, 40)))
        if kind == "point":
            at = np.array([[*rng.uniform(-3, 3, 2), 27.0]])
            seen = {c.name: c.project(at)[0] for c in editor.recording.rig}
            return editor.add_point(one, first, seen)
        if kind == "fill":
            return editor.fill(one)
        if kind == "accept":
            return editor.accept(one, first, last, other)
        return editor.undo() if kind == "undo" else editor.redo()
    except InputError:
        return None


@pytest.fixture(scope="module")
def plain(tmp_path_factory) -> Recording:
    return small(tmp_path_factory.mktemp("edits") / "rec")


@given(st.integers(0, 10**6))
@settings(max_examples=12)
def test_every_sequence_of_edits_is_what_it_is_point_by_point(plain, seed):
    (plain.folder / "edits.jsonl").unlink(missing_ok=True)
    rng, editor = np.random.default_rng(seed), Editor(plain)
    done, undone, raw = [], [], points(plain.tracks)
    for _ in range(14):
        before = points(editor.tracks)
        change = random_edit(editor, rng)
        now = points(editor.tracks)
        if change is None:
            assert now == before  # what was refused did nothing
            continue
        if change.verb == "undone":
            undone.append(done.pop())
        elif change.verb == "redone":
            done.append(undone.pop())
        else:
            done, undone = [*done, change.edit], []
        expected = raw
        for edit in done:
            expected = oracle(expected, edit)
        assert now == expected
        if change.edit.kind != "accept":
            moved = {f for t, f in now.keys() | before.keys() if now.get((t, f)) != before.get((t, f))}
            assert change.frames == len(moved)
    again = Recording.open(plain.folder)
    assert points(again.mended_tracks) == points(editor.tracks)
    assert points(again.tracks) == raw
    while editor.edits:  # without limit, back to what the tracker made
        editor.undo()
    assert points(Recording.open(plain.folder).mended_tracks) == raw


def test_a_swap_done_twice_is_nothing_and_a_part_is_mended_like_the_whole(plain):
    (plain.folder / "edits.jsonl").unlink(missing_ok=True)
    editor = Editor(plain)
    assert editor.swap(0, 5, 7, 15).frames == editor.swap(0, 5, 7, 15).frames > 0
    assert points(editor.tracks) == points(plain.tracks)
    editor.cut(1, 9)
    editor.fill(2)
    editor.delete(5, 3, 12)
    whole = editor.tracks
    for a, b in ((0, 8), (9, 9), (10, FRAMES)):
        rows = (plain.tracks.frame >= a) & (plain.tracks.frame <= b)
        part = editor.mending.apply(plain.tracks.select(rows), a, b)
        assert points(part) == {k: p for k, p in points(whole).items() if a <= k[1] <= b}
    assert editor.tracks.confidence[(whole.track == 1)].max() == 0.5
    new = editor.edits[2].new
    assert whole.confidence[whole.track == new][0] == 1.0  # a person vouched for this border


def test_pieces_are_the_stretches_of_the_points(plain):
    t = plain.tracks
    chunks = [(t.frame[a:b], t.track[a:b]) for a, b in ((0, 17), (17, 18), (18, len(t)))]
    pieces = Pieces.of(chunks)
    held = {(r, f) for r, a, b in zip(pieces.raw, pieces.first, pieces.last, strict=True) for f in range(a, b + 1)}
    assert held == set(zip(t.track.tolist(), t.frame.tolist(), strict=True))
    assert pieces.points == len(t)
    assert Mending(pieces).apply(t).track.tolist() == t.track.tolist()


def test_a_clicked_point_is_triangulated_through_water(tmp_path):
    rec = small(tmp_path / "rec")
    at = np.array([[0.5, -0.4, 26.0]])
    seen = {c.name: c.project(at)[0] for c in rec.rig}
    change = tf.edit(rec).add_point(9, 4, seen)
    assert (change.frames, change.points, change.views) == (1, 1, 2)
    new = rec.mended_tracks.select(rec.mended_tracks.track == 9)
    np.testing.assert_allclose(new.position, at, atol=1e-6)
    assert np.linalg.eigvalsh(new.covariance[0]).min() > 0
    with pytest.raises(InputError, match="two views"):
        tf.edit(rec).add_point(9, 4, {"top": seen["top"]})


def test_a_point_farther_away_than_any_film_is_long_is_refused(tmp_path):
    rec = small(tmp_path / "rec")
    seen = {c.name: c.project(np.array([[0.5, -0.4, 26.0]]))[0] for c in rec.rig}
    tf.edit(rec).add_point(9, 4, seen)
    log = rec.folder / "edits.jsonl"
    before = log.read_text()
    with pytest.raises(InputError, match="farther away than any film"):
        tf.edit(rec).add_point(9, 2**40, seen)
    assert log.read_text() == before
    log.write_text(before.replace('"frame":4', f'"frame":{2**40}'))
    with pytest.raises(InputError, match=r"edits.jsonl: edit \d+ .*farther away than any film"):
        _ = Recording.open(rec.folder).mended_tracks


def test_all_that_reads_tracks_reads_the_mended_ones_unless_told(tmp_path, capsys):
    rec = tracked_recording(tmp_path / "rec")
    tf.edit(rec).delete(11)
    assert 11 not in rec.mended_tracks.track
    assert 11 in rec.tracks.track
    csv = tmp_path / "out.csv"
    tf.export(rec, "csv", csv)
    assert len(csv.read_text().splitlines()) == 1 + len(rec.mended_tracks)
    tf.export(rec, "csv", csv, raw=True)
    assert len(csv.read_text().splitlines()) == 1 + len(rec.tracks)
    tf.write_report(rec, tmp_path / "page.html")
    assert '"names":["2","5"]' in (tmp_path / "page.html").read_text()
    with pytest.raises(SystemExit):
        main(["evaluate", str(rec.folder), "--json"])
    mended = json.loads(capsys.readouterr().out)
    with pytest.raises(SystemExit):
        main(["evaluate", str(rec.folder), "--json", "--raw"])
    assert json.loads(capsys.readouterr().out) != mended


def test_the_command_says_what_it_touched_and_refuses_nonsense(tmp_path, capsys):
    rec = tracked_recording(tmp_path / "rec")

    def run(*words, code=0):
        with pytest.raises(SystemExit) as stop:
            main(["edit", str(rec.folder), *words])
        assert stop.value.code == code
        return capsys.readouterr()

    both = int(((rec.tracks.track != 11) & (rec.tracks.frame >= 20)).sum())
    frames = len(np.unique(rec.tracks.frame[(rec.tracks.track != 11) & (rec.tracks.frame >= 20)]))
    assert (
        run("swap", "2", "5", "--from", "20").out
        == f"swap 2 and 5 from frame 20: {frames} frames, {both} points, 2 views\n"
    )
    assert "undone: swap 2 and 5" in run("undo").out
    assert "nothing can be undone" in run("undo", code=2).err
    assert run("redo").out.startswith("redone: swap 2 and 5")
    assert "swap 2 and 5 from frame 20" in run("list").out
    assert "track 3: there is none; there are 2, 5, 11" in run("swap", "2", "3", "--from", "9", code=2).err
    assert "names one track twice" in run("join", "2", "2", code=2).err
    assert "both are there in frame" in run("join", "2", "5", code=2).err
    assert "goes from frame 9 back to 8" in run("swap", "2", "5", "--from", "9", "--to", "8", code=2).err
    assert "5 is there" in run("rename", "2", "5", code=2).err
    assert "nothing is cut" in run("cut", "2", "--at", "900", code=2).err
    assert len(read_log(rec.folder / "edits.jsonl").active) == 1


def test_edits_of_other_tracks_are_told_and_not_applied(tmp_path):
    rec = small(tmp_path / "rec")
    tf.edit(rec).delete(0)
    rec.write_tracks(rec.tracks.select(rec.tracks.frame > 3))
    with pytest.warns(Note, match="1 edits in .* were made on other tracks"):
        assert 0 in rec.mended_tracks.track
    tf.edit(rec).delete(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Note)
        assert rec.mended_tracks.identities.tolist() == [0, 2, 5]
    log = read_log(rec.folder / "edits.jsonl")
    assert [e.track for e in log.active] == [0, 1]


def test_a_torn_end_is_passed_over_and_a_damaged_line_is_named(tmp_path):
    rec = small(tmp_path / "rec")
    editor, path = tf.edit(rec), rec.folder / "edits.jsonl"
    editor.swap(0, 1, 5)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id":7,"kind":"sw')
    editor.swap(0, 2, 5)
    assert path.read_bytes().startswith(whole)
    assert [e.kind for e in read_log(path).active] == ["swap", "swap"]
    path.write_bytes(path.read_bytes().rstrip(b"\n"))  # an editor that leaves the last line open
    editor.swap(1, 2, 5)
    assert len(read_log(path).active) == 3
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], b"nonsense", *lines[1:], b""]))
    with pytest.raises(InputError, match=r"edits.jsonl: line 2: is not JSON"):
        _ = rec.mended_tracks
    path.write_text('{"op": "swap"}\n')
    with pytest.raises(InputError, match=r"line 1: is no edit: its 'kind' is missing or not known"):
        _ = rec.mended_tracks
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere.jsonl")
    with pytest.raises(InputError, match="is a link"):
        editor.swap(0, 1, 5)
    assert not (tmp_path / "elsewhere.jsonl").exists()


KILLED = """
import os, sys
import trackfish3d as tf
e = tf.edit(sys.argv[1])
for call in ("e.swap(0, 1, 5)", "e.cut(0, 9)", "e.delete(2, 3, 4)", "e.rename(5, 30)", "e.fill(1)",
             "e.accept(1, 2, 8)", "e.add_point(1, 3, {'top': (300, 200), 'front': (250, 200)})",
             "e.undo()", "e.redo()"):
    eval(call)
    print(call, flush=True)
os.kill(os.getpid(), 9)
"""


def test_every_acknowledged_edit_is_there_after_a_kill(tmp_path):
    rec = small(tmp_path / "rec")
    done = subprocess.run([sys.executable, "-c", KILLED, str(rec.folder)], capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    kinds = [e.kind for e in read_log(rec.folder / "edits.jsonl").active]
    assert len(done.stdout.splitlines()) == 9
    assert kinds == ["swap", "cut", "delete", "rename", "fill", "accept", "point"]


def test_two_writers_lose_nothing(tmp_path):
    rec = small(tmp_path / "rec")
    code = "import sys, trackfish3d as tf\ne = tf.edit(sys.argv[1])\nfor _ in range(15): e.swap(0, 1, int(sys.argv[2]))"
    both = [subprocess.Popen([sys.executable, "-c", code, str(rec.folder), f]) for f in "39"]
    assert [p.wait() for p in both] == [0, 0]
    active = read_log(rec.folder / "edits.jsonl").active
    assert sorted(e.first for e in active) == [3] * 15 + [9] * 15
    assert points(Recording.open(rec.folder).mended_tracks) != {}
    assert not os.path.exists(rec.folder / ".trackfish3d.lock")
