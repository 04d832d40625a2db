"""Scores of poses: limbs, parts, identities, and whether their sigmas hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import chi2

from ..core.errors import InputError
from ..recordings.poses import Poses

Array = NDArray[np.float64]
PCK = (0.02, 0.05, 0.1)  # of a body: how near is near


@dataclass(frozen=True, eq=False)
class PoseScores:
    """Poses against the truth. Shares are fractions of one, and what is missing is wrong.

    Attributes
    ----------
    parts : (K,) names of the parts that both have.
    limbs : (L,) pairs of names.
    pcp : (A, L) share of frames of each animal in which the errors of a limb's ends add up to less than its length.
    animals : (A,) their numbers in the truth.
    error : (N, K) distance of each true part from what was found, world units; infinite where nothing was.
    sigmas : (N, K) squared distance in sigmas, NaN where nothing was found or no covariance is known.
    observed : (N, K) whether two views saw the part.
    size : of a body, world units.
    switches : times at which an animal's track changed its number.
    idf1 : share of parts' frames that belong to the one track each animal is best given to.
    """

    parts: tuple[str, ...]
    limbs: tuple[tuple[str, str], ...]
    pcp: Array
    animals: NDArray[np.int64]
    error: Array
    sigmas: Array
    observed: NDArray[np.bool_]
    size: float
    switches: int
    idf1: float

    @property
    def mean_pcp(self) -> float:
        """Mean over the limbs of each animal, then over animals; NaN without limbs."""
        return float(self.pcp.mean(1).mean()) if self.pcp.size else float("nan")

    @property
    def mpjpe(self) -> float:
        """Mean distance of the parts that were found, world units."""
        known = self.error[np.isfinite(self.error)]
        return float(known.mean()) if len(known) else float("nan")

    def pck(self, share: float) -> Array:
        """Return the share (K,) of true parts that something was found near.

        Parameters
        ----------
        share : how near, of the size of a body.
        """
        out: Array = (self.error < share * self.size).mean(0)
        return out

    def within(self, sigmas: float) -> Array:
        """Return the share (K,) of found parts that lie within so many sigmas, as the three-dimensional error has it.

        Parameters
        ----------
        sigmas : 1 should give 68.3 %, 2 should give 95.4 %.
        """
        bound = chi2.ppf(chi2.cdf(sigmas**2, 1), 3)
        known = np.isfinite(self.sigmas)
        with np.errstate(invalid="ignore"):
            out: Array = ((self.sigmas < bound) & known).sum(0) / known.sum(0)
        return out

    def to_dict(self) -> dict[str, float]:
        """All scores by name, flat."""
        near = {f"pck_{share:g}": float(self.pck(share).mean()) for share in PCK}
        sure = {
            f"within_{s}_sigma": float(np.nanmean(self.within(s))) for s in (1, 2) if np.isfinite(self.sigmas).any()
        }
        found = float(np.isfinite(self.error).mean()) if self.error.size else 0.0
        return {
            "pcp": self.mean_pcp,
            "mpjpe": self.mpjpe,
            "found": found,
            **near,
            **sure,
            "switches": float(self.switches),
            "idf1": self.idf1,
        }

    def __repr__(self) -> str:
        d = self.to_dict()
        return (
            f"<PoseScores of {len(self.parts)} parts: PCP {100 * d['pcp']:.1f} %, MPJPE {d['mpjpe']:.3g}, "
            f"{100 * d['pck_0.05']:.1f} % within 5 % of a body, {self.switches} switches>"
        )


def score_poses(
    truth: Poses, found: Poses, limbs: Sequence[tuple[str, str]] | None = None, gate: float | None = None
) -> PoseScores:
    """Score poses against the truth. In each frame, animals and tracks are paired so that their parts are nearest.

    Parameters
    ----------
    truth : true poses; its tracks are the animals.
    found : poses, of any numbers, with at least one part of the same name.
    limbs : pairs of parts; by default the edges of the truth's skeleton, or of the other's.
    gate : largest mean distance of the parts of a pair, world units; by default half the size of a body.
    """
    parts = tuple(p for p in truth.skeleton.parts if p in found.skeleton.parts)
    if not parts:
        raise InputError(
            f"no part is in both: the truth has {', '.join(truth.skeleton.parts[:8])}, "
            f"the poses {', '.join(found.skeleton.parts[:8])}"
        )
    true = truth.position[:, [truth.skeleton.index(p) for p in parts]]
    place = [found.skeleton.index(p) for p in parts]
    position, covariance, seen = found.position[:, place], found.covariance[:, place], found.observed[:, place]
    size = _size(true)
    partner = _partners(truth, true, found, position, 0.5 * size if gate is None else gate)
    row = np.maximum(partner, 0)
    none = (partner < 0)[:, None] if len(found) else np.ones((len(true), 1), bool)
    off = (position[row] if len(found) else np.full_like(true, np.nan)) - true
    missing = none | ~np.isfinite(off).all(-1)
    asked: NDArray[np.bool_] = np.asarray(np.isfinite(true).all(-1))
    error = np.where(missing, np.inf, np.linalg.norm(np.where(missing[..., None], 0.0, off), axis=-1))
    sigmas = _in_sigmas(off, covariance[row], missing) if len(found) else np.full(error.shape, np.nan)
    if limbs is None:
        limbs = _edges(truth, found, parts)
    names = tuple((a, b) for a, b in limbs if a in parts and b in parts)
    animals = np.unique(truth.track)
    switches, idf1 = _identities(truth, found, partner)
    kept = np.where(asked, error, np.nan)
    return PoseScores(
        parts,
        names,
        _limbs(truth, true, error, parts, names, animals),
        animals,
        np.where(np.isnan(kept), np.inf, kept),
        sigmas,
        ~missing & (seen[row] if len(found) else False),
        size,
        switches,
        idf1,
    )


def _size(points: Array) -> float:
    """Size of a body: the median over poses (N, K, 3) of the largest distance between two of its parts."""
    some = points[np.linspace(0, len(points) - 1, min(len(points), 500)).astype(int)] if len(points) else points
    far = np.linalg.norm(some[:, :, None] - some[:, None], axis=-1).reshape(len(some), -1)
    most = np.where(np.isfinite(far), far, 0.0).max(1, initial=0.0)
    return float(np.median(most)) if len(most) else 0.0


def _partners(truth: Poses, true: Array, found: Poses, position: Array, gate: float) -> NDArray[np.int64]:
    """Row of ``found`` (N,) that each row of the truth is paired with, -1 for none."""
    out = np.full(len(truth), -1, np.int64)
    for number in np.intersect1d(truth.frame, found.frame):
        a, b = (slice(*np.searchsorted(p.frame, [number, number + 1])) for p in (truth, found))
        far = np.linalg.norm(true[a][:, None] - position[b][None], axis=-1)
        known = np.isfinite(far)
        mean = np.where(known, far, 0.0).sum(-1) / np.maximum(known.sum(-1), 1)
        mean = np.where(known.any(-1), np.minimum(mean, 1e3 * gate), 1e3 * gate)
        rows, columns = linear_sum_assignment(np.where(mean > gate, 1e3 * gate, mean))
        good = mean[rows, columns] <= gate
        out[a.start + rows[good]] = b.start + columns[good]
    return out


def _in_sigmas(off: Array, covariance: Array, missing: NDArray[np.bool_]) -> Array:
    known = ~missing & np.isfinite(covariance).all((-1, -2))
    safe = np.where(known[..., None, None], covariance, np.eye(3))
    miss = np.where(known[..., None], off, 0.0)
    far = np.einsum("nki,nki->nk", miss, np.linalg.solve(safe, miss[..., None])[..., 0])
    return np.where(known, far, np.nan)


def _edges(truth: Poses, found: Poses, parts: tuple[str, ...]) -> list[tuple[str, str]]:
    for poses in (truth, found):
        named = [(poses.skeleton.parts[a], poses.skeleton.parts[b]) for a, b in poses.skeleton.edges]
        kept = [(a, b) for a, b in named if a in parts and b in parts]
        if kept:
            return kept
    return []


def _limbs(
    truth: Poses,
    true: Array,
    error: Array,
    parts: tuple[str, ...],
    limbs: tuple[tuple[str, str], ...],
    animals: NDArray[np.int64],
) -> Array:
    out = np.zeros((len(animals), len(limbs)))
    for k, (first, second) in enumerate(limbs):
        i, j = parts.index(first), parts.index(second)
        length = np.linalg.norm(true[:, i] - true[:, j], axis=-1)
        right = error[:, i] + error[:, j] <= length
        for n, animal in enumerate(animals.tolist()):
            rows = (truth.track == animal) & np.isfinite(length)
            out[n, k] = right[rows].mean() if rows.any() else np.nan
    return out


def _identities(truth: Poses, found: Poses, partner: NDArray[np.int64]) -> tuple[int, float]:
    """Count switches, and the share of frames that the best one-to-one pairing of animals and tracks explains."""
    name = np.where(partner >= 0, found.track[np.maximum(partner, 0)] if len(found) else -1, -1)
    animals, tracks = np.unique(truth.track), np.unique(found.track)
    switches, table = 0, np.zeros((len(animals), max(len(tracks), 1)))
    for n, animal in enumerate(animals.tolist()):
        own = name[(truth.track == animal) & (partner >= 0)]
        switches += int((np.diff(own) != 0).sum())
        if len(tracks):
            table[n] = (own[:, None] == tracks).sum(0)
    rows, columns = linear_sum_assignment(-table)
    right = float(table[rows, columns].sum())
    return switches, 2 * right / max(len(truth) + len(found), 1)
