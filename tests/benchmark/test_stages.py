"""Stages replaced by the truth, and pairs by ambiguity, on worlds whose answer is known."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from tests.methods.worlds import pinhole_world
from trackfish3d.benchmark.ambiguity import BINS, auc, bin_names, bin_of, claimed_pairs, pairs_of_frames, scored_pairs
from trackfish3d.benchmark.stage_report import stage_report
from trackfish3d.benchmark.stages import (
    AS_IS,
    CEILING,
    KALMAN,
    ORDER,
    TRUE_GROUPS,
    TRUE_IDENTITIES,
    TRUE_PAIRS,
    analyse,
)
from trackfish3d.benchmark.suites import make_suite
from trackfish3d.benchmark.variants import Variant
from trackfish3d.cli.app import main
from trackfish3d.evaluation.association import association_of_tracks
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A recording of a school that is hard to pair: twelve fish in boxes as large as their spacing."""
    folder = tmp_path_factory.mktemp("crowd") / "test1"
    rig, detections, truth = pinhole_world(fish=12, frames=25, box=120.0, noise=4.0, drop=0.1)
    return Recording.create(folder, rig, detections=detections, truth=truth)


def test_bins_hold_every_number_of_candidates():
    assert bin_names() == ["1", "2", "3-4", "5-8", "9+"]
    assert bin_of(np.array([0, 1, 2, 3, 4, 5, 8, 9, 100])).tolist() == [0, 0, 1, 2, 2, 3, 3, 4, 4]
    assert len(BINS) == len(bin_names())


def test_pairs_know_who_they_are_and_their_rivals(crowd):
    d = crowd.detections
    whom = crowd.truth.identities_of_detections(len(d))
    for k, pairs in enumerate(pairs_of_frames(crowd.rig, d, whom)):
        rows = np.arange(d.offsets[k], d.offsets[k + 1])
        count = np.bincount(d.camera[rows], minlength=3)
        assert len(pairs.first) == count[0] * count[1] + count[0] * count[2] + count[1] * count[2]
        np.testing.assert_array_equal(pairs.same, whom[pairs.first, 0] == whom[pairs.second, 0])
        # A pair's candidates are the plausible pairs of either end with the other's camera.
        for p in np.flatnonzero(pairs.plausible)[:5]:
            i, j = pairs.first[p], pairs.second[p]
            of_i = pairs.plausible & (pairs.first == i) & (d.camera[pairs.second] == d.camera[j])
            of_j = pairs.plausible & (pairs.second == j) & (d.camera[pairs.first] == d.camera[i])
            assert pairs.rivals[p] == max(of_i.sum(), of_j.sum())


def test_auc_is_that_of_mann_whitney():
    rng = np.random.default_rng(0)
    true, false = rng.normal(1, 1, 80).round(1), rng.normal(0, 1, 120).round(1)
    assert auc(true, false) == pytest.approx(mannwhitneyu(true, false).statistic / (80 * 120))
    assert auc(true, false[:0]) is None


def test_scores_that_know_part_all_pairs_and_those_that_guess_none(crowd):
    d = crowd.detections
    whom = crowd.truth.identities_of_detections(len(d))[:, 0]
    knows, guesses = {}, {}
    rng = np.random.default_rng(0)
    for k in range(len(d.frames)):
        mine = whom[d.at(k)]
        knows[k] = (mine[:, None] == mine[None]).astype(np.float32)
        guesses[k] = rng.random((len(mine), len(mine))).astype(np.float32)
    for one in scored_pairs(crowd.rig, d, crowd.truth, knows, 0.5):
        if one.true and one.false:
            assert (one.auc, one.true_accepted, one.false_accepted) == (1.0, 1.0, 0.0)
    # Noise of 4 px in boxes of 120: true pairs have the smaller error, though not always.
    judged = [b.auc_error for b in scored_pairs(crowd.rig, d, crowd.truth, knows, 0.5) if min(b.true, b.false) > 50]
    assert judged
    assert all(0.8 < one < 1 for one in judged)
    guessed = scored_pairs(crowd.rig, d, crowd.truth, guesses, 0.5)
    largest = max(guessed, key=lambda b: min(b.true, b.false))
    assert min(largest.true, largest.false) > 100
    assert largest.auc == pytest.approx(0.5, abs=0.08)


def test_claimed_pairs_agree_with_the_scores_of_associations(crowd):
    tracks = make_method("hungarian").track(crowd.rig, crowd.detections).tracks
    bins = claimed_pairs(crowd.rig, crowd.detections, crowd.truth, tracks)
    pairs = association_of_tracks(tracks, crowd.truth).pairs
    assert sum(b.found for b in bins) == pairs.right
    assert sum(b.wrong for b in bins) == pairs.wrong
    assert sum(b.true for b in bins) == pairs.right + pairs.missing


def test_the_truth_in_every_stage_is_the_ceiling(crowd):
    found = analyse(Variant("sort3d", "sort3d"), crowd.folder, 1.0)
    assert list(found["stages"]) == [AS_IS, TRUE_GROUPS, TRUE_IDENTITIES, KALMAN, CEILING]
    mota = {stage: scores["mota"] for stage, scores in found["stages"].items()}
    assert mota[CEILING] > 0.99
    assert mota[AS_IS] < mota[TRUE_IDENTITIES] < mota[CEILING]  # wrong groups are not mended by true identities
    assert found["stages"][CEILING]["switches"] == 0
    assert found["stages"][TRUE_IDENTITIES]["switches"] == 0
    assert found["stages"][CEILING]["association_precision"] == 1


def test_stages_of_the_published_method(crowd, tmp_path):
    torch = pytest.importorskip("torch")
    from trackfish3d.methods.paper.checkpoint import save_model
    from trackfish3d.methods.paper.network import TrackFishNet

    torch.manual_seed(0)
    save_model(TrackFishNet(), tmp_path / "m.safetensors", 3)
    found = analyse(Variant("paper", "paper", {"model": str(tmp_path / "m.safetensors")}), crowd.folder, 1.0)
    stages = found["stages"]
    # An untrained network pairs at random; what the truth replaces does not depend on it.
    assert stages[AS_IS]["mota"] < 0.2
    assert stages[TRUE_PAIRS]["association_precision"] == 1
    assert stages[TRUE_GROUPS]["association_recall"] == 1
    assert list(stages) == list(ORDER)
    largest = max(found["scored_pairs"], key=lambda b: min(b["true"], b["false"]))
    assert largest["auc"] == pytest.approx(0.5, abs=0.15)

    suite = make_suite("stages", ["paper"], ["test1"])
    result = {"scene": "test1", "base": "test1", "seed": 0} | found
    failed = {"scene": "test2", "base": "test2", "seed": 0, "label": "paper", "error": "no truth"}
    text = stage_report(tmp_path, suite, [result, failed], "the command")
    assert text == (tmp_path / "report.md").read_text()
    for stage in ORDER:
        assert f"| {stage} | {100 * stages[stage]['mota']:.1f} |" in text
    assert "- test2, paper: no truth" in text
    right, wrong = sum(b["found"] for b in found["pairs"]), sum(b["wrong"] for b in found["pairs"])
    lines = [line.split(" | ") for line in text.splitlines() if line.startswith(("| 1 |", "| 2 |", "| 3-4 |"))]
    assert right + wrong > 0
    assert [int(line[1]) for line in lines[:3]] == [b["true"] for b in found["pairs"][:3]]


def test_what_cannot_be_analysed_is_said(crowd, tmp_path):
    Recording.create(tmp_path / "blind", crowd.rig, detections=crowd.detections)
    found = analyse(Variant("sort3d", "sort3d"), tmp_path / "blind", 1.0)
    assert "does not say which detection shows whom" in found["error"]
    with pytest.raises(SystemExit) as stop:
        main(["benchmark", "stages", "--scenes", "nosuch", "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
