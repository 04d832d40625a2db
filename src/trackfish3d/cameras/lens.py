"""Lens distortion for Numba kernels: OpenCV's rational model with tangential, prism and tilt terms, and fisheye."""

import math

from numba import njit

from ..core.compiled import helper
from .layout import DIST, FISHEYE, LENS_DISTORTED, LENS_LIMIT, TILT

_POLE = 2e-3
_TOLERANCE = 1e-10  # in normalised coordinates: 2e-7 px at f = 2000 px


@njit(cache=True, error_model="numpy", inline="always")
def _radial(cam, r2):  # type: ignore[no-untyped-def]
    k = DIST
    return (1.0 + r2 * (cam[k] + r2 * (cam[k + 1] + r2 * cam[k + 4]))) / (
        1.0 + r2 * (cam[k + 5] + r2 * (cam[k + 6] + r2 * cam[k + 7]))
    )


@njit(cache=True, error_model="numpy", inline="always")
def at_pole(cam, r2):  # type: ignore[no-untyped-def]
    """Whether the rational model divides by nearly nothing at this squared radius.

    Calibrations whose numerator and denominator almost cancel have such a ring, a pixel wide, inside the image.
    """
    k = DIST
    return abs(1.0 + r2 * (cam[k + 5] + r2 * (cam[k + 6] + r2 * cam[k + 7]))) < _POLE


@njit(cache=True, error_model="numpy", inline="always")
def distort_untilted(cam, x, y):  # type: ignore[no-untyped-def]
    """`distort` without the sensor tilt: what `undistort` inverts after removing the tilt."""
    k = DIST
    r2 = x * x + y * y
    radial = _radial(cam, r2)
    p1, p2 = cam[k + 2], cam[k + 3]
    return (
        x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x) + r2 * (cam[k + 8] + r2 * cam[k + 9]),
        y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y + r2 * (cam[k + 10] + r2 * cam[k + 11]),
    )


@helper
def distort(cam, x, y):  # type: ignore[no-untyped-def]
    """Ideal normalised coordinates to the distorted ones (OpenCV's rational, tangential, prism, tilt model)."""
    if cam[LENS_DISTORTED] == 0.0:
        return x, y
    k = DIST
    if cam[FISHEYE] != 0.0:
        r = math.sqrt(x * x + y * y)
        if r < 1e-12:
            return x, y
        a = math.atan(r)
        a2 = a * a
        scale = a * (1.0 + a2 * (cam[k] + a2 * (cam[k + 1] + a2 * (cam[k + 2] + a2 * cam[k + 3])))) / r
        return x * scale, y * scale
    xd, yd = distort_untilted(cam, x, y)
    if cam[k + 12] != 0.0 or cam[k + 13] != 0.0:
        m = TILT
        w = cam[m + 6] * xd + cam[m + 7] * yd + cam[m + 8]
        xt = (cam[m] * xd + cam[m + 1] * yd + cam[m + 2]) / w
        yt = (cam[m + 3] * xd + cam[m + 4] * yd + cam[m + 5]) / w
        return xt, yt
    return xd, yd


@helper
def undistort(cam, xd, yd):  # type: ignore[no-untyped-def]
    """Inverse of `distort` by Newton's method; the last value says whether the pixel has an inverse."""
    if cam[LENS_DISTORTED] == 0.0:
        return xd, yd, True
    k = DIST
    if cam[FISHEYE] != 0.0:
        rd = math.sqrt(xd * xd + yd * yd)
        if rd < 1e-12:
            return xd, yd, True
        a = min(rd, cam[LENS_LIMIT])
        for _ in range(50):
            a2 = a * a
            value = a * (1.0 + a2 * (cam[k] + a2 * (cam[k + 1] + a2 * (cam[k + 2] + a2 * cam[k + 3])))) - rd
            slope = 1.0 + a2 * (
                3.0 * cam[k] + a2 * (5.0 * cam[k + 1] + a2 * (7.0 * cam[k + 2] + a2 * 9.0 * cam[k + 3]))
            )
            step = value / slope if slope > 1e-9 else value
            a = min(max(a - step, 0.0), cam[LENS_LIMIT])
            if abs(step) < 1e-15:
                break
        a2 = a * a
        value = a * (1.0 + a2 * (cam[k] + a2 * (cam[k + 1] + a2 * (cam[k + 2] + a2 * cam[k + 3])))) - rd
        scale = math.tan(a) / rd
        return xd * scale, yd * scale, abs(value) < 1e-9 and a < 1.5707
    if cam[k + 12] != 0.0 or cam[k + 13] != 0.0:
        m = TILT + 9
        w = cam[m + 6] * xd + cam[m + 7] * yd + cam[m + 8]
        xt = (cam[m] * xd + cam[m + 1] * yd + cam[m + 2]) / w
        yd = (cam[m + 3] * xd + cam[m + 4] * yd + cam[m + 5]) / w
        xd = xt
    p1, p2 = cam[k + 2], cam[k + 3]
    x, y = xd, yd
    limit = cam[LENS_LIMIT]
    r = math.sqrt(x * x + y * y)
    if r > limit:  # start inside the lens' one-to-one range
        x, y = x * limit / r, y * limit / r
    for _ in range(60):
        r2 = x * x + y * y
        num = 1.0 + r2 * (cam[k] + r2 * (cam[k + 1] + r2 * cam[k + 4]))
        den = 1.0 + r2 * (cam[k + 5] + r2 * (cam[k + 6] + r2 * cam[k + 7]))
        dnum = cam[k] + r2 * (2.0 * cam[k + 1] + 3.0 * r2 * cam[k + 4])
        dden = cam[k + 5] + r2 * (2.0 * cam[k + 6] + 3.0 * r2 * cam[k + 7])
        radial = num / den
        slope = 2.0 * (dnum - radial * dden) / den  # d radial / d x = slope * x
        dsx = 2.0 * (cam[k + 8] + 2.0 * r2 * cam[k + 9])
        dsy = 2.0 * (cam[k + 10] + 2.0 * r2 * cam[k + 11])
        fx = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x) + r2 * (cam[k + 8] + r2 * cam[k + 9]) - xd
        fy = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y + r2 * (cam[k + 10] + r2 * cam[k + 11]) - yd
        a = radial + slope * x * x + 2.0 * p1 * y + 6.0 * p2 * x + dsx * x
        b = slope * x * y + 2.0 * p1 * x + 2.0 * p2 * y + dsx * y
        c = slope * x * y + 2.0 * p1 * x + 2.0 * p2 * y + dsy * x
        d = radial + slope * y * y + 6.0 * p1 * y + 2.0 * p2 * x + dsy * y
        det = a * d - b * c
        if abs(det) < 1e-12:
            return x, y, False
        sx = (d * fx - b * fy) / det
        sy = (a * fy - c * fx) / det
        x -= sx
        y -= sy
        if sx * sx + sy * sy < 1e-30:
            break
        r = math.sqrt(x * x + y * y)
        if r > limit:
            x, y = x * limit / r, y * limit / r
    bx, by = distort_untilted(cam, x, y)
    ok = abs(bx - xd) < _TOLERANCE and abs(by - yd) < _TOLERANCE
    return x, y, ok
