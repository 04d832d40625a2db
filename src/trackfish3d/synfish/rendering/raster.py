"""Instance and depth raster of one view, and from it the visible masks as sums of moments.

Each fish is drawn alone into a small buffer the size of its own rectangle (that counts its pixels were it
alone), then merged into the view's depth buffer. Only rectangles of fish are ever touched or cleared, so a
1080p view with 16 fish costs the pixels of 16 fish, not two million.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ...cameras.kernels import project_one
from ...cameras.layout import CENTRE
from ...detection.masks.moments import (
    ALONE,
    BOTTOM,
    COLUMNS,
    COUNT,
    LEFT,
    RIGHT,
    SUM_X,
    SUM_XX,
    SUM_XY,
    SUM_Y,
    SUM_YY,
    TOP,
)


class View:
    """Buffers of one camera's view, reused from frame to frame.

    ``owner`` (H, W) int16: index of the fish seen in a pixel, -1 water. ``near`` (H, W) float32: inverse
    distance to it, 0 where water.
    """

    def __init__(self, width: int, height: int) -> None:
        self.owner = np.full((height, width), -1, np.int16)
        self.near = np.zeros((height, width), np.float32)
        self._scratch = np.zeros((height, width), np.float32)
        self._dirty = np.zeros((0, 4), np.int64)

    def draw(self, camera: np.ndarray, vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw all fish of a frame.

        Parameters
        ----------
        camera : (P,) row of ``CameraRig.packed``.
        vertices : (N, V, 3) world units.
        triangles : (F, 3) indices into V.

        Returns
        -------
        sums : (N, 11) per fish: visible pixels and their sums x, y, xx, xy, yy, rectangle, pixels if alone.
        contacts : (K, 3) int64: pairs of fish whose visible masks touch (a < b), and the pixels of contact.
        """
        _clear(self.owner, self.near, self._dirty)
        pixels = project_vertices(camera, vertices)
        self._dirty = rectangles(pixels, self.owner.shape[1], self.owner.shape[0])
        alone = draw_fish(pixels, triangles, self._dirty, self.owner, self.near, self._scratch)
        sums = visible_sums(self.owner, self._dirty)
        sums[:, ALONE] = alone
        return sums, touching(self.owner, self._dirty)

    def box(self, fish: int) -> np.ndarray:
        """Rectangle (4,) of the fish in the frame drawn last: x0, y0, x1, y1, ends exclusive."""
        box: np.ndarray = self._dirty[fish]
        return box


@njit(cache=True)
def project_vertices(camera, vertices):  # type: ignore[no-untyped-def]
    """(N, V, 3) world -> (N, V, 3): u, v and inverse distance to the camera, NaN where not visible."""
    fish, count = vertices.shape[0], vertices.shape[1]
    out = np.empty((fish, count, 3))
    for i in range(fish):
        for k in range(count):
            x, y, z = vertices[i, k, 0], vertices[i, k, 1], vertices[i, k, 2]
            u, v, ok = project_one(camera, x, y, z)
            dx, dy, dz = x - camera[CENTRE], y - camera[CENTRE + 1], z - camera[CENTRE + 2]
            out[i, k, 0] = u if ok else np.nan
            out[i, k, 1] = v
            out[i, k, 2] = 1.0 / np.sqrt(dx * dx + dy * dy + dz * dz)
    return out


@njit(cache=True)
def rectangles(pixels, width, height):  # type: ignore[no-untyped-def]
    """Rectangle (x0, y0, x1, y1; ends exclusive) of every fish inside the image; empty ones have x1 <= x0."""
    fish = pixels.shape[0]
    out = np.zeros((fish, 4), np.int64)
    for i in range(fish):
        left, top, right, bottom = 1e9, 1e9, -1e9, -1e9
        for k in range(pixels.shape[1]):
            u, v = pixels[i, k, 0], pixels[i, k, 1]
            if np.isnan(u):
                continue
            left, right = min(left, u), max(right, u)
            top, bottom = min(top, v), max(bottom, v)
        if right >= left:
            out[i, 0] = min(max(int(np.ceil(left)), 0), width)
            out[i, 1] = min(max(int(np.ceil(top)), 0), height)
            out[i, 2] = min(max(int(np.floor(right)) + 1, 0), width)
            out[i, 3] = min(max(int(np.floor(bottom)) + 1, 0), height)
    return out


@njit(cache=True)
def _clear(owner, near, boxes):  # type: ignore[no-untyped-def]
    for i in range(boxes.shape[0]):
        for y in range(boxes[i, 1], boxes[i, 3]):
            for x in range(boxes[i, 0], boxes[i, 2]):
                owner[y, x] = -1
                near[y, x] = 0.0


@njit(cache=True)
def draw_triangle(a, b, c, box, buffer):  # type: ignore[no-untyped-def]
    """Keep the nearest (largest) inverse distance of triangle a, b, c at pixel centres inside ``box``.

    Row by row: the span of each row comes from the three edges, so no pixel outside the triangle is visited.
    A pixel exactly on a shared edge belongs to both triangles, which for a maximum does no harm.
    """
    ax, ay, bx, by, cx, cy = a[0], a[1], b[0], b[1], c[0], c[1]
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    if not abs(area) > 1e-12:  # also false for NaN
        return
    gx = ((b[2] - a[2]) * (cy - ay) - (c[2] - a[2]) * (by - ay)) / area
    gy = ((c[2] - a[2]) * (bx - ax) - (b[2] - a[2]) * (cx - ax)) / area
    y0 = max(int(np.ceil(min(ay, by, cy))), box[1])
    y1 = min(int(np.floor(max(ay, by, cy))) + 1, box[3])
    for y in range(y0, y1):
        lo, hi = 1e9, -1e9
        for edge in range(3):
            if edge == 0:
                px, py, qx, qy = ax, ay, bx, by
            elif edge == 1:
                px, py, qx, qy = bx, by, cx, cy
            else:
                px, py, qx, qy = cx, cy, ax, ay
            if (py <= y <= qy) or (qy <= y <= py):
                if py == qy:
                    lo, hi = min(lo, px, qx), max(hi, px, qx)
                else:
                    x = px + (y - py) / (qy - py) * (qx - px)
                    lo, hi = min(lo, x), max(hi, x)
        x0 = max(int(np.ceil(lo)), box[0])
        x1 = min(int(np.floor(hi)) + 1, box[2])
        value = a[2] + gx * (x0 - ax) + gy * (y - ay)
        for x in range(x0, x1):
            if value > buffer[y - box[1], x - box[0]]:
                buffer[y - box[1], x - box[0]] = value
            value += gx


@njit(cache=True)
def draw_fish(pixels, triangles, boxes, owner, near, scratch):  # type: ignore[no-untyped-def]
    """Draw every fish alone, count its pixels, and merge it into the view; returns the counts (N,)."""
    alone = np.zeros(pixels.shape[0])
    for i in range(pixels.shape[0]):
        box = boxes[i]
        wide, high = box[2] - box[0], box[3] - box[1]
        if wide <= 0 or high <= 0:
            continue
        scratch[:high, :wide] = 0.0
        for f in range(triangles.shape[0]):
            draw_triangle(
                pixels[i, triangles[f, 0]], pixels[i, triangles[f, 1]], pixels[i, triangles[f, 2]], box, scratch
            )
        count = 0
        for y in range(high):
            for x in range(wide):
                value = scratch[y, x]
                if value > 0.0:
                    count += 1
                    if value > near[box[1] + y, box[0] + x]:
                        near[box[1] + y, box[0] + x] = value
                        owner[box[1] + y, box[0] + x] = i
        alone[i] = count
    return alone


@njit(cache=True)
def visible_sums(owner, boxes):  # type: ignore[no-untyped-def]
    """Return sums over the pixels each fish owns, (N, 11); rectangles are pixel edges (index minus or plus a half)."""
    out = np.zeros((boxes.shape[0], COLUMNS))
    for i in range(boxes.shape[0]):
        n, sx, sy, sxx, sxy, syy = 0, 0.0, 0.0, 0.0, 0.0, 0.0
        left, top, right, bottom = 1 << 30, 1 << 30, -1, -1
        for y in range(boxes[i, 1], boxes[i, 3]):
            for x in range(boxes[i, 0], boxes[i, 2]):
                if owner[y, x] == i:
                    n += 1
                    sx += x
                    sy += y
                    sxx += float(x) * x
                    sxy += float(x) * y
                    syy += float(y) * y
                    left, right = min(left, x), max(right, x)
                    top, bottom = min(top, y), max(bottom, y)
        if n:
            out[i, COUNT], out[i, SUM_X], out[i, SUM_Y] = n, sx, sy
            out[i, SUM_XX], out[i, SUM_XY], out[i, SUM_YY] = sxx, sxy, syy
            out[i, LEFT], out[i, TOP], out[i, RIGHT], out[i, BOTTOM] = left - 0.5, top - 0.5, right + 0.5, bottom + 0.5
    return out


@njit(cache=True)
def touching(owner, boxes):  # type: ignore[no-untyped-def]
    """Pairs of fish with neighbouring visible pixels, (K, 3): a < b, number of neighbouring pixel pairs."""
    height, width = owner.shape
    fish = boxes.shape[0]
    counts = np.zeros(fish, np.int64)
    pairs = []
    for i in range(fish):
        seen = False
        for y in range(boxes[i, 1], boxes[i, 3]):
            for x in range(boxes[i, 0], boxes[i, 2]):
                if owner[y, x] != i:
                    continue
                for side in range(4):
                    nx = x + (1 if side == 0 else -1 if side == 1 else 0)
                    ny = y + (1 if side == 2 else -1 if side == 3 else 0)
                    if 0 <= nx < width and 0 <= ny < height and owner[ny, nx] > i:
                        counts[owner[ny, nx]] += 1
                        seen = True
        if seen:
            for j in range(i + 1, fish):
                if counts[j]:
                    pairs.append((i, j, counts[j]))
                    counts[j] = 0
    out = np.zeros((len(pairs), 3), np.int64)
    for k in range(len(pairs)):
        out[k, 0], out[k, 1], out[k, 2] = pairs[k]
    return out


@njit(cache=True)
def half_sums(owner, fish, box, cx, cy, ax, ay):  # type: ignore[no-untyped-def]
    """Return sums (2, 11) of the two halves of a visible mask, cut across direction (ax, ay) at (cx, cy)."""
    out = np.zeros((2, COLUMNS))
    out[:, LEFT], out[:, TOP], out[:, RIGHT], out[:, BOTTOM] = 1e9, 1e9, -1e9, -1e9
    for y in range(box[1], box[3]):
        for x in range(box[0], box[2]):
            if owner[y, x] != fish:
                continue
            h = 1 if (x - cx) * ax + (y - cy) * ay > 0 else 0
            out[h, COUNT] += 1
            out[h, SUM_X] += x
            out[h, SUM_Y] += y
            out[h, SUM_XX] += float(x) * x
            out[h, SUM_XY] += float(x) * y
            out[h, SUM_YY] += float(y) * y
            out[h, LEFT], out[h, RIGHT] = min(out[h, LEFT], x - 0.5), max(out[h, RIGHT], x + 0.5)
            out[h, TOP], out[h, BOTTOM] = min(out[h, TOP], y - 0.5), max(out[h, BOTTOM], y + 0.5)
    return out
