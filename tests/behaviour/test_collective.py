import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError, cKDTree
from scipy.spatial.transform import Rotation

from trackfish3d.behaviour.measures import collective as c
from trackfish3d.behaviour.measures import pairs as p

from .schools import circling, wandering

MEASURES = {
    "polarisation": lambda x, v: c.polarisation(v),
    "milling": c.milling,
    "spread": lambda x, v: c.spread_world(x),
    "nearest": lambda x, v: c.nearest_neighbour_world(x),
    "others": lambda x, v: c.distance_to_others_world(x),
    "hull": lambda x, v: c.hull_volume_world3(x),
    "density": lambda x, v: c.density_per_world3(x),
    "shape": lambda x, v: c.principal_lengths_world(x),
    "alignment": c.local_alignment,
}


def test_a_school_that_swims_one_way_is_polarised_and_does_not_mill():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 200, 3))
    v = np.broadcast_to(np.array([0.3, -0.1, 0.2]), x.shape)
    assert c.polarisation(v) == pytest.approx(np.ones(5))
    assert (c.milling(x, v) < 0.2).all()
    assert c.local_alignment(x, v) == pytest.approx(np.ones((5, 200)))


def test_a_perfect_mill_has_rotation_one_and_no_polarisation():
    x = circling(phase=np.arange(8) * np.pi / 4)
    v = np.gradient(x, axis=0)
    inner = slice(2, -2)
    assert c.milling(x, v)[inner] == pytest.approx(np.ones(176), abs=1e-9)
    assert c.polarisation(v)[inner] == pytest.approx(np.zeros(176), abs=1e-9)
    assert c.spread_world(x) == pytest.approx(np.full(180, 5.0))
    # The mill is a disc: its lengths are r / sqrt 2 twice, and nothing.
    assert c.principal_lengths_world(x) == pytest.approx(
        np.tile([5 / np.sqrt(2), 5 / np.sqrt(2), 0], (180, 1)), abs=1e-6
    )
    assert c.hull_volume_world3(x) == pytest.approx(np.zeros(180), abs=1e-9)


def test_a_cube_has_its_volume_density_and_distances():
    corners = np.array([[i, j, k] for i in (0, 2) for j in (0, 2) for k in (0, 2)], float)[None]
    assert c.hull_volume_world3(corners) == pytest.approx([8.0])
    assert c.density_per_world3(corners) == pytest.approx([1.0])
    assert c.nearest_neighbour_world(corners) == pytest.approx(np.full((1, 8), 2.0))
    assert c.distance_to_others_world(corners) == pytest.approx(np.full((1, 8), np.sqrt(8)))
    assert c.centroid_distance_world(corners) == pytest.approx(np.full((1, 8), np.sqrt(3)))


@settings(max_examples=60, deadline=None)
@given(st.integers(4, 40), st.integers(0, 10**6), st.booleans())
def test_hull_volume_equals_qhull(n, seed, lattice):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 3)).astype(float) if lattice else rng.normal(size=(n, 3))
    try:
        expected = ConvexHull(points).volume
    except QhullError:
        expected = 0.0
    assert c.hull_volume_world3(points[None])[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_nearest_neighbours_equal_a_search_tree():
    x = np.random.default_rng(1).normal(size=(20, 30, 3))
    expected = np.array([cKDTree(t).query(t, k=2)[0][:, 1] for t in x])
    assert c.nearest_neighbour_world(x) == pytest.approx(expected)


@pytest.mark.parametrize("name", MEASURES)
def test_turning_and_moving_the_world_changes_nothing(name):
    x = wandering(fish=9, frames=30)
    v = np.gradient(x, axis=0)
    turn = Rotation.random(random_state=2).as_matrix()
    moved = MEASURES[name](x @ turn.T + [10, -20, 30], v @ turn.T)
    assert moved == pytest.approx(MEASURES[name](x, v), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", MEASURES)
def test_a_missing_animal_is_as_if_it_were_not_there(name):
    x = wandering(fish=9, frames=30)
    v = np.gradient(x, axis=0)
    gone, still = x.copy(), v.copy()
    gone[:, 4], still[:, 4] = np.nan, np.nan
    expected = MEASURES[name](np.delete(x, 4, 1), np.delete(v, 4, 1))
    found = MEASURES[name](gone, still)
    if found.shape[1:] == (9,):
        assert np.isnan(found[:, 4]).all()
        found = np.delete(found, 4, 1)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("shape", [(4, 1, 3), (4, 0, 3), (0, 5, 3)])
def test_too_few_animals_or_frames_give_nan_and_no_error(name, shape):
    found = MEASURES[name](np.ones(shape), np.ones(shape))
    assert found.shape[0] == shape[0]
    assert np.isnan(found).all()


@pytest.mark.parametrize("delay", [0, 3, 11])
def test_a_follower_is_found_by_its_delay(delay):
    leader = np.gradient(wandering(fish=1, frames=400, turn=0.2), axis=0)
    both = np.concatenate([leader, np.roll(leader, delay, axis=0)], axis=1)[delay:]
    found = p.velocity_delays(both, 20)
    assert found.delay_frames[0, 1] == delay
    assert found.delay_frames[1, 0] == -delay
    assert found.strength[0, 1] == pytest.approx(1.0)
    assert found.leadership_frames() == pytest.approx([delay, -delay])


def test_delays_survive_gaps_and_strangers_have_none():
    leader = np.gradient(wandering(fish=1, frames=400, turn=0.2), axis=0)
    both = np.concatenate([leader, np.roll(leader, 5, axis=0)], axis=1)[5:]
    both[np.random.default_rng(0).random(both.shape[:2]) < 0.3] = np.nan
    assert p.velocity_delays(both, 20).delay_frames[0, 1] == 5
    apart = np.full((100, 2, 3), np.nan)
    apart[:40, 0], apart[70:, 1] = [1.0, 0, 0], [1.0, 0, 0]
    found = p.velocity_delays(apart, 10)
    assert np.isnan(found.delay_frames[0, 1])
    assert np.isnan(found.leadership_frames()).all()


def test_strangers_have_a_flat_pair_correlation_and_companions_a_peak():
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 10, (1500, 6, 3))
    edges = np.linspace(0, 8, 9)
    assert p.pair_correlation(x, edges) == pytest.approx(np.ones(8), abs=0.2)
    x[:, 1] = x[:, 0] + rng.normal(0, 0.3, (1500, 3))
    found = p.pair_correlation(x, edges)
    assert found[0] > 5
    assert np.isnan(p.pair_correlation(np.full((5, 2, 3), np.nan), edges)).all()


def test_neighbours_are_mapped_in_the_frame_of_the_swimmer():
    x = np.zeros((10, 2, 3))
    x[:, 1] = [0.0, 2.0, 0.0]
    v = np.zeros((10, 2, 3))
    v[..., 0] = 1.0  # both swim along x; up is z, so the second is to the left of the first
    above, side, behind = p.neighbour_maps(x, v, [0, 0, 1], reach_world=3.0, bins=3)
    assert above[1, 0] == 10  # neither ahead nor behind, left
    assert above[1, 2] == 10  # the first, seen from the second
    assert above.sum() == side.sum() == behind.sum() == 20
    assert side[1, 1] == 20
    turn = Rotation.random(random_state=5).as_matrix()
    assert p.neighbour_maps(x @ turn.T, v @ turn.T, turn[:, 2], 3.0, 3) == pytest.approx(
        np.stack([above, side, behind])
    )


def test_occupancy_counts_every_point_once():
    points = np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [np.nan, 0, 0]])
    cells = p.occupancy(points, [0, 0, 0], [2, 1, 1], (2, 1, 1))
    assert cells.ravel().tolist() == [2, 1]
    assert [s.sum() for s in p.sides(cells)] == [3, 3, 3]
