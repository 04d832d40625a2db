"""Clocks to the frame, before anything is tracked: in crowds, before cameras that are off, and where little is seen."""

import numpy as np
import pytest

from trackfish3d.cameras.perturb import perturb_rig
from trackfish3d.refinement.chains import chains_of
from trackfish3d.refinement.coarse import coarse_offsets
from trackfish3d.synfish.rigs import paper_rig

from .test_command import points_of

OFFSET = (0, 6.3, -4.6)


@pytest.mark.parametrize("off", [0.0, 0.5])
def test_clocks_of_a_crowd_are_found_whatever_the_poses_are_off_by(off: float) -> None:
    rig = paper_rig(5)
    seen = points_of(rig, seed=4, animals=14, offset=OFFSET)
    found = coarse_offsets(perturb_rig(rig, off, 3) if off else rig, seen, 12)
    assert np.abs(found - OFFSET).max() < 1.0


def test_few_frames_are_compared_moment_by_moment() -> None:
    rig = paper_rig(5)
    seen = points_of(rig, seed=5, animals=5, frames=19, offset=(0, 2, 0))
    assert all(len(chain.row) == 0 for window in chains_of(rig, seen, 8) for chain in window)
    np.testing.assert_array_equal(coarse_offsets(rig, seen, 4), [0, 2, 0])


def test_chains_hold_one_detection_a_frame_of_one_camera() -> None:
    rig = paper_rig(5)
    seen = points_of(rig, seed=6, animals=6)
    for window in chains_of(rig, seen, 10):
        for c, chain in enumerate(window):
            row, column = np.nonzero(chain.row >= 0)
            mine = chain.row[row, column]
            assert (seen.camera[mine] == c).all()
            assert len(np.unique(mine)) == len(mine)
            assert (np.diff(seen.frame[mine])[np.diff(row) == 0] > 0).all()
