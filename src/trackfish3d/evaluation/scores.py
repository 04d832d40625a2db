"""All scores of one scene at once."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from .clear import ClearScores, Correspondence, clear_scores, correspond
from .hota import HotaScores, hota_scores
from .identity import IdentityScores, identity_scores
from .matching import Pairs, Points, pair_up
from .mtbf import MtbfScores, mtbf_scores


@dataclass(frozen=True)
class PositionErrors:
    """Root mean square error of matched positions, along each axis and in all; world units, NaN if none."""

    rmse_x: float
    rmse_y: float
    rmse_z: float
    rmse: float

    def to_dict(self) -> dict[str, float]:
        """All errors by name."""
        return asdict(self)


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Every score of one set of tracks against the truth.

    Attributes
    ----------
    gate : float
        Largest distance of a match, world units.
    clear : ClearScores
        MOTA, MOTP, switches, fragments, misses and false points.
    identity : IdentityScores
        IDF1, IDP and IDR.
    hota : HotaScores
        HOTA and its parts.
    mtbf : MtbfScores
        Mean time between failures.
    error : PositionErrors
        Root mean square distance of matched positions.
    pairs : Pairs
        Truth and tracks aligned, which the scores were computed from.
    correspondence : Correspondence
        Which track followed whom, for timelines and for looking closer.
    """

    gate: float
    clear: ClearScores
    identity: IdentityScores
    hota: HotaScores
    mtbf: MtbfScores
    error: PositionErrors
    pairs: Pairs
    correspondence: Correspondence

    def to_dict(self) -> dict[str, float]:
        """All scores by name, flat. Shares are fractions of one."""
        families = (self.clear, self.identity, self.hota, self.mtbf, self.error)
        merged: dict[str, float] = {"gate": self.gate}
        for family in families:
            merged |= family.to_dict()
        merged["dropped_truth"] = self.pairs.truth.dropped
        merged["dropped_predictions"] = self.pairs.pred.dropped
        return merged

    def __repr__(self) -> str:
        c, i = self.clear, self.identity
        return (
            f"<Scores at {self.gate:g}: MOTA {100 * c.mota:.1f} %, IDF1 {100 * i.idf1:.1f} %, "
            f"HOTA {100 * self.hota.hota:.1f} %, {c.switches} switches, RMSE {self.error.rmse:.3g}>"
        )

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{value:.4g}</td></tr>" for name, value in self.to_dict().items())
        return f"<table><tr><th>score</th><th>value</th></tr>{rows}</table>"


def evaluate(
    truth_frame: ArrayLike,
    truth_id: ArrayLike,
    truth_xyz: ArrayLike,
    pred_frame: ArrayLike,
    pred_id: ArrayLike,
    pred_xyz: ArrayLike,
    gate: float,
) -> Scores:
    """Score tracks against the truth.

    Parameters
    ----------
    truth_frame : (T,) int
        Frame number of each true position; rows in any order.
    truth_id : (T,) int
        Its identity.
    truth_xyz : (T, 3) float
        True position, world units. A row that is not finite says the animal is not there, and is left out.
    pred_frame : (P,) int
        Frame number of each point of a track; rows in any order.
    pred_id : (P,) int
        Its track.
    pred_xyz : (P, 3) float
        Its position, world units.
    gate : float
        A prediction further from the truth than this is none, world units.

    Returns
    -------
    Scores
        CLEAR and identity scores as py-motmetrics 1.4, HOTA as TrackEval 1.3 with similarity
        max(0, 1 - d / (2 gate)). Empty input gives scores, NaN where there is nothing to divide by.

    Raises
    ------
    InputError
        An identity twice in a frame, columns of unequal length, a gate that is no distance.

    Examples
    --------
    Two fish that swap tracks once in 100 frames:

    >>> import numpy as np
    >>> frame = np.repeat(np.arange(100), 2)
    >>> fish = np.tile([0, 1], 100)
    >>> xyz = np.stack([10.0 * fish, frame, 0 * frame], axis=1)
    >>> track = np.where(frame < 50, fish, 1 - fish)
    >>> scores = evaluate(frame, fish, xyz, frame, track, xyz, gate=1.0)
    >>> scores.clear.switches, scores.clear.mota, scores.identity.idf1
    (2, 0.99, 0.5)
    >>> scores.mtbf.mtbf_m, round(scores.mtbf.mtbf_m_compat, 1)
    (50.0, 33.3)
    """
    truth = Points.build(truth_frame, truth_id, truth_xyz, "truth")
    pred = Points.build(pred_frame, pred_id, pred_xyz, "prediction")
    pairs = pair_up(truth, pred, 2.0 * gate)
    found = correspond(pairs, gate)
    return Scores(
        gate=float(gate),
        clear=clear_scores(pairs, found),
        identity=identity_scores(pairs, gate),
        hota=hota_scores(pairs, 2.0 * gate),
        mtbf=mtbf_scores(pairs, found),
        error=position_errors(pairs, found),
        pairs=pairs,
        correspondence=found,
    )


def position_errors(pairs: Pairs, found: Correspondence) -> PositionErrors:
    """Root mean square errors over all matches of a correspondence."""
    matched = found.pred >= 0
    if not matched.any():
        return PositionErrors(np.nan, np.nan, np.nan, np.nan)
    square = (pairs.pred.xyz[found.pred[matched]] - pairs.truth.xyz[matched]) ** 2
    x, y, z = np.sqrt(square.mean(axis=0))
    return PositionErrors(float(x), float(y), float(z), float(np.sqrt(square.sum(axis=1).mean())))
