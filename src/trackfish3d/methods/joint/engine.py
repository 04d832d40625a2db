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
from .initiation import initiate
from .kernels import FLIGHT_SCALE, FLIGHT_SHARE, add_dart, correct, hypotheses, look
from .live_tracks import FrameLog, FutureFrames, LiveTracks
from .lookahead import alternatives, compare
from .model import TrackingModel
from .observations import FrameObservations, Observations
from .packing import pack
from .pair_odds import add_pair_odds
from .settings import JointSettings

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
_SEEN_DEPTH = 0.8  # of the square of a body length: what is left of it where views know depth to two lengths
Hypotheses = tuple[Ints, Ints, Array, Array]
"""Owner (H,), sets (H, C), value (H,), and how fast a dart each supposes (H,), in usual ones; 0 for none."""


@dataclass(eq=False)
class PredictedViews:
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
    rig, model, settings : cameras, likelihoods, choices.

    ``logs`` holds what happened in each frame, ``confirmed`` the names of tracks that count, ``stopped`` the number of
    components whose search ended early, ``tried`` and ``changed`` the doubtful choices and those that were revised.
    """

    def __init__(self, rig: CameraRig, model: TrackingModel, settings: JointSettings) -> None:
        self.rig, self.model, self.settings = rig, model, settings
        self.packed = rig.packed
        self.sizes = np.array([c.size for c in rig], float)
        self.live = LiveTracks.empty(len(rig), settings.window)
        self.now = 0  # before the first frame there are no tracks, so that no gap is taken from it
        self.next_name = 0
        self.confirmed: set[int] = set()
        self.logs: list[FrameLog] = []
        self.stopped = self.tried = self.changed = 0
        self._typical = np.zeros(len(rig))
        self._log_clutter = np.log(model.clutter)
        self._h = 1e-4 * model.body_length  # step of derivatives, world units

    def step(self, number: int, rows: slice, obs: Observations, ahead: FutureFrames | None = None) -> FrameLog:
        """Take one frame: its number, and which rows of ``obs`` are its detections, sorted by camera.

        ahead : the frames to come, for doubtful choices; without them each frame decides for itself.
        """
        elapsed = number - self.now
        self.now = number
        frame = obs.frame(number, rows, len(self.rig))
        live = self.live
        predict(live.state, live.cov, np.full(len(live), float(elapsed)), self.model.acceleration**2)
        predicted = self._look(frame)
        members = np.full((len(live), len(self.rig)), -1, np.int64)
        weight, gain = np.zeros(len(live)), np.zeros(len(live))
        free = np.ones(len(frame), bool)
        sure = np.flatnonzero(live.confirmed)
        if len(sure):
            self._decide(sure, frame, predicted, elapsed, obs, ahead, members, weight, gain)
            # one view alone does not prove an animal: what it used, candidates may still claim
            firm = members[sure][(members[sure] >= 0).sum(1) >= 2]
            free[firm[firm >= 0]] = False
        candidates = np.flatnonzero(~live.confirmed)
        if len(candidates):
            self._follow(candidates, frame, predicted, free, members, weight, gain)
        correct(live.state, live.cov, predicted.pixel, predicted.J, members, frame.u, frame.v, frame.noise)
        self._remember(frame, members, weight, gain)
        new = self._births(frame, free, members)
        self.live = live = live.join(new)
        everyone = np.vstack([frame.rows(members), new.window_rows[:, -1]])
        log = FrameLog(
            number, live.name.copy(), everyone, live.state.copy(), live.cov.copy(), np.append(weight, new.score)
        )
        self.logs.append(log)
        self._prune(everyone)
        return log

    def finish(self) -> None:
        """Confirm what is left at the end, however short."""
        if len(self.live):
            self._confirm(self.now - self.live.born + 1 >= self.settings.min_obs)

    def _look(self, frame: FrameObservations) -> PredictedViews:
        """Where every track should be seen, and how likely."""
        n, views, live = len(self.live), len(self.rig), self.live
        typical_size(frame.begin, frame.log_size, self._typical)
        out = PredictedViews(
            np.zeros((n, views, 2)), np.zeros((n, views, 2, 3)), np.zeros((n, views), bool), np.zeros((n, views))
        )
        look(self.packed, live.state, self._h, out.pixel, out.J, out.seen)
        chances(
            out.pixel, out.seen, self.sizes, live.memory_size, live.confirmed, self.model.clear, self.model.hidden,
            self._typical, out.found,
        )  # fmt: skip
        return out

    def _hypotheses(
        self, who: Ints, cov: Array, frame: FrameObservations, predicted: PredictedViews, free: Flags
    ) -> tuple[Ints, Ints, Array]:
        """Return what tracks ``who`` may be in this frame under these covariances: see `kernels.hypotheses`."""
        live = self.live
        found: tuple[Ints, Ints, Array] = hypotheses(
            live.state[who], cov, *predicted.of(who), live.memory_size[who], live.memory_axis[who],
            live.memory_frame[who], frame.number, frame.begin, frame.u, frame.v, frame.noise, frame.log_size,
            frame.axis, free, self.model.scales, self._log_clutter, self.settings.gate,
        )  # fmt: skip
        add_pair_odds(found[2], found[1], frame.start, *frame.pair_odds)
        return found

    def _decide(
        self, who: Ints, frame: FrameObservations, predicted: PredictedViews, elapsed: int, obs: Observations,
        ahead: FutureFrames | None, members: Ints, weight: Array, gain: Array,
    ) -> None:  # fmt: skip
        """Choose for all confirmed tracks at once; fills members, weight and gain of their rows."""
        live, s = self.live, self.settings
        everything = np.ones(len(frame), bool)
        calm = self._hypotheses(who, live.cov[who], frame, predicted, everything)
        owner, sets, value, dart = self._with_darts(who, calm, frame, predicted, elapsed)
        chosen, _, stopped = pack(owner, sets, value, len(who), len(frame), s.most_nodes)
        self.stopped += stopped
        if s.horizon and ahead is not None:
            chosen = self._look_ahead(who, (owner, sets, value, dart), chosen, frame, predicted, elapsed, obs, ahead)
        first = np.searchsorted(owner, np.arange(len(who)))
        members[who], weight[who] = sets[chosen], value[chosen]
        gain[who] = (value[chosen] - value[first]) / np.maximum((sets[chosen] >= 0).sum(1), 1)
        self._widen(live.cov, who, dart[chosen], elapsed)

    def _with_darts(
        self,
        who: Ints,
        calm: tuple[Ints, Ints, Array],
        frame: FrameObservations,
        predicted: PredictedViews,
        elapsed: int,
    ) -> Hypotheses:
        """Add what tracks may be if they darted: for those whose calm prediction leaves a view unexplained."""
        owner, sets, value = calm
        dart = np.zeros(len(owner))
        views = (sets[_best_each(owner, value, len(who))] >= 0).sum(1)
        poor = np.flatnonzero(views < (predicted.found[who] > 0.5).sum(1))
        if not len(poor) or self.settings.dart_share <= 0:
            return owner, sets, value, dart
        for share, scale in ((1.0, 1.0), (FLIGHT_SHARE, FLIGHT_SCALE)):
            cov = self.live.cov[who[poor]]
            self._widen(cov, np.arange(len(poor)), np.full(len(poor), scale), elapsed)
            more_owner, more_sets, more = self._hypotheses(who[poor], cov, frame, predicted, np.ones(len(frame), bool))
            real = (more_sets >= 0).sum(1) >= 2  # one view alone does not prove a dart
            more_owner = poor[more_owner[real]]
            owner = np.concatenate([owner, more_owner])
            sets = np.concatenate([sets, more_sets[real]])
            value = np.concatenate([value, more[real] + np.log(share * self.settings.dart_share)])
            dart = np.concatenate([dart, np.full(len(more_owner), scale)])
            views[more_owner] = 2
            poor = poor[views[poor] < 2]  # a flight is supposed where nothing else explains two views
            if not len(poor):
                break
        order = np.argsort(owner, kind="stable")
        return owner[order], sets[order], value[order], dart[order]

    def _look_ahead(
        self, who: Ints, choices: Hypotheses, chosen: Ints, frame: FrameObservations, predicted: PredictedViews,
        elapsed: int, obs: Observations, ahead: FutureFrames,
    ) -> Ints:  # fmt: skip
        """Try doubtful choices on the frames that follow; returns the better one."""
        s, b, live = self.settings, self.model, self.live
        owner, sets, value, dart = choices
        for other in alternatives(owner, sets, value, chosen, len(frame), s.doubt, s.most_nodes):
            tracks = np.flatnonzero((sets[other] != sets[chosen]).any(1))
            if len(tracks) < 2:
                continue
            held, both = who[tracks], np.stack([chosen[tracks], other[tracks]])
            cov = np.stack([live.cov[held]] * 2)
            for k in range(2):
                self._widen(cov[k], np.arange(len(held)), dart[both[k]], elapsed)
            state, pixel, J, size, axis, last = (
                np.stack([a[held]] * 2)
                for a in (
                    live.state,
                    predicted.pixel,
                    predicted.J,
                    live.memory_size,
                    live.memory_axis,
                    live.memory_frame,
                )
            )
            lead = compare(
                self.packed, self.sizes, state, cov, pixel, J, frame.rows(sets[both]), size, axis, last, ahead.frames,
                ahead.offsets, ahead.now, obs.camera, obs.u, obs.v, obs.noise, obs.log_size, obs.axis,
                s.horizon, b.clear, b.hidden, self._log_clutter, b.scales, self._typical, b.acceleration**2, self._h,
                s.gate, s.most_nodes, *obs.pair_odds,
            )  # fmt: skip
            self.tried += 1
            if lead + value[both[1]].sum() - value[both[0]].sum() > 1e-6:
                self.changed += 1
                revised: Ints = chosen.copy()
                revised[tracks] = other[tracks]
                return revised
        return chosen

    def _widen(self, cov: Array, rows: Ints, scale: Array, elapsed: int) -> None:
        """Add to rows of covariances (K, 6, 6) what darts of this scale (R,) can do in the last frame, in place."""
        for k, times in zip(rows[scale > 0], scale[scale > 0], strict=True):
            add_dart(cov[k], (times * self.model.dart) ** 2 * elapsed)

    def _follow(
        self,
        who: Ints,
        frame: FrameObservations,
        predicted: PredictedViews,
        free: Flags,
        members: Ints,
        weight: Array,
        gain: Array,
    ) -> None:
        """Let every candidate take what is best for it; fills members, weight and gain of their rows."""
        owner, sets, value = self._hypotheses(who, self.live.cov[who], frame, predicted, free)
        chosen = _best_each(owner, value, len(who))
        nothing = value[np.searchsorted(owner, np.arange(len(who)))]
        count = (sets[chosen] >= 0).sum(1)
        alone = count < 2  # a single view follows any detection; it is no evidence
        members[who] = sets[chosen]
        weight[who] = np.where(alone, np.minimum(nothing, 0.0), value[chosen])
        gain[who] = np.where(alone, 0.0, (value[chosen] - nothing) / np.maximum(count, 1))

    def _remember(self, frame: FrameObservations, members: Ints, weight: Array, gain: Array) -> None:
        """Keep score, window and the last look of each track in each view."""
        live, hit = self.live, members >= 0
        unseen = ~hit.any(1)
        live.score += weight
        np.maximum(live.best, live.score, out=live.best)
        live.last[~unseen] = frame.number
        live.debt[unseen] -= weight[unseen]
        live.debt[hit.sum(1) >= 2] = 0.0
        t, c = np.nonzero(hit)
        d = members[t, c]
        live.memory_size[t, c], live.memory_axis[t, c] = frame.log_size[d], frame.axis[d]
        live.memory_frame[t, c] = frame.number
        for column, last in ((live.window_rows, frame.rows(members)), (live.window_gain, hit * gain[:, None])):
            column[:, :-1] = column[:, 1:]
            column[:, -1] = last

    def _births(self, frame: FrameObservations, free: Flags, members: Ints) -> LiveTracks:
        """Candidates from detections that no confirmed track took, unless a candidate holds the same pair."""
        b, s, views = self.model, self.settings, len(self.rig)
        none = LiveTracks.empty(views, s.window)
        if free.sum() < 2:
            return none
        known = np.zeros((len(frame), len(frame)), bool)
        for a in range(views):
            for c in range(a + 1, views):
                both = (members[:, a] >= 0) & (members[:, c] >= 0)
                known[members[both, a], members[both, c]] = True
        sets, weight, position, covariance = initiate(
            self.packed, self.sizes, frame.origin, frame.direction, frame.camera, frame.begin, frame.u, frame.v,
            frame.noise, free, known, b.clear, self._log_clutter, b.body_length, np.log(b.births), s.gate, self._h,
        )  # fmt: skip
        add_pair_odds(weight, sets, frame.start, *frame.pair_odds)
        # without parallax a point is as uncertain as it was before it was seen: no animal is born there
        deep = np.linalg.eigvalsh(covariance)[:, -1] < _SEEN_DEPTH * b.body_length**2
        keep = np.flatnonzero((weight > s.least_birth) & deep)
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
        return LiveTracks(
            names, np.zeros(k, bool), state, cov, np.full(k, frame.number), np.full(k, frame.number), weight.copy(),
            weight.copy(), np.zeros(k), np.where(hit, frame.log_size[sets], np.nan),
            np.where(hit, frame.axis[sets], np.nan), np.full(hit.shape, frame.number), window_rows, window_gain,
        )  # fmt: skip

    def _prune(self, members: Ints) -> None:
        """Let tracks die, drop doubles, and confirm candidates that a whole window bears out."""
        s, live = self.settings, self.live
        quiet = self.now - live.last
        spread = np.sqrt(np.einsum("kii->k", live.cov[:, :3, :3]))
        lost = (quiet > s.max_age) | (live.debt > s.most_debt) | (spread > s.most_spread * self.model.body_length)
        failed = (live.score < live.best - s.most_loss) | (quiet > s.candidate_age)
        alive = np.where(live.confirmed, ~lost, ~failed)
        candidate = np.flatnonzero(~live.confirmed & alive)
        alive[candidate[duplicates(members[candidate], live.score[candidate])]] = False
        self.live = live = live.take(alive)
        old = self.now - live.born + 1 >= s.window
        if (~live.confirmed & old).any():
            self._confirm(old)
        candidate = np.flatnonzero(~self.live.confirmed)
        if len(candidate) > s.most_candidates:
            rank = np.argsort(-self.live.score[candidate] / (self.now - self.live.born[candidate] + 1), kind="stable")
            alive = np.ones(len(self.live), bool)
            alive[candidate[rank[s.most_candidates :]]] = False
            self.live = self.live.take(alive)

    def _confirm(self, old: Flags) -> None:
        """Confirm or drop candidates that are ``old`` (K,) enough; younger ones only claim their detections."""
        live = self.live
        candidate = np.flatnonzero(~live.confirmed)
        rows, held = live.window_rows[candidate], live.window_rows[live.confirmed]
        seen = rows[rows >= 0]
        first, last = (int(seen.min()), int(seen.max())) if len(seen) else (0, 0)
        chosen, _ = explain(
            live.score[candidate], rows, live.window_gain[candidate], held[held >= 0], first, last - first + 1,
            self.settings.least,
        )  # fmt: skip
        risen = candidate[chosen & old[candidate]]
        live.confirmed[risen] = True
        self.confirmed.update(live.name[risen].tolist())
        alive = np.ones(len(live), bool)
        alive[candidate[~chosen & old[candidate]]] = False
        self.live = live.take(alive)


def _best_each(owner: Ints, value: Array, count: int) -> Ints:
    """Return the best hypothesis (T,) of each owner."""
    order = np.lexsort((-value, owner))
    best: Ints = order[np.searchsorted(owner[order], np.arange(count))]
    return best
