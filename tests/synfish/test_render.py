from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from trackfish3d.cameras import CameraRig
from trackfish3d.synfish.film import write_videos
from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.rendering.render import GRAIN, Renderer
from trackfish3d.synfish.rendering.tank_picture import tank_backdrop
from trackfish3d.synfish.rigs import tank_rig, tank_water

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
    assert abs(top.mean() - bottom.mean()) > 3  # neither flat nor black
    assert 20 < water.mean() < 200


def test_sensor_noise_is_there_and_small(pictures):
    first, _mask, *_ = pictures
    patch = first[20:80, 300:700].astype(float)
    rough = patch[:, 1:] - patch[:, :-1]
    assert 0.5 * GRAIN < rough.std() / np.sqrt(2) < 3 * GRAIN


def test_every_camera_has_its_own_sensor_noise(small_school):
    school, rig = small_school
    mesh = mesh_for(school, rig)
    noise = []
    for camera in (rig[0], replace(rig[0], name="other")):  # the same picture, through another sensor
        patch = Renderer(camera, school, mesh, seed=1).draw(0)[20:80, 300:700, 0].astype(float)
        noise.append(patch - gaussian_filter(patch, 2))
    assert abs(np.corrcoef(noise[0].ravel(), noise[1].ravel())[0, 1]) < 0.1


def test_a_tank_is_seen_with_its_walls_and_waterline():
    water, rig = tank_water(), tank_rig()
    front = rig["front"]
    # On the glass, at half its width: 2 cm above the water, on the waterline, 2 cm and 6 cm below it.
    glass = float(front.interfaces[0].point[1])
    heights = np.array([-2.0, 0.0, 2.0, 6.0])
    # Just inside the glass the ray has not bent yet, so these project to where the picture shows them.
    places = np.stack([np.full(4, 14.5), np.full(4, glass - 1e-6), heights], axis=1)
    rays = front.rays(front.project(places))
    origin, direction = rays.origin.reshape(1, 4, 3), rays.direction.reshape(1, 4, 3)
    seen = tank_backdrop(origin, direction, front.centre, water)
    assert np.allclose(origin[0, :, 2], heights, atol=1e-3)
    assert seen.wet[0].tolist()[2:] == [1, 1]
    assert seen.wet[0, 0] == 0
    brightness = seen.paint[0].sum(axis=1)
    assert brightness[1] > 2 * max(brightness[0], brightness[2])  # the line shines
    assert brightness[0] < brightness[2]  # dry glass with the room behind, below it the tank
    top = rig["top"]
    pixels = np.array([[top.size[0] / 2, top.size[1] / 2]])
    down = top.rays(pixels)
    below = tank_backdrop(down.origin.reshape(1, 1, 3), down.direction.reshape(1, 1, 3), top.centre, water)
    assert below.floor[0, 0] == 1
    assert below.distance[0, 0] > np.linalg.norm(top.centre - water.centre)


def test_rays_in_a_tank_end_on_its_faces():
    rng = np.random.default_rng(0)
    water = tank_water()
    origin = rng.uniform(water.low + 1.0, water.high, (20, 20, 3))  # clear of the waterline
    direction = rng.standard_normal((20, 20, 3))
    direction /= np.linalg.norm(direction, axis=2, keepdims=True)
    seen = tank_backdrop(origin, direction, origin[0, 0], water)
    # Solved with planes one by one: the least positive distance to any of the six.
    t = np.stack([(face[k] - origin[..., k]) / direction[..., k] for face in (water.low, water.high) for k in range(3)])
    least = np.where(t > 0, t, np.inf).min(axis=0)
    end = origin + least[..., None] * direction
    assert np.allclose(seen.x, end[..., 0])
    assert np.allclose(seen.y, end[..., 1])
    assert np.array_equal(seen.floor == 1, np.isclose(end[..., 2], water.high[2]))


def test_videos_are_h264_of_the_right_size_and_same_seed_gives_same_bytes(small_school, tmp_path):
    school, rig = small_school
    names = ("position", "heading", "speed", "yaw_rate", "beat")
    short = replace(school, **{name: getattr(school, name)[:4] for name in names})
    one = CameraRig((rig[0],), rig.units)
    done = []
    for folder in ("a", "b"):
        write_videos(short, one, tmp_path / folder, 30.0, 3, lambda n, total: done.append((n, total)))
    assert done == [(n, 4) for n in (1, 2, 3, 4)] * 2
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
