"""Parts decide with middles: pairs of one body, foreign parts, and instances cut in two or joined from two."""

from dataclasses import replace

import numpy as np

from tests.poses.schools import LENGTH, Made, school
from trackfish3d.cameras import CameraRig
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.joint.parts.mending import mended
from trackfish3d.methods.joint.parts.odds import part_odds
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections
from trackfish3d.recordings.importers.poses.unite import centred


def owners(made: Made) -> np.ndarray:
    return made.bodies.identity_of_detections(len(made.detections))


def test_parts_tell_one_body_from_two() -> None:
    made = school(fish=5, frames=40)
    found, own = made.detections, owners(made)
    pairs = part_odds(made.rig, found, LENGTH)
    assert pairs is not None
    first = np.repeat(np.arange(len(found)), np.diff(pairs.begin))
    same = (own[first] == own[pairs.partner]) & (own[first] >= 0)
    assert same.sum() > 100
    assert (pairs.odds[same] > 0).mean() > 0.95
    assert (pairs.odds[~same] < 0).mean() > 0.9


def test_left_for_right_in_a_view_is_no_other_body() -> None:
    made = school(fish=4, frames=40)
    found = made.detections
    assert found.parts is not None
    assert found.skeleton is not None
    parts = found.parts.copy()
    turned = np.random.default_rng(0).random(len(found)) < 0.2
    parts[turned] = parts[turned][:, found.skeleton.mirror]
    pairs = part_odds(made.rig, replace(found, parts=parts), LENGTH)
    assert pairs is not None
    own = owners(made)
    first = np.repeat(np.arange(len(found)), np.diff(pairs.begin))
    mixed = (own[first] == own[pairs.partner]) & (own[first] >= 0) & (turned[first] != turned[pairs.partner])
    assert mixed.sum() > 50
    assert (pairs.odds[mixed] > 0).mean() > 0.9


def test_an_instance_that_was_cut_in_two_is_one_again() -> None:
    made = school(fish=4, frames=40, foreign=0.0, gross=0.0, swapped=0.0)
    found = made.detections
    assert found.parts is not None
    whole = np.flatnonzero((found.camera == 1) & np.isfinite(found.parts[..., 0]).all(1))[::6]
    front = np.isin(np.arange(found.parts.shape[1]), [0, 1, 2])
    parts = np.concatenate([found.parts, found.parts[whole]])
    parts[whole, 3:], parts[len(found) :, front] = np.nan, np.nan
    rows = np.concatenate([np.arange(len(found)), whole])
    every = replace(found.select(rows), parts=parts)
    order = np.lexsort((every.camera, every.frame))
    cut = centred(every.select(order))
    out = mended(made.rig, cut, LENGTH)
    assert len(cut) == len(found) + len(whole)
    assert len(found) <= len(out.detections) <= len(found) + 0.2 * len(whole)
    assert np.array_equal(out.detections.frame, cut.frame[out.source])
    assert np.array_equal(out.detections.camera, cut.camera[out.source])


def test_an_instance_that_was_joined_from_two_is_two_again() -> None:
    made = school(fish=4, frames=40, foreign=0.0, gross=0.0, swapped=0.0)
    found, own = made.detections, owners(made)
    assert found.parts is not None
    seen = np.isfinite(found.parts[..., 0]).all(1)
    parts, gone, joined = found.parts.copy(), [], []
    for frame in range(0, 40, 4):
        rows = np.flatnonzero((found.frame == frame) & (found.camera == 2) & seen & (own >= 0))
        if len(rows) >= 2:
            parts[rows[0], 4:] = parts[rows[1], 4:]
            gone.append(rows[1])
            joined.append(rows[0])
    kept = np.setdiff1d(np.arange(len(found)), gone)
    wrong = centred(replace(found, parts=parts).select(kept))
    assert len(joined) >= 5
    out = mended(made.rig, wrong, LENGTH)
    twice = np.flatnonzero(np.bincount(out.source, minlength=len(wrong)) > 1)
    assert len(set(kept[twice].tolist()) & set(joined)) >= 0.4 * len(joined)
    assert out.detections.parts is not None
    for row in twice:
        halves = np.isfinite(out.detections.parts[out.source == row, :, 0])
        assert halves.sum(0).max() == 1, "no part is given twice"


def tracked(made: Made, found: Detections, **settings: str) -> float:
    truth = made.bodies
    tracks = make_method("joint", settings).track(made.rig, found, 30.0).tracks
    scores = evaluate(
        truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, LENGTH / 3
    )
    assert tracks.detection.max() < len(found)
    return 100 * scores.clear.mota


def test_parts_of_neighbours_do_not_spoil_the_tracks() -> None:
    made = school(fish=6, frames=60, foreign=0.08, gross=0.03)
    with_parts = tracked(made, made.detections)
    assert with_parts >= 98
    assert with_parts >= tracked(made, made.detections, parts="false") - 1


def test_two_views_and_few_frames_are_left_as_they_are() -> None:
    made = school(fish=2, frames=3)
    assert mended(made.rig, made.detections, LENGTH).detections is made.detections
    assert part_odds(made.rig, made.detections, LENGTH) is None
    two = CameraRig(tuple(made.rig)[:2], made.rig.units)
    some = made.detections.select(made.detections.camera < 2)
    some = replace(some, cameras=two.names)
    assert mended(two, some, LENGTH).detections is some


def test_the_order_of_cameras_does_not_matter() -> None:
    made, order = school(fish=3, frames=30), (2, 0, 1)
    place = np.argsort(order)
    rig = CameraRig(tuple(made.rig[k] for k in order), made.rig.units)
    turned = replace(made.detections, cameras=rig.names, camera=place[made.detections.camera].astype(np.int16))
    turned = turned.select(np.lexsort((turned.camera, turned.frame)))
    a = make_method("joint").track(made.rig, made.detections, 30.0).tracks
    b = make_method("joint").track(rig, turned, 30.0).tracks
    assert len(a) == len(b)
    np.testing.assert_allclose(a.position[np.lexsort(a.position.T)], b.position[np.lexsort(b.position.T)], atol=1e-6)
