"""Triangulate with aniposelib, in an environment of its own (it brings another OpenCV): ``python FILE in.npz out.npz``.

in.npz: camera_K (C, 3, 3), camera_dist (C, 5), camera_R (C, 3, 3), camera_t (C, 3), size (C, 2), pixels (C, F, K, 2),
scores (C, F, K), edges (E, 2), with_ransac, its own defaults otherwise. out.npz: ransac, optimised (F, K, 3), seconds.
"""

import sys
import time

import numpy as np
from aniposelib.cameras import Camera, CameraGroup


def group(data: dict) -> CameraGroup:
    import cv2

    cameras = []
    for c in range(len(data["camera_K"])):
        turn = cv2.Rodrigues(data["camera_R"][c])[0].ravel()
        cameras.append(
            Camera(matrix=data["camera_K"][c], dist=data["camera_dist"][c], size=tuple(data["size"][c]), rvec=turn,
                   tvec=data["camera_t"][c], name=str(c))
        )  # fmt: skip
    return CameraGroup(cameras)


def main(source: str, target: str) -> None:
    data = dict(np.load(source))
    cameras, pixels, scores = group(data), data["pixels"], data["scores"]
    views, frames, parts = pixels.shape[:3]
    if data["with_ransac"]:
        cameras.triangulate_ransac(pixels[:, :2].reshape(views, -1, 2), min_cams=2)  # compiles
    cameras.triangulate(pixels[:, :2].reshape(views, -1, 2))
    start = time.process_time()
    ransac = np.full((frames, parts, 3), np.nan)
    if data["with_ransac"]:
        ransac = cameras.triangulate_ransac(pixels.reshape(views, -1, 2), min_cams=2)[0].reshape(frames, parts, 3)
    middle = time.process_time()
    optimised = cameras.triangulate_optim(
        pixels, init_ransac=False, constraints=data["edges"].tolist(), scores=scores, verbose=False
    )
    end = time.process_time()
    np.savez(target, ransac=ransac, optimised=optimised, seconds=[middle - start, end - middle])


if __name__ == "__main__":
    main(*sys.argv[1:])
