"""Animals outside a region are not tracked."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.path import Path as Outline

import trackfish3d as tf
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.methods.region import Region, region_text


@given(st.integers(0, 10_000), st.integers(3, 9))
def test_an_outline_holds_what_matplotlib_says(seed, corners):
    rng = np.random.default_rng(seed)
    angle = np.sort(rng.uniform(0, 2 * np.pi, corners))
    outline = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.3, 2, (corners, 1))
    points = rng.uniform(-2, 2, (200, 3))
    region = Region.parse(";".join(f"{x} {y}" for x, y in outline))
    np.testing.assert_array_equal(region.holds(points), Outline(outline).contains_points(points[:, :2]))


def test_a_box_may_be_open():
    region = Region.parse(":1,0:")
    np.testing.assert_array_equal(
        region.holds(np.array([[0.5, 3, 99], [1.5, 3, 0], [0, -0.1, 0]])), [True, False, False]
    )


@pytest.mark.parametrize("text", ["1:0", "a:b", "0:1,0:1,0:1,0:1", "nan:1", "0 0;1 1", "0 0;1 1;2", "inf 0;1 1;2 2"])
def test_nonsense_is_refused(text):
    with pytest.raises(ValueError, match=r"region|end|corner|outline"):
        Region.parse(text)


@given(st.binary(max_size=60))
def test_any_file_is_read_or_refused_in_one_line(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("region") / "outline.txt"
    path.write_bytes(data)
    said = str(path)
    try:
        Region.parse(region_text(str(path)))
    except InputError as error:
        said = str(error)
    assert str(path) in said
    assert "\n" not in said


def test_tracks_stop_at_the_border_of_the_region(tmp_path, capsys):
    rec = tf.simulate(tmp_path / "r", 4, "5", 40, 2)
    whole = tf.track(rec).tracks
    middle = float(np.median(whole.position[:, 0]))
    (tmp_path / "half.csv").write_text(f"x,y\n{middle},-1e3\n1e3,-1e3\n1e3,1e3\n{middle},1e3\n")
    with pytest.raises(SystemExit) as left:
        main(["track", str(rec.folder), "--region", str(tmp_path / "half.csv")])
    assert left.value.code == 0
    assert "lie outside the region" in capsys.readouterr().out
    half = tf.open(rec.folder).tracks
    kept = half.position[half.observed]
    assert (kept[:, 0] >= middle).all()
    assert half.observed.sum() == pytest.approx((whole.position[whole.observed][:, 0] >= middle).sum(), abs=3)
    boxed = tf.track(rec, region=f"{middle}:").tracks
    np.testing.assert_allclose(boxed.position, half.position, rtol=1e-9)


def test_a_region_that_cannot_be_read_is_one_line(tmp_path, capsys):
    rec = tf.simulate(tmp_path / "r", 2, "5", 5, 2)
    for region in ("5:1", "nowhere.csv"):
        with pytest.raises(SystemExit) as left:
            main(["track", str(rec.folder), "--region", region])
        assert left.value.code == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
