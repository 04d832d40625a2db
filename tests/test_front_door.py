"""``import trackfish3d as tf``: everything in reach, nothing loaded before it is asked for."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trackfish3d as tf


def test_every_name_is_there_and_documented():
    assert set(tf.__all__) == set(dir(tf))
    for name in tf.__all__:
        value = getattr(tf, name)
        assert name == "__version__" or value.__doc__, name
    assert 35 <= len(tf.__all__) <= 60
    with pytest.raises(AttributeError, match="nothing"):
        _ = tf.nothing


def test_a_bare_import_loads_neither_numba_nor_matplotlib():
    code = "import sys, trackfish3d; print(sorted({'numba', 'matplotlib', 'torch', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.fixture(scope="module")
def school(tmp_path_factory) -> tf.Recording:
    """Four simulated fish before three cameras."""
    return tf.simulate(tmp_path_factory.mktemp("door") / "school", fish=4, frames=40, seed=5)


def test_a_recording_is_tracked_saved_scored_and_drawn(school, tmp_path):
    rec = tf.open(school.folder)
    assert "3 cameras, 40 frames" in repr(rec)
    result = tf.track(rec, animals=4)
    assert repr(result).startswith("<Result of joint: 4 tracks")
    assert "<table>" in result._repr_html_() or "no doubtful" in result._repr_html_()
    result.save(rec)
    assert (rec.folder / "tracks.csv").exists()
    frames = np.ptp(result.tracks.frame) + 1
    assert result.tracks.array().shape == (frames, 4, 3)
    scores = tf.evaluate(rec)
    assert scores.clear.mota > 0.95
    assert scores.gate == pytest.approx(result.body_length / 3, rel=0.05)
    assert "MOTA" in repr(scores)
    assert tf.evaluate(result, rec, gate=0.5).gate == 0.5
    figure = tf.plot.trajectories(result.tracks, units=rec.units)
    assert len(figure.axes[0].lines) >= 4
    tf.plot.rig(rec).savefig(tmp_path / "rig.png")
    tf.plot.timeline(scores).savefig(tmp_path / "timeline.png")
    page = tf.show(rec)._repr_html_()
    assert page.startswith("<iframe srcdoc=")
    assert "<script" not in page  # it is escaped: a notebook runs nothing of it outside the frame


def test_a_position_can_be_got_back_from_the_array(school):
    tracks = tf.track(school).tracks
    grid, first = tracks.array(), int(tracks.frame.min())
    row = len(tracks) // 2
    column = int(np.searchsorted(tracks.identities, tracks.track[row]))
    np.testing.assert_array_equal(grid[tracks.frame[row] - first, column], tracks.position[row])
    assert np.isfinite(grid).all(axis=2).sum() == len(tracks)


def test_the_number_of_animals_is_compared_with_the_tracks(school):
    assert tf.track(school, animals=4).notes == ()
    (note,) = tf.track(school, animals=7).notes
    assert note.startswith("4 tracks for 7 animals, at most 4 at one moment")
    with pytest.raises(tf.InputError, match="hungarian takes no number of animals"):
        tf.track(school, "hungarian", animals=4)


def test_behaviour_and_export_in_one_call(school, tmp_path):
    tf.track(school).save(school)
    found = tf.analyse(school, out=tmp_path / "behaviour", format="csv")
    assert (tmp_path / "behaviour" / "points.csv").exists()
    assert len(found.animals) == 4
    assert repr(found).startswith("<Analysis of 4 tracks")
    assert tf.export(school, "csv", tmp_path / "t.csv") == []
    assert Path(tf.write_report(school, tmp_path / "page.html")).stat().st_size > 10_000


def test_a_dataset_for_movement(school):
    xarray = pytest.importorskip("xarray")
    result = tf.track(school)
    dataset = result.tracks.to_xarray(school.fps, school.units)
    assert isinstance(dataset, xarray.Dataset)
    assert dataset.position.dims == ("time", "space", "keypoint", "individual")
    assert result.tracks.to_xarray().time.values.tolist() == np.unique(result.tracks.frame).tolist()
    last = dataset.position.sel(individual="track_0").isel(time=-1, keypoint=0)
    mine = result.tracks.select(result.tracks.track == 0)
    np.testing.assert_allclose(last, mine.position[mine.frame == result.tracks.frame.max()][0])
