"""Pixel loops of the renderer."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, inline="always")
def tile(texture, x, y):  # type: ignore[no-untyped-def]
    """Value of a square texture of 2^k pixels that repeats every unit; nearest pixel, because it is asked a lot."""
    n = texture.shape[0]
    return texture[int(np.floor(y * n)) & (n - 1), int(np.floor(x * n)) & (n - 1)]


@njit(cache=True, inline="always")
def caustics(texture, x, y, time):  # type: ignore[no-untyped-def]
    """Light pattern at a place and time: two copies of one texture drift over each other, the darker wins."""
    a = tile(texture, x + 0.021 * time, y + 0.013 * time)
    b = tile(texture, 0.83 * x - 0.017 * time + 0.37, 0.83 * y + 0.019 * time + 0.71)
    return min(a, b)


@njit(cache=True)
def paint_fish(pixels, triangles, boxes, owner, near, attributes, paint):  # type: ignore[no-untyped-def]
    """Interpolate vertex attributes (N, V, A) over the visible pixels of every fish into ``paint`` (H, W, A)."""
    count = attributes.shape[2]
    for i in range(pixels.shape[0]):
        box = boxes[i]
        for f in range(triangles.shape[0]):
            p, q, r = triangles[f, 0], triangles[f, 1], triangles[f, 2]
            ax, ay, bx, by, cx, cy = (
                pixels[i, p, 0],
                pixels[i, p, 1],
                pixels[i, q, 0],
                pixels[i, q, 1],
                pixels[i, r, 0],
                pixels[i, r, 1],
            )
            area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
            if not abs(area) > 1e-12:
                continue
            x0, x1 = (
                max(int(np.ceil(min(ax, bx, cx) - 0.5)), box[0]),
                min(int(np.floor(max(ax, bx, cx) + 0.5)) + 1, box[2]),
            )
            y0, y1 = (
                max(int(np.ceil(min(ay, by, cy) - 0.5)), box[1]),
                min(int(np.floor(max(ay, by, cy) + 0.5)) + 1, box[3]),
            )
            for y in range(y0, y1):
                for x in range(x0, x1):
                    if owner[y, x] != i:
                        continue
                    v = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
                    w = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
                    u = 1.0 - v - w
                    # A little tolerance: the span raster of the mask owns pixels exactly on an edge.
                    if u < -1e-3 or v < -1e-3 or w < -1e-3:
                        continue
                    depth = u * pixels[i, p, 2] + v * pixels[i, q, 2] + w * pixels[i, r, 2]
                    if depth >= near[y, x] * (1.0 - 2e-4):
                        for k in range(count):
                            paint[y, x, k] = u * attributes[i, p, k] + v * attributes[i, q, k] + w * attributes[i, r, k]


@njit(cache=True)
def shade_fish(boxes, owner, near, paint, shade, frame, water, clear_at, reach, texture, time):  # type: ignore[no-untyped-def]
    """Colour the fish's pixels into ``frame`` (H, W, 3), linear light.

    paint: s along the body, dorsal -1..1, light 0..1, caustic x, caustic y, fin 0 or 1. Light is lost to the
    water over ``reach`` beyond the distance ``clear_at``, and the water's own colour takes its place.
    """
    for i in range(boxes.shape[0]):
        for y in range(boxes[i, 1], boxes[i, 3]):
            for x in range(boxes[i, 0], boxes[i, 2]):
                if owner[y, x] != i:
                    continue
                s, dorsal, light = paint[y, x, 0], paint[y, x, 1], paint[y, x, 2]
                # Countershading: an olive back, silver sides with a dark band, a pale belly.
                back = 1.0 / (1.0 + np.exp(-7.0 * (dorsal - 0.35)))
                band = 0.45 * np.exp(-((dorsal - 0.05) ** 2) / 0.02) * (1.0 if 0.2 < s < 0.86 else 0.0)
                scales = 0.93 + 0.07 * np.sin(170.0 * s) * np.sin(26.0 * dorsal)
                red = (0.86 - 0.76 * back - band * 0.60) * scales
                green = (0.84 - 0.70 * back - band * 0.56) * scales
                blue = (0.76 - 0.64 * back - band * 0.40) * scales
                if paint[y, x, 5] > 0.5:
                    red, green, blue = 0.34, 0.33, 0.27
                eye = ((s - 0.075) / 0.015) ** 2 + ((dorsal - 0.12) / 0.20) ** 2
                if eye < 1.0 and paint[y, x, 5] < 0.5:
                    red, green, blue = 0.03, 0.03, 0.035
                spark = caustics(texture, paint[y, x, 3], paint[y, x, 4], time)
                lit = (0.22 + 0.72 * light + 0.7 * light * light * spark) * shade[i]
                distance = max(1.0 / near[y, x] - clear_at, 0.0)
                # Water takes red first.
                tr = np.exp(-1.7 * distance / reach)
                tg = np.exp(-1.0 * distance / reach)
                tb = np.exp(-0.85 * distance / reach)
                frame[y, x, 0] = red * lit * tr + water[y, x, 0] * (1 - tr)
                frame[y, x, 1] = green * lit * tg + water[y, x, 1] * (1 - tg)
                frame[y, x, 2] = blue * lit * tb + water[y, x, 2] * (1 - tb)


@njit(cache=True)
def light_background(background, floor, texture, time, frame):  # type: ignore[no-untyped-def]
    """Copy the static background, with moving caustics where the floor shows (floor: x, y, strength)."""
    for y in range(frame.shape[0]):
        for x in range(frame.shape[1]):
            strength = floor[y, x, 2]
            if strength > 0.004:
                gain = 1.0 + strength * (2.0 * caustics(texture, floor[y, x, 0], floor[y, x, 1], time) - 0.5)
                for k in range(3):
                    frame[y, x, k] = background[y, x, k] * gain
            else:
                for k in range(3):
                    frame[y, x, k] = background[y, x, k]


@njit(cache=True)
def splat(pixels, radius, strength, near, frame):  # type: ignore[no-untyped-def]
    """Add floating particles (M, 3: u, v, inverse distance) as soft discs, unless a fish is before them."""
    height, width = frame.shape[0], frame.shape[1]
    for i in range(pixels.shape[0]):
        if np.isnan(pixels[i, 0]):
            continue
        u, v, r = pixels[i, 0], pixels[i, 1], radius[i]
        for y in range(max(int(v - 2 * r), 0), min(int(v + 2 * r) + 2, height)):
            for x in range(max(int(u - 2 * r), 0), min(int(u + 2 * r) + 2, width)):
                if near[y, x] > pixels[i, 2]:
                    continue
                gain = strength[i] * np.exp(-((x - u) ** 2 + (y - v) ** 2) / (r * r))
                frame[y, x, 0] += 0.75 * gain
                frame[y, x, 1] += 0.95 * gain
                frame[y, x, 2] += gain


@njit(cache=True)
def develop(frame, owner, grain, start, out):  # type: ignore[no-untyped-def]
    """Linear light to 8-bit sRGB-like pixels with sensor noise; outlines of fish are averaged over 3 x 3 pixels."""
    height, width = frame.shape[0], frame.shape[1]
    count = grain.shape[0]
    at = start
    for y in range(height):
        for x in range(width):
            edge = False
            if 0 < y < height - 1 and 0 < x < width - 1:
                o = owner[y, x]
                edge = owner[y, x - 1] != o or owner[y, x + 1] != o or owner[y - 1, x] != o or owner[y + 1, x] != o
            luma = grain[at]
            at = at + 1 if at + 1 < count else 0
            for k in range(3):
                value = frame[y, x, k]
                if edge:
                    value = 0.0
                    for dy in range(-1, 2):
                        for dx in range(-1, 2):
                            value += frame[y + dy, x + dx, k]
                    value /= 9.0
                value = 255.0 * np.sqrt(max(value, 0.0)) + luma
                out[y, x, k] = min(max(value, 0.0), 255.0)
