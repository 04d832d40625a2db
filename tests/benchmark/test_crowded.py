"""Crowds that are drawn, and people that hide each other."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.benchmark.crowded import cmc, crowd, people
from trackfish3d.benchmark.suites import make_suite
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation.oracle import at_true_pixels, track_oracle
from trackfish3d.methods.baselines.geometric import KalmanSettings
from trackfish3d.recordings import Recording, Tracks


def test_draws_are_within_their_ranges_and_the_halves_share_none():
    for number in range(200):
        draw = crowd.draw_crowd(number)
        assert draw == crowd.draw_crowd(number)
        assert 8 <= draw.fish <= 80
        assert 2 <= draw.cameras <= 6
        assert 1.0 <= draw.girth <= 3.0
        assert 1 <= draw.jitter <= 5
        assert not (draw.whole and draw.masks)
    tune, report = crowd.half_of("tune"), crowd.half_of("report")
    assert not set(tune) & set(report)
    assert len(tune) == len(report) == crowd.DRAWS // 2
    for kind in ("whole", "masks"):
        counts = [sum(getattr(crowd.draw_crowd(crowd.scene_number(s)), kind) for s in half) for half in (tune, report)]
        assert counts == [4, 4]


def test_a_scene_that_is_no_draw_is_refused():
    with pytest.raises(InputError, match="crowd00"):
        make_suite("crowd", None, ["test1"])
    with pytest.raises(InputError, match="tune or report"):
        crowd.half_of("both")


def test_gatherings_are_drawn_in_metres_and_people_keep_their_distance():
    draw = people.draw_gathering(10)
    assert draw == people.draw_gathering(10)
    school = people.walk(replace(draw, frames=20))
    apart = np.linalg.norm(school.position[:, :, None, :2] - school.position[:, None, :, :2], axis=3)
    apart[:, np.arange(draw.people), np.arange(draw.people)] = np.inf
    assert np.median(apart.min(2)) > 0.3
    assert (school.position[..., :2] >= 0).all()
    assert (school.position[..., :2] <= draw.floor).all()
    low, high = people.figure().vertices.min(0), people.figure().vertices.max(0)
    assert (low[2], high[2]) == (-0.5, 0.5)
    assert make_suite("crowd", None, ["people00"]).gate == cmc.GATE_M
    with pytest.raises(InputError, match="own run"):
        make_suite("crowd", None, ["people00", "crowd00"])
    with pytest.raises(InputError, match="people00"):
        make_suite("crowd", None, ["people"])


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A small crowd of whole bodies: recording and rig."""
    draw = replace(crowd.draw_crowd(2), fish=6, frames=25, whole=True, masks=False, jitter=0.0)
    school, rig = crowd.build(draw)
    detections, truth = crowd.observe_crowd(draw, school, rig)
    folder = tmp_path_factory.mktemp("crowd") / "rec"
    return Recording.create(folder, rig, fps=30.0, detections=detections, truth=truth), rig


def test_boxes_of_whole_bodies_hold_hidden_animals_too(drawn):
    recording, _ = drawn
    truth, found = recording.truth, recording.detections
    animal, camera = np.nonzero(truth.detection >= 0)
    row = truth.detection[animal, camera]
    inside = (truth.x1[animal, camera] >= found.x1[row] - 1) & (truth.x2[animal, camera] <= found.x2[row] + 1)
    assert inside.all()
    assert found.u == pytest.approx(0.5 * (found.x1 + found.x2))
    assert found.major is None


def test_the_oracle_with_true_pixels_is_at_the_truth(drawn):
    recording, rig = drawn
    moved, truth = at_true_pixels(recording.detections, recording.truth)
    tracks = track_oracle(rig, moved, truth, KalmanSettings())
    seen = tracks.observed
    nearest = [
        np.linalg.norm(recording.truth.position[recording.truth.frame == f] - p, axis=1).min()
        for f, p in zip(tracks.frame[seen], tracks.position[seen], strict=True)
    ]
    assert max(nearest) < 1e-3


def test_tracks_are_cut_to_the_floor_that_truth_covers():
    tracks = Tracks.build([0, 0, 0], [1, 2, 3], [[3.0, 1.0, 0.8], [1.0, 1.0, 0.8], [3.0, 5.0, 0.8]])
    assert cmc.on_floor(tracks).track.tolist() == [1]


@pytest.mark.skipif(not os.environ.get("TRACKFISH3D_DATA"), reason="real recordings: set TRACKFISH3D_DATA")
def test_people_become_a_recording(tmp_path):
    folder = cmc.cmc_folder(None)
    recording = cmc.write_people("CMC1-whole", folder, tmp_path / "rec")
    assert len(recording.rig) == 4
    assert recording.detections.score.min() >= cmc.MIN_SCORE
    assert len(np.unique(recording.truth.identity)) == 3
    with pytest.raises(InputError, match="CMC"):
        make_suite("cmc", None, ["CMC3"], folder)
    with pytest.raises(InputError, match="holds no CMC"):
        cmc.cmc_folder(Path(tmp_path))
