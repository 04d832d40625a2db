"""Everything that geometry and shape say about pairs of detections, in one pass over a recording, in Numba.

Only plausible pairs are looked at, those whose common point lies within ``REACH`` deviations of both detections: they
are a few in a hundred, and the others need no network to be told apart.

A mask's axis and the camera span a plane; the planes of two views meet in the body axis. Two views cannot disagree
about that line, but they can about how long the body is along it, and a third view can about its direction.
"""

import math

import numpy as np
from numba import njit

from ....cameras.kernels import GLASS_MARGIN, project_within

REACH = 6.0  # deviations
FAR = 10.0  # deviations beyond which a third view gives no support
GEOMETRIC = 12  # the first columns: what the tracker knows already
COLUMNS = 25
MASKS = 14  # the column that tells whether both detections have masks


@njit(cache=True, error_model="numpy")
def _across(x, y, z, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Length of a vector across a unit direction."""
    along = x * dx + y * dy + z * dz
    return math.sqrt(max(x * x + y * y + z * z - along * along, 1e-30))


@njit(cache=True, error_model="numpy")
def _step(fan, a, cu, cv, out):  # type: ignore[no-untyped-def]
    """World vector (3,) by which a point at length a along a ray moves for a pixel's step (cu, cv)."""
    for k in range(3):
        out[k] = cu * (fan[k] + a * fan[3 + k]) + cv * (fan[6 + k] + a * fan[9 + k])


@njit(cache=True, error_model="numpy")
def _plane(ray, i, fan, a, angle, step, normal):  # type: ignore[no-untyped-def]
    """Fill the unit normal of the plane of ray i and its mask's axis; returns the world length of a pixel along it."""
    _step(fan, a, math.cos(angle), math.sin(angle), step)
    dx, dy, dz = ray[3, i], ray[4, i], ray[5, i]
    normal[0], normal[1] = dy * step[2] - dz * step[1], dz * step[0] - dx * step[2]
    normal[2] = dx * step[1] - dy * step[0]
    size = math.sqrt(normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2)
    for k in range(3):
        normal[k] /= size
    return size


@njit(cache=True, error_model="numpy")
def _fold(angle):  # type: ignore[no-untyped-def]
    """Angle between two undirected lines, 0 to pi / 2."""
    turned = abs(angle) % math.pi
    return min(turned, math.pi - turned)


@njit(cache=True, error_model="numpy")
def pair_table(  # type: ignore[no-untyped-def]
    packed, sizes, offsets, camera, pixels, boxes, noise, score, angle, major, minor, ray, fan, body
):
    """All plausible pairs of a recording.

    Parameters
    ----------
    packed (C, P), sizes (C, 2) : the rig. offsets (F + 1,) of frames. camera (N,), pixels (N, 2), boxes (N, 4),
    noise (N,) px, score (N,). angle (N,) NaN where a mask is round or unknown; major, minor (N,) px, 0 where unknown.
    ray (6, N), fan (N, 21) : of `cameras.residuals.fans`. body : typical body length, world units.

    Returns
    -------
    first, second (P,) detections, first before second, in the order of frames; starts (F + 1,);
    columns (P, COLUMNS) float32, all symmetric in the two; point (P, 3) where their rays meet.
    """
    n_views = packed.shape[0]
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
                if camera[i] == camera[j]:
                    continue
                row[:] = 0.0
                if not _meet(ray, fan, i, j, noise, row):
                    continue
                if count == first.shape[0]:
                    first, second = _double(first), _double(second)
                    columns, point = _double(columns), _double(point)
                first[count], second[count] = i, j
                a, b = row[0], row[1]
                _position(ray, i, j, a, b, point[count])
                _fill(
                    packed, sizes, begin, end, camera, pixels, boxes, noise, score, angle, major, minor, ray, fan, body,
                    i, j, point[count], row,
                )  # fmt: skip
                for k in range(COLUMNS):
                    columns[count, k] = row[k]
                count += 1
        starts[f + 1] = count
        _rivals(first, second, camera, columns, starts[f], count, begin, end, n_views)
    return first[:count], second[:count], starts, columns[:count], point[:count]


@njit(cache=True)
def _double(values):  # type: ignore[no-untyped-def]
    out = np.empty((2 * values.shape[0], *values.shape[1:]), values.dtype)
    out[: values.shape[0]] = values
    return out


@njit(cache=True, error_model="numpy")
def _position(ray, i, j, a, b, out):  # type: ignore[no-untyped-def]
    for k in range(3):
        out[k] = 0.5 * (ray[k, i] + a * ray[3 + k, i] + ray[k, j] + b * ray[3 + k, j])


@njit(cache=True, error_model="numpy")
def _meet(ray, fan, i, j, noise, row):  # type: ignore[no-untyped-def]
    """Whether the pair is plausible; leaves lengths along both rays, both deviations and both errors in `row`."""
    ex, ey, ez = ray[0, j] - ray[0, i], ray[1, j] - ray[1, i], ray[2, j] - ray[2, i]
    c = ray[3, i] * ray[3, j] + ray[4, i] * ray[4, j] + ray[5, i] * ray[5, j]
    p = ex * ray[3, i] + ey * ray[4, i] + ez * ray[5, i]
    q = ex * ray[3, j] + ey * ray[4, j] + ez * ray[5, j]
    s = 1.0 / (1.0 - c * c)
    a, b = (p - c * q) * s, (c * p - q) * s
    if not (a > 0.0 and b > 0.0):
        return False
    gx = ex + b * ray[3, j] - a * ray[3, i]
    gy = ey + b * ray[4, j] - a * ray[4, i]
    gz = ez + b * ray[5, j] - a * ray[5, i]
    for d, along, sign, k in ((i, a, 0.5, 0), (j, b, -0.5, 1)):
        error = _pixel_error(fan[d], along, sign * gx, sign * gy, sign * gz)
        if not error <= REACH * noise[d]:
            return False
        row[2 + k], row[4 + k] = error / noise[d], error
    row[0], row[1] = a, b
    row[6] = math.sqrt(max(1.0 - c * c, 0.0))
    return True


@njit(cache=True, error_model="numpy")
def _pixel_error(fan, a, x, y, z):  # type: ignore[no-untyped-def]
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
    return math.sqrt((vv * au - uv * av) ** 2 + (uu * av - uv * au) ** 2) / det


@njit(cache=True, error_model="numpy")
def _inside(packed, camera, boxes, d, X):  # type: ignore[no-untyped-def]
    u, v, ok = project_within(packed[camera[d]], X[0], X[1], X[2], GLASS_MARGIN)
    return ok and boxes[d, 0] <= u <= boxes[d, 2] and boxes[d, 1] <= v <= boxes[d, 3]


@njit(cache=True, error_model="numpy")
def _diagonal(boxes, d):  # type: ignore[no-untyped-def]
    return max(math.hypot(boxes[d, 2] - boxes[d, 0], boxes[d, 3] - boxes[d, 1]), 1.0)


@njit(cache=True, error_model="numpy")
def _fill(  # type: ignore[no-untyped-def]
    packed, sizes, begin, end, camera, pixels, boxes, noise, score, angle, major, minor, ray, fan, body, i, j, X, row
):
    """Columns of one pair in place of what `_meet` left; the rivals' two come later."""
    a, b, dev_i, dev_j, err_i, err_j, sine = row[0], row[1], row[2], row[3], row[4], row[5], row[6]
    row[:] = 0.0
    miss = 0.25 * (1.0 / max(dev_i, 1e-9) ** 2 + 1.0 / max(dev_j, 1e-9) ** 2)
    row[0], row[1] = math.log1p(max(dev_i, dev_j)), math.log1p(min(dev_i, dev_j))
    row[2] = math.log1p(1.0 / math.sqrt(miss))
    diag_i, diag_j = _diagonal(boxes, i), _diagonal(boxes, j)
    row[3] = min(max(err_i / diag_i, err_j / diag_j), 2.0)
    row[4] = 1.0 if _inside(packed, camera, boxes, i, X) and _inside(packed, camera, boxes, j, X) else 0.0
    row[5] = sine
    # physical size of the boxes, at the depth of the common point
    step = np.empty(3)
    _step(fan[i], a, 1.0, 0.0, step)
    world_i = _across(step[0], step[1], step[2], ray[3, i], ray[4, i], ray[5, i])
    _step(fan[j], b, 1.0, 0.0, step)
    world_j = _across(step[0], step[1], step[2], ray[3, j], ray[4, j], ray[5, j])
    size_i, size_j = math.log(diag_i * world_i / body), math.log(diag_j * world_j / body)
    row[12], row[13] = min(abs(size_i - size_j), 3.0), min(max(0.5 * (size_i + size_j), -3.0), 3.0)
    row[22], row[23] = min(score[i], score[j]), max(score[i], score[j])
    axis = np.zeros(3)
    has_axis = False
    if major[i] > 0.0 and major[j] > 0.0:
        row[14] = 1.0
        row[17] = min(abs(math.log(max(minor[i], 0.3) * world_i / (max(minor[j], 0.3) * world_j))), 3.0)
        row[24] = min(math.log(major[i] / max(minor[i], 0.3)), math.log(major[j] / max(minor[j], 0.3)))
        if not math.isnan(angle[i]) and not math.isnan(angle[j]):
            has_axis = _length(ray, fan, i, j, a, b, angle, major, body, axis, row)
    predicted, best_sum, best_least = 0, 0.0, FAR
    tilt, tilts, shape = 0.0, 0, 0.0
    for c in range(packed.shape[0]):
        if c == camera[i] or c == camera[j]:
            continue
        u, v, ok = project_within(packed[c], X[0], X[1], X[2], GLASS_MARGIN)
        if not (ok and 0.0 <= u < sizes[c, 0] and 0.0 <= v < sizes[c, 1]):
            continue
        predicted += 1
        best, near = -1, FAR
        for d in range(begin, end):
            if camera[d] == c:
                far = math.hypot(pixels[d, 0] - u, pixels[d, 1] - v) / noise[d]
                if far < near:
                    best, near = d, far
        best_sum += math.log1p(near)
        best_least = min(best_least, near)
        if best >= 0:
            deep = 0.0
            for k in range(3):
                deep += (X[k] - ray[k, best]) * ray[3 + k, best]
            _step(fan[best], deep, 1.0, 0.0, step)
            world = _across(step[0], step[1], step[2], ray[3, best], ray[4, best], ray[5, best])
            size = math.log(_diagonal(boxes, best) * world / body)
            shape += min(abs(size - 0.5 * (size_i + size_j)), 3.0)
            if has_axis and not math.isnan(angle[best]):
                h = 0.2 * body
                u1, v1, ok = project_within(
                    packed[c], X[0] + h * axis[0], X[1] + h * axis[1], X[2] + h * axis[2], GLASS_MARGIN
                )
                if ok and math.hypot(u1 - u, v1 - v) > 1.0:
                    tilt += _fold(math.atan2(v1 - v, u1 - u) - angle[best])
                    tilts += 1
    if predicted:
        row[6], row[7], row[8] = 1.0, best_sum / predicted, math.log1p(best_least)
        row[9] = min(predicted, 4) / 4.0
        row[21] = shape / predicted
    if tilts:
        row[19], row[20] = 1.0, tilt / tilts


@njit(cache=True, error_model="numpy")
def _length(ray, fan, i, j, a, b, angle, major, body, axis, row):  # type: ignore[no-untyped-def]
    """Body axis of two views, and whether both find the same length along it; False where the planes coincide."""
    step, n_i, n_j = np.empty(3), np.empty(3), np.empty(3)
    span_i = _plane(ray, i, fan[i], a, angle[i], step, n_i) * major[i]
    span_j = _plane(ray, j, fan[j], b, angle[j], step, n_j) * major[j]
    axis[0], axis[1] = n_i[1] * n_j[2] - n_i[2] * n_j[1], n_i[2] * n_j[0] - n_i[0] * n_j[2]
    axis[2] = n_i[0] * n_j[1] - n_i[1] * n_j[0]
    size = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    row[16] = size
    if size < 0.05:
        return False
    for k in range(3):
        axis[k] /= size
    length_i = span_i / max(_across(axis[0], axis[1], axis[2], ray[3, i], ray[4, i], ray[5, i]), 0.02)
    length_j = span_j / max(_across(axis[0], axis[1], axis[2], ray[3, j], ray[4, j], ray[5, j]), 0.02)
    row[15] = min(abs(math.log(length_i / length_j)), 3.0)
    row[18] = min(max(0.5 * math.log(length_i * length_j) - math.log(body), -3.0), 3.0)
    return True


@njit(cache=True, error_model="numpy")
def _rivals(first, second, camera, columns, start, stop, begin, end, n_views):  # type: ignore[no-untyped-def]
    """Columns 10, 11: how well others fit in place of either, so that exclusion is not mistaken for shape."""
    fit = np.zeros((end - begin, n_views))
    value = np.empty(stop - start)
    for p in range(start, stop):
        e = math.expm1(columns[p, 2])
        value[p - start] = math.exp(-0.5 * e * e) + 0.1 * math.exp(-0.5 * (e / 4.0) ** 2)
        fit[first[p] - begin, camera[second[p]]] += value[p - start]
        fit[second[p] - begin, camera[first[p]]] += value[p - start]
    for p in range(start, stop):
        one = math.log1p(10.0 * max(fit[first[p] - begin, camera[second[p]]] - value[p - start], 0.0))
        other = math.log1p(10.0 * max(fit[second[p] - begin, camera[first[p]]] - value[p - start], 0.0))
        columns[p, 10], columns[p, 11] = max(one, other), min(one, other)
