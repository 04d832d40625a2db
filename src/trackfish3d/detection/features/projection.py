"""From a network's features to a few columns between -1 and 1, the same for all recordings of a training."""

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...core.files import atomic_path

Array = NDArray[np.float64]
_SPREAD = 3.0  # standard deviations that become 1


@dataclass(frozen=True, eq=False)
class Projection:
    """``(x - mean) @ basis / scale``, cut off at -1 and 1: ``mean`` (D,), ``basis`` (D, K), ``scale`` (K,)."""

    mean: Array
    basis: Array
    scale: Array

    @classmethod
    def fit(cls, pieces: Iterator[NDArray[np.float32]], width: int, components: int | None) -> "Projection":
        """Principal components of features (n, D) that come in pieces, or, without a number of them, all columns."""
        count, total, square = 0, np.zeros(width), np.zeros((width, width))
        for piece in pieces:
            x = piece.astype(np.float64)
            count, total, square = count + len(x), total + x.sum(0), square + x.T @ x
        if not count:
            return cls(np.zeros(width), np.eye(width)[:, :components], np.ones(components or width))
        mean = total / count
        covariance = square / count - np.outer(mean, mean)
        if components is None:
            return cls(mean, np.eye(width), _scale(np.diag(covariance)))
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        order = np.argsort(-values)[:components]
        basis = vectors[:, order]
        basis *= np.sign(basis[np.abs(basis).argmax(0), np.arange(len(order))])  # the sign is free: make it the same
        return cls(mean, basis, _scale(values[order]))

    def apply(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n, K) of features (n, D)."""
        out = (features.astype(np.float64) - self.mean) @ self.basis / self.scale
        return np.clip(out, -1, 1).astype(np.float32)

    def write(self, path: Path) -> None:
        """Write it as ``.npz``."""
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, mean=self.mean, basis=self.basis, scale=self.scale)

    @classmethod
    def read(cls, path: Path) -> "Projection":
        """Read what `write` wrote."""
        if not path.is_file():
            raise InputError(f"{path}: no such projection; 'trackfish3d features' writes one beside its result")
        try:
            with np.load(path, allow_pickle=False) as file:
                mean, basis, scale = (np.asarray(file[k], np.float64) for k in ("mean", "basis", "scale"))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise InputError(f"{path}: is not a projection ({str(error).splitlines()[0][:80] or 'empty'})") from None
        fits = mean.ndim == 1 and basis.shape == (len(mean), scale.size) and scale.ndim == 1
        if not fits or not all(np.isfinite(a).all() for a in (mean, basis, scale)) or not (scale > 0).all():
            raise InputError(f"{path}: is not a projection (its arrays do not fit each other)")
        return cls(mean, basis, scale)


def _scale(variance: Array) -> Array:
    """Return what a column is divided by; one that does not vary is left alone, as zeros."""
    deviation = np.sqrt(np.maximum(variance, 0))
    return np.where(deviation > 1e-9, _SPREAD * deviation, 1.0)
