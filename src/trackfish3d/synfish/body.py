"""The body of a fish: a spine with a travelling wave, elliptic cross-sections, fins.

A mesh is kept in body lengths and in the fish's own axes: s along the spine (0 nose, 1 tail), then lateral and
dorsal offsets from the spine. Posing it only shifts vertices sideways by the wave and turns them into the
world, so thousands of fish a second cost little. The origin is the centroid of the silhouettes, so that the
centroid of a mask, triangulated, is the position that the truth holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

# Along the spine: s, half width, half height, in body lengths (a generic cyprinid).
_PROFILE = np.array([
    (0.00, 0.004, 0.006), (0.04, 0.026, 0.034), (0.10, 0.042, 0.056), (0.20, 0.054, 0.078), (0.32, 0.056, 0.085),
    (0.45, 0.050, 0.080), (0.58, 0.038, 0.064), (0.70, 0.025, 0.044), (0.80, 0.014, 0.028), (0.88, 0.008, 0.022),
])  # fmt: skip
# Flat triangles: three corners of (s, lateral, dorsal), body lengths.
_FINS = np.array([
    [(0.86, 0, 0.021), (0.995, 0, 0.07), (0.93, 0, 0.0)],
    [(0.86, 0, -0.021), (0.995, 0, -0.07), (0.93, 0, 0.0)],
    [(0.86, 0, 0.021), (0.86, 0, -0.021), (0.93, 0, 0.0)],
    [(0.44, 0, 0.076), (0.60, 0, 0.108), (0.64, 0, 0.052)],
    [(0.60, 0, -0.058), (0.70, 0, -0.095), (0.74, 0, -0.034)],
    [(0.22, 0.050, -0.02), (0.33, 0.095, -0.035), (0.27, 0.052, -0.04)],
    [(0.22, -0.050, -0.02), (0.33, -0.095, -0.035), (0.27, -0.052, -0.04)],
])  # fmt: skip
HEAD = 0.08  # position along the spine of the middle of the head, body lengths
TAIL_SWEEP = 0.05  # amplitude of the wave at the tail at cruising speed, body lengths
TURN_SWEEP = 0.03  # how far tail and head bend into a sharp turn, body lengths


@dataclass(frozen=True, eq=False)
class BodyMesh:
    """vertices (V, 3): s, lateral, dorsal; normals (V, 3): forward, left, up; triangles (F, 3); fin (V,) bool."""

    vertices: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    fin: np.ndarray
    centre: float


@lru_cache
def body_mesh(rings: int = 16, segments: int = 8) -> BodyMesh:
    """Build the mesh with ``rings`` cross-sections of ``segments`` corners each, plus the fins."""
    # Rings crowd towards the head, where the outline bends most.
    s = _PROFILE[-1, 0] * np.linspace(0, 1, rings) ** 1.3
    width, height = np.interp(s, _PROFILE[:, 0], _PROFILE[:, 1]), np.interp(s, _PROFILE[:, 0], _PROFILE[:, 2])
    angle = 2 * np.pi * np.arange(segments) / segments
    # A polygon inscribed in an ellipse is thinner than it; this factor gives it the ellipse's area.
    fill = np.sqrt(2 * np.pi / (segments * np.sin(2 * np.pi / segments)))
    ring = np.empty((rings, segments, 3))
    ring[..., 0] = s[:, None]
    ring[..., 1] = fill * width[:, None] * np.cos(angle)
    ring[..., 2] = fill * height[:, None] * np.sin(angle)
    normal = np.empty_like(ring)
    normal[..., 1] = np.cos(angle) / (width[:, None] + 1e-3)
    normal[..., 2] = np.sin(angle) / (height[:, None] + 1e-3)
    normal[..., 0] = np.gradient(height, s)[:, None] * np.hypot(normal[..., 1], normal[..., 2])
    normal /= np.linalg.norm(normal, axis=2, keepdims=True)
    faces = []
    for i in range(rings - 1):
        for j in range(segments):
            a, b = i * segments + j, i * segments + (j + 1) % segments
            faces += [(a, b, a + segments), (b, b + segments, a + segments)]
    first = rings * segments
    fins = np.arange(first, first + 3 * len(_FINS)).reshape(-1, 3)
    fin_normal = np.tile([0.0, 0.2, 0.98], (3 * len(_FINS), 1))
    vertices = np.concatenate([ring.reshape(-1, 3), _FINS.reshape(-1, 3)])
    normals = np.concatenate([normal.reshape(-1, 3), fin_normal])
    triangles = np.concatenate([np.array(faces), fins]).astype(np.int32)
    return BodyMesh(vertices, normals, triangles, np.arange(len(vertices)) >= first, _silhouette_centre())


def _silhouette_centre() -> float:
    """Position along the spine of the centroid of the silhouette, mean of the view from the side and from above."""
    s = np.linspace(0, _PROFILE[-1, 0], 400)
    area, moment = np.zeros(2), np.zeros(2)
    for k in (1, 2):
        chord = 2 * np.interp(s, _PROFILE[:, 0], _PROFILE[:, k])
        area[k - 1], moment[k - 1] = chord.mean() * s[-1], (chord * s).mean() * s[-1]
    for fin in _FINS[:5]:  # upright fins are seen from the side, the pectoral ones hardly matter
        p = fin[:, [0, 2]]
        patch = 0.5 * abs(np.linalg.det(np.c_[p, np.ones(3)]))
        area[1] += patch
        moment[1] += patch * p[:, 0].mean()
    return float((moment / area).mean())


def detail_for(pixels: float) -> tuple[int, int]:
    """Rings and segments for a fish ``pixels`` long in its nearest view; finer ones change no mask by a pixel."""
    if pixels < 40:
        return 8, 6
    if pixels < 250:
        return 12, 8
    return 20, 12


@njit(cache=True)
def pose_bodies(template, centre, position, heading, swim, yaw, beat, length, up):  # type: ignore[no-untyped-def]
    """Vertices in the world of all fish of one frame.

    Parameters
    ----------
    template : (V, 3)
        s, lateral, dorsal, in body lengths.
    centre : float
        s of the body's origin.
    position : (N, 3) world units.
    heading : (N, 3) unit vectors.
    swim : (N,) speed in units of the cruising speed; the wave's amplitude follows it.
    yaw : (N,) turning rate, radians a frame, positive to the left; the body bends into the turn.
    beat : (N,) phase of the tail beat.
    length : (N,) world units.
    up : +1 or -1, the world's z towards the surface.

    Returns
    -------
    (N, V, 3) world units.
    """
    fish, count = position.shape[0], template.shape[0]
    out = np.empty((fish, count, 3))
    for i in range(fish):
        hx, hy, hz = heading[i, 0], heading[i, 1], heading[i, 2]
        lx, ly = -up * hy, up * hx
        level = np.sqrt(lx * lx + ly * ly) + 1e-12
        lx, ly = lx / level, ly / level
        ux, uy, uz = -hz * ly, hz * lx, hx * ly - hy * lx
        sweep = TAIL_SWEEP * min(0.35 + 0.5 * swim[i], 1.0)
        bend = TURN_SWEEP * min(max(yaw[i] / 0.1, -1.0), 1.0)
        for v in range(count):
            s = template[v, 0]
            amplitude = sweep * (0.08 - 0.25 * s + 1.17 * s * s)
            arc = (s - centre) / (1.0 - centre)
            side = template[v, 1] + amplitude * np.sin(6.2831853 * 0.95 * s - beat[i]) + bend * arc * arc
            along = (centre - s) * length[i]
            side *= length[i]
            dorsal = template[v, 2] * length[i]
            out[i, v, 0] = position[i, 0] + along * hx + side * lx + dorsal * ux
            out[i, v, 1] = position[i, 1] + along * hy + side * ly + dorsal * uy
            out[i, v, 2] = position[i, 2] + along * hz + dorsal * uz
    return out
