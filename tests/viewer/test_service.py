"""What the page is told: chunks, pictures by frame, timeline, suspects, curves."""

import io
import struct
import threading

import av
import numpy as np
import pytest

import trackfish3d as tf
from tests.detection.worlds import read_number
from trackfish3d.methods.review import review
from trackfish3d.methods.suspects import Suspect, read_suspects, write_suspects
from trackfish3d.recordings import Recording
from trackfish3d.recordings.edits import Editor
from trackfish3d.viewer.chunk_bytes import MAGIC
from trackfish3d.viewer.film_pictures import FilmPictures, Superseded
from trackfish3d.viewer.store import Store

from .scenes import Client, filmed, numbered


def burnt_in(jpeg: bytes) -> int:
    with av.open(io.BytesIO(jpeg)) as container:
        return read_number(next(container.decode(video=0)).to_ndarray(format="gray"))


@pytest.mark.parametrize("kind", ["lost", "variable"])
def test_the_number_in_the_picture_is_the_number_that_was_asked_for(tmp_path, kind):
    recording, times = numbered(tmp_path / "rec", kind)
    view = tf.view(recording, browser=False)
    try:
        friend = Client(view.address)
        rng = np.random.default_rng(1)
        wanted = rng.integers(100 + 7, 100 + 7 + 300, 200).tolist()
        wanted += [f for k in range(20) for f in (150 + k, 390 - 11 * k)]  # scrubs to and fro
        shown = {}
        for frame in wanted:
            status, headers, body = friend.ask("GET", f"/api/0/frame/0/{frame}?width=4000&window=w")
            assert status in (200, 204), frame
            if status == 200:
                assert int(headers["x-frame"]) == frame
                shown[frame] = burnt_in(body)
        assert len(shown) > 100
        for frame, number in shown.items():
            if kind == "lost":
                assert number == frame - 107
            else:
                assert abs((frame - 107) - times[number] / 1000 * tf.Video.open(recording.videos["cam0"]).fps) <= 0.75
        missing = set(wanted) - set(shown)
        gone = {*range(30, 34), *range(131, 160)}
        assert kind == "variable" or {frame - 107 for frame in missing} <= gone
    finally:
        view.close()


def test_the_newest_request_is_answered_first_and_older_ones_of_the_same_window_are_not(tmp_path):
    recording, _ = numbered(tmp_path / "rec", "lost")
    films = FilmPictures(recording.videos)
    gate = threading.Event()
    decode = films._decode

    def slow(*key):
        gate.wait(10)
        return decode(*key)

    films._decode = slow
    first = films.ask("a", "cam0", 3, 200)  # is being decoded when the others come
    while films._waiting:
        pass
    scrub = [films.ask("a", "cam0", n, 200) for n in range(10, 30)]
    other = films.ask("b", "cam0", 90, 200)
    gate.set()
    assert burnt_in(scrub[-1].result(20)) == 29
    assert burnt_in(other.result(20)) == 90
    assert burnt_in(first.result(20)) == 3
    for old in scrub[:-1]:
        with pytest.raises(Superseded):
            old.result(1)
    assert films.decoded < 40  # none of those in between was decoded
    films.close()


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Recording:
    return filmed(tmp_path_factory.mktemp("service") / "rec", frames=240, fish=4)


def columns(content: bytes, cameras: int):
    magic, n, c, _ = struct.unpack_from("<IIII", content)
    assert (magic, c) == (MAGIC, cameras)
    at, out = 16, {}
    kinds = [
        ("track", "<f8"),
        ("frame", "<i4"),
        *((k, "<f4") for k in ("x", "y", "z", "sigma", "confidence")),
        ("flags", "<i4"),
        *((k, "<f4") for k in ("hx", "hy", "hz")),
    ]
    kinds += [(f"{axis}{k}", "<f4") for k in range(cameras) for axis in "uv"]
    for name, kind in kinds:
        out[name] = np.frombuffer(content, kind, n, at)
        at += out[name].nbytes
    assert at == len(content)
    return out


def test_chunks_hold_the_mended_tracks_and_where_the_cameras_see_them(recording):
    editor = Editor(recording)
    editor.swap(0, 1, 100)
    editor.delete(2, 30, 40)
    store = Store(recording)
    store.__dict__["chunk_frames"] = 64
    got = [columns(store.chunk(f), 2) for f in range(store.span[0], store.span[1] + 1, 64)]
    all_ = {k: np.concatenate([g[k] for g in got]) for k in got[0]}
    mended = recording.mended_tracks
    np.testing.assert_array_equal(all_["track"], mended.track)
    np.testing.assert_array_equal(all_["frame"], mended.frame)
    np.testing.assert_allclose(all_["y"], mended.position[:, 1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(all_["v1"], recording.rig[1].project(mended.position)[:, 1], rtol=1e-4, atol=1e-3)
    seen = store.detections(100)
    n = struct.unpack_from("<IIII", seen)[1]
    owner = np.frombuffer(seen, "<f8", n, 16)
    rows = np.frombuffer(seen, "<i4", n, 16 + 8 * n + 8 * n)
    assert np.isfinite(owner).sum() > 0.5 * n
    used = {int(r): int(t) for t, d in zip(mended.track, mended.detection, strict=True) for r in d if r >= 0}
    for r, o in zip(rows.tolist(), owner.tolist(), strict=True):
        assert used.get(r) == (None if np.isnan(o) else int(o))
    editor.undo()
    editor.undo()


def test_the_timeline_is_the_share_of_frames_in_each_bin(recording):
    store = Store(recording)
    first, last = store.span
    found = store.timeline(first, last, 37)
    tracks = recording.mended_tracks
    assert found["names"] == tracks.identities.tolist()
    levels = np.array([int(c, 16) for c in found["share"]]).reshape(len(found["names"]), 37)
    fine = np.zeros((len(found["names"]), 37 * (last - first + 1)))
    for t, f in zip(np.searchsorted(tracks.identities, tracks.track), tracks.frame - first, strict=True):
        fine[t, 37 * f : 37 * (f + 1)] = 1
    share = fine.reshape(len(fine), 37, -1).mean(2)
    np.testing.assert_array_equal(levels, np.ceil(share * 15 - 1e-9))


def test_a_curve_is_where_the_line_of_sight_is_seen_through_the_water(recording):
    store = Store(recording)
    place = np.array([[1.0, 2.0, -5.0]])
    top, front = (c.project(place)[0] for c in recording.rig)
    nothing, curve = store.epipolar(0, *top)
    assert nothing == []
    gaps = np.linalg.norm(np.diff(np.array(curve), axis=0), axis=1)
    assert np.linalg.norm(np.array(curve) - front, axis=1).min() < max(gaps.max(), 0.5)


def test_suspects_go_by_their_present_names_and_leave_when_they_are_mended(recording, tmp_path):
    suspects = read_suspects(recording.folder / "suspects.csv")
    editor = Editor(recording)
    before = len(editor.edits)

    def now():
        return {m.suspect.first: m for m in review(suspects, editor.mending)}

    assert {m.state for m in now().values()} == {"open"}
    editor.swap(0, 1, 20)
    assert (now()[70].track, now()[70].other) == (0, 2)  # what the tracker called 1 is 0 now
    assert now()[40].state == "open"  # the swap was long before
    editor.accept(now()[40].track, 40, 46, now()[40].other)
    assert now()[40].state == "accepted"
    chance = now()[70].probability
    editor.accept(0, 70, 73)
    assert now()[70].probability == pytest.approx(chance * 3 / 7)  # four of its seven frames are vouched for
    editor.swap(now()[70].track, now()[70].other, 74)
    assert now()[70].state == "mended"
    editor.delete(now()[100].other)
    assert now()[100].state == "gone"
    while len(editor.edits) > before:
        editor.undo()
    write_suspects([Suspect(1, 2, 3, 4, 0.5, "swap")], tmp_path / "s.csv")
    assert read_suspects(tmp_path / "s.csv") == [Suspect(1, 2, 3, 4, 0.5, "swap")]
    (tmp_path / "s.csv").write_text("first_frame,last_frame,track,other,probability,kind\n1,x,3,4,0.5,swap\n")
    with pytest.raises(tf.InputError, match=r"s\.csv: line 2"):
        read_suspects(tmp_path / "s.csv")
    write_suspects([Suspect(20, 2**40, 3, 4, 0.5, "swap")], tmp_path / "s.csv")  # a moment of centuries
    with pytest.raises(tf.InputError, match=r"s\.csv: line 2: holds what no suspect has"):
        read_suspects(tmp_path / "s.csv")
