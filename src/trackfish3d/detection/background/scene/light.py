"""Changes of light that are more than a brightness added everywhere: dimmed lamps, a lamp that goes out on one side.

Light multiplies: where the background is bright a change is large. A change is therefore a gain, smooth over the
picture (a polynomial of second degree), times what is expected, and a constant.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .samples import Bytes, Floats, Samples

_TERMS = 6  # of the gain: 1, x, y, x^2, xy, y^2
_ROUNDS = 6  # of leaving out what does not fit, such as animals
_TUKEY = 4.7  # deviations beyond which a block counts nothing
_BETTER = 0.7  # of what is left by a constant alone, at most, if light has changed
_LEAST = 0.35  # levels that must be left by a constant alone
_GREY = 128.0  # level of colour that is none
_DIMMEST, _BRIGHTEST = 0.1, 10.0  # gains that are believed


@dataclass(frozen=True, eq=False)
class LightChange:
    """How light has changed: ``gain`` (6,) of the polynomial in x, y from -1 to 1, less one, and ``more``, levels."""

    gain: NDArray[np.float64]
    more: float

    def apply(self, plane: Floats, middle: float | None = None) -> None:
        """Show a plane (H, W) in the new light.

        Parameters
        ----------
        plane : of levels, changed in place.
        middle : of a plane of colour, the level of grey, which stays.
        """
        relight(plane, self.gain, 0.0 if middle is None else middle, self.more if middle is None else 0.0)

    def undo(self, plane: Bytes, middle: float | None = None) -> None:
        """Show a plane (H, W) of a picture in the old light.

        Parameters
        ----------
        plane : of bytes, changed in place.
        middle : of a plane of colour, the level of grey, which stays.
        """
        h, w = plane.shape
        factor = 1 + field(self.gain, (h, w))
        zero, more = (0.0, self.more) if middle is None else (middle, 0.0)
        plane[...] = np.clip(np.rint((plane - zero - more) / factor + zero), 0, 255).astype(np.uint8)


def field(gain: NDArray[np.float64], shape: tuple[int, int]) -> Floats:
    """Value (H, W) of the polynomial.

    Parameters
    ----------
    gain : (6,) of 1, x, y, x^2, xy, y^2.
    shape : H, W.
    """
    out = np.zeros(shape, np.float32)
    ones = np.ones(shape, np.float32)
    out += ones
    relight(out, gain, 0.0, 0.0)
    return out - ones


@njit(cache=True, nogil=True, fastmath=True)
def relight(plane, gain, zero, more):  # type: ignore[no-untyped-def]
    """Multiply ``plane`` (H, W) less ``zero`` by 1 + the polynomial ``gain`` (6,), and add ``more``, in place."""
    height, width = plane.shape
    z, m = np.float32(zero), np.float32(more)
    for j in range(height):
        y = 2.0 * (j + 0.5) / height - 1.0
        a, b, c = (
            np.float32(1 + gain[0] + gain[2] * y + gain[5] * y * y),
            np.float32(gain[1] + gain[4] * y),
            np.float32(gain[3]),
        )
        row, step = plane[j], np.float32(2.0 / width)
        for i in range(width):
            x = (np.float32(i) + np.float32(0.5)) * step - np.float32(1.0)
            row[i] = (row[i] - z) * (a + x * (b + x * c)) + z + m


def change_of_light(small: Floats, expected: Floats, step: int) -> LightChange | None:
    """Return how light has changed; None where a constant tells it as well.

    Fitted by reweighted least squares: animals, which cover little, are left out as what does not fit.

    Parameters
    ----------
    small : (h, w) blocks of a picture.
    expected : (h, w) of it.
    step : blocks between those that tell.
    """
    seen, known = small[::step, ::step], expected[::step, ::step]
    off = (seen - known).astype(np.float64)
    plain = np.abs(off - np.median(off))
    left = float(np.median(plain))
    if left < _LEAST:
        return None
    y, x = ((2 * (np.arange(n) + 0.5) / n - 1) for n in off.shape)
    x, y = np.broadcast_to(x[None, :], off.shape), np.broadcast_to(y[:, None], off.shape)
    terms = np.stack([np.ones(off.shape), x, y, x * x, x * y, y * y]) * known
    A, b = np.concatenate([terms.reshape(_TERMS, -1), np.ones((1, off.size))]), off.ravel()
    weight = np.ones(off.size)
    ridge = 1e-6 * np.einsum("ij,ij->i", A, A)
    for _ in range(_ROUNDS):
        found = np.linalg.solve((A * weight) @ A.T + np.diag(ridge), (A * weight) @ b)
        rest = np.abs(b - found @ A)
        middle = float(np.median(rest))
        weight = np.clip(1 - (rest / max(_TUKEY * 1.48 * middle, 1e-6)) ** 2, 0, None) ** 2
    gain = field(found[:_TERMS], (9, 9))
    if middle > _BETTER * left or not (1 + gain.min() > _DIMMEST and 1 + gain.max() < _BRIGHTEST):
        return None
    return LightChange(found[:_TERMS], float(found[_TERMS]))


def even_light(samples: Samples, step: int) -> None:
    """Show all samples in one light, that of most of them.

    Parameters
    ----------
    samples : changed in place.
    step : pixels between those that tell.
    """
    planes = [(samples.grey, None), (samples.blue, _GREY), (samples.red, _GREY)]
    every = [
        (p, middle, *_usual(p, step if middle is None else max(1, step // 2))) for p, middle in planes if p is not None
    ]
    _, _, small, usual = every[0]
    for k in range(len(samples)):
        change = change_of_light(small[k], usual, 1)
        for plane, middle, those, theirs in every:
            if change is not None:
                change.undo(plane[k], middle)
                continue
            more = float(np.median(those[k] - theirs))
            if abs(more) > _LEAST:
                LightChange(np.zeros(_TERMS), more).undo(plane[k])


def _usual(plane: Bytes, step: int) -> tuple[Floats, Floats]:
    """Every so many pixels (K, h, w) of samples (K, H, W), and their median (h, w)."""
    small = plane[:, ::step, ::step].astype(np.float32)
    return small, np.median(small, axis=0)
