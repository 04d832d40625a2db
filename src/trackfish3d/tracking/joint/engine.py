"""The joint tracker, frame by frame: predict, choose sets of detections for all tracks at once, correct, be born, die.

Confirmed tracks decide first and exclude each other. What they leave is offered to candidates, which do not: two
readings of the same detections live side by side until a window of frames tells which one explains them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ..kalman import predict
from .belief import Belief, Sights
from .births import sightings
from .cues import chances
from .kernels import add_dart, correct, hypotheses, look
from .lookahead import alternatives, compare
from .packing import pack
from .settings import JointSettings
from .window import duplicates, explain

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Pool:
    """Living tracks as columns (K,): candidates and confirmed ones."""

    name: Ints
    confirmed: NDArray[np.bool_]
    state: Array
    cov: Array
    born: Ints
    last: Ints
    score: Array
    best: Array
    debt: Array
    memory_size: Array
    memory_axis: Array
    memory_frame: Ints
    window_rows: Ints
    window_gain: Array

    @classmethod
    def empty(cls, views: int, window: int) -> "Pool":
        """No tracks."""
        i, f = np.int64, np.float64
        return cls(
            np.zeros(0, i), np.zeros(0, bool), np.zeros((0, 6)), np.zeros((0, 6, 6)), np.zeros(0, i), np.zeros(0, i),
            np.zeros(0, f), np.zeros(0, f), np.zeros(0, f), np.zeros((0, views)), np.zeros((0, views)),
            np.zeros((0, views), i),
            np.zeros((0, window, views), i), np.zeros((0, window, views)),
        )  # fmt: skip

    def take(self, rows: NDArray[np.bool_] | Ints) -> "Pool":
        """These tracks."""
        return Pool(*(getattr(self, k)[rows] for k in self.__dataclass_fields__))

    def join(self, other: "Pool") -> "Pool":
        """These tracks and others."""
        return Pool(*(np.concatenate([getattr(self, k), getattr(other, k)]) for k in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True, eq=False)
class FrameLog:
    """What happened to living tracks in one frame: name (K,), members (K, C) detection rows or -1, state and covariance
    after correction (K, 6), (K, 6, 6), weight (K,) log-likelihood ratio of the frame, margin (K,) by which the chosen
    reading beat the best other one."""

    frame: int
    name: Ints
    members: Ints
    state: Array
    cov: Array
    weight: Array
    margin: Array


@dataclass(frozen=True, eq=False)
class Ahead:
    """Frames to come: numbers (F,), offsets (F + 1,) of their detections, and which of them is the present one."""

    frames: Ints
    offsets: Ints
    now: int


class Engine:
    """State of a running joint tracker.

    Parameters
    ----------
    rig, belief, settings : cameras, likelihoods, choices. The engine sees frames in any order of time: `step` is told
    the number of frames since the last.
    """

    def __init__(self, rig: CameraRig, belief: Belief, settings: JointSettings) -> None:
        self.rig, self.belief, self.settings = rig, belief, settings
        self.packed = rig.packed
        self.sizes = np.array([c.size for c in rig], float)
        self.pool = Pool.empty(len(rig), settings.window)
        self.now = -1
        self.next_name = 0
        self.confirmed: set[int] = set()
        self.logs: list[FrameLog] = []
        self.stopped = 0
        self.tried = self.changed = 0
        self._typical = np.zeros(len(rig))
        self._log_clutter = np.log(belief.clutter)

    def step(self, frame: int, rows: slice, sights: Sights, ahead: Ahead | None = None) -> FrameLog:
        """Take one frame: its number, and which rows of ``sights`` are its detections, sorted by camera.

        ahead : the frames to come, for doubtful choices; without them each frame decides for itself.
        """
        s, views = self.settings, len(self.rig)
        elapsed = 1 if self.now < 0 else abs(frame - self.now)
        self.now = frame
        camera, u, v, r = (getattr(sights, k)[rows] for k in ("camera", "u", "v", "noise"))
        size, axis = sights.log_size[rows], sights.axis[rows]
        begin = np.searchsorted(camera, np.arange(views + 1))
        for c in range(views):
            if begin[c + 1] > begin[c]:
                self._typical[c] = np.median(size[begin[c] : begin[c + 1]])
        free = np.ones(len(u), bool)

        pool = self.pool
        predict(pool.state, pool.cov, np.full(len(pool), float(elapsed)), self.belief.acceleration**2)
        n = len(pool)
        pixel, J, seen = np.zeros((n, views, 2)), np.zeros((n, views, 2, 3)), np.zeros((n, views), bool)
        look(self.packed, pool.state, 1e-4 * self.belief.body_length, pixel, J, seen)
        found = np.zeros((n, views))
        chances(
            pixel, seen, self.sizes, pool.memory_size, pool.confirmed, self.belief.clear, self.belief.hidden,
            self._typical, found,
        )  # fmt: skip

        members, weight = np.full((n, views), -1, np.int64), np.zeros(n)
        margin, per = np.full(n, np.inf), np.zeros(n)
        for sure in (True, False):
            who = np.flatnonzero(pool.confirmed == sure)
            if not len(who):
                continue
            seeing = (pixel[who], J[who], seen[who], found[who])
            owner, sets, value = self._hypotheses(who, pool.cov[who], seeing, frame, begin, u, v, r, size, axis, free)
            wide = None
            if sure:
                owner, sets, value, wide = self._with_bursts(
                    who, elapsed, owner, sets, value, seeing, frame, begin, u, v, r, size, axis, free
                )
                chosen, _, stopped = pack(owner, sets, value, len(who), len(u), s.most_nodes)
                self.stopped += stopped
                if s.horizon and ahead is not None:
                    chosen = self._look_ahead(who, owner, sets, value, wide, chosen, elapsed, pixel, J, rows, sights, ahead)
            else:
                chosen = _best_each(owner, value, len(who))
            first = np.searchsorted(owner, np.arange(len(who)))
            members[who], weight[who] = sets[chosen], value[chosen]
            if wide is not None:
                self._widen(pool.cov, who[wide[chosen]], elapsed)
            count = np.maximum((members[who] >= 0).sum(1), 1)
            per[who] = (value[chosen] - value[first]) / count
            if sure:
                margin[who] = _margins(owner, sets, value, chosen)
                # one view alone does not prove an animal: what it used, candidates may still claim
                firm = members[who][(members[who] >= 0).sum(1) >= 2]
                free[firm[firm >= 0]] = False
            else:
                alone = (members[who] >= 0).sum(1) < 2
                weight[who[alone]] = np.minimum(value[first][alone], 0.0)
                per[who[alone]] = 0.0
        correct(pool.state, pool.cov, pixel, J, members, u, v, r)
        self._remember(pool, frame, members, weight, per, rows.start, size, axis)
        new = self._births(frame, rows, sights, begin, camera, u, v, r, free, members)
        self.pool = pool = pool.join(new) if len(new) else pool
        if len(new):
            grown = new.window_rows[:, -1]
            members_all = np.vstack([np.where(members >= 0, members + rows.start, -1), grown])
            log = FrameLog(
                frame, pool.name.copy(), members_all, pool.state.copy(), pool.cov.copy(),
                np.append(weight, new.score), np.append(margin, np.full(len(new), np.inf)),
            )  # fmt: skip
        else:
            log = FrameLog(
                frame, pool.name.copy(), np.where(members >= 0, members + rows.start, -1), pool.state.copy(),
                pool.cov.copy(), weight, margin,
            )  # fmt: skip
        self.logs.append(log)
        self._prune(frame, log.members, rows.stop)
        return log

    def _hypotheses(self, who, cov, seeing, frame, begin, u, v, r, size, axis, free):  # type: ignore[no-untyped-def]
        """What tracks ``who`` may be in this frame under these covariances: see `kernels.hypotheses`."""
        pool = self.pool
        return hypotheses(
            pool.state[who], cov, *seeing, pool.memory_size[who], pool.memory_axis[who], pool.memory_frame[who], frame,
            begin, u, v, r, size, axis, free, self.belief.scales, self._log_clutter, self.settings.gate,
        )  # fmt: skip

    def _with_bursts(  # type: ignore[no-untyped-def]
        self, who, elapsed, owner, sets, value, seeing, frame, begin, u, v, r, size, axis, free
    ):
        """Add what tracks may be if they darted: for those whose calm prediction leaves a view unexplained.

        Returns owner, sets, value, and which hypotheses (H,) are of a dart.
        """
        best = sets[_best_each(owner, value, len(who))]
        expected = (seeing[3] > 0.5).sum(1)
        poor = np.flatnonzero((best >= 0).sum(1) < expected)
        wide = np.zeros(len(owner), bool)
        if not len(poor) or self.settings.burst_share <= 0:
            return owner, sets, value, wide
        cov = self.pool.cov[who[poor]]
        self._widen(cov, np.arange(len(poor)), elapsed)
        more_owner, more_sets, more_value = self._hypotheses(
            who[poor], cov, tuple(a[poor] for a in seeing), frame, begin, u, v, r, size, axis, free
        )
        real = (more_sets >= 0).sum(1) >= 2  # one view alone does not prove a dart
        owner = np.concatenate([owner, poor[more_owner[real]]])
        order = np.argsort(owner, kind="stable")
        value = np.concatenate([value, more_value[real] + np.log(self.settings.burst_share)])
        wide = np.concatenate([wide, np.ones(int(real.sum()), bool)])
        return owner[order], np.concatenate([sets, more_sets[real]])[order], value[order], wide[order]

    def _look_ahead(  # type: ignore[no-untyped-def]
        self, who, owner, sets, value, wide, chosen, elapsed, pixel, J, rows, sights, ahead
    ):
        """Try doubtful choices on the frames that follow; returns the better one."""
        s, b, pool = self.settings, self.belief, self.pool
        for other in alternatives(owner, sets, value, chosen, rows.stop - rows.start, s.doubt, s.most_nodes):
            tracks = np.flatnonzero((sets[other] != sets[chosen]).any(1))
            if len(tracks) < 2:
                continue
            held = who[tracks]
            both = np.stack([chosen[tracks], other[tracks]])
            cov = np.stack([pool.cov[held]] * 2)
            for k in range(2):
                self._widen(cov[k], np.flatnonzero(wide[both[k]]), elapsed)
            lead = compare(
                self.packed, self.sizes, *(np.stack([a[held]] * 2) for a in (pool.state,)), cov,
                *(np.stack([a[held]] * 2) for a in (pixel, J)), np.where(sets[both] >= 0, sets[both] + rows.start, -1),
                *(np.stack([a[held]] * 2) for a in (pool.memory_size, pool.memory_axis, pool.memory_frame)),
                ahead.frames, ahead.offsets, ahead.now, sights.camera, sights.u, sights.v, sights.noise, sights.log_size,
                sights.axis, s.horizon, b.clear, b.hidden, self._log_clutter, b.scales, self._typical,
                b.acceleration**2, 1e-4 * b.body_length, s.gate, s.most_nodes,
            )  # fmt: skip
            self.tried += 1
            if lead + value[both[1]].sum() - value[both[0]].sum() > 1e-6:
                self.changed += 1
                return np.where(np.isin(np.arange(len(chosen)), tracks), other, chosen)
        return chosen

    def _widen(self, cov: Array, rows: Ints, elapsed: int) -> None:
        """Add to covariances (K, 6, 6) what a dart somewhere in the last frame can do, in place."""
        variance = self.belief.dart**2 * elapsed
        for k in rows:
            add_dart(cov[k], variance)

    def _remember(self, pool, frame, members, weight, per, start, size, axis):  # type: ignore[no-untyped-def]
        """Keep score, window and the last look of each track in each view."""
        hit = members >= 0
        pool.score += weight
        np.maximum(pool.best, pool.score, out=pool.best)
        pool.last[hit.any(1)] = frame
        pool.debt[~hit.any(1)] -= weight[~hit.any(1)]
        pool.debt[hit.sum(1) >= 2] = 0.0
        t, c = np.nonzero(hit)
        d = members[t, c]
        pool.memory_size[t, c], pool.memory_axis[t, c], pool.memory_frame[t, c] = size[d], axis[d], frame
        pool.window_rows[:, :-1] = pool.window_rows[:, 1:]
        pool.window_gain[:, :-1] = pool.window_gain[:, 1:]
        pool.window_rows[:, -1] = np.where(hit, members + start, -1)
        pool.window_gain[:, -1] = np.where(hit, per[:, None], 0.0)

    def _births(self, frame, rows, sights, begin, camera, u, v, r, free, members) -> Pool:  # type: ignore[no-untyped-def]
        """Candidates from detections that no confirmed track took, unless a candidate holds the same pair."""
        b, s, views = self.belief, self.settings, len(self.rig)
        empty = Pool.empty(views, s.window)
        if free.sum() < 2:
            return empty
        known = np.zeros((len(u), len(u)), bool)
        for a in range(views):
            for c in range(a + 1, views):
                both = (members[:, a] >= 0) & (members[:, c] >= 0)
                known[members[both, a], members[both, c]] = True
        sets, weight, position, covariance = sightings(
            self.packed, self.sizes, sights.origin[rows], sights.direction[rows], camera, begin, u, v, r, free, known,
            b.clear, self._log_clutter, b.body_length, np.log(b.births), s.gate, 1e-4 * b.body_length,
        )  # fmt: skip
        keep = weight > s.least_birth
        if keep.sum() > s.most_candidates:
            keep &= weight >= np.partition(weight, -s.most_candidates)[-s.most_candidates]
        k = int(keep.sum())
        if k == 0:
            return empty
        sets, weight = sets[keep], weight[keep]
        state, cov = np.zeros((k, 6)), np.zeros((k, 6, 6))
        state[:, :3], cov[:, :3, :3] = position[keep], covariance[keep]
        cov[:, 3:, 3:] = b.velocity**2 * np.eye(3)
        hit = sets >= 0
        window_rows = np.full((k, s.window, views), -1, np.int64)
        window_gain = np.zeros((k, s.window, views))
        window_rows[:, -1] = np.where(hit, sets + rows.start, -1)
        window_gain[:, -1] = np.where(hit, (weight / hit.sum(1))[:, None], 0.0)
        names = np.arange(self.next_name, self.next_name + k)
        self.next_name += k
        size, axis = sights.log_size[rows], sights.axis[rows]
        return Pool(
            names, np.zeros(k, bool), state, cov, np.full(k, frame), np.full(k, frame), weight.copy(), weight.copy(),
            np.zeros(k), np.where(hit, size[sets], np.nan), np.where(hit, axis[sets], np.nan), np.where(hit, frame, -1),
            window_rows, window_gain,
        )  # fmt: skip

    def _prune(self, frame: int, members: Ints, stop: int) -> None:
        """Let tracks die, drop doubles, and confirm candidates that a whole window bears out."""
        s, pool = self.settings, self.pool
        quiet = np.abs(frame - pool.last)
        spread = np.sqrt(np.einsum("kii->k", pool.cov[:, :3, :3]))
        lost = (quiet > s.max_age) | (pool.debt > s.most_debt) | (spread > s.most_spread * self.belief.body_length)
        failed = (pool.score < pool.best - s.most_loss) | (quiet > s.candidate_age)
        alive = np.where(pool.confirmed, ~lost, ~failed)
        candidate = np.flatnonzero(~pool.confirmed & alive)
        alive[candidate[duplicates(members[candidate], pool.score[candidate])]] = False
        self.pool = pool = pool.take(alive)
        age = np.abs(frame - pool.born) + 1
        if (~pool.confirmed & (age >= s.window)).any():
            self._confirm(age >= s.window, stop)
        candidate = np.flatnonzero(~self.pool.confirmed)
        if len(candidate) > s.most_candidates:
            rank = np.argsort(-self.pool.score[candidate] / (np.abs(frame - self.pool.born[candidate]) + 1))
            alive = np.ones(len(self.pool), bool)
            alive[candidate[rank[s.most_candidates :]]] = False
            self.pool = self.pool.take(alive)

    def _confirm(self, old: NDArray[np.bool_], stop: int) -> None:
        pool, s = self.pool, self.settings
        candidate = np.flatnonzero(~pool.confirmed)
        rows = pool.window_rows[candidate]
        seen = rows[rows >= 0]
        first = int(seen.min()) if len(seen) else 0
        last = int(seen.max()) + 1 if len(seen) else 1
        held = pool.window_rows[pool.confirmed]
        chosen, _ = explain(
            pool.score[candidate], rows, pool.window_gain[candidate], held[held >= 0], first, last - first, s.least
        )
        risen = candidate[chosen & old[candidate]]
        pool.confirmed[risen] = True
        self.confirmed.update(pool.name[risen].tolist())
        alive = np.ones(len(pool), bool)
        alive[candidate[~chosen & old[candidate]]] = False
        self.pool = pool.take(alive)

    def finish(self) -> None:
        """Confirm what is left at the end, however short."""
        if len(self.pool):
            self._confirm(np.abs(self.now - self.pool.born) + 1 >= self.settings.min_obs, 0)


def _best_each(owner: Ints, value: Array, count: int) -> Ints:
    """Return the best hypothesis (T,) of each owner."""
    order = np.lexsort((-value, owner))
    best: Ints = order[np.searchsorted(owner[order], np.arange(count))]
    return best


def _margins(owner: Ints, sets: Ints, value: Array, chosen: Ints) -> Array:
    """By how much each track's reading beats its best other one that shares no detection with it, (T,)."""
    mine = sets[chosen][owner]
    shares = ((sets == mine) & (sets >= 0)).any(1)
    other = np.where(shares, -np.inf, value)
    best = np.full(len(chosen), -np.inf)
    np.maximum.at(best, owner, other)
    out: Array = value[chosen] - best
    return out
