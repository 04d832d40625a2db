"""Everything that geometry and shape say about pairs of detections, in one pass over a recording, in Numba.

Only plausible pairs are looked at, those whose common point lies within ``REACH`` deviations of both detections: they
are a few in a hundred, and the others need no network to be told apart.

A mask's axis and the camera span a plane; the planes of two views meet in the body axis. Two views cannot disagree
about that line, but they can about how long the body is along it, and a third view can about its direction.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....cameras.kernels import GLASS_MARGIN, project_within
from ....core.compiled import inner, kernel

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
F32 = NDArray[np.float32]
REACH = 6.0  # deviations
FAR = 10.0  # deviations beyond which a third view gives no support


class Column(IntEnum):
    """What is known of a pair; logs, shares and angles, all symmetric in its two detections."""

    FAR_MOST = 0  # log1p of the common point's distance from either, deviations
    FAR_LEAST = 1
    FAR_BOTH = 2
    FAR_BOXES = 3  # distance by the box's diagonal
    IN_BOXES = 4
    ANGLE = 5  # sine between the rays
    THIRD = 6  # whether a third view should see it; how near its nearest detection is on the mean and at best
    THIRD_MEAN = 7
    THIRD_BEST = 8
    THIRD_VIEWS = 9
    RIVALS_MOST = 10
    RIVALS_LEAST = 11
    SIZE_DIFFERENCE = 12  # of boxes, at the depth of the common point; and its mean, body lengths
    SIZE = 13
    MASKS = 14  # whether both have one
    LENGTH_DIFFERENCE = 15  # of the body along the axis that both masks have
    AXES_ANGLE = 16  # sine between the planes of the masks' axes
    WIDTH_DIFFERENCE = 17
    LENGTH = 18
    TILTED = 19  # whether a third view tells the axis' direction; by how much it differs
    TILT = 20
    THIRD_SIZE = 21
    SCORE_LEAST = 22
    SCORE_MOST = 23
    SLENDER = 24  # log ratio of axes of the rounder mask


COLUMNS = len(Column)
GEOMETRIC = int(Column.RIVALS_LEAST) + 1  # the first columns: what the tracker knows already
OF_MASKS = [c for c in range(Column.MASKS, Column.TILT + 1)] + [int(Column.SLENDER)]


class Cameras(NamedTuple):
    """A rig: packed (C, P), see `cameras.layout`; sizes (C, 2) of images, px."""

    packed: Array
    sizes: Array


class Marks(NamedTuple):
    """Detections of all frames.

    camera : (N,).
    pixels, boxes : (N, 2), (N, 4) px.
    noise, score : (N,) standard deviation of the centroid, px; the detector's score.
    angle : (N,) NaN where a mask is round or unknown.
    major, minor : (N,) px, 0 where unknown.
    ray, fan : (6, N), (N, 21) of `cameras.residuals.fans`.
    """

    camera: Ints
    pixels: Array
    boxes: Array
    noise: Array
    score: Array
    angle: Array
    major: Array
    minor: Array
    ray: Array
    fan: Array


class _Pair(NamedTuple):
    """Two detections i, j whose rays come near: lengths a, b along them; deviations and errors, px, of the common
    point from each; sine of the angle between the rays; whether all this is plausible.
    """

    i: int
    j: int
    a: float
    b: float
    far_i: float
    far_j: float
    error_i: float
    error_j: float
    sine: float
    plausible: bool


@inner
def _across(step: Array, ray: Array, i: int) -> float:
    """Length of a vector (3,) across ray i."""
    along = step[0] * ray[3, i] + step[1] * ray[4, i] + step[2] * ray[5, i]
    return math.sqrt(max(step[0] * step[0] + step[1] * step[1] + step[2] * step[2] - along * along, 1e-30))


@kernel
def _step(fan: Array, a: float, cu: float, cv: float, out: Array) -> None:
    """World vector (3,) by which a point at length a along a ray moves for a pixel's step (cu, cv)."""
    for k in range(3):
        out[k] = cu * (fan[k] + a * fan[3 + k]) + cv * (fan[6 + k] + a * fan[9 + k])


@kernel
def _plane(marks: Marks, i: int, a: float, step: Array, normal: Array) -> float:
    """Fill the unit normal of the plane of ray i and its mask's axis; returns the world length of a pixel along it."""
    _step(marks.fan[i], a, math.cos(marks.angle[i]), math.sin(marks.angle[i]), step)
    dx, dy, dz = marks.ray[3, i], marks.ray[4, i], marks.ray[5, i]
    normal[0], normal[1] = dy * step[2] - dz * step[1], dz * step[0] - dx * step[2]
    normal[2] = dx * step[1] - dy * step[0]
    size = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    for k in range(3):
        normal[k] /= size
    return size


@inner
def _fold(angle: float) -> float:
    """Angle between two undirected lines, 0 to pi / 2."""
    turned = abs(angle) % math.pi
    return min(turned, math.pi - turned)


@kernel
def pair_table(cameras: Cameras, offsets: Ints, marks: Marks, body: float) -> tuple[Ints, Ints, Ints, F32, Array]:
    """All plausible pairs of a recording.

    Parameters
    ----------
    cameras : the rig.
    offsets : (F + 1,) of frames.
    marks : the detections.
    body : typical body length, world units.

    Returns
    -------
    first, second : (P,) detections, first before second, in the order of frames.
    starts : (F + 1,) of frames.
    columns : (P, COLUMNS), see `Column`.
    point : (P, 3) where their rays meet.
    """
    room = 1024
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    columns, point = np.empty((room, COLUMNS), np.float32), np.empty((room, 3))
    starts = np.zeros(offsets.shape[0], np.int64)
    count = 0
    row = np.empty(COLUMNS)
    for f in range(offsets.shape[0] - 1):
        begin, end = offsets[f], offsets[f + 1]
        for i in range(begin, end):
            for j in range(i + 1, end):
                if marks.camera[i] == marks.camera[j]:
                    continue
                pair = _meet(marks, i, j)
                if not pair.plausible:
                    continue
                if count == first.shape[0]:
                    first, second = _double(first), _double(second)
                    columns, point = _double(columns), _double(point)
                first[count], second[count] = i, j
                _position(marks.ray, pair, point[count])
                _fill(cameras, begin, end, marks, body, pair, point[count], row)
                for k in range(COLUMNS):
                    columns[count, k] = row[k]
                count += 1
        starts[f + 1] = count
        _rivals(first, second, marks.camera, columns, starts[f], count, begin, end, cameras.packed.shape[0])
    return first[:count], second[:count], starts, columns[:count], point[:count]


@kernel
def _double(values: NDArray) -> NDArray:
    out = np.empty((2 * values.shape[0], *values.shape[1:]), values.dtype)
    old, new = values.reshape(-1), out.reshape(-1)
    for i in range(old.shape[0]):
        new[i] = old[i]
    return out


@inner
def _position(ray: Array, pair: _Pair, out: Array) -> None:
    i, j = pair.i, pair.j
    for k in range(3):
        out[k] = 0.5 * (ray[k, i] + pair.a * ray[3 + k, i] + ray[k, j] + pair.b * ray[3 + k, j])


@kernel
def _meet(marks: Marks, i: int, j: int) -> _Pair:
    """Where two rays come nearest, and whether that is a plausible point."""
    ray, fan, noise = marks.ray, marks.fan, marks.noise
    ex, ey, ez = ray[0, j] - ray[0, i], ray[1, j] - ray[1, i], ray[2, j] - ray[2, i]
    c = ray[3, i] * ray[3, j] + ray[4, i] * ray[4, j] + ray[5, i] * ray[5, j]
    p = ex * ray[3, i] + ey * ray[4, i] + ez * ray[5, i]
    q = ex * ray[3, j] + ey * ray[4, j] + ez * ray[5, j]
    s = 1.0 / (1.0 - c * c)
    a, b = (p - c * q) * s, (c * p - q) * s
    if not (a > 0.0 and b > 0.0):
        return _Pair(i, j, a, b, 0.0, 0.0, 0.0, 0.0, 0.0, False)
    gx = ex + b * ray[3, j] - a * ray[3, i]
    gy = ey + b * ray[4, j] - a * ray[4, i]
    gz = ez + b * ray[5, j] - a * ray[5, i]
    one = _pixel_error(fan[i], a, 0.5 * gx, 0.5 * gy, 0.5 * gz)
    if not one <= REACH * noise[i]:
        return _Pair(i, j, a, b, 0.0, 0.0, 0.0, 0.0, 0.0, False)
    other = _pixel_error(fan[j], b, -0.5 * gx, -0.5 * gy, -0.5 * gz)
    sine = math.sqrt(max(1.0 - c * c, 0.0))
    return _Pair(i, j, a, b, one / noise[i], other / noise[j], one, other, sine, other <= REACH * noise[j])


@kernel
def _pixel_error(fan: Array, a: float, x: float, y: float, z: float) -> float:
    """Pixel distance from a ray's pixel of the point at length a plus (x, y, z) across, to first order."""
    step_u, step_v = np.empty(3), np.empty(3)
    _step(fan, a, 1.0, 0.0, step_u)
    _step(fan, a, 0.0, 1.0, step_v)
    au = step_u[0] * x + step_u[1] * y + step_u[2] * z
    av = step_v[0] * x + step_v[1] * y + step_v[2] * z
    uu = fan[12] + a * (fan[13] + a * fan[14])
    vv = fan[15] + a * (fan[16] + a * fan[17])
    uv = fan[18] + a * (fan[19] + a * fan[20])
    det = uu * vv - uv * uv
    error: float = math.sqrt((vv * au - uv * av) ** 2 + (uu * av - uv * au) ** 2) / det
    return error


@kernel
def _inside(packed: Array, marks: Marks, d: int, X: Array) -> bool:
    u, v, ok = project_within(packed[marks.camera[d]], X[0], X[1], X[2], GLASS_MARGIN)
    box = marks.boxes[d]
    return bool(ok and box[0] <= u <= box[2] and box[1] <= v <= box[3])


@inner
def _diagonal(boxes: Array, d: int) -> float:
    return max(math.hypot(boxes[d, 2] - boxes[d, 0], boxes[d, 3] - boxes[d, 1]), 1.0)


@kernel
def _pixel_size(marks: Marks, d: int, depth: float, step: Array) -> float:
    """World length of a pixel at this length along ray d."""
    _step(marks.fan[d], depth, 1.0, 0.0, step)
    return _across(step, marks.ray, d)


@kernel
def _fill(cameras: Cameras, begin: int, end: int, marks: Marks, body: float, pair: _Pair, X: Array, row: Array) -> None:
    """Columns (COLUMNS,) of one pair whose point is X (3,); the rivals' two come later."""
    i, j, far_i, far_j = pair.i, pair.j, pair.far_i, pair.far_j
    for k in range(COLUMNS):
        row[k] = 0.0
    both = 0.25 * (1.0 / max(far_i, 1e-9) ** 2 + 1.0 / max(far_j, 1e-9) ** 2)
    row[Column.FAR_MOST], row[Column.FAR_LEAST] = math.log1p(max(far_i, far_j)), math.log1p(min(far_i, far_j))
    row[Column.FAR_BOTH] = math.log1p(1.0 / math.sqrt(both))
    diag_i, diag_j = _diagonal(marks.boxes, i), _diagonal(marks.boxes, j)
    row[Column.FAR_BOXES] = min(max(pair.error_i / diag_i, pair.error_j / diag_j), 2.0)
    inside = _inside(cameras.packed, marks, i, X) and _inside(cameras.packed, marks, j, X)
    row[Column.IN_BOXES] = 1.0 if inside else 0.0
    row[Column.ANGLE] = pair.sine
    # physical size of the boxes, at the depth of the common point
    step, axis = np.empty(3), np.zeros(3)
    world_i, world_j = _pixel_size(marks, i, pair.a, step), _pixel_size(marks, j, pair.b, step)
    size_i, size_j = math.log(diag_i * world_i / body), math.log(diag_j * world_j / body)
    size = 0.5 * (size_i + size_j)
    row[Column.SIZE_DIFFERENCE], row[Column.SIZE] = min(abs(size_i - size_j), 3.0), min(max(size, -3.0), 3.0)
    row[Column.SCORE_LEAST] = min(marks.score[i], marks.score[j])
    row[Column.SCORE_MOST] = max(marks.score[i], marks.score[j])
    has_axis = False
    if marks.major[i] > 0.0 and marks.major[j] > 0.0:
        row[Column.MASKS] = 1.0
        thin_i, thin_j = max(marks.minor[i], 0.3), max(marks.minor[j], 0.3)
        row[Column.WIDTH_DIFFERENCE] = min(abs(math.log(thin_i * world_i / (thin_j * world_j))), 3.0)
        row[Column.SLENDER] = min(math.log(marks.major[i] / thin_i), math.log(marks.major[j] / thin_j))
        if not math.isnan(marks.angle[i]) and not math.isnan(marks.angle[j]):
            has_axis = _length(marks, pair, body, axis, row)
    _third_views(cameras, begin, end, marks, body, pair, X, size, axis, has_axis, row)


@inner
def _third_views(
    cameras: Cameras,
    begin: int,
    end: int,
    marks: Marks,
    body: float,
    pair: _Pair,
    X: Array,
    size: float,
    axis: Array,
    has_axis: bool,
    row: Array,
) -> None:
    """Columns of what other views say about a pair of this log size, and body axis (3,) if it has one."""
    packed, sizes, step = cameras.packed, cameras.sizes, np.empty(3)
    predicted, best_sum, best_least = 0, 0.0, FAR
    tilt, tilts, shape = 0.0, 0, 0.0
    for c in range(packed.shape[0]):
        if c == marks.camera[pair.i] or c == marks.camera[pair.j]:
            continue
        u, v, ok = project_within(packed[c], X[0], X[1], X[2], GLASS_MARGIN)
        if not (ok and 0.0 <= u < sizes[c, 0] and 0.0 <= v < sizes[c, 1]):
            continue
        predicted += 1
        best, near = -1, FAR
        for d in range(begin, end):
            if marks.camera[d] == c:
                far = math.hypot(marks.pixels[d, 0] - u, marks.pixels[d, 1] - v) / marks.noise[d]
                if far < near:
                    best, near = d, far
        best_sum += math.log1p(near)
        best_least = min(best_least, near)
        if best < 0:
            continue
        depth = 0.0
        for k in range(3):
            depth += (X[k] - marks.ray[k, best]) * marks.ray[3 + k, best]
        seen = math.log(_diagonal(marks.boxes, best) * _pixel_size(marks, best, depth, step) / body)
        shape += min(abs(seen - size), 3.0)
        if has_axis and not math.isnan(marks.angle[best]):
            h = 0.2 * body
            x, y, z = X[0] + h * axis[0], X[1] + h * axis[1], X[2] + h * axis[2]
            u1, v1, ok = project_within(packed[c], x, y, z, GLASS_MARGIN)
            if ok and math.hypot(u1 - u, v1 - v) > 1.0:
                tilt += _fold(math.atan2(v1 - v, u1 - u) - marks.angle[best])
                tilts += 1
    if predicted:
        row[Column.THIRD], row[Column.THIRD_MEAN] = 1.0, best_sum / predicted
        row[Column.THIRD_BEST], row[Column.THIRD_VIEWS] = math.log1p(best_least), min(predicted, 4) / 4.0
        row[Column.THIRD_SIZE] = shape / predicted
    if tilts:
        row[Column.TILTED], row[Column.TILT] = 1.0, tilt / tilts


@kernel
def _length(marks: Marks, pair: _Pair, body: float, axis: Array, row: Array) -> bool:
    """Body axis of two views, and whether both find the same length along it; False where the planes coincide."""
    step, n_i, n_j = np.empty(3), np.empty(3), np.empty(3)
    span_i = _plane(marks, pair.i, pair.a, step, n_i) * marks.major[pair.i]
    span_j = _plane(marks, pair.j, pair.b, step, n_j) * marks.major[pair.j]
    axis[0], axis[1] = n_i[1] * n_j[2] - n_i[2] * n_j[1], n_i[2] * n_j[0] - n_i[0] * n_j[2]
    axis[2] = n_i[0] * n_j[1] - n_i[1] * n_j[0]
    size = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    row[Column.AXES_ANGLE] = size
    if size < 0.05:
        return False
    for k in range(3):
        axis[k] /= size
    length_i = span_i / max(_across(axis, marks.ray, pair.i), 0.02)
    length_j = span_j / max(_across(axis, marks.ray, pair.j), 0.02)
    row[Column.LENGTH_DIFFERENCE] = min(abs(math.log(length_i / length_j)), 3.0)
    row[Column.LENGTH] = min(max(0.5 * math.log(length_i * length_j) - math.log(body), -3.0), 3.0)
    return True


@kernel
def _rivals(
    first: Ints,
    second: Ints,
    camera: Ints,
    columns: F32,
    start: int,
    stop: int,
    begin: int,
    end: int,
    n_views: int,
) -> None:
    """Columns of how well others fit in place of either, so that exclusion is not mistaken for shape."""
    fit = np.zeros((end - begin, n_views))
    value = np.empty(stop - start)
    for p in range(start, stop):
        e = math.expm1(columns[p, Column.FAR_BOTH])
        value[p - start] = math.exp(-0.5 * e * e) + 0.1 * math.exp(-0.5 * (e / 4.0) ** 2)
        fit[first[p] - begin, camera[second[p]]] += value[p - start]
        fit[second[p] - begin, camera[first[p]]] += value[p - start]
    for p in range(start, stop):
        one = math.log1p(10.0 * max(fit[first[p] - begin, camera[second[p]]] - value[p - start], 0.0))
        other = math.log1p(10.0 * max(fit[second[p] - begin, camera[first[p]]] - value[p - start], 0.0))
        columns[p, Column.RIVALS_MOST], columns[p, Column.RIVALS_LEAST] = max(one, other), min(one, other)
