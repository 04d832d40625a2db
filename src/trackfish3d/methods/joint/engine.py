"""The joint tracker, frame by frame: predict, choose sets of detections for all tracks at once, correct, be born, die.

Confirmed tracks decide first and exclude each other. What they leave is offered to candidates, which do not: two
readings of the same detections live side by side until a window of frames tells which one explains them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...cameras.rig import CameraRig
from ...maths.kalman import predict
from .confirmation import duplicates, explain
from .cues import chances, typical_size
from .initiation import sightings
from .kernels import add_dart, correct, hypotheses, look
from .live_tracks import Ahead, FrameLog, Pool
from .lookahead import alternatives, compare
from .model import Belief, FrameSights, Sights
from .packing import pack
from .pair_odds import add_bonds
from .settings import JointSettings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Hypotheses = tuple[Ints, Ints, Array, Flags]
"""Owner (H,), sets (H, C), value (H,), and whether each supposes a dart (H,)."""


@dataclass(eq=False)
class Seeing:
    """Where tracks should be seen: pixel (K, C, 2), Jacobian (K, C, 2, 3), seen (K, C), chance to be found (K, C)."""

    pixel: Array
    J: Array
    seen: Flags
    found: Array

    def of(self, rows: Ints) -> tuple[Array, Array, Flags, Array]:
        """Return the same of these tracks."""
        return self.pixel[rows], self.J[rows], self.seen[rows], self.found[rows]


class Engine:
    """State of a running joint tracker.

    Parameters
    ----------
    rig, belief, settings : cameras, likelihoods, choices.

    ``logs`` holds what happened in each frame, ``confirmed`` the names of tracks that count, ``stopped`` the number of
    components whose search ended early, ``tried`` and ``changed`` the doubtful choices and those that were revised.
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
        self.stopped = self.tried = self.changed = 0
        self._typical = np.zeros(len(rig))
        self._log_clutter = np.log(belief.clutter)
        self._h = 1e-4 * belief.body_length  # step of derivatives, world units

    def step(self, number: int, rows: slice, sights: Sights, ahead: Ahead | None = None) -> FrameLog:
        """Take one frame: its number, and which rows of ``sights`` are its detections, sorted by camera.

        ahead : the frames to come, for doubtful choices; without them each frame decides for itself.
        """
        elapsed = 1 if self.now < 0 else number - self.now
        self.now = number
        frame = sights.frame(number, rows, len(self.rig))
        pool = self.pool
        predict(pool.state, pool.cov, np.full(len(pool), float(elapsed)), self.belief.acceleration**2)
        seeing = self._look(frame)
        members = np.full((len(pool), len(self.rig)), -1, np.int64)
        weight, gain = np.zeros(len(pool)), np.zeros(len(pool))
        free = np.ones(len(frame), bool)
        sure = np.flatnonzero(pool.confirmed)
        if len(sure):
            self._decide(sure, frame, seeing, elapsed, sights, ahead, members, weight, gain)
            # one view alone does not prove an animal: what it used, candidates may still claim
            firm = members[sure][(members[sure] >= 0).sum(1) >= 2]
            free[firm[firm >= 0]] = False
        candidates = np.flatnonzero(~pool.confirmed)
        if len(candidates):
            self._follow(candidates, frame, seeing, free, members, weight, gain)
        correct(pool.state, pool.cov, seeing.pixel, seeing.J, members, frame.u, frame.v, frame.noise)
        self._remember(frame, members, weight, gain)
        new = self._births(frame, free, members)
        self.pool = pool = pool.join(new)
        everyone = np.vstack([frame.rows(members), new.window_rows[:, -1]])
        log = FrameLog(
            number, pool.name.copy(), everyone, pool.state.copy(), pool.cov.copy(), np.append(weight, new.score)
        )
        self.logs.append(log)
        self._prune(everyone)
        return log

    def finish(self) -> None:
        """Confirm what is left at the end, however short."""
        if len(self.pool):
            self._confirm(self.now - self.pool.born + 1 >= self.settings.min_obs)

    def _look(self, frame: FrameSights) -> Seeing:
        """Where every track should be seen, and how likely."""
        n, views, pool = len(self.pool), len(self.rig), self.pool
        typical_size(frame.begin, frame.log_size, self._typical)
        out = Seeing(
            np.zeros((n, views, 2)), np.zeros((n, views, 2, 3)), np.zeros((n, views), bool), np.zeros((n, views))
        )
        look(self.packed, pool.state, self._h, out.pixel, out.J, out.seen)
        chances(
            out.pixel, out.seen, self.sizes, pool.memory_size, pool.confirmed, self.belief.clear, self.belief.hidden,
            self._typical, out.found,
        )  # fmt: skip
        return out

    def _hypotheses(
        self, who: Ints, cov: Array, frame: FrameSights, seeing: Seeing, free: Flags
    ) -> tuple[Ints, Ints, Array]:
        """Return what tracks ``who`` may be in this frame under these covariances: see `kernels.hypotheses`."""
        pool = self.pool
        found: tuple[Ints, Ints, Array] = hypotheses(
            pool.state[who], cov, *seeing.of(who), pool.memory_size[who], pool.memory_axis[who],
            pool.memory_frame[who], frame.number, frame.begin, frame.u, frame.v, frame.noise, frame.log_size,
            frame.axis, free, self.belief.scales, self._log_clutter, self.settings.gate,
        )  # fmt: skip
        add_bonds(found[2], found[1], frame.start, *frame.bonds)
        return found

    def _decide(
        self, who: Ints, frame: FrameSights, seeing: Seeing, elapsed: int, sights: Sights, ahead: Ahead | None,
        members: Ints, weight: Array, gain: Array,
    ) -> None:  # fmt: skip
        """Choose for all confirmed tracks at once; fills members, weight and gain of their rows."""
        pool, s = self.pool, self.settings
        everything = np.ones(len(frame), bool)
        calm = self._hypotheses(who, pool.cov[who], frame, seeing, everything)
        owner, sets, value, dart = self._with_darts(who, calm, frame, seeing, elapsed)
        chosen, _, stopped = pack(owner, sets, value, len(who), len(frame), s.most_nodes)
        self.stopped += stopped
        if s.horizon and ahead is not None:
            chosen = self._look_ahead(who, (owner, sets, value, dart), chosen, frame, seeing, elapsed, sights, ahead)
        first = np.searchsorted(owner, np.arange(len(who)))
        members[who], weight[who] = sets[chosen], value[chosen]
        gain[who] = (value[chosen] - value[first]) / np.maximum((sets[chosen] >= 0).sum(1), 1)
        self._widen(pool.cov, who[dart[chosen]], elapsed)

    def _with_darts(
        self, who: Ints, calm: tuple[Ints, Ints, Array], frame: FrameSights, seeing: Seeing, elapsed: int
    ) -> Hypotheses:
        """Add what tracks may be if they darted: for those whose calm prediction leaves a view unexplained."""
        owner, sets, value = calm
        dart = np.zeros(len(owner), bool)
        best = sets[_best_each(owner, value, len(who))]
        poor = np.flatnonzero((best >= 0).sum(1) < (seeing.found[who] > 0.5).sum(1))
        if not len(poor) or self.settings.dart_share <= 0:
            return owner, sets, value, dart
        cov = self.pool.cov[who[poor]]
        self._widen(cov, np.arange(len(poor)), elapsed)
        more_owner, more_sets, more = self._hypotheses(who[poor], cov, frame, seeing, np.ones(len(frame), bool))
        real = (more_sets >= 0).sum(1) >= 2  # one view alone does not prove a dart
        owner = np.concatenate([owner, poor[more_owner[real]]])
        order = np.argsort(owner, kind="stable")
        value = np.concatenate([value, more[real] + np.log(self.settings.dart_share)])
        dart = np.concatenate([dart, np.ones(int(real.sum()), bool)])
        return owner[order], np.concatenate([sets, more_sets[real]])[order], value[order], dart[order]

    def _look_ahead(
        self, who: Ints, choices: Hypotheses, chosen: Ints, frame: FrameSights, seeing: Seeing, elapsed: int,
        sights: Sights, ahead: Ahead,
    ) -> Ints:  # fmt: skip
        """Try doubtful choices on the frames that follow; returns the better one."""
        s, b, pool = self.settings, self.belief, self.pool
        owner, sets, value, dart = choices
        for other in alternatives(owner, sets, value, chosen, len(frame), s.doubt, s.most_nodes):
            tracks = np.flatnonzero((sets[other] != sets[chosen]).any(1))
            if len(tracks) < 2:
                continue
            held, both = who[tracks], np.stack([chosen[tracks], other[tracks]])
            cov = np.stack([pool.cov[held]] * 2)
            for k in range(2):
                self._widen(cov[k], np.flatnonzero(dart[both[k]]), elapsed)
            state, pixel, J, size, axis, last = (
                np.stack([a[held]] * 2)
                for a in (pool.state, seeing.pixel, seeing.J, pool.memory_size, pool.memory_axis, pool.memory_frame)
            )
            lead = compare(
                self.packed, self.sizes, state, cov, pixel, J, frame.rows(sets[both]), size, axis, last, ahead.frames,
                ahead.offsets, ahead.now, sights.camera, sights.u, sights.v, sights.noise, sights.log_size, sights.axis,
                s.horizon, b.clear, b.hidden, self._log_clutter, b.scales, self._typical, b.acceleration**2, self._h,
                s.gate, s.most_nodes, *sights.bonds,
            )  # fmt: skip
            self.tried += 1
            if lead + value[both[1]].sum() - value[both[0]].sum() > 1e-6:
                self.changed += 1
                revised: Ints = chosen.copy()
                revised[tracks] = other[tracks]
                return revised
        return chosen

    def _widen(self, cov: Array, rows: Ints, elapsed: int) -> None:
        """Add to covariances (K, 6, 6) what a dart somewhere in the last frame can do, in place."""
        for k in rows:
            add_dart(cov[k], self.belief.dart**2 * elapsed)

    def _follow(
        self, who: Ints, frame: FrameSights, seeing: Seeing, free: Flags, members: Ints, weight: Array, gain: Array
    ) -> None:
        """Let every candidate take what is best for it; fills members, weight and gain of their rows."""
        owner, sets, value = self._hypotheses(who, self.pool.cov[who], frame, seeing, free)
        chosen = _best_each(owner, value, len(who))
        nothing = value[np.searchsorted(owner, np.arange(len(who)))]
        count = (sets[chosen] >= 0).sum(1)
        alone = count < 2  # a single view follows any detection; it is no evidence
        members[who] = sets[chosen]
        weight[who] = np.where(alone, np.minimum(nothing, 0.0), value[chosen])
        gain[who] = np.where(alone, 0.0, (value[chosen] - nothing) / np.maximum(count, 1))

    def _remember(self, frame: FrameSights, members: Ints, weight: Array, gain: Array) -> None:
        """Keep score, window and the last look of each track in each view."""
        pool, hit = self.pool, members >= 0
        unseen = ~hit.any(1)
        pool.score += weight
        np.maximum(pool.best, pool.score, out=pool.best)
        pool.last[~unseen] = frame.number
        pool.debt[unseen] -= weight[unseen]
        pool.debt[hit.sum(1) >= 2] = 0.0
        t, c = np.nonzero(hit)
        d = members[t, c]
        pool.memory_size[t, c], pool.memory_axis[t, c] = frame.log_size[d], frame.axis[d]
        pool.memory_frame[t, c] = frame.number
        for column, last in ((pool.window_rows, frame.rows(members)), (pool.window_gain, hit * gain[:, None])):
            column[:, :-1] = column[:, 1:]
            column[:, -1] = last

    def _births(self, frame: FrameSights, free: Flags, members: Ints) -> Pool:
        """Candidates from detections that no confirmed track took, unless a candidate holds the same pair."""
        b, s, views = self.belief, self.settings, len(self.rig)
        none = Pool.empty(views, s.window)
        if free.sum() < 2:
            return none
        known = np.zeros((len(frame), len(frame)), bool)
        for a in range(views):
            for c in range(a + 1, views):
                both = (members[:, a] >= 0) & (members[:, c] >= 0)
                known[members[both, a], members[both, c]] = True
        sets, weight, position, covariance = sightings(
            self.packed, self.sizes, frame.origin, frame.direction, frame.camera, frame.begin, frame.u, frame.v,
            frame.noise, free, known, b.clear, self._log_clutter, b.body_length, np.log(b.births), s.gate, self._h,
        )  # fmt: skip
        add_bonds(weight, sets, frame.start, *frame.bonds)
        keep = np.flatnonzero(weight > s.least_birth)
        keep = keep[np.argsort(-weight[keep], kind="stable")[: s.most_candidates]]
        k = len(keep)
        if k == 0:
            return none
        sets, weight = sets[keep], weight[keep]
        state, cov = np.zeros((k, 6)), np.zeros((k, 6, 6))
        state[:, :3], cov[:, :3, :3] = position[keep], covariance[keep]
        cov[:, 3:, 3:] = b.velocity**2 * np.eye(3)
        hit = sets >= 0
        window_rows = np.full((k, s.window, views), -1, np.int64)
        window_gain = np.zeros((k, s.window, views))
        window_rows[:, -1] = frame.rows(sets)
        window_gain[:, -1] = hit * (weight / hit.sum(1))[:, None]
        names = np.arange(self.next_name, self.next_name + k)
        self.next_name += k
        return Pool(
            names, np.zeros(k, bool), state, cov, np.full(k, frame.number), np.full(k, frame.number), weight.copy(),
            weight.copy(), np.zeros(k), np.where(hit, frame.log_size[sets], np.nan),
            np.where(hit, frame.axis[sets], np.nan), np.where(hit, frame.number, -1), window_rows, window_gain,
        )  # fmt: skip

    def _prune(self, members: Ints) -> None:
        """Let tracks die, drop doubles, and confirm candidates that a whole window bears out."""
        s, pool = self.settings, self.pool
        quiet = self.now - pool.last
        spread = np.sqrt(np.einsum("kii->k", pool.cov[:, :3, :3]))
        lost = (quiet > s.max_age) | (pool.debt > s.most_debt) | (spread > s.most_spread * self.belief.body_length)
        failed = (pool.score < pool.best - s.most_loss) | (quiet > s.candidate_age)
        alive = np.where(pool.confirmed, ~lost, ~failed)
        candidate = np.flatnonzero(~pool.confirmed & alive)
        alive[candidate[duplicates(members[candidate], pool.score[candidate])]] = False
        self.pool = pool = pool.take(alive)
        old = self.now - pool.born + 1 >= s.window
        if (~pool.confirmed & old).any():
            self._confirm(old)
        candidate = np.flatnonzero(~self.pool.confirmed)
        if len(candidate) > s.most_candidates:
            rank = np.argsort(-self.pool.score[candidate] / (self.now - self.pool.born[candidate] + 1), kind="stable")
            alive = np.ones(len(self.pool), bool)
            alive[candidate[rank[s.most_candidates :]]] = False
            self.pool = self.pool.take(alive)

    def _confirm(self, old: Flags) -> None:
        """Confirm or drop candidates that are ``old`` (K,) enough; younger ones only claim their detections."""
        pool = self.pool
        candidate = np.flatnonzero(~pool.confirmed)
        rows, held = pool.window_rows[candidate], pool.window_rows[pool.confirmed]
        seen = rows[rows >= 0]
        first, last = (int(seen.min()), int(seen.max())) if len(seen) else (0, 0)
        chosen, _ = explain(
            pool.score[candidate], rows, pool.window_gain[candidate], held[held >= 0], first, last - first + 1,
            self.settings.least,
        )  # fmt: skip
        risen = candidate[chosen & old[candidate]]
        pool.confirmed[risen] = True
        self.confirmed.update(pool.name[risen].tolist())
        alive = np.ones(len(pool), bool)
        alive[candidate[~chosen & old[candidate]]] = False
        self.pool = pool.take(alive)


def _best_each(owner: Ints, value: Array, count: int) -> Ints:
    """Return the best hypothesis (T,) of each owner."""
    order = np.lexsort((-value, owner))
    best: Ints = order[np.searchsorted(owner[order], np.arange(count))]
    return best
