"""``trackfish3d learn``, as people type it: recordings in, a network out that the joint tracker takes; truth unread."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.cli.app import main  # noqa: E402
from trackfish3d.methods.joint.learning.checkpoint import load_pairs, pair_notes  # noqa: E402
from trackfish3d.recordings import Recording  # noqa: E402

TINY = "--set steps=20 --set tokens=100"


def run(line):
    with pytest.raises(SystemExit) as leaving:
        main(line.split())
    return int(leaving.value.code or 0)


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learn") / "school"
    assert run(f"simulate --rig random:3 --fish 3 --frames 40 --seed 5 --out {folder}") == 0
    (folder / "truth.parquet").write_bytes(b"nobody may read this")
    return folder


def test_two_rounds_without_truth_then_track_with_the_network(school, tmp_path, capsys):
    model = tmp_path / "pairs.safetensors"
    assert run(f"learn {school} --out {model} --rounds 2 {TINY}") == 0
    said = capsys.readouterr()
    assert str(model) in said.out
    assert "round 2 school: 3 tracks" in " ".join(said.err.split())
    labels = pair_notes(model)["labels"]
    assert [row["round"] for row in labels] == [1, 2]
    assert labels[0]["same"] > 200
    assert labels[0]["tracks"] == 3
    assert load_pairs(model).settings.layers == 3
    assert run(f"track {school} --method joint --model {model} --out {tmp_path}/t.parquet") == 0
    assert (tmp_path / "t.parquet").stat().st_size > 1000


def test_mistakes_are_one_line(school, tmp_path, capsys):
    for line, what in [
        (f"learn {school} --out {tmp_path}/a.bin", "FILE.safetensors"),
        (f"learn {school} --out {tmp_path}/a.safetensors --set stepps=3", "stepps"),
        (f"learn {school} --out {tmp_path}/a.safetensors --minutes 0", "above 0"),
        (f"learn {school} --out {tmp_path}/a.safetensors --set shortest=1000", "nothing to learn from"),
        (f"learn {school} --out {tmp_path}/a.safetensors --start {tmp_path}/none.safetensors", "no such model"),
    ]:
        assert run(line) == 2
        said = capsys.readouterr().err
        assert what in said
        assert "Traceback" not in said
    assert not (tmp_path / "a.safetensors").exists()


def test_pair_odds_are_added_to_sets_and_shared_fairly():
    from trackfish3d.methods.joint.arguments import NO_ODDS, PairOdds
    from trackfish3d.methods.joint.hypotheses import add_pair_odds

    odds = PairOdds.of(16, np.array([11, 10, 10]), np.array([12, 12, 11]), np.array([4.0, 2.0, 1.0]))
    sets = np.array([[0, 1, 2], [0, -1, 2], [-1, 1, -1], [-1, -1, -1], [3, 1, -1]])
    value = np.full(5, 10.0)
    add_pair_odds(value, sets, 10, odds)
    np.testing.assert_allclose(value, [10 + 7 / 2, 12, 10, 10, 10])
    add_pair_odds(value, sets, 10, NO_ODDS)
    np.testing.assert_allclose(value, [13.5, 12, 10, 10, 10])


def test_recordings_are_left_alone(school):
    assert not (school / "tracks.parquet").exists()
    assert len(Recording.open(school).detections) > 300


def test_the_shipped_network_tells_a_long_body_from_a_short_one(school):
    """Never opened truth, never seen rig: pairs of one track get more from it than pairs of two."""
    from trackfish3d.methods.joint.learning.lessons import owners
    from trackfish3d.methods.joint.learning.odds import load_odds
    from trackfish3d.methods.registry import make_method

    recording = Recording.open(school)
    result = make_method("joint").track(recording.rig, recording.detections)
    tracks = result.tracks
    noise = np.full(len(recording.detections), 3.0)
    _, first, second, odds = load_odds("shipped")(recording.rig, recording.detections, noise, result.model.body_length)
    owner = owners(tracks, len(recording.detections), 20)
    same = owner[first] == owner[second]
    assert (~same).sum() > 20
    assert odds[same].mean() > 0.3
    assert odds[~same].mean() < -0.3
