"""Images of animals in glass are named; animals that swim together are not."""

import numpy as np
import pytest

from trackfish3d.bodies.reflections import find_reflections
from trackfish3d.recordings import Tracks
from trackfish3d.synfish.rendering.conditions import mirrored
from trackfish3d.synfish.scenes import benchmark_scenes

CAMERAS = np.array([[0.0, -40, 5], [30.0, -30, 10], [-30.0, -30, 10]])


def tracks_of(position: np.ndarray) -> Tracks:
    frames, animals = position.shape[:2]
    return Tracks.build(
        np.repeat(np.arange(frames), animals), np.tile(np.arange(animals), frames), position.reshape(-1, 3)
    )


@pytest.fixture(scope="module")
def school():
    return benchmark_scenes(["train8"], 1)[0].model_copy(update={"frames": 300}).build(0)


def test_images_in_a_wall_are_named_with_their_animals_and_the_wall(school) -> None:
    animals, rig = school
    axis, place = 0, animals.water.high[0]
    before = np.array([c.centre for c in rig])
    before[:, axis] = place - 30  # cameras before the wall
    rng = np.random.default_rng(0)
    images = mirrored(animals.position[:, :5], animals.water, (axis, 1))
    images += 0.05 * animals.length[0] * rng.standard_normal(images.shape)
    found = find_reflections(tracks_of(np.concatenate([animals.position, images], axis=1)), before)
    assert {(f.image, f.animal) for f in found} == {(16 + k, k) for k in range(5)}
    for f in found:
        assert abs(f.normal[axis]) > 0.99
        assert f.offset / f.normal[axis] == pytest.approx(place, abs=0.3)


def test_a_school_without_a_wall_has_no_images(school) -> None:
    animals, rig = school
    assert find_reflections(tracks_of(animals.position), np.array([c.centre for c in rig])) == []


def test_two_that_swim_side_by_side_are_no_images() -> None:
    t = np.linspace(0, 12, 300)
    one = np.stack([4 * np.cos(t), 4 * np.sin(t), np.sin(0.5 * t)], axis=1)
    beside = one + np.array([1.0, 0.3, 0])
    assert find_reflections(tracks_of(np.stack([one, beside], axis=1)), CAMERAS) == []
    image = one * np.array([1, -1, 1]) + np.array([0, 20.0, 0])
    (found,) = find_reflections(tracks_of(np.stack([one, image], axis=1)), CAMERAS)
    assert (found.image, found.animal) == (1, 0)
    assert found.offset == pytest.approx(-10)
    assert found.normal == pytest.approx([0, -1, 0], abs=1e-9)
