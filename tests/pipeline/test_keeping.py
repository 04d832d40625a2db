"""Edits outlive the tracks they were made on; a stretch is solved again; ten swaps are found and mended."""

from dataclasses import fields, replace

import numpy as np
import pytest

import trackfish3d as tf
from tests.viewer.scenes import Client
from trackfish3d.methods.joint.refinement.rejudge import suspects_of
from trackfish3d.methods.suspects import write_suspects
from trackfish3d.pipeline.keeping import keep_edits, pins_of
from trackfish3d.recordings import Recording, Tracks
from trackfish3d.viewer.resolve import compare, resolve
from trackfish3d.viewer.store import Store


@pytest.fixture(scope="module")
def tracked(tmp_path_factory) -> Recording:
    rec = tf.simulate(tmp_path_factory.mktemp("keeping") / "school", fish=5, frames=80, seed=5)
    tf.track(rec).save(rec)
    return rec


@pytest.fixture
def school(tracked, tmp_path) -> Recording:
    """A recording of one's own, whose tracks are right."""
    rec = Recording.create(
        tmp_path / "rec", tracked.rig, fps=tracked.fps, detections=tracked.detections, truth=tracked.truth
    )
    rec.write_tracks(tracked.tracks)
    (rec.folder / "tracks.settings.json").write_text((tracked.folder / "tracks.settings.json").read_text())
    return rec


def nearest(tracks: Tracks, a: int, b: int) -> int:
    grid, first, names = tracks.array(), int(tracks.frame.min()), tracks.identities
    far = np.linalg.norm(grid[:, np.searchsorted(names, a)] - grid[:, np.searchsorted(names, b)], axis=1)
    inner = far[20:-20]
    return first + 20 + int(np.nanargmin(inner))


def test_the_whole_is_solved_under_the_edits_and_what_fits_no_more_is_listed(school):
    one, other = school.tracks.identities[:2].tolist()
    at = nearest(school.tracks, one, other)
    editor = tf.edit(school)
    editor.swap(one, other, at)  # wrong, but said
    editor.rename(school.tracks.identities[2], 40)
    editor.delete(school.tracks.identities[3])
    before = school.mended_tracks
    assert tf.track(school).tracks.track.max() < 40
    result = tf.track(school, keep_edits=True)
    result.save(school)
    kept = keep_edits(school, result)
    assert [len(k) for k in (kept.kept, kept.again, kept.lost)] == [1, 2, 0]
    after = Recording.open(school.folder).mended_tracks  # a note here would be an error: all edits are taken care of
    assert len(after.identities) == len(before.identities)
    assert 40 in after.identities
    for name in (one, other):  # both go on as they were told to
        last = before.position[(before.track == name) & (before.frame == before.frame.max())][0]
        first = before.position[(before.track == name) & (before.frame == before.frame.min())][0]
        ends = [
            int(after.track[np.argmin(np.linalg.norm(after.position - p, axis=1) + 1e9 * (after.frame != f))])
            for p, f in ((first, before.frame.min()), (last, before.frame.max()))
        ]
        assert ends[0] == ends[1]
    again = keep_edits(school, result)  # nothing is repeated twice
    assert [len(k) for k in (again.kept, again.again, again.lost)] == [3, 0, 0]
    empty = replace(result, tracks=result.tracks.select(result.tracks.frame < at - 10))
    school.write_tracks(empty.tracks)
    lost = keep_edits(school, empty)
    assert any("swap" in text for text in lost.lost)
    assert "fits no more" in lost.lines[-1]
    with pytest.raises(tf.InputError, match="hungarian cannot be told which animal is which"):
        tf.track(school, "hungarian", keep_edits=True)


def test_a_stretch_is_solved_again_and_the_changes_are_edits(school):
    right = school.tracks
    one, other = right.identities[1:3].tolist()
    at = nearest(right, one, other)
    late = right.frame >= at
    name = np.where(late & (right.track == one), other, np.where(late & (right.track == other), one, right.track))
    columns = {k: getattr(right, k) for k in (f.name for f in fields(right))}
    school.write_tracks(Tracks.build(**(columns | {"track": name})))
    assert tf.evaluate(school).identity.idf1 < 0.95
    store = Store(school)
    found = resolve(store, at - 3, at + 3)
    assert len(found.lines) == 1, found.text
    assert found.text.startswith("solved ")
    assert tf.evaluate(Recording.open(school.folder)).identity.idf1 > 0.99
    assert resolve(store, at - 3, at + 3).lines == []
    assert pins_of(school)
    store.editor.undo()
    assert tf.evaluate(Recording.open(school.folder)).identity.idf1 < 0.95
    assert compare(right, right, 1.0) == []


def test_injected_swaps_are_found_and_mended_through_the_page(school):
    right = school.tracks
    rng = np.random.default_rng(1)
    names = right.identities.tolist()
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]

    def gap(pair):
        at = nearest(right, *pair)
        here = [right.position[(right.track == n) & (right.frame == at)][0] for n in pair]
        return np.linalg.norm(here[0] - here[1])

    chosen = sorted(pairs, key=gap)[:2]
    columns = {k: getattr(right, k) for k in (f.name for f in fields(right))}
    name = right.track.copy()
    moments = []
    for a, b in chosen:
        at = nearest(right, a, b) + int(rng.integers(0, 2))
        late = right.frame >= at
        name = np.where(late & (name == a), b, np.where(late & (name == b), a, name))
        moments.append(at)
    school.write_tracks(Tracks.build(**(columns | {"track": name})))
    found = suspects_of(school.rig, school.detections, school.tracks)
    write_suspects(found, school.folder / "suspects.csv")
    assert tf.evaluate(school).identity.idf1 < 0.95
    view = tf.view(school, browser=False)
    try:
        friend = Client(view.address)
        for at in sorted(moments):
            listed = [s for s in friend.get("/api/0/suspects")[:30] if s["kind"] == "swap" and s["state"] == "open"]
            s = next(s for s in listed if s["first"] - 2 <= at <= s["last"] + 2)
            status, said = friend.post(
                "/api/0/edit", {"kind": "swap", "track": s["track"], "other": s["other"], "first": at}
            )
            assert status == 200, said
    finally:
        view.close()
    assert tf.evaluate(Recording.open(school.folder)).identity.idf1 > 0.99
