"""Time the geometry on one core: rays, projection, triangulation, pair residuals.

Run with ``make bench`` or ``python benchmarks/bench_cameras.py``; prints each measure beside its goal.
"""

import os

os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import time

import numpy as np

from trackfish3d.cameras import Camera, CameraRig, Interface, pair_residuals, triangulate_rays

N = 1_000_000


def best(function, repeats=5):
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def ring(n, water):
    K = [[1866.67, 0, 960], [0, 1866.67, 540], [0, 0, 1]]
    cameras = []
    for i in range(n):
        angle = 2 * np.pi * i / n
        centre = np.array([40 * np.cos(angle), 40 * np.sin(angle), -30])
        z = -centre / np.linalg.norm(centre)
        x = np.cross([0.0, 0.0, 1.0], z)
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z])
        faces = (Interface([0, 0, -8], [0, 0, -1]),) if water else ()
        cameras.append(Camera(f"c{i}", (1920, 1080), K, [], R, -R @ centre, interfaces=faces))
    return CameraRig(tuple(cameras))


def report(what, seconds, goal, unit="s"):
    factor = {"s": 1, "ms": 1e3}[unit]
    verdict = "met" if seconds * factor < goal else "MISSED"
    print(f"{what:52s} {seconds * factor:8.3f} {unit}   goal {goal:g} {unit}   {verdict}")


def main():
    rng = np.random.default_rng(0)
    camera = ring(3, water=True)[0]
    pixels = rng.uniform([0, 0], [1920, 1080], (N, 2))
    rays = camera.rays(pixels)
    points = rays.origin + rng.uniform(5, 30, (N, 1)) * rays.direction
    report("a million pixels to rays, one interface", best(lambda: camera.rays(pixels)), 1)
    report("a million points to pixels, one interface", best(lambda: camera.project(points)), 1)
    targets = rng.uniform(-6, 6, (N, 3))
    both = [c.rays(c.project(targets)) for c in ring(2, water=True)]
    origins = np.stack([r.origin for r in both], 1).reshape(-1, 3)
    directions = np.stack([r.direction for r in both], 1).reshape(-1, 3)
    offsets = np.arange(N + 1) * 2
    report("a million two-ray triangulations", best(lambda: triangulate_rays(origins, directions, offsets)), 1)
    for water in (False, True):
        rig = ring(3, water)
        for fish, goal in ((16, 0.1), (100, 2)):
            targets = rng.uniform(-6, 6, (fish, 3))
            pixels = np.concatenate([c.project(targets) for c in rig])
            cameras = np.repeat(np.arange(3), fish)
            boxes = np.column_stack([pixels - 30, pixels + 30])
            seconds = best(lambda r=rig, c=cameras, p=pixels, b=boxes: pair_residuals(r, c, p, b), 50)
            report(f"all pairs of {3 * fish} detections, {'water' if water else 'air'}", seconds, goal, "ms")


if __name__ == "__main__":
    main()
