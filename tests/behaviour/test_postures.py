"""Postures of bodies whose bend, pitch and beat are known in closed form."""

import numpy as np
import pytest

from trackfish3d.behaviour.measures.postures import bending, distance, heading, tail_beat
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Poses, Skeleton

MIDLINE = ("snout", "centre", "tail_base", "tail_tip")


def swimmer(frames: int = 200, fps: float = 100.0, beat: float = 6.0, pitch: float = 0.3) -> Poses:
    """A fish that swims up at a pitch; its tail tip goes 0.2 to each side."""
    time = np.arange(frames) / fps
    ahead = np.array([np.cos(pitch), 0, np.sin(pitch)])
    body = np.array([3.0, 2.0, 1.0, 0.0])[:, None] * ahead
    points = body + time[:, None, None] * ahead
    points[:, 3, 1] += 0.2 * np.sin(2 * np.pi * beat * time)
    cov = np.broadcast_to(1e-4 * np.eye(3), (frames, 4, 3, 3))
    return Poses.build(np.arange(frames), np.zeros(frames, int), points, Skeleton(MIDLINE), covariance=cov)


def test_pitch_and_heading() -> None:
    unit, pitch, sigma = heading(swimmer(), "tail_base", "snout", [0, 0, 2])
    np.testing.assert_allclose(pitch, 0.3)
    np.testing.assert_allclose(unit, np.broadcast_to([np.cos(0.3), 0, np.sin(0.3)], unit.shape), atol=1e-12)
    np.testing.assert_allclose(sigma, np.sqrt(2) * 0.01 / 2)


def test_bending_is_the_angle_of_the_tail() -> None:
    fish = swimmer()
    bend, sigma = bending(fish, MIDLINE)
    aside = 0.2 * np.abs(np.sin(2 * np.pi * 6 * np.arange(200) / 100))
    np.testing.assert_allclose(bend, np.arctan(aside), atol=1e-7)
    assert (sigma > 0).all()
    with pytest.raises(InputError, match="three or more"):
        bending(fish, MIDLINE[:2])


def test_tail_beats() -> None:
    frequency, amplitude = tail_beat(swimmer(), "snout", "tail_base", "tail_tip", 100.0)
    assert frequency == pytest.approx(6.0, abs=0.1)
    assert amplitude == pytest.approx(0.2, rel=0.03)
    assert np.isnan(tail_beat(swimmer(8), "snout", "tail_base", "tail_tip", 100.0)).all()


def test_snout_to_tail() -> None:
    fish = swimmer(5)
    far, sigma = distance(fish, "snout", fish, "tail_base")
    np.testing.assert_allclose(far, 2.0)
    np.testing.assert_allclose(sigma, np.sqrt(2) * 0.01)
