import cv2
import numpy as np
import pytest

from trackfish3d.detection.masks.moments import ALONE, BOTTOM, COUNT, LEFT, RIGHT, TOP, join_sums, moments
from trackfish3d.synfish.body import body_mesh, pose_bodies
from trackfish3d.synfish.observe import mesh_for, pose_frame
from trackfish3d.synfish.rendering.capsules import CAPSULE_BEHIND, CAPSULE_HALF, CAPSULE_RADIUS, segment_distance
from trackfish3d.synfish.rendering.raster import View, half_sums
from trackfish3d.synfish.rigs import paper_rig, tank_rig


def drawn(school, rig, frame=0):
    mesh = mesh_for(school, rig)
    for c, camera in enumerate(rig):
        view = View(*camera.size)
        sums, contacts = view.draw(rig.packed[c], pose_frame(school, mesh, frame), mesh.triangles)
        yield camera, view, sums, contacts


def test_the_mesh_stays_inside_the_capsule_that_keeps_fish_apart():
    mesh = body_mesh(20, 12)
    fish = 40
    rng = np.random.default_rng(0)
    zero, ahead = np.zeros((fish, 3)), np.tile([1.0, 0, 0], (fish, 1))
    posed = pose_bodies(
        mesh.vertices, mesh.centre, zero, ahead, np.full(fish, 1.9), rng.uniform(-0.2, 0.2, fish),
        rng.uniform(0, 7, fish), np.ones(fish), 1.0,
    )  # fmt: skip
    for x, y, z in posed.reshape(-1, 3):
        gap, *_ = segment_distance(x, y, z, 1, 0, 0, 0.0, -CAPSULE_BEHIND, 0, 0, 1, 0, 0, CAPSULE_HALF)
        assert gap <= CAPSULE_RADIUS


def test_a_fish_bends_into_its_turn_and_beats_its_tail():
    mesh = body_mesh()
    args = (mesh.vertices, mesh.centre, np.zeros((1, 3)), np.array([[1.0, 0, 0]]), np.ones(1))
    straight, left, later = (
        pose_bodies(*args, np.array([yaw]), np.array([beat]), np.ones(1), 1.0)[0]
        for yaw, beat in ((0.0, 0.0), (0.1, 0.0), (0.0, 1.5))
    )
    tail = np.argmax(mesh.vertices[:, 0])
    assert left[tail, 1] > straight[tail, 1] + 0.015
    assert abs(later[tail, 1] - straight[tail, 1]) > 0.01


def test_up_is_towards_the_surface_whichever_way_z_runs():
    mesh = body_mesh()
    dorsal = np.argmax(mesh.vertices[:, 2])
    for up in (1.0, -1.0):
        posed = pose_bodies(
            mesh.vertices, mesh.centre, np.zeros((1, 3)), np.array([[1.0, 0, 0]]), np.ones(1), np.zeros(1),
            np.zeros(1), np.ones(1), up,
        )[0]  # fmt: skip
        assert posed[dorsal, 2] * up > 0.09


def test_masks_agree_with_opencv_filled_triangles(small_school):
    school, rig = small_school
    mesh = mesh_for(school, rig)
    vertices = pose_frame(school, mesh, 3)[:1]
    for c, camera in enumerate(rig):
        view = View(*camera.size)
        sums, _ = view.draw(rig.packed[c], vertices, mesh.triangles)
        pixels = camera.project(vertices[0])
        image = np.zeros(camera.size[::-1], np.uint8)
        for triangle in mesh.triangles:
            shift = 6
            cv2.fillConvexPoly(image, np.round(pixels[triangle] * 2**shift).astype(np.int32), 255, shift=shift)
        mask = view.owner == 0
        # OpenCV also fills every pixel a border touches: ours is inside its mask and holds its eroded one.
        assert np.all(image[mask] == 255)
        inner = cv2.erode(image, np.ones((3, 3), np.uint8)) > 0
        assert np.mean(mask[inner]) > 0.98
        assert sums[0, COUNT] == mask.sum() == sums[0, ALONE]


def test_sums_are_those_of_the_masks_and_moments_those_of_opencv(small_school):
    for _, view, sums, _ in drawn(*small_school, frame=9):
        shape = moments(sums)
        for i in np.flatnonzero(sums[:, COUNT]):
            mask = (view.owner == i).astype(np.uint8)
            m = cv2.moments(mask, binaryImage=True)
            assert sums[i, COUNT] == m["m00"]
            assert shape["u"][i] == pytest.approx(m["m10"] / m["m00"])
            assert shape["v"][i] == pytest.approx(m["m01"] / m["m00"])
            x, y, w, h = cv2.boundingRect(mask)
            assert tuple(sums[i, [LEFT, TOP, RIGHT, BOTTOM]]) == (x - 0.5, y - 0.5, x + w - 0.5, y + h - 0.5)
            covariance = np.array([[m["mu20"], m["mu11"]], [m["mu11"], m["mu02"]]]) / m["m00"] + np.eye(2) / 12
            value, vector = np.linalg.eigh(covariance)
            assert shape["major"][i] == pytest.approx(np.sqrt(value[1]), rel=1e-6)
            assert shape["minor"][i] == pytest.approx(np.sqrt(value[0]), rel=1e-6)
            axis = np.array([np.cos(shape["angle"][i]), np.sin(shape["angle"][i])])
            assert abs(axis @ vector[:, 1]) == pytest.approx(1, abs=1e-9)
            assert -np.pi / 2 < shape["angle"][i] <= np.pi / 2


def test_the_nearer_fish_hides_the_farther_one():
    rig = paper_rig(0)
    camera = rig[0]
    ray = camera.rays(np.array([[960.0, 540.0]]))
    near, far = ray.origin[0] + 40 * ray.direction[0], ray.origin[0] + 42 * ray.direction[0]
    mesh = body_mesh(12, 8)
    heading = np.array([[1.0, 0, 0], [1.0, 0, 0]])
    vertices = pose_bodies(
        mesh.vertices, mesh.centre, np.array([far, near]), heading, np.ones(2), np.zeros(2), np.zeros(2),
        np.full(2, 3.0), 1.0,
    )  # fmt: skip
    view = View(*camera.size)
    sums, contacts = view.draw(rig.packed[0], vertices, mesh.triangles)
    assert sums[1, COUNT] == sums[1, ALONE] > 500
    assert sums[0, COUNT] < 0.3 * sums[0, ALONE]
    assert contacts[0, :2].tolist() == [0, 1]
    alone, _ = View(*camera.size).draw(rig.packed[0], vertices[:1], mesh.triangles)
    assert alone[0, COUNT] == sums[0, ALONE]


def test_a_view_forgets_the_frame_before(small_school):
    school, rig = small_school
    mesh, view = mesh_for(school, rig), View(*rig[0].size)
    view.draw(rig.packed[0], pose_frame(school, mesh, 0), mesh.triangles)
    used, _ = view.draw(rig.packed[0], pose_frame(school, mesh, 30), mesh.triangles)
    fresh, _ = View(*rig[0].size).draw(rig.packed[0], pose_frame(school, mesh, 30), mesh.triangles)
    assert np.array_equal(used, fresh)


def test_halves_of_a_mask_join_to_the_whole(small_school):
    for _, view, sums, _ in drawn(*small_school):
        shape = moments(sums)
        i = int(np.argmax(sums[:, COUNT]))
        angle = shape["angle"][i]
        halves = half_sums(view.owner, i, view.box(i), shape["u"][i], shape["v"][i], np.cos(angle), np.sin(angle))
        whole = join_sums(halves[0], halves[1])
        assert np.allclose(whole[:ALONE], sums[i, :ALONE])
        assert 0.3 < halves[0, COUNT] / sums[i, COUNT] < 0.7


def test_mask_centroids_lie_near_the_projected_body_centre(small_school):
    school, rig = small_school
    for camera, _, sums, _ in drawn(school, rig, frame=20):
        clear = sums[:, COUNT] == sums[:, ALONE]
        shape = moments(sums)
        off = np.stack([shape["u"], shape["v"]], 1) - camera.project(school.position[20])
        size = np.hypot(sums[:, RIGHT] - sums[:, LEFT], sums[:, BOTTOM] - sums[:, TOP])
        assert np.all(np.linalg.norm(off, axis=1)[clear] < 0.06 * size[clear])


def test_masks_are_drawn_through_water():
    from trackfish3d.synfish.presets import PRESETS
    from trackfish3d.synfish.rigs import tank_water
    from trackfish3d.synfish.school import simulate_school

    school, rig = simulate_school(PRESETS["tank"], tank_water(), 4, 3, seed=1), tank_rig()
    assert rig.refractive
    for camera, _, sums, _ in drawn(school, rig):
        shape = moments(sums)
        with_water = np.stack([shape["u"], shape["v"]], 1) - camera.project(school.position[0])
        size = np.hypot(sums[:, RIGHT] - sums[:, LEFT], sums[:, BOTTOM] - sums[:, TOP])
        assert np.all(np.linalg.norm(with_water, axis=1) < 0.1 * size)
        dry = np.stack([shape["u"], shape["v"]], 1) - camera.without_water().project(school.position[0])
        assert np.linalg.norm(dry, axis=1).max() > 10
