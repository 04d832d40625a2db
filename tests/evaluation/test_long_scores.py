"""Scores of long recordings: read piece by piece, they have the digits of those that were computed in memory."""

import json

import numpy as np
import pytest

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate, matching
from trackfish3d.evaluation.association import association_of_tracks
from trackfish3d.evaluation.blind import held_out_error, track_lengths
from trackfish3d.evaluation.long import blind_files, score_files
from trackfish3d.recordings import Recording, Tracks, Truth, whole_frames, write_table

BLOCK, ROWS = 70, 60


@pytest.fixture
def small(monkeypatch):
    """Blocks and pieces so small that a small scene has many, and no file that is too short for them."""
    for module in (matching, score_files):
        monkeypatch.setattr(module, "BLOCK", BLOCK)
    monkeypatch.setattr(score_files, "WHOLE", 0)
    for reader in (whole_frames.iter_tracks, whole_frames.iter_truth):
        monkeypatch.setattr(reader, "__defaults__", ((), ROWS))


def scene(seed, frames=500, fish=6, first=-130):
    """Fish, and tracks that swap, break, miss and invent; some points are nowhere, some frames have one side only."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 20, (1, fish, 3)) + rng.normal(0, 0.1, (frames, fish, 3)).cumsum(0)
    frame, who = np.repeat(np.arange(frames), fish) + first, np.tile(np.arange(fish), frames)
    track = np.tile(np.arange(fish), (frames, 1))
    for at in rng.integers(0, frames, 20):
        a, b = rng.choice(fish, 2, replace=False)
        track[at:, [a, b]] = track[at:, [b, a]]
    track[frames // 2 :, 0] = 40
    true = x.reshape(-1, 3)
    seen = (rng.random(len(true)) < 0.9) & ~((frame > 20) & (frame < 40))
    known = ~((frame > 200) & (frame < 290))
    found = true + rng.normal(0, 0.3, true.shape)
    found[rng.random(len(true)) < 0.02] = np.nan
    links = rng.permutation(2 * len(true)).reshape(-1, 2)
    links[rng.random(links.shape) < 0.2] = -1
    wrong = np.where(rng.random(links.shape) < 0.1, -1, links)
    truth = Truth.build(
        frame[known], who[known] * 3 + 2, true[known], cameras=("a", "b"), detection=links[known].astype(float)
    )
    tracks = Tracks.build(
        frame[seen], track.ravel()[seen], found[seen], detection=wrong[seen], cameras=("a", "b"),
        confidence=rng.random(int(seen.sum())),
    )  # fmt: skip
    return truth, tracks


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_files_have_every_digit_of_scores_in_memory(seed, small, tmp_path):
    truth, tracks = scene(seed)
    write_table(truth.to_table(), tmp_path / "truth.parquet")
    write_table(tracks.to_table(), tmp_path / "tracks.parquet")
    columns = truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position
    whole = evaluate(*columns, gate=1.0)
    made, frames, pairs = score_files.evaluate_files(tmp_path / "tracks.parquet", tmp_path / "truth.parquet", 1.0, True)
    assert made.to_dict() == whole.to_dict()
    assert {n: v.tolist() for n, v in made.hota.by_alpha.items()} == {
        n: v.tolist() for n, v in whole.hota.by_alpha.items()
    }
    assert whole.clear.switches > 5
    assert made.dropped_predictions > 5
    assert pairs == association_of_tracks(tracks, truth)
    assert 0 < pairs.exact_group_accuracy < 1
    assert frames == score_files.Frames.of(tracks, truth)
    assert frames.outside > 0
    assert tf.evaluate(tmp_path / "tracks.parquet", tmp_path / "truth.parquet", 1.0).to_dict() == whole.to_dict()


def test_blocks_change_nothing_but_the_last_digits(monkeypatch):
    truth, tracks = scene(7)
    columns = truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position
    whole = evaluate(*columns, gate=1.0)
    monkeypatch.setattr(matching, "BLOCK", BLOCK)
    assert len(list(whole.pairs.parts())) > 5
    parts = evaluate(*columns, gate=1.0)
    for name, value in whole.to_dict().items():
        assert parts.to_dict()[name] == pytest.approx(value, rel=1e-12)
        if isinstance(value, int):
            assert parts.to_dict()[name] == value
    for name in ("pred", "state", "handover", "distance"):
        ours, theirs = (getattr(s.correspondence, name) for s in (parts, whole))
        np.testing.assert_array_equal(ours, theirs)


def test_a_side_without_rows(small, tmp_path):
    truth, tracks = scene(1)
    write_table(truth.to_table(), tmp_path / "truth.parquet")
    write_table(tracks.select(tracks.frame < -1000).to_table(), tmp_path / "tracks.parquet")
    made, frames, _ = score_files.evaluate_files(tmp_path / "tracks.parquet", tmp_path / "truth.parquet", 1.0)
    assert made.clear.mota == 0
    assert frames.tracks is None
    assert made.clear.misses == len(truth)


def test_files_whose_frames_go_back_are_read_as_a_whole(small, tmp_path):
    _, tracks = scene(2)
    table = tracks.to_table()
    write_table(table.take(np.arange(table.num_rows)[::-1].copy()), tmp_path / "back.parquet")
    assert score_files.long_tracks(tmp_path / "back.parquet") is None
    with pytest.raises(InputError, match="go back"):
        list(whole_frames.iter_tracks(tmp_path / "back.parquet", rows=ROWS))


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    home = tmp_path_factory.mktemp("scored") / "school"
    tf.simulate(home, fish=4, frames=120, seed=1)
    tf.track(home).save(Recording.open(home))
    return home


@pytest.mark.parametrize("blind", [False, True])
def test_the_command_says_the_same_of_a_long_recording(blind, school, small, monkeypatch, capsys, tmp_path):
    given = [str(school), "--json"]
    if blind:
        rec = Recording.open(school)
        made = Recording.create(tmp_path / "blind", rec.rig, fps=rec.fps, detections=rec.detections)
        made.write_tracks(rec.tracks)
        given = [str(made.folder), "--json"]
    said = []
    for whole in (10**9, 0):
        monkeypatch.setattr(score_files, "WHOLE", whole)
        with pytest.raises(SystemExit) as stop:
            main(["evaluate", *given])
        assert not stop.value.code
        said.append(json.loads(capsys.readouterr().out))
    assert json.dumps(said[0]) == json.dumps(said[1])
    assert next(iter(said[0].values()))["tracks"] >= 4


def test_held_out_errors_of_every_nth_frame(school, small, monkeypatch):
    rec = Recording.open(school)
    monkeypatch.setattr(blind_files, "SAMPLE", len(rec.tracks) // 3)
    made, stride = blind_files.held_out_sample(rec, school / "tracks.parquet", len(rec.tracks))
    expected = held_out_error(rec.rig, rec.tracks.select(rec.tracks.frame % stride == 0), rec.detections)
    assert stride in (3, 4)
    np.testing.assert_array_equal(made.error_px, expected.error_px)
    lengths = blind_files.lengths_in(school / "tracks.parquet")
    assert lengths.to_dict() == track_lengths(rec.tracks.frame, rec.tracks.track).to_dict()
