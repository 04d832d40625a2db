"""How sure a track is of being one animal, link by link, and where to look first.

A track turns into another animal where two views lost it for a while, or where it met another track. Three things tell
how likely that is: how long it was lost, how well its past agrees with its future (`repair.link_scores`), and how well
both agree if exchanged with those of a track nearby (`repair.find_swaps`). None of these is a probability: animals do
not move as the filter supposes. A logistic curve turns them into one. Only where two tracks were in the same place, as
far as their detections tell, are the odds of an exchange taken at their word: kept and exchanged are then the only
readings.

Joins are decided by that chance. What is listed for people is one encounter, of several moments whose chances are not
independent, and has a curve of its own (`LISTED`).
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from ....cameras.rig import CameraRig
from ...suspects import Suspect
from ..model import TrackingModel
from ..observations import Observations
from ..settings import JointSettings
from .refine import Refined, judged, smoothed

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
WEIGHTS = np.array([-10.272, -0.166, 1.396, 0.18, 5.0])
"""Of 1, score, log2 of frames, swap odds above `NO_SWAP`, and closeness: fitted by benchmarks/joint_fit_doubt.py on
crowded schools that no test has, where truth tells which tracks changed animals; closeness on 3D-ZeF 01 and 03."""
LISTED = (-0.9, 0.58)
"""Log-odds that a listed moment is right: a constant, and a share of those of its chance; fitted by the same command to
what it lists of the same recordings."""
SCORES = (-30.0, 15.0)  # scores beyond these say no more
NO_SWAP = -9.0  # odds where no other track was near
PLAIN = 1e-6  # chance that a link is wrong which neither gap nor meeting makes doubtful
NAMED = -4.0  # swap odds from which a suspect names the other track
SAME_PLACE = 25.0  # squared distance of two tracks, in deviations: detections taken in turns keep them a little apart
LIKELY, ROWS = 0.03, 30  # chance from which a moment is always listed, and rows that are filled up with others
LOOSE = 0.9  # chance that an animal goes on where its track ends within the views
WRONG = 0.5  # chance above which a join is undone: likelier wrong than right
SAME_ENCOUNTER = 10  # frames between two doubtful moments of the same tracks that are one


@dataclass(frozen=True, eq=False)
class Moments:
    """Links of a track between two frames in which two views saw it, where it was lost between or met another; (K,).

    ``before``, ``after``: rows; ``frames`` between them; ``score``: worst of the links between; ``worst``: its row;
    ``swap``: greatest odds of an exchange; ``other``: row of the track to exchange with, -1 for none; ``touch``: odds
    of an exchange in the same place, at the likeliest moment of the encounter, -inf elsewhere; ``close``: how near
    another track came while two views had lost it: 1 at the same place, 0 from a body length on.
    """

    before: Ints
    after: Ints
    frames: Ints
    score: Array
    worst: Ints
    swap: Array
    other: Ints
    touch: Array
    close: Array

    @classmethod
    def of(cls, refined: Refined) -> "Moments":
        """All doubtful moments of all tracks."""
        paths, swaps, scores = refined.paths, refined.swaps, refined.scores
        odds, partner = np.full(len(paths.name), NO_SWAP), np.full(len(paths.name), -1)
        rising = np.argsort(swaps.odds, kind="stable")  # so that the greatest is written last
        for mine, other in ((swaps.one, swaps.other), (swaps.other, swaps.one)):
            better = rising[swaps.odds[rising] > odds[mine[rising] + 1]]
            odds[mine[better] + 1], partner[mine[better] + 1] = swaps.odds[better], other[better]
        touch = np.full(len(paths.name), -np.inf)
        for k in _touching(refined):
            for row in (swaps.one[k] + 1, swaps.other[k] + 1):
                touch[row] = max(touch[row], swaps.odds[k])
        firm = np.flatnonzero((paths.members >= 0).sum(1) >= 2)
        before, after = firm[:-1], firm[1:]
        same = paths.name[before] == paths.name[after]
        before, after = before[same], after[same]
        frames = paths.frame[after] - paths.frame[before]
        lost = ((frames > 1) | (odds[after] > NO_SWAP)) & ~refined.pins.sure(paths)[after]
        before, after, frames = before[lost], after[lost], frames[lost]
        worst, met, close = np.empty(len(after), np.int64), np.empty(len(after), np.int64), np.empty(len(after))
        for k, (a, b) in enumerate(zip(before, after, strict=True)):
            worst[k] = a + 1 + np.argmin(scores[a + 1 : b + 1])
            met[k] = a + 1 + np.argmax(odds[a + 1 : b + 1])
            close[k] = touch[a + 1 : b + 1].max()
        beside = _closeness(refined, before, after)
        return cls(before, after, frames, scores[worst], worst, odds[met], partner[met], close, beside)

    def chance(self, weights: Array = WEIGHTS) -> Array:
        """(K,) chance that the track is another animal afterwards."""
        return np.asarray(1.0 - expit(-self.features() @ weights) * expit(-self.touch))

    def features(self) -> Array:
        """(K, 5) what `WEIGHTS` weigh."""
        return np.column_stack(
            [
                np.ones(len(self.score)),
                np.clip(self.score, *SCORES),
                np.log2(self.frames),
                self.swap - NO_SWAP,
                self.close,
            ]
        )


def _closeness(refined: Refined, before: Ints, after: Ints) -> Array:
    """(K,) how near another track came to each track between these rows, where there are rows between."""
    paths = refined.paths
    order = np.argsort(paths.frame, kind="stable")
    frames = paths.frame[order]
    out = np.zeros(len(before))
    for k in np.flatnonzero(after - before > 1):
        for row in range(int(before[k]) + 1, int(after[k])):
            low, high = np.searchsorted(frames, [paths.frame[row], paths.frame[row] + 1])
            others = order[low:high]
            others = others[paths.name[others] != paths.name[row]]
            if len(others):
                away = np.linalg.norm(paths.state[others, :3] - paths.state[row, :3], axis=1).min()
                out[k] = max(out[k], 1.0 - float(away) / refined.body_length)
    return out


def _touching(refined: Refined) -> Ints:
    """Return indices of swaps of tracks in the same place, the likeliest of each encounter."""
    paths, swaps = refined.paths, refined.swaps
    apart = paths.state[swaps.one, :3] - paths.state[swaps.other, :3]
    spread = paths.cov[swaps.one, :3, :3] + paths.cov[swaps.other, :3, :3]
    distance = np.einsum("ki,ki->k", apart, np.linalg.solve(spread, apart[..., None])[..., 0])
    near = np.flatnonzero(distance < SAME_PLACE)
    pair = np.sort(np.column_stack([paths.name[swaps.one[near]], paths.name[swaps.other[near]]]), axis=1)
    frame = paths.frame[swaps.one[near]]
    order = np.lexsort((frame, pair[:, 1], pair[:, 0]))
    near, pair, frame = near[order], pair[order], frame[order]
    new = (np.diff(pair, axis=0, prepend=-1) != 0).any(1) | (np.diff(frame, prepend=frame[:1]) > SAME_ENCOUNTER)
    begin = np.append(np.flatnonzero(new), len(near))
    return np.array([near[i + np.argmax(swaps.odds[near[i:j]])] for i, j in pairwise(begin.tolist())], np.int64)


def suspects(refined: Refined) -> list[Suspect]:
    """Return doubtful moments, the most doubtful first: all above `LIKELY`, and the next ones until there are `ROWS`.

    Moments of the same tracks within a few frames are one. Of two tracks that may be exchanged, the one that is more
    likely to be wrong speaks for both. Tracks that end or begin where no animal can leave or come are moments too.
    """
    found = [*meetings(refined), *_loose_ends(refined)]
    found.sort(key=lambda s: (-s.probability, s.first, s.track))
    return [s for k, s in enumerate(found) if s.probability >= LIKELY or k < ROWS]


def _loose_ends(refined: Refined) -> list[Suspect]:
    """Return ends and beginnings of tracks within the recording and away from the border of the views.

    An end names the track that begins soonest after it, which may be the same animal.
    """
    paths, borders = refined.paths, refined.borders
    first, last = paths.begin[:-1], paths.begin[1:] - 1
    name = paths.name[first]
    begin, end = paths.frame[first], paths.frame[last]
    whole = int(begin.min()), int(end.max())
    found, taken = [], set()
    for k in np.argsort(end, kind="stable"):
        if end[k] >= whole[1] or borders.leaving[k]:
            continue
        later = [j for j in np.argsort(begin, kind="stable") if begin[j] > end[k] and int(j) not in taken]
        other = later[0] if later else k
        taken.add(int(other))
        until = int(begin[other]) if later else int(end[k])
        found.append(Suspect(int(end[k]), until, int(name[k]), int(name[other]), LOOSE, "end"))
    for k in np.flatnonzero((begin > whole[0]) & ~borders.entering):
        if int(k) not in taken:
            found.append(Suspect(int(begin[k]), int(begin[k]), int(name[k]), int(name[k]), LOOSE, "begin"))
    return found


def meetings(refined: Refined, least: float = 1e-4, curve: tuple[float, float] = LISTED) -> list[Suspect]:
    """Return moments at which tracks were lost for a while, joined, or met, with at least this chance to be wrong.

    Parameters
    ----------
    refined : finished tracks.
    least : chance, before it is laid on the curve.
    curve : constant and share of log-odds, as `LISTED`; (0, 1) leaves chances as they are.
    """
    paths, moments = refined.paths, Moments.of(refined)
    chance = moments.chance()
    joined = {(int(t), int(b)) for t, _, b in refined.joins}
    rows: dict[tuple[int, int], list[tuple[int, int, int, float, str]]] = {}
    for k in np.flatnonzero(chance >= 0.1 * least):
        track = int(paths.name[moments.before[k]])
        first, last = int(paths.frame[moments.before[k]]), int(paths.frame[moments.after[k]])
        kind, pair = "gap", (track, track)
        if moments.swap[k] >= NAMED:
            kind, other = "swap", int(paths.name[moments.other[k]])
            pair = (min(track, other), max(track, other))
        elif any((track, frame) in joined for frame in range(first + 1, last + 1)):
            kind = "join"
        rows.setdefault(pair, []).append((first, last, track, float(chance[k]), kind))
    found = [_one(pair, met) for pair, mine in rows.items() for met in _encounters(sorted(mine))]
    listed = [replace(s, probability=laid_on(s.probability, curve)) for s in found if s.probability >= least]
    return sorted(listed, key=lambda s: (-s.probability, s.first, s.track))


def laid_on(chance: float, curve: tuple[float, float]) -> float:
    """Return the chance of which the log-odds are a constant and a share of those of a chance."""
    return float(expit(curve[0] + curve[1] * logit(min(max(chance, PLAIN), 1.0 - PLAIN))))


def _encounters(moments: list[tuple[int, int, int, float, str]]) -> list[list[tuple[int, int, int, float, str]]]:
    """Moments, ascending in time, in groups that are close to each other."""
    cuts = [k for k, (a, b) in enumerate(pairwise(moments), 1) if b[0] - a[1] > SAME_ENCOUNTER]
    return [moments[i:j] for i, j in pairwise([0, *cuts, len(moments)])]


def _one(pair: tuple[int, int], moments: list[tuple[int, int, int, float, str]]) -> Suspect:
    """Moments of one encounter as one suspect."""
    wrong = [1.0 - np.prod([1.0 - m[3] for m in moments if m[2] == track]) for track in set(pair)]
    kind = max(moments, key=lambda m: m[3])[4]
    return Suspect(min(m[0] for m in moments), max(m[1] for m in moments), *pair, float(max(wrong)), kind)


def link_confidence(refined: Refined) -> Array:
    """(N,) chance that each row of the tracks is the same animal as the row before it.

    The doubt of a gap is borne by the link in it at which past and future agree least.
    """
    wrong = np.full(len(refined.paths.name), PLAIN)
    wrong[refined.paths.begin[:-1]] = 0.0
    moments = Moments.of(refined)
    wrong[moments.worst] = np.maximum(moments.chance(), PLAIN)
    sure: Array = 1.0 - wrong
    return sure


def undo_doubtful_joins(
    rig: CameraRig, obs: Observations, refined: Refined, model: TrackingModel, settings: JointSettings
) -> Refined:
    """Cut tracks at joins that are likelier wrong than right; what was filled in between is dropped."""
    paths, moments = refined.paths, Moments.of(refined)
    name, keep = paths.name.copy(), np.ones(len(paths.name), bool)
    joins = [(t, a, b) for t, a, b in refined.joins.tolist()]
    for k in np.flatnonzero(moments.chance() > WRONG):
        row = int(moments.before[k])
        track, here, there = int(paths.name[row]), int(paths.frame[row]), int(paths.frame[moments.after[k]])
        for join in [j for j in joins if j[0] == track and here <= j[1] and j[2] <= there]:
            joins.remove(join)
            mine = paths.name == track
            keep[mine & (paths.frame > join[1]) & (paths.frame < join[2])] = False
            name[mine & (paths.frame >= join[2])] = name.max() + 1
    if (name == paths.name).all():
        return refined
    cut = paths.take(keep).renamed(name[keep])
    whose = {(int(n), int(f)) for n, f in zip(cut.name, cut.frame, strict=True)}
    renamed = [  # an exchange after the join may have left nothing of it
        (int(name[row]), a, b) for t, a, b in joins for row in np.flatnonzero((paths.name == t) & (paths.frame == b))
    ]
    cut = smoothed(rig, obs, cut, model, settings)
    return judged(
        rig, obs, cut, model, settings, [j for j in renamed if (j[0], j[2]) in whose], refined.open, refined.pins
    )
