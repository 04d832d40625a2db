import numpy as np
import pytest

from trackfish3d.synfish.presets import PRESETS
from trackfish3d.synfish.rigs import common_point, paper_rig
from trackfish3d.synfish.school import Water, simulate_school


@pytest.fixture(scope="session")
def small_school():
    """Six fish before rig 0, forty frames."""
    rig = paper_rig(0)
    water = Water.around(common_point(rig), np.array([6.0, 6.0, 4.0]))
    return simulate_school(PRESETS["milling"], water, 6, 40, seed=5), rig
