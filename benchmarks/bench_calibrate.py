"""Calibrating: how long it takes, and what it is worth on real floating boards and real fish.

Run: python benchmarks/bench_calibrate.py   (the second part needs TRACKFISH3D_DATA)

Real boards: the calibration as published, then ours with the published lenses, then with the stretch of the printed
board fitted too. They are judged by fish, which no calibration has seen: blobs of the three views that agree within
8 px in all of them, and where two views say that the third should see the fish (leave one view out).
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import ndimage
from scipy.spatial.transform import Rotation

from trackfish3d.calibration import Board, Plan, Surface, Tank, Views, calibrate, examine, find_boards, parse_sources
from trackfish3d.calibration.lenses import read_lenses
from trackfish3d.cameras import Camera, CameraRig, triangulate_ml
from trackfish3d.cameras.formats import read_calibration, with_water
from trackfish3d.cameras.residuals import pair_residuals

GATE_PX = 8.0
CHANCE_LAG = 20  # frames by which the third view is shifted to see what agrees by chance


def synthetic(cameras, boards, seed=0):
    """Calibrate cameras on a circle above boards waved about, corners with 0.3 px of noise."""
    rng = np.random.default_rng(seed)
    board = Board("chessboard", 11, 8, 20.0)
    rig = []
    for c in range(cameras):
        angle = 2 * np.pi * c / cameras
        place = np.array([700 * np.cos(angle), 700 * np.sin(angle), 900.0])
        z = -place / np.linalg.norm(place)
        x = np.cross(z, [0, 0, 1.0])
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        K = np.array([[1500.0, 0, 970], [0, 1502.0, 530], [0, 0, 1]])
        rig.append(Camera(f"cam{c}", (1920, 1080), K, [-0.1, 0.05, 0.0005, -0.0005, 0], R, -R @ place))
    found = []
    for m in range(boards):
        turn = Rotation.from_rotvec([0, 0, rng.uniform(0, 2 * np.pi)]) * Rotation.from_euler("x", np.pi)
        turn = Rotation.from_rotvec([*np.radians(rng.uniform(-30, 30, 2)), 0]) * turn
        world = turn.apply(board.points - board.centre) + rng.uniform(-200, 200, 3)
        for c, cam in enumerate(rig):
            pixel = cam.project(world)
            if cam.in_image(pixel).all():
                found.append((c, str(m), np.arange(len(world)), pixel + 0.3 * rng.standard_normal(pixel.shape)))
    views = Views.build(tuple(c.name for c in rig), tuple(c.size for c in rig), found)
    start = time.perf_counter()
    result = calibrate(views, Plan(board))
    seconds = time.perf_counter() - start
    focal = max(abs(c.K[0, 0] / 1500 - 1) for c in result.rig)
    print(
        f"{cameras} cameras, {boards} boards, {len(views)} corners: {seconds:.1f} s, RMS {result.rms():.3f} px "
        f"(noise {0.3 * np.sqrt(2):.3f}), focal length off by at most {100 * focal:.3f} %",
        flush=True,
    )


def blobs(path):
    """Centroids (n, 2) of dark blobs in each frame of a video, against its median."""
    import av

    with av.open(str(path)) as container:
        frames = np.stack([f.to_ndarray(format="gray") for f in container.decode(container.streams.video[0])])
    background = np.median(frames, axis=0).astype(np.float32)
    found = []
    for frame in frames:
        dark = ndimage.gaussian_filter(background - frame, 1.2) > 12
        label, count = ndimage.label(dark)
        area = ndimage.sum(dark, label, range(1, count + 1))
        middle = np.array(ndimage.center_of_mass(dark, label, range(1, count + 1))).reshape(-1, 2)[:, ::-1]
        found.append(middle[area >= 60])
    return found


def agreement(rig, views, lag=0):
    """Triples of blobs, one of each view, each used once: their count, blobs a view, leave-one-out errors, z."""
    left_out, height = [], []
    count = np.zeros(3, int)
    for f in range(len(views[0]) - lag):
        here = [views[0][f], views[1][f], views[2][f + lag]]
        count += [len(p) for p in here]
        pixel, camera = np.concatenate(here), np.repeat([0, 1, 2], [len(p) for p in here])
        error = pair_residuals(rig, camera, pixel, np.concatenate([pixel - 10, pixel + 10], axis=1)).error_px
        near = np.fmax(error, error.T) < 2 * GATE_PX
        of = [np.flatnonzero(camera == c) for c in range(3)]
        tuples = [
            (i, j, k) for i in of[0] for j in of[1][near[i, of[1]]] for k in of[2][near[i, of[2]] & near[j, of[2]]]
        ]
        if not tuples:
            continue
        members = np.array(tuples)
        found = triangulate_ml(rig, pixel[members.ravel()], camera[members.ravel()], np.arange(len(members) + 1) * 3)
        miss = np.stack([np.linalg.norm(rig[c].project(found.points) - pixel[members[:, c]], axis=1) for c in range(3)])
        good = np.flatnonzero(found.valid & (miss.max(axis=0) < GATE_PX))
        used = np.zeros(len(pixel), bool)
        for q in good[np.argsort(found.error_px[good])]:
            if used[members[q]].any():
                continue
            used[members[q]] = True
            height.append(found.points[q, 2])
            for c in range(3):
                two = np.delete(members[q], c)
                point = triangulate_ml(rig, pixel[two], camera[two], [0, 2]).points
                left_out.append(float(np.linalg.norm(rig[c].project(point)[0] - pixel[members[q, c]])))
    return len(height), count, np.array(left_out), np.array(height)


def judge_by_fish(name, rig, views):
    for medium, seen in (("water", rig), ("no water", rig.without_water())):
        triples, count, left_out, height = agreement(seen, views)
        chance, count_chance, _, _ = agreement(seen, views, CHANCE_LAG)
        shares = " ".join(f"{100 * triples / n:.0f}" for n in count)
        low, middle, high = np.quantile(height, [0.02, 0.5, 0.98])
        print(
            f"{name:<34} {medium:<9} agree {shares} % of blobs (by chance {100 * chance / count_chance[0]:.0f} %), "
            f"left out: median {np.median(left_out):.2f} px, 90 % {np.quantile(left_out, 0.9):.2f} px; "
            f"depth {-high:.0f} to {-low:.0f}, median {-middle:.0f}",
            flush=True,
        )


def real(folder):
    board = Board.parse("chessboard:23x15:16")
    start = time.perf_counter()
    corners = find_boards(parse_sources([f"cam-{k}={folder}/calibration/cam_{k}-*.tiff" for k in (1, 2, 3)]), board)
    print(f"\n{len(corners)} corners in 9 pictures of 2048 x 1536 found in {time.perf_counter() - start:.1f} s")
    known = read_lenses(folder / "intrinsics.json", corners)
    views = [blobs(folder / f"cam-{k}.mp4") for k in (1, 2, 3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        published = read_calibration(folder / "cameras.json")
    judge_by_fish("published (RMS 1.64)", with_water(published, "z=0"), views)
    ways = {
        "ours, lenses given": {},
        "ours, board fitted": {"fit_board": True},
        "ours, board, lenses, square pixels": {"fit_board": True, "refine": True, "square_pixels": True},
    }
    for name, options in ways.items():
        tank = Tank(surfaces=[Surface(point=(0, 0, 0), normal=(0, 0, 1))])
        plan = Plan(board, known=known, floating=frozenset(corners.moments), tank=tank, **options)
        result = calibrate(corners, plan)
        quality = examine(result)
        aspect = f", aspect {result.adjusted.state.aspect:.4f}" if plan.fit_board else ""
        print(
            f"{name}: RMS {quality.rms_px:.2f} px ({', '.join(f'{c.rms_px:.2f}' for c in quality.cameras)}){aspect}, "
            f"squares {100 * quality.square_mean:.2f} +- {100 * quality.square_deviation:.2f} %, {quality.verdict}"
        )
        judge_by_fish(name, CameraRig(result.rig.cameras, "mm"), views)


def main():
    synthetic(3, 20)  # compiles
    for cameras, boards in ((3, 40), (6, 80), (12, 150)):
        synthetic(cameras, boards)
    folder = Path(os.environ.get("TRACKFISH3D_DATA", "")) / "bristol"
    if "TRACKFISH3D_DATA" in os.environ and folder.is_dir():
        real(folder)
    else:
        print("no real boards: TRACKFISH3D_DATA is not set")


if __name__ == "__main__":
    main()
