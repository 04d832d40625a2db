import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.synfish.rigs import check_sees, common_point, paper_rig, random_rig, seen_share, tank_rig, tank_water
from trackfish3d.synfish.school import Water


@pytest.mark.parametrize("number", range(7))
def test_the_papers_rigs_look_at_a_common_volume(number):
    rig = paper_rig(number)
    assert len(rig) == 3
    for camera in rig:
        assert np.allclose(camera.R @ camera.R.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(camera.R) == pytest.approx(1)
    point = common_point(rig)
    assert np.all(seen_share(rig, Water.around(point, np.array([8.0, 8.0, 5.0]))) == 1)
    distance = [np.linalg.norm(camera.centre - point) for camera in rig]
    assert min(distance) > 25
    assert max(distance) < 65


def test_rotations_stay_within_the_rounding_of_the_published_ones():
    first = paper_rig(0)[0].R
    assert np.allclose(first[0], [-0.6129, 0.7902, 0.0], atol=2e-4)
    assert np.allclose(first[2], [-0.774, -0.6004, -0.2011], atol=2e-4)


def test_the_tank_is_seen_whole_through_water():
    rig, water = tank_rig(), tank_water()
    assert rig.refractive
    assert rig.units == "cm"
    assert np.all(seen_share(rig, water) == 1)
    # The top camera sees the tank's floor nearer to the middle of the image than it would without water.
    corner = np.array([[1.0, 1.0, 15.0]])
    wet, dry = rig["top"].project(corner), rig["top"].without_water().project(corner)
    middle = rig["top"].project(np.array([[15.8, 15.5, 15.0]]))
    assert np.linalg.norm(wet - middle) > np.linalg.norm(dry - middle)


@pytest.mark.parametrize("cameras", [2, 3, 5, 8])
def test_random_rigs_all_see_the_volume(cameras):
    water = Water.around(np.array([2.0, -6.0, 20.0]), np.array([8.0, 8.0, 6.0]))
    for seed in range(5):
        rig = random_rig(cameras, seed)
        assert len(rig) == cameras
        assert seen_share(rig, water).min() > 0.95
    assert not np.allclose(random_rig(cameras, 0)[0].R, random_rig(cameras, 1)[0].R)


def test_rigs_that_do_not_exist_or_see_nothing_are_refused():
    with pytest.raises(InputError, match="0 to 6"):
        paper_rig(7)
    with pytest.raises(InputError, match="2 to 8"):
        random_rig(9, 0)
    with pytest.raises(InputError, match=r"sees nothing.*cam0"):
        check_sees(paper_rig(0), Water.around(np.array([500.0, 0, 0]), np.ones(3)))
