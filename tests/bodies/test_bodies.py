"""Which way animals point, and how large they are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import trackfish3d as tf
from trackfish3d.bodies.axes import fit_axes
from trackfish3d.bodies.silhouettes import Silhouettes
from trackfish3d.recordings import Tracks


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    rec = tf.simulate(tmp_path_factory.mktemp("bodies") / "r", 6, "5", 120, 3)
    return rec, tf.track(rec).tracks


def true_headings(truth, tracks):
    """(N, 3) heading of the true animal nearest to each point, and its distance."""
    out, away = np.full((len(tracks), 3), np.nan), np.full(len(tracks), np.nan)
    for frame in np.unique(tracks.frame):
        mine, theirs = np.flatnonzero(tracks.frame == frame), np.flatnonzero(truth.frame == frame)
        far = np.linalg.norm(tracks.position[mine, None] - truth.position[theirs], axis=2)
        out[mine], away[mine] = truth.heading[theirs[far.argmin(1)]], far.min(1)
    return out, away


@given(st.integers(0, 10_000))
def test_planes_of_two_views_meet_in_the_axis(seed):
    rng = np.random.default_rng(seed)
    axis, view = unit(rng.standard_normal(3)), unit(rng.standard_normal((2, 3)))
    normal = np.cross(view, axis)
    if (np.linalg.norm(normal, axis=1) < 0.2).any() or np.linalg.norm(np.cross(*unit(normal))) < 0.3:
        return  # seen end on, or from one side only
    n = 8
    position = (
        1e-3 * np.arange(n)[:, None] * unit(axis + 0.3 * rng.standard_normal(3))
    )  # it drifts, not quite along itself
    tracks = Tracks.build(np.arange(n), np.zeros(n, int), position, covariance=np.tile(np.eye(3), (n, 1, 1)))
    row = np.repeat(np.arange(n), 2)
    ones = np.ones(2 * n)
    which = np.tile([0, 1], n)
    masks = Silhouettes(row, which, unit(normal)[which], view[which], ones, 0.2 * ones, ones)
    found = fit_axes(tracks, masks)
    np.testing.assert_allclose(np.abs(found.heading @ axis), 1, atol=1e-6)


def test_headings_are_as_good_as_they_claim(school):
    rec, tracks = school
    true, away = true_headings(rec.truth, tracks)
    near = away < 0.5
    off = np.arccos(np.clip((tracks.heading * true).sum(1), -1, 1))[near]
    assert np.degrees(np.nanmedian(off)) < 2.5
    assert (off > np.pi / 2).mean() < 0.01
    inside = [(off / tracks.heading_sigma[near] < limit).mean() for limit in (1.515, 2.448)]  # 68 and 95 % of a vector
    assert inside[0] > 0.55
    assert inside[1] > 0.88


def test_headings_without_masks_come_from_swimming(school):
    rec, _ = school
    plain = replace(rec.detections, area=None, angle=None, major=None, minor=None)
    tracks = tf.track(tf.Recording.create(rec.folder.parent / "plain", rec.rig, fps=rec.fps, detections=plain)).tracks
    true, away = true_headings(rec.truth, tracks)
    off = np.arccos(np.clip((tracks.heading * true).sum(1), -1, 1))[away < 0.5]
    assert np.degrees(np.nanmedian(off)) < 5
    assert tracks.length is None


def test_an_animal_at_rest_without_masks_has_no_heading():
    n = 20
    tracks = Tracks.build(np.arange(n), np.zeros(n, int), np.zeros((n, 3)), covariance=np.tile(np.eye(3), (n, 1, 1)))
    assert np.isnan(fit_axes(tracks, None).heading).all()


def test_sizes_are_those_of_the_bodies(school):
    rec, tracks = school
    truth = rec.truth
    ratio = []
    for k in tracks.identities:
        mine = tracks.track == k
        first = np.flatnonzero(mine)[0]
        then = np.flatnonzero(truth.frame == tracks.frame[first])
        who = truth.identity[then[np.linalg.norm(truth.position[then] - tracks.position[first], axis=1).argmin()]]
        ahead = np.linalg.norm(truth.head - truth.position, axis=1)[truth.identity == who]  # a share of the length
        ratio.append(tracks.length[first] / np.median(ahead))
    assert np.ptp(ratio) < 0.1 * np.mean(ratio)
    assert (tracks.thickness < 0.5 * tracks.length).all()
    assert (tracks.length_sigma < 0.1 * tracks.length).all()
    assert np.nanmedian(tracks.visible) > 0.8


def test_bodies_come_back_from_a_file(school, tmp_path):
    rec, tracks = school
    again = Tracks.from_table(tracks.to_table())
    for name, column in tracks.columns().items():
        np.testing.assert_allclose(getattr(again, name), column, rtol=1e-12)
    tf.track(rec).save(tmp_path / "t.csv")
    bad = tracks.to_table()
    bad = bad.set_column(bad.column_names.index("length"), "length", [np.full(len(tracks), -1.0)])
    with pytest.raises(tf.InputError, match="length is no size"):
        Tracks.from_table(bad)
