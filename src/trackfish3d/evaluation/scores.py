"""All scores of one scene at once."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .clear import ClearScores, ClearSums, Correspondence, Matcher
from .hota import HotaScores, HotaSums
from .identity import IdentityScores, IdentitySums
from .matching import Pairs, Points, pair_up
from .mtbf import MtbfScores, MtbfSums


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
class SceneScores:
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
    dropped_truth : int
        True positions that were left out because they are not finite.
    dropped_predictions : int
        Points of tracks that were left out because they are not finite.
    """

    gate: float
    clear: ClearScores
    identity: IdentityScores
    hota: HotaScores
    mtbf: MtbfScores
    error: PositionErrors
    dropped_truth: int
    dropped_predictions: int

    def to_dict(self) -> dict[str, float]:
        """All scores by name, flat. Shares are fractions of one."""
        families = (self.clear, self.identity, self.hota, self.mtbf, self.error)
        merged: dict[str, float] = {"gate": self.gate}
        for family in families:
            merged |= family.to_dict()
        merged["dropped_truth"] = self.dropped_truth
        merged["dropped_predictions"] = self.dropped_predictions
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


@dataclass(frozen=True, eq=False, repr=False)
class Scores(SceneScores):
    """Every score of tracks in memory, and what they were computed from.

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
    dropped_truth : int
        True positions that were left out because they are not finite.
    dropped_predictions : int
        Points of tracks that were left out because they are not finite.
    pairs : Pairs
        Truth and tracks aligned, which the scores were computed from.
    correspondence : Correspondence
        Which track followed whom, for timelines and for looking closer.
    """

    pairs: Pairs
    correspondence: Correspondence


class SceneSums:
    """All scores of a scene that is gone through twice, part by part: `add` all parts, then `add_again` all of them.

    Parameters
    ----------
    animals : int
        How many there are in the whole scene.
    tracks : int
        How many there are in the whole scene.
    gate : float
        Largest distance of a match, world units; parts have pairs up to twice of it.
    """

    def __init__(self, animals: int, tracks: int, gate: float) -> None:
        self.gate = float(gate)
        self._matcher = Matcher(animals, tracks, gate)
        self._clear = ClearSums(animals, tracks)
        self._identity = IdentitySums(animals, tracks, gate)
        self._hota = HotaSums(animals, tracks, 2.0 * gate)
        self._mtbf = MtbfSums(animals)
        self._square = np.zeros(3)
        self._square_all = 0.0

    def add(self, pairs: Pairs) -> Correspondence:
        """Match the next part and count it."""
        found = self._matcher.match(pairs)
        self._clear.add(pairs, found)
        self._mtbf.add(pairs, found)
        self._identity.add(pairs)
        self._hota.meet(pairs)
        matched = found.pred >= 0
        square = (pairs.pred.xyz[found.pred[matched]] - pairs.truth.xyz[matched]) ** 2
        self._square += square.sum(axis=0)
        self._square_all += float(square.sum(axis=1).sum())
        return found

    def add_again(self, pairs: Pairs) -> None:
        """Go through a part for the second time."""
        self._hota.match(pairs)

    def totals(self) -> dict[str, Any]:
        """Return the scores of all parts, as `SceneScores` names them."""
        clear = self._clear.scores()
        hits = clear.truth_points - clear.misses
        square = np.append(self._square, self._square_all) / hits if hits else np.full(4, np.nan)
        x, y, z, whole = np.sqrt(square).tolist()
        return {
            "gate": self.gate,
            "clear": clear,
            "identity": self._identity.scores(),
            "hota": self._hota.scores(),
            "mtbf": self._mtbf.scores(),
            "error": PositionErrors(x, y, z, whole),
        }


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
    sums = SceneSums(len(truth.ids), len(pred.ids), gate)
    found = [sums.add(part) for part in pairs.parts()]
    for part in pairs.parts():
        sums.add_again(part)
    return Scores(
        **sums.totals(),
        dropped_truth=truth.dropped,
        dropped_predictions=pred.dropped,
        pairs=pairs,
        correspondence=_joined(found, [len(part.pred.frame) for part in pairs.parts()]),
    )


def _joined(parts: list[Correspondence], predictions: list[int]) -> Correspondence:
    """Correspondences of parts, of so many predictions each, as one."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *predictions[:-1]])
    pred = [np.where(p.pred >= 0, p.pred + b, -1) for p, b in zip(parts, before.tolist(), strict=True)]
    columns = [np.concatenate([getattr(p, n) for p in parts]) for n in ("state", "handover", "distance")]
    return Correspondence(np.concatenate(pred), *columns)
