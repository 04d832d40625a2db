"""Postures of bodies whose bend, pitch and beat are known in closed form."""

import numpy as np
import pytest

from trackfish3d.behaviour.measures.postures import angle, beat_fit, bending, distance, heading, tail_beat
from trackfish3d.behaviour.streaming.posture_tables import Posture, beat_table, guessed_midline, posture_table
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


def test_angles_and_their_sigmas() -> None:
    fish = swimmer(50)
    theta, sigma = angle(fish, "snout", "centre", "tail_base")
    np.testing.assert_allclose(theta, np.pi, atol=1e-6)
    rng = np.random.default_rng(0)
    corner = np.array([[2.0, 0, 0], [0, 0, 0], [0, 1.0, 0], [5, 5, 5]])
    cov = np.broadcast_to(np.diag([1e-4, 4e-4, 1e-4]), (1, 4, 3, 3))
    one = Poses.build([0], [0], corner[None], Skeleton(MIDLINE), covariance=cov)
    theta, sigma = angle(one, "snout", "centre", "tail_base")
    assert theta[0] == pytest.approx(np.pi / 2)
    drawn = corner + rng.normal(size=(20000, 4, 3)) * np.sqrt([1e-4, 4e-4, 1e-4])
    many = Poses.build(np.arange(20000), np.zeros(20000, int), drawn, Skeleton(MIDLINE))
    assert angle(many, "snout", "centre", "tail_base")[0].std() == pytest.approx(sigma[0], rel=0.03)


def test_sigmas_of_beats_are_what_repeating_gives() -> None:
    rng = np.random.default_rng(1)
    time = np.arange(120) / 60
    fits = []
    for _ in range(200):
        wave = 0.3 * np.sin(2 * np.pi * 4.3 * time + rng.uniform(0, 6)) + 0.05 * rng.normal(size=len(time))
        fits.append(beat_fit(wave, 60.0))
    found = np.array(fits)
    assert found[:, 0].mean() == pytest.approx(4.3, abs=0.01)
    assert found[:, 2].mean() == pytest.approx(0.3, rel=0.03)
    assert found[:, 0].std() == pytest.approx(np.median(found[:, 1]), rel=0.25)
    assert found[:, 2].std() == pytest.approx(np.median(found[:, 3]), rel=0.25)


def test_midlines_by_name_and_by_choice() -> None:
    assert guessed_midline(Skeleton(("a", "b"))) == ()
    joined = Skeleton(("Nose", "Trunk", "TailTip", "Tail_1"), ((0, 1), (1, 3), (3, 2)))
    assert guessed_midline(joined) == ("Nose", "Trunk", "Tail_1", "TailTip")
    told = Posture.of(joined, "Nose, Trunk", "Nose-Trunk-Tail_1")
    assert told == Posture(("Nose", "Trunk"), (("Nose", "Trunk", "Tail_1"),))
    for wrong in ({"midline": "Nose"}, {"midline": "Nose,Fin"}, {"angles": "Nose-Trunk"}, {"angles": "Nose-Trunk-Fin"}):
        with pytest.raises(InputError):
            Posture.of(joined, **wrong)


def test_tables_of_two_that_follow_each_other() -> None:
    fish = swimmer(120, 60.0, 5.0)
    behind = Poses.build(
        fish.frame, fish.track + 1, fish.position - [4.0, 0, 0], fish.skeleton, covariance=fish.covariance
    )
    both = Poses.concat([fish, behind])
    table = posture_table(both, Posture.of(both.skeleton, angles="snout-centre-tail_tip"), [0, 0, 1], "cm")
    follower = table["track"].to_numpy() == 1
    assert (table["nearest_tail"].to_numpy()[follower] == 0).all()
    tail, snout = fish.position[:, 3], fish.position[:, 0] - [4.0, 0, 0]
    far = np.linalg.norm(tail - snout, axis=1)
    np.testing.assert_allclose(table["to_tail_cm"].to_numpy()[follower], far)
    np.testing.assert_allclose(table["sigma_to_tail_cm"].to_numpy(), np.sqrt(2) * 0.01)
    beats = beat_table(both, MIDLINE, 60.0, "cm")
    assert beats["track"].to_pylist() == [0, 1]
    np.testing.assert_allclose(beats["beat_hz"].to_numpy(), 5.0, atol=0.02)
    np.testing.assert_allclose(beats["amplitude_cm"].to_numpy(), 0.2, rtol=0.02)
    alone = fish.select(fish.frame < 3)
    assert (posture_table(alone, Posture(MIDLINE), [0, 0, 1], "cm")["nearest_tail"].to_numpy() == -1).all()
    assert beat_table(alone, MIDLINE, 60.0, "cm").num_rows == 0
