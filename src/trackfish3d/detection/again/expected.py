"""What tracks expect every view to show: place, outline and depth of each animal at each moment.

An animal is an ellipsoid with the matrix S = sum of a a' over its semi-axes (see `methods.joint.bodies.shape`): each
view shows it as an ellipse with M = J S J', linear in the six numbers of S. S is first followed along a track as a
random walk, forwards and backwards, from the outlines of all its views: that tells how long, high and wide the animals
are. Then each moment's body has these sizes and the direction in which the animal swims and its outlines point; an
outline that does not fit, of an animal that is hidden or merged in a view, is left out, and the others tell.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...cameras import CameraRig
from ...methods.joint.bodies.shape import ENTRIES, any_direction, outlines
from ...recordings import Detections, Tracks
from .directions import headings

Array = NDArray[np.float64]
_NOISE = 0.12  # of an outline's entries, as a share of their mean size
_TURN = 0.06  # a frame, of the square of half the length: how S changes when animals turn and bend
_GATE = 16.0  # squared distance, in deviations, of an outline that fits
_SHOWN = 0.8  # quantile of apparent lengths that is the length: most are seen at a slant
_STEP = 1e-3  # body lengths of the derivative
_SWERVE = 0.35  # radians by which bodies point away from where they swim
_VARY = 0.3  # deviation of the squares of sizes, as a share
_BENT = 0.02  # deviation of every number of S beyond that, as a share of the square of half the length
_LEAN = 0.3  # quantile of thicknesses where there are no masks: most errors make bodies thicker
_FEW, _TRIMS = 50, 5  # masks that tell how thick bodies are, rounds of leaving out the worst
_THIN, _THICK = 0.08, 0.5  # height and width of an animal over its length
_SHORTER, _LONGER = 0.75, 1.25  # of the usual length
_LEAST_PX = 0.5  # smallest deviation of an outline, px


@dataclass(frozen=True, eq=False)
class Expected:
    """Animals that one view should show, sorted by frame.

    Attributes
    ----------
    frame : (N,) of the common clock.
    track : (N,) which track.
    mean : (N, 2) where its middle is, px.
    cov : (N, 3) xx, xy, yy of the full ellipse that it looks like, px^2.
    depth : (N,) distance from the camera, world units.
    slack : (N,) standard deviation of the place, px.
    """

    frame: NDArray[np.int64]
    track: NDArray[np.int64]
    mean: Array
    cov: Array
    depth: Array
    slack: Array

    def at(self, frame: int) -> "Expected":
        """Return what one frame should show.

        Parameters
        ----------
        frame : of the common clock.
        """
        first, last = np.searchsorted(self.frame, [frame, frame + 1])
        return self.of(np.arange(first, last))

    def of(self, rows: NDArray[np.generic]) -> "Expected":
        """Return some rows."""
        return Expected(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def area(self) -> Array:
        """(N,) of the ellipses, px^2."""
        return np.asarray(4 * np.pi * np.sqrt(np.maximum(self.cov[:, 0] * self.cov[:, 2] - self.cov[:, 1] ** 2, 0.0)))

    @property
    def boxes(self) -> Array:
        """(N, 4) around the ellipses: left, top, right, bottom, px."""
        reach = 2 * np.sqrt(self.cov[:, [0, 2]])
        return np.concatenate([self.mean - reach, self.mean + reach], axis=1)


def expect(rig: CameraRig, detections: Detections, tracks: Tracks) -> list[Expected]:
    """Return what each view of a rig should show.

    Parameters
    ----------
    rig : the cameras.
    detections : that the tracks were made of.
    tracks : with the detections that they took.
    """
    if not len(tracks):
        none = np.zeros(0)
        one = Expected(none.astype(int), none.astype(int), np.zeros((0, 2)), np.zeros((0, 3)), none, none)
        return [one] * len(rig)
    order = [rig.index(name) for name in tracks.cameras]
    taken = np.full((len(tracks), len(rig)), -1, np.int64)
    taken[:, order] = tracks.detection
    outline = outlines(detections)
    scale = _derivatives(rig, tracks.position, 1.0)[1]
    length = _length(outline, taken, scale)
    pixel, J = _derivatives(rig, tracks.position, _STEP * length)
    S = slender(rig, tracks, J, outline, taken, _follow(tracks, J, outline, taken, length))
    out = []
    for c, camera in enumerate(rig):
        M = np.einsum("nij,njk,nlk->nil", J[:, c], S, J[:, c])
        place = np.einsum("nij,njk,nlk->nil", J[:, c], np.nan_to_num(tracks.covariance), J[:, c])
        depth = np.linalg.norm(tracks.position - camera.centre, axis=1)
        seen = camera.in_image(pixel[:, c]) & np.isfinite(M).all((1, 2))
        cov = 0.25 * np.column_stack([M[:, 0, 0], M[:, 0, 1], M[:, 1, 1]])
        slack = np.sqrt(1.0 + 0.5 * (place[:, 0, 0] + place[:, 1, 1]))
        columns = tracks.frame, tracks.track, pixel[:, c], _no_thinner(cov), depth, slack
        out.append(Expected(*(v[seen] for v in columns)))
    return out


def _no_thinner(cov: Array) -> Array:
    """Return covariances (N, 3) whose smaller deviation is at least that of a thin line."""
    middle, half = 0.5 * (cov[:, 0] + cov[:, 2]), np.hypot(0.5 * (cov[:, 0] - cov[:, 2]), cov[:, 1])
    more = np.maximum(_LEAST_PX**2 - (middle - half), 0.0)
    return np.asarray(cov + more[:, None] * np.array([1.0, 0.0, 1.0]))


def _derivatives(rig: CameraRig, position: Array, h: float) -> tuple[Array, Array]:
    """Pixels (N, C, 2) of positions (N, 3) and their derivatives (N, C, 2, 3); NaN where a view has none."""
    pixel = np.stack([camera.project(position) for camera in rig], axis=1)
    J = np.empty((*pixel.shape, 3))
    for k in range(3):
        step = np.zeros(3)
        step[k] = h
        ahead = np.stack([camera.project(position + step) for camera in rig], axis=1)
        behind = np.stack([camera.project(position - step) for camera in rig], axis=1)
        J[..., k] = (ahead - behind) / (2 * h)
    return pixel, J


def _length(outline: Array, taken: NDArray[np.int64], J: Array) -> float:
    """Body length, world units, from how long animals look."""
    row, camera = np.nonzero(taken >= 0)
    px = 2 * np.sqrt(np.nanmax(outline[taken[row, camera], :2], axis=1))
    scale = np.linalg.norm(J[row, camera], axis=(1, 2)) / np.sqrt(2)
    lengths = px / scale
    lengths = lengths[np.isfinite(lengths) & (lengths > 0)]
    return float(np.quantile(lengths, _SHOWN)) if len(lengths) else 1.0


def _follow(tracks: Tracks, J: Array, outline: Array, taken: NDArray[np.int64], length: float) -> Array:
    """S (N, 3, 3) of each row: a random walk along its track, filtered forwards and smoothed backwards.

    All tracks go on together, one frame after the other.
    """
    prior = any_direction(length)
    step = (_TURN * (0.5 * length) ** 2) ** 2 * np.eye(6)
    rows = np.lexsort((tracks.track, tracks.frame))
    moments = np.split(rows, np.flatnonzero(np.diff(tracks.frame[rows])) + 1)
    mean, cov = np.empty((len(tracks), 6)), np.empty((len(tracks), 6, 6))
    before = np.full(len(tracks), -1, np.int64)  # row of the track's last frame
    last: dict[int, int] = {}
    for here in moments:
        for n in here.tolist():
            before[n] = last.get(int(tracks.track[n]), -1)
            last[int(tracks.track[n])] = n
        known = before[here] >= 0
        apart = np.where(known, tracks.frame[here] - tracks.frame[before[here]], 0)[:, None, None]
        m = np.where(known[:, None], mean[before[here]], prior.mean)
        P = np.where(known[:, None, None], cov[before[here]] + apart * step, prior.cov)
        mean[here], cov[here] = _absorb(m, P, J[here], outline, taken[here])
    for here in moments[::-1]:
        here = here[before[here] >= 0]
        past = before[here]
        apart = (tracks.frame[here] - tracks.frame[past])[:, None, None]
        ahead = cov[past] + apart * step
        gain = np.swapaxes(np.linalg.solve(ahead, cov[past]), 1, 2)
        mean[past] += np.einsum("nij,nj->ni", gain, mean[here] - mean[past])
    return _possible(_matrix(mean), length)


def _absorb(mean: Array, cov: Array, J: Array, outline: Array, taken: NDArray[np.int64]) -> tuple[Array, Array]:
    """Take the outlines of all views into means (T, 6) and covariances (T, 6, 6), one view after the other."""
    for c in range(J.shape[1]):
        seen = outline[np.maximum(taken[:, c], 0)]
        H = _rows(J[:, c])
        usable = (taken[:, c] >= 0) & np.isfinite(H).all((1, 2))
        if not usable.any():
            continue
        H = np.where(usable[:, None, None], H, 0.0)
        deviation = _NOISE * 0.5 * (seen[:, 0] + seen[:, 1])
        unknown = np.isnan(seen) | ~usable[:, None]
        off = np.where(unknown, 0.0, seen - np.einsum("nij,nj->ni", H, mean))
        H = np.where(unknown[:, :, None], 0.0, H)
        noise = np.where(unknown, 1.0, deviation[:, None] ** 2)
        total = H @ cov @ np.swapaxes(H, 1, 2) + noise[:, :, None] * np.eye(3)
        solved = np.linalg.solve(total, np.concatenate([off[:, :, None], H @ cov], axis=2))
        fits = usable & (np.einsum("ni,ni->n", off, solved[:, :, 0]) < _GATE)
        back = cov @ np.swapaxes(H, 1, 2)
        mean = mean + np.where(fits[:, None], np.einsum("nij,nj->ni", back, solved[:, :, 0]), 0.0)
        cov = cov - np.where(fits[:, None, None], back @ solved[:, :, 1:], 0.0)
    return mean, cov


def _rows(J: Array) -> Array:
    """(T, 3, 6) whose product with S is M00, M11, M01 of a view with derivatives (T, 2, 3)."""
    out = np.empty((len(J), 3, 6))
    for e, (a, b) in enumerate(((0, 0), (1, 1), (0, 1))):
        for k, (i, j) in enumerate(ENTRIES):
            out[:, e, k] = J[:, a, i] * J[:, b, j] + (J[:, a, j] * J[:, b, i] if i != j else 0.0)
    return out


def slender(rig: CameraRig, tracks: Tracks, J: Array, outline: Array, taken: NDArray[np.int64], rough: Array) -> Array:
    """S (N, 3, 3) of bodies of usual length, height and width, in the direction that path and outlines tell.

    Parameters
    ----------
    rig : the cameras.
    tracks : N rows.
    J : (N, C, 2, 3) derivatives of the views.
    outline : (D, 3) of detections.
    taken : (N, C) detection of each view.
    rough : (N, 3, 3) what is known of S without usual sizes.
    """
    value, axes = np.linalg.eigh(rough)
    long = np.sqrt(np.median(value[:, 2]))
    ahead = headings(tracks, axes[:, :, 2], 1 - value[:, 1] / value[:, 2], 2 * long)
    thick = _thickness(ahead, rig.up, J, outline, taken)
    if thick is None:
        thick = np.array([np.quantile(_along(rough, side), _LEAN) for side in _sides(ahead, rig.up)])
    sizes = np.append(long**2, np.clip(thick, (_THIN * long) ** 2, (_THICK * long) ** 2))
    mean = _six(_body(ahead, rig.up, sizes))
    cov = _doubt(ahead, rig.up, sizes)
    told, _ = _absorb(mean, cov, J, outline, taken)
    value, axes = np.linalg.eigh(_matrix(told))
    ahead = np.where((np.einsum("ni,ni->n", axes[:, :, 2], ahead) < 0)[:, None], -axes[:, :, 2], axes[:, :, 2])
    length = np.clip(value[:, 2], _SHORTER**2 * sizes[0], _LONGER**2 * sizes[0])
    return _body(ahead, rig.up, np.column_stack([length, np.tile(sizes[1:], (len(length), 1))]))


def _thickness(ahead: Array, up: Array, J: Array, outline: Array, taken: NDArray[np.int64]) -> Array | None:
    """Squares of half the height and half the width, by how thick masks are across the bodies; None of too few.

    Masks of merged animals are too thick: least squares of those that are left when the worst are taken away.
    """
    row, camera = np.nonzero(taken >= 0)
    seen, D = outline[taken[row, camera]], J[row, camera]
    along = np.einsum("nij,nj->ni", D, ahead[row])
    size = np.linalg.norm(along, axis=1)
    across = np.column_stack([-along[:, 1], along[:, 0]]) / np.maximum(size, 1e-9)[:, None]
    A = np.stack([np.einsum("ni,nij,nj->n", across, D, side[row]) ** 2 for side in _sides(ahead, up)], axis=1)
    b = across[:, 0] ** 2 * seen[:, 0] + across[:, 1] ** 2 * seen[:, 1] + 2 * across.prod(1) * seen[:, 2]
    scale = np.linalg.norm(D, axis=(1, 2))
    use = np.isfinite(b) & np.isfinite(A).all(1) & (size > 0.5 * scale / np.sqrt(2))
    if use.sum() < _FEW:
        return None
    A, b = (A / scale[:, None] ** 2)[use], (b / scale**2)[use]
    keep = b < np.quantile(b, 0.7)
    for _ in range(_TRIMS):
        found = np.linalg.lstsq(A[keep], b[keep], rcond=None)[0]
        off = np.abs(b - A @ found)
        keep = off < 2.0 * np.median(off)
    return np.asarray(found)


def _sides(ahead: Array, up: Array) -> tuple[Array, Array]:
    """Directions (N, 3) up and aside of bodies that point to ``ahead`` (N, 3)."""
    aside = np.cross(ahead, up)
    size = np.linalg.norm(aside, axis=1, keepdims=True)
    other = np.cross(ahead, np.roll(up, 1))
    aside = np.where(size > 1e-3, aside, other)
    aside /= np.maximum(np.linalg.norm(aside, axis=1, keepdims=True), 1e-9)
    return np.cross(aside, ahead), aside


def _along(S: Array, direction: Array) -> Array:
    return np.asarray(np.einsum("ni,nij,nj->n", direction, S, direction))


def _body(ahead: Array, up: Array, sizes: Array) -> Array:
    """S (N, 3, 3) of bodies with squares of half length, height and width ``sizes`` (3,) or (N, 3)."""
    sizes = np.broadcast_to(sizes, (len(ahead), 3))
    parts = (ahead, *_sides(ahead, up))
    return np.asarray(sum(sizes[:, k, None, None] * a[:, :, None] * a[:, None, :] for k, a in enumerate(parts)))


def _doubt(ahead: Array, up: Array, sizes: Array) -> Array:
    """Covariance (N, 6, 6) of S: bodies turn away from where they swim, bend, and differ in size."""
    above, aside = _sides(ahead, up)
    out = np.tile((_BENT * sizes[0]) ** 2 * np.eye(6), (len(ahead), 1, 1))
    for other in (above, aside):
        turn = ahead[:, :, None] * other[:, None, :]
        change = _six(_SWERVE * sizes[0] * (turn + np.swapaxes(turn, 1, 2)))
        out += change[:, :, None] * change[:, None, :]
    for axis, size in zip((ahead, above, aside), sizes, strict=True):
        change = _six(_VARY * size * axis[:, :, None] * axis[:, None, :])
        out += change[:, :, None] * change[:, None, :]
    return out


def _six(S: Array) -> Array:
    """(N, 6) numbers of matrices (N, 3, 3)."""
    return np.stack([S[:, i, j] for i, j in ENTRIES], axis=1)


def _matrix(six: Array) -> Array:
    """Return matrices (N, 3, 3) of their numbers (N, 6)."""
    S = np.empty((len(six), 3, 3))
    for k, (i, j) in enumerate(ENTRIES):
        S[:, i, j] = S[:, j, i] = six[:, k]
    return S


def _possible(S: Array, length: float) -> Array:
    """Return matrices (N, 3, 3) of bodies that can be: none thinner than a twentieth of its length, none too long."""
    value, axes = np.linalg.eigh(S)
    value = np.clip(value, (0.05 * 0.5 * length) ** 2, (1.5 * 0.5 * length) ** 2)
    return np.asarray(np.einsum("nij,nj,nkj->nik", axes, value, axes))
