import numpy as np
import pytest

from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.render import GRAIN, Renderer
from trackfish3d.synfish.video import write_videos

av = pytest.importorskip("av", reason="video extra is not installed")


@pytest.fixture(scope="module")
def pictures(small_school):
    school, rig = small_school
    renderer = Renderer(rig[0], school, mesh_for(school, rig), seed=1)
    first = renderer.draw(0)
    mask = renderer.view.owner.copy()
    later = renderer.draw(20)
    return first, mask, later, renderer.view.owner.copy()


def test_fish_differ_from_the_water_exactly_where_the_mask_is(pictures):
    first, mask, later, later_mask = pictures
    moved = (mask >= 0) & (later_mask < 0)
    still = (mask < 0) & (later_mask < 0)
    change = np.abs(first.astype(int) - later.astype(int)).sum(axis=2)
    assert moved.sum() > 2000
    # Caustics move everywhere, so the water changes too, but far less than where a fish was.
    assert np.median(change[moved]) > 3 * np.median(change[still])
    assert np.mean(change[moved] > 25) > 0.8


def test_pictures_look_like_water(pictures):
    first, mask, *_ = pictures
    water = first[mask < 0].astype(float)
    assert water[:, 2].mean() > 1.3 * water[:, 0].mean()  # red is lost first
    top, bottom = first[:100].astype(float), first[-100:].astype(float)
    assert abs(top.mean() - bottom.mean()) > 5  # neither flat nor black
    assert 20 < water.mean() < 200


def test_sensor_noise_is_there_and_small(pictures):
    first, _mask, *_ = pictures
    patch = first[20:80, 300:700].astype(float)
    rough = patch[:, 1:] - patch[:, :-1]
    assert 0.5 * GRAIN < rough.std() / np.sqrt(2) < 3 * GRAIN


def test_videos_are_h264_of_the_right_size_and_same_seed_gives_same_bytes(small_school, tmp_path):
    from dataclasses import replace

    from trackfish3d.cameras import CameraRig

    school, rig = small_school
    names = ("position", "heading", "speed", "yaw_rate", "beat")
    short = replace(school, **{name: getattr(school, name)[:4] for name in names})
    one = CameraRig((rig[0],), rig.units)
    done = []
    for folder in ("a", "b"):
        write_videos(short, one, tmp_path / folder, 30.0, 3, done.append)
    assert done == [1, 2, 3, 4] * 2
    path = tmp_path / "a" / "videos" / "cam0.mp4"
    assert path.read_bytes() == (tmp_path / "b" / "videos" / "cam0.mp4").read_bytes()
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = [f.to_ndarray(format="rgb24") for f in container.decode(stream)]
        assert stream.codec_context.name == "h264"
        assert float(stream.average_rate) == 30.0
    assert len(frames) == 4
    renderer = Renderer(rig[0], short, mesh_for(short, one), seed=3)
    assert np.abs(frames[2].astype(int) - renderer.draw(2).astype(int)).mean() < 6
