"""Animals that leave the views of a long recording and come back."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.methods.joint.long.outcome import Totals
from trackfish3d.methods.joint.long.roster import Roster, names_of
from trackfish3d.methods.joint.long.windows import Piece
from trackfish3d.recordings import Recording, Tracks

from .test_long import copy_of, school, short_sections  # noqa: F401  fixtures

FRAMES = 2000


def pieces(*lives, sections=4):
    """Sections of tracks (first, last, x) that stand still."""
    frame = np.concatenate([np.arange(a, b + 1) for a, b, _ in lives])
    track = np.repeat(np.arange(len(lives)), [b - a + 1 for a, b, _ in lives])
    place = np.array([x for *_, x in lives])[track]
    whole = Tracks.build(frame, track, np.stack([place, place, place], axis=1))
    borders = np.linspace(0, FRAMES, sections + 1).astype(int)
    return [
        Piece(whole.select((whole.frame >= a) & (whole.frame < b)), (), (0, 0)) for a, b in pairwise(borders.tolist())
    ]


def named(found, names):
    both = Tracks.concat([names.apply(p).tracks for p in found])
    return {int(t): both.select(both.track == t) for t in both.identities}


END = FRAMES - 1


@pytest.mark.parametrize("sections", [1, 4, 13])
def test_the_only_one_absent_is_who_comes_back(sections):
    found = pieces((0, END, 0.0), (0, 700, 5.0), (0, END, 9.0), (790, END, 20.0), sections=sections)
    made = named(found, names_of(found, "auto"))
    assert sorted(made) == [0, 1, 2]
    assert [len(made[k]) for k in range(3)] == [FRAMES, FRAMES - 89, FRAMES]


def test_of_two_absent_who_was_lost_nearest_comes_back_and_it_is_doubtful():
    found = pieces((0, END, 0.0), (0, 700, 5.0), (0, 710, 9.0), (790, END, 8.0), (800, END, 6.0))
    names = names_of(found, "auto")
    assert names.number == {0: 0, 1: 1, 2: 2, 3: 2, 4: 1}
    assert [(s.first, s.last, s.track, s.kind) for s in names.suspects] == [
        (710, 790, 2, "join"),
        (700, 800, 1, "join"),
    ]
    assert names.suspects[0].probability == pytest.approx(0.5)
    assert names.suspects[1].probability < 0.05


def test_who_goes_on_while_its_track_strays_is_not_taken_for_one_who_was_absent_before():
    found = pieces((0, END, 0.0), (0, 700, 5.0), (0, 790, 9.0), (770, END, 9.2), (774, END, 5.5))
    names = names_of(found, "auto")
    assert names.number == {0: 0, 1: 1, 2: 2, 3: 2, 4: 1}
    assert [s.probability for s in names.suspects] == pytest.approx([0.5, 0.5])
    for tracks in named(found, names).values():
        assert len(np.unique(tracks.frame)) == len(tracks)


def test_nobody_comes_back_where_their_number_varies_or_the_scene_is_said_to_be_open():
    varies = pieces((0, 900, 0.0), (0, 1200, 5.0), (950, END, 0.0), (300, 1700, 9.0), (1400, END, 5.0))
    assert Roster().animals is None
    assert names_of(varies, "auto").returns == ()
    steady = pieces((0, END, 0.0), (0, 700, 5.0), (790, END, 5.0))
    assert len(names_of(steady, "auto").returns) == 1
    assert names_of(steady, "open").returns == ()


def test_which_scene_was_assumed_is_said():
    crossed, closed = Totals(inner=6, at_border=5), Totals()
    assert "come and go: 5 of 6" in " ".join(crossed.notes(0, "auto", None))
    assert "no animal was taken to leave" in " ".join(closed.notes(0, "auto", None))
    for scene in ("open", "closed"):  # whoever said it knows it
        assert crossed.notes(0, scene, None) == closed.notes(0, scene, None) == []


def test_an_animal_that_two_tracks_had_for_a_moment_is_there_once():
    found = pieces((0, END, 0.0), (0, 710, 5.0), (700, END, 5.0), (1000, 1005, 0.0))
    made = named(found, names_of(found, "auto"))
    assert [len(made[k]) for k in range(3)] == [FRAMES, FRAMES, 6]  # the last is nobody's and joined to none
    for tracks in made.values():
        assert len(np.unique(tracks.frame)) == len(tracks)


def test_suspects_follow_the_numbers_of_their_tracks():
    found = pieces((0, END, 0.0), (0, 700, 5.0), (790, END, 5.0), sections=1)
    doubt = tf.methods.suspects.Suspect(900, 910, 0, 2, 0.3, "swap")
    moved = names_of(found, "auto").apply(replace(found[0], suspects=(doubt,))).suspects
    assert [(s.track, s.other) for s in moved] == [(0, 1)]


def test_an_animal_out_of_sight_for_longer_than_motion_bridges_keeps_its_number(school, short_sections, tmp_path):  # noqa: F811
    rec = copy_of(school, tmp_path)
    truth, found = rec.truth, rec.detections
    away = (truth.identity == 0) & (truth.frame >= 150) & (truth.frame < 170)
    taken = truth.detection[away]
    rec.write_detections(iter([found.select(~np.isin(np.arange(len(found)), taken[taken >= 0]))]))
    made = tf.track(Recording.open(rec.folder), settings={"stitch_gap": 5, "max_gap": 5, "max_age": 5})
    assert len(made.tracks.identities) == 5
    assert tf.evaluate(made, rec.truth, gate=1.0).clear.switches == 0
    assert any("came back" in note for note in made.notes)
    apart = tf.track(Recording.open(rec.folder), scene="open", settings={"stitch_gap": 5, "max_gap": 5, "max_age": 5})
    assert len(apart.tracks.identities) == 6
