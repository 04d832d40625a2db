"""Poses before anything is tracked: pieces of paths that keep their distance are one animal, whatever the poses are."""

from dataclasses import replace

import numpy as np
import pytest

from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.recordings import Detections
from trackfish3d.refinement.adjustment import Freedom, Setup
from trackfish3d.refinement.loop import setup_of
from trackfish3d.refinement.rigs import rig_of
from trackfish3d.refinement.surest import settle_first, surest_pieces
from trackfish3d.synfish.rigs import paper_rig

from .moving import off_by
from .test_command import points_of

RIG = paper_rig(5)
FREE = Freedom(rates=False, leans=False, water=False)
OFFSET = (0.0, 3.3, -2.4)


@pytest.fixture(scope="module")
def crowd() -> Detections:
    return points_of(RIG, seed=8, animals=16, offset=OFFSET)


def believed(crowd: Detections, off: float, seed: int) -> Setup:
    setup = setup_of(perturb_rig(RIG, off, seed), crowd)
    clock = setup.clock.copy()
    clock[:, 0] += np.round(OFFSET)
    return replace(setup, clock=clock)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_crowd_before_cameras_that_are_far_off_is_placed_without_tracking(crowd: Detections, seed: int) -> None:
    setup = believed(crowd, 0.7, seed)
    found = settle_first(RIG, setup, crowd, FREE)
    assert off_by(rig_of(setup.state, RIG), RIG)[0] > 0.5
    assert off_by(rig_of(found.state, RIG), RIG)[0] < 0.06
    np.testing.assert_allclose(found.clock[:, 0] - found.middle, OFFSET, atol=0.1)


def test_cameras_that_are_right_stay_as_they_are(crowd: Detections) -> None:
    setup = setup_of(RIG, crowd)
    seen = points_of(RIG, seed=8, animals=16)
    assert settle_first(RIG, setup, seen, FREE) is setup


def test_pieces_show_one_animal_each_and_some_are_held_out(crowd: Detections) -> None:
    true = believed(crowd, 0.0, 0)
    pieces = surest_pieces(RIG, true, crowd, near=False)
    assert pieces is not None
    assert 0.1 < pieces.held.mean() < 0.3
    sights = pieces.sights
    at = {(p, t): x for p, t, x in zip(pieces.path, pieces.time, pieces.position, strict=True)}
    first = sights.camera == 0  # whose clock is the common one
    points = np.array([at[p, t] for p, t in zip(sights.path[first], sights.frame[first], strict=True)])
    missed = np.hypot(*(RIG[0].project(points) - sights.pixel[first]).T)
    assert np.median(missed) < 4.0  # clocks are right to the frame only
    assert np.mean(missed < 15.0) > 0.99


def test_few_pieces_say_nothing() -> None:
    seen = points_of(RIG, seed=3, animals=2, frames=40)
    setup = setup_of(perturb_rig(RIG, 0.5, 1), seen)
    assert surest_pieces(RIG, setup, seen, near=False) is None
    assert settle_first(RIG, setup, seen, FREE) is setup
