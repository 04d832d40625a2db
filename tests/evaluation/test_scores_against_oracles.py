"""Scores equal those of the packages the field trusts, on tracks that Hypothesis makes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.evaluation import evaluate

from .oracles import Scene, motmetrics_scores, published_mtbf, scenes, swimming_scene, trackeval_hota

CLEAR_NAMES = {
    "mota": "mota",
    "motp": "motp",
    "recall": "recall",
    "precision": "precision",
    "false_positives": "num_false_positives",
    "misses": "num_misses",
    "switches": "num_switches",
    "fragmentations": "num_fragmentations",
    "mostly_tracked": "mostly_tracked",
    "partly_tracked": "partially_tracked",
    "mostly_lost": "mostly_lost",
    "animals": "num_unique_objects",
    "frames": "num_frames",
    "truth_points": "num_objects",
    "predicted_points": "num_predictions",
}
IDENTITY_NAMES = {name: name for name in ("idf1", "idp", "idr", "idtp", "idfp", "idfn")}
HOTA_NAMES = {
    "hota": "HOTA",
    "deta": "DetA",
    "assa": "AssA",
    "loca": "LocA",
    "detre": "DetRe",
    "detpr": "DetPr",
    "assre": "AssRe",
    "asspr": "AssPr",
}


@settings(max_examples=60, deadline=None)
@given(scenes(), st.sampled_from([0.5, 1.0]))
def test_clear_and_identity_equal_motmetrics(scene: Scene, gate: float) -> None:
    pytest.importorskip("motmetrics")
    names = CLEAR_NAMES | IDENTITY_NAMES
    theirs = motmetrics_scores(scene, gate, list(names.values()))
    ours = evaluate(*scene.columns, gate).to_dict()
    for mine, other in names.items():
        assert ours[mine] == pytest.approx(float(theirs[other]), abs=1e-9, nan_ok=True), mine


@settings(max_examples=100, deadline=None)
@given(scenes(), st.sampled_from([0.5, 1.0]))
def test_hota_equals_trackeval_at_every_alpha(scene: Scene, gate: float) -> None:
    pytest.importorskip("trackeval")
    theirs = trackeval_hota(scene, 2 * gate)
    hota = evaluate(*scene.columns, gate).hota
    for mine, other in HOTA_NAMES.items():
        np.testing.assert_allclose(hota.by_alpha[mine], theirs[other], rtol=0, atol=1e-9, err_msg=mine)
        assert hota.to_dict()[mine] == pytest.approx(theirs[other].mean(), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(scenes(), st.sampled_from([0.5, 1.0]))
def test_compatible_mtbf_equals_the_published_loop_over_motmetrics(scene: Scene, gate: float) -> None:
    pytest.importorskip("motmetrics")
    mtbf = evaluate(*scene.columns, gate).mtbf
    assert (mtbf.mtbf_s, mtbf.mtbf_m_compat) == pytest.approx(published_mtbf(scene, gate), abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(scenes(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(scene: Scene, seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, pred = rng.permutation(len(scene.truth_id)), rng.permutation(len(scene.pred_id))
    shuffled = [c[truth] for c in scene.columns[:3]] + [c[pred] for c in scene.columns[3:]]
    straight = evaluate(*scene.columns, 0.7).to_dict()
    np.testing.assert_array_equal(list(evaluate(*shuffled, 0.7).to_dict().values()), list(straight.values()))


def test_a_crowd_of_sixty_equals_both_oracles() -> None:
    """Large connected components, where a solver that only handles small ones would slip."""
    pytest.importorskip("motmetrics")
    pytest.importorskip("trackeval")
    scene = swimming_scene(60, 12, noise=0.4, presence=0.9, tracks_per_animal=3, swaps=10, seed=4)
    names = CLEAR_NAMES | IDENTITY_NAMES
    theirs = motmetrics_scores(scene, 1.0, list(names.values()))
    scores = evaluate(*scene.columns, 1.0)
    ours = scores.to_dict()
    assert ours["switches"] > 20
    for mine, other in names.items():
        assert ours[mine] == pytest.approx(float(theirs[other]), abs=1e-9), mine
    hota = trackeval_hota(scene, 2.0)
    for mine, other in HOTA_NAMES.items():
        np.testing.assert_allclose(scores.hota.by_alpha[mine], hota[other], rtol=0, atol=1e-9)
