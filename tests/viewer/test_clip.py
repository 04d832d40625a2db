"""Annotated films: as many frames as were asked for, each with the picture of its moment."""

import numpy as np
import pytest

import trackfish3d as tf
from tests.detection.worlds import read_number
from trackfish3d.media.video import Video
from trackfish3d.viewer.clip import CELL

from .scenes import SIZE, filmed


def test_a_film_shows_the_frames_that_were_asked_for(tmp_path):
    recording = filmed(tmp_path / "rec", frames=120)
    steps = []
    path = tf.clip(recording, (26, 38), tmp_path / "film.mp4", progress=lambda a, b: steps.append((a, b)))
    assert steps == [(k, 12) for k in range(1, 13)]
    pictures = [p.rgb for p in Video.open(path).read()]
    assert len(pictures) == 12
    assert pictures[0].shape == (2 * CELL[1], 2 * CELL[0], 3)
    high = CELL[0] * SIZE[1] / SIZE[0]
    top = (CELL[1] - high) / 2
    rows = (top + (np.arange(SIZE[1]) + 0.5) * high / SIZE[1]).astype(int)
    columns = ((np.arange(SIZE[0]) + 0.5) * CELL[0] / SIZE[0]).astype(int)
    for frame, picture in zip(range(26, 38), pictures, strict=True):
        grey = picture.mean(2)
        front = grey[:, CELL[0] :][rows][:, columns]
        assert read_number(front) == frame  # the camera that lost no frame
        lost = grey[:, : CELL[0]][rows][:, columns]
        assert frame in range(30, 34) or read_number(lost) == frame
    with pytest.raises(tf.InputError, match="no tracks in these frames"):
        tf.clip(recording, (900, 910), tmp_path / "film.mp4")
    with pytest.raises(tf.InputError, match="1,000,000 frames at most"):
        tf.clip(recording, (0, 10**9), tmp_path / "film.mp4")
    with pytest.raises(tf.InputError, match=r"written as \.mp4"):
        tf.clip(recording, (0, 3), tmp_path / "film.avi")
    with pytest.raises(tf.InputError, match="unknown camera"):
        tf.clip(recording, (0, 3), tmp_path / "film.mp4", views=["side"])
