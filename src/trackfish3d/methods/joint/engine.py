"""The joint tracker, frame by frame: predict, choose sets of detections for all tracks at once, correct, be born, die.

Confirmed tracks decide first and exclude each other. What they leave is offered to candidates, which do not: two
readings of the same detections live side by side until a window of frames tells which one explains them.
"""

from typing import NamedTuple

import numpy as np

from ...cameras.rig import CameraRig
from ...maths.kalman import predict
from .arguments import Array, Beliefs, Flags, FutureFrames, Ints, Predicted, Rig, Sightings
from .bodies.extent import inside, learn_bodies, predict_bodies
from .bodies.kind import VISIBLE
from .confirmation import duplicates, explain
from .cues import chances, typical_size
from .hypotheses import add_pair_odds, best_each, hypotheses
from .initiation import Birth, initiate
from .kernels import FLIGHT_SCALE, FLIGHT_SHARE, add_dart, correct, look
from .live_tracks import FrameLog, Life, LiveTracks, Memory, remember
from .lookahead import Search, alternatives, compare
from .model import TrackingModel
from .observations import FrameObservations, Observations
from .packing import pack
from .refinement.depth import deep
from .settings import JointSettings

Hypotheses = tuple[Ints, Ints, Array, Array]
"""Owner (H,), sets (H, C), value (H,), and how fast a dart each supposes (H,), in usual ones; 0 for none."""
_ROOM = 1024  # sets of detections that may be new animals, before it is made larger


class Choice(NamedTuple):
    """What tracks take in a frame: members (T, C) or -1, weight (T,), and gain (T,) of each detection they take."""

    members: Ints
    weight: Array
    gain: Array


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
        sizes = np.array([c.size for c in rig], float)
        self._centres = np.array([c.centre for c in rig])
        self._rig = Rig(rig.packed, sizes, 1e-4 * model.body_length, self._centres)
        log_clutter, typical = np.log(model.clutter), np.zeros(len(rig))
        cut = model.detector == VISIBLE
        self._beliefs = Beliefs(model.clear, model.hidden, log_clutter, model.scales, typical, cut)
        self._birth = Birth(model.body_length, float(np.log(model.births)), settings.gate)
        self._search = Search(settings.horizon, settings.gate, settings.most_nodes, model.acceleration**2)
        self._usual = model.body if model.detector == VISIBLE else None
        self.live = self._nobody = LiveTracks.empty(len(rig), settings.window)
        self.now = 0  # before the first frame there are no tracks, so that no gap is taken from it
        self.next_name = 0
        self.confirmed: set[int] = set()
        self.logs: list[FrameLog] = []
        self.stopped = self.tried = self.changed = 0

    def start(self, live: LiveTracks, now: int, next_name: int) -> None:
        """Begin after frame ``now``, at which animals are known; new ones are called ``next_name`` and so on."""
        self.live, self.now, self.next_name = live, now, next_name
        self.confirmed = set(live.name.tolist())

    def step(self, number: int, rows: slice, obs: Observations, ahead: FutureFrames | None = None) -> FrameLog:
        """Take one frame: its number, and which rows of ``obs`` are its detections, sorted by camera.

        ahead : the frames to come, for doubtful choices; without them each frame decides for itself.
        """
        elapsed = number - self.now
        self.now = number
        frame = obs.frame(number, rows, len(self.rig))
        live = self.live
        predict(live.state, live.cov, np.full(len(live), float(elapsed)), self.model.acceleration**2)
        predicted = self._look(frame, elapsed)
        choice = Choice(np.full(predicted.seen.shape, -1), np.zeros(len(live)), np.zeros(len(live)))
        members = choice.members
        free = np.ones(len(frame), bool)
        sure = np.flatnonzero(live.confirmed)
        if len(sure):
            self._decide(sure, frame, predicted, elapsed, None if ahead is None else (obs, ahead), choice)
            # one view alone does not prove an animal: what it used, candidates may still claim
            firm = members[sure][(members[sure] >= 0).sum(1) >= 2]
            free[firm[firm >= 0]] = False
        candidates = np.flatnonzero(~live.confirmed)
        if len(candidates):
            self._follow(candidates, frame, predicted, free, choice)
        correct(predicted, members, frame.readings)
        if self._usual is not None:
            box, sides = frame.readings.box, frame.readings.cut > 0
            learn_bodies(predicted.J, members, box, sides, predicted.half, self._usual, live.body, live.body_cov)
        self._remember(frame, choice)
        new = self._births(frame, free, members)
        self.live = live = live.join(new)
        everyone = np.vstack([frame.rows(members), new.window_rows[:, -1]])
        weight = np.append(choice.weight, new.score)
        log = FrameLog(number, live.name.copy(), everyone, live.state.copy(), live.cov.copy(), weight)
        self.logs.append(log)
        self._prune(everyone)
        return log

    @property
    def typical(self) -> Array:
        """(C,) usual log size of detections in each view, which follows the recording."""
        return self._beliefs.typical

    def forget(self, frame: int) -> None:
        """Drop what happened before a frame, and names of tracks that ended before it."""
        self.logs = [log for log in self.logs if log.frame >= frame]
        there = set(self.live.name.tolist()).union(*(log.name.tolist() for log in self.logs))
        self.confirmed &= there

    def finish(self) -> None:
        """Confirm what is left at the end, however short."""
        if len(self.live):
            self._confirm(self.now - self.live.born + 1 >= self.settings.min_obs)

    def _look(self, frame: FrameObservations, elapsed: int) -> Predicted:
        """Where every track should be seen, and how likely."""
        n, views, live = len(self.live), len(self.rig), self.live
        typical_size(frame.readings, self._beliefs.typical)
        out = Predicted(
            state=live.state,
            cov=live.cov,
            pixel=np.zeros((n, views, 2)),
            J=np.zeros((n, views, 2, 3)),
            seen=np.zeros((n, views), bool),
            found=np.zeros((n, views)),
            size=live.memory_size,
            axis=live.memory_axis,
            last=live.memory_frame,
            half=np.zeros((n, views, 4)),
            hidden=np.zeros((n, views, 4), bool),
        )
        look(self._rig, out)
        if self._usual is not None:
            kept = self.model.memory**elapsed
            predict_bodies(out.J, out.seen, live.body, live.body_cov, self._usual, kept, out.half)
        chances(self._rig, out, live.confirmed, self._beliefs)
        return out

    def _hypotheses(self, tracks: Predicted, frame: FrameObservations, free: Flags) -> tuple[Ints, Ints, Array]:
        """Return what these tracks may be in this frame: see `hypotheses.hypotheses`."""
        found = hypotheses(tracks, frame.readings, free, self._beliefs, self.settings.gate)
        if len(frame.pair_odds.begin):
            add_pair_odds(found[2], found[1], frame.pair_row, frame.pair_odds)
        return found

    def _decide(
        self,
        who: Ints,
        frame: FrameObservations,
        predicted: Predicted,
        elapsed: int,
        future: tuple[Observations, FutureFrames] | None,
        choice: Choice,
    ) -> None:
        """Choose for all confirmed tracks at once; fills their rows of the choice."""
        s = self.settings
        tracks = predicted if len(who) == len(self.live) else predicted.of(who)
        calm = self._hypotheses(tracks, frame, np.ones(len(frame), bool))
        options = self._with_darts(tracks, calm, frame, elapsed)
        owner, sets, value, dart = options
        chosen, _, stopped = pack(owner, sets, value, len(who), len(frame), s.most_nodes)
        self.stopped += stopped
        if s.horizon and future is not None:
            chosen = self._look_ahead(tracks, options, chosen, len(frame), elapsed, *future)
        first = np.searchsorted(owner, np.arange(len(who)))
        choice.members[who], choice.weight[who] = sets[chosen], value[chosen]
        choice.gain[who] = (value[chosen] - value[first]) / np.maximum((sets[chosen] >= 0).sum(1), 1)
        scale = dart[chosen]
        gone = np.flatnonzero((sets[chosen] < 0).all(1) & ((tracks.found > 0.5).sum(1) >= 2))
        if len(gone) and s.dart_share > 0:
            free = np.ones(len(frame), bool)
            free[sets[chosen][sets[chosen] >= 0]] = False
            scale[gone] = self._fled(tracks.of(gone), frame, free, elapsed)
        self._widen(self.live.cov, who, scale, elapsed)

    def _fled(self, tracks: Predicted, frame: FrameObservations, free: Flags, elapsed: int) -> Array:
        """(T,) how fast a dart tracks that no view shows may have begun, in usual ones: the root of its chance.

        Either all views that should have shown an animal missed it, or it darted; the latter only where a view shows
        what nobody took, ``free`` (N,), as far away as a dart leads.
        """
        missed = np.prod(1.0 - np.where(tracks.seen, tracks.found, 0.0), axis=1)
        everyone = np.arange(len(missed))
        self._widen(tracks.cov, everyone, np.ones(len(missed)), elapsed)
        owner, sets, _ = self._hypotheses(tracks, frame, free)
        shown = np.isin(everyone, owner[(sets >= 0).any(1)])
        share = self.settings.dart_share
        return np.asarray(np.sqrt(shown * share / (share + missed)))

    def _with_darts(
        self, tracks: Predicted, calm: tuple[Ints, Ints, Array], frame: FrameObservations, elapsed: int
    ) -> Hypotheses:
        """Add what tracks may be if they darted: for those whose calm prediction leaves a view unexplained."""
        owner, sets, value = calm
        dart = np.zeros(len(owner))
        views = (sets[best_each(owner, value, len(tracks.state))] >= 0).sum(1)
        poor = np.flatnonzero(views < (tracks.found > 0.5).sum(1))
        if not len(poor) or self.settings.dart_share <= 0:
            return owner, sets, value, dart
        for share, scale in ((1.0, 1.0), (FLIGHT_SHARE, FLIGHT_SCALE)):
            darted = tracks.of(poor)
            self._widen(darted.cov, np.arange(len(poor)), np.full(len(poor), scale), elapsed)
            more_owner, more_sets, more = self._hypotheses(darted, frame, np.ones(len(frame), bool))
            real = np.flatnonzero((more_sets >= 0).sum(1) >= 2)  # one view alone does not prove a dart
            if len(real):
                more_owner = poor[more_owner[real]]
                owner = np.concatenate([owner, more_owner])
                sets = np.concatenate([sets, more_sets[real]])
                value = np.concatenate([value, more[real] + np.log(share * self.settings.dart_share)])
                dart = np.concatenate([dart, np.full(len(more_owner), scale)])
                views[more_owner] = 2
            poor = poor[views[poor] < 2]  # a flight is supposed where nothing else explains two views
            if not len(poor):
                break
        if len(owner) == len(calm[0]):
            return owner, sets, value, dart
        order = np.argsort(owner, kind="stable")
        return owner[order], sets[order], value[order], dart[order]

    def _look_ahead(
        self,
        tracks: Predicted,
        options: Hypotheses,
        chosen: Ints,
        n_detections: int,
        elapsed: int,
        obs: Observations,
        ahead: FutureFrames,
    ) -> Ints:
        """Try doubtful choices on the frames that follow; returns the better one."""
        s = self.settings
        owner, sets, value, dart = options
        for other in alternatives(owner, sets, value, chosen, n_detections, s.doubt, s.most_nodes):
            differ = np.flatnonzero((sets[other] != sets[chosen]).any(1))
            if len(differ) < 2:
                continue
            rows = np.stack([chosen[differ], other[differ]])
            both = tracks.twice(differ)
            for k in range(2):
                self._widen(both.cov[k], np.arange(len(differ)), dart[rows[k]], elapsed)
            lead = compare(self._rig, both, sets[rows], ahead, obs.columns, obs.pair_odds, self._beliefs, self._search)
            self.tried += 1
            if lead + value[rows[1]].sum() - value[rows[0]].sum() > 1e-6:
                self.changed += 1
                revised: Ints = chosen.copy()
                revised[differ] = other[differ]
                return revised
        return chosen

    def _widen(self, cov: Array, rows: Ints, scale: Array, elapsed: int) -> None:
        """Add to rows of covariances (K, 6, 6) what darts of this scale (R,) can do in the last frame, in place."""
        for k in np.flatnonzero(scale > 0):
            add_dart(cov[rows[k]], (scale[k] * self.model.dart) ** 2 * elapsed)

    def _follow(self, who: Ints, frame: FrameObservations, predicted: Predicted, free: Flags, choice: Choice) -> None:
        """Let every candidate take what is best for it; fills their rows of the choice."""
        owner, sets, value = self._hypotheses(predicted.of(who), frame, free)
        chosen = best_each(owner, value, len(who))
        nothing = value[np.searchsorted(owner, np.arange(len(who)))]
        count = (sets[chosen] >= 0).sum(1)
        alone = count < 2  # a single view follows any detection; it is no evidence
        choice.members[who] = sets[chosen]
        choice.weight[who] = np.where(alone, np.minimum(nothing, 0.0), value[chosen])
        choice.gain[who] = np.where(alone, 0.0, (value[chosen] - nothing) / np.maximum(count, 1))

    def _remember(self, frame: FrameObservations, choice: Choice) -> None:
        """Keep score, window and the last look of each track in each view."""
        live, seen = self.live, frame.readings
        look = Memory(live.memory_size, live.memory_axis, live.memory_frame, live.window_rows, live.window_gain)
        life = Life(live.last, live.score, live.best, live.debt)
        remember(choice.members, choice.weight, choice.gain, seen, frame.start, life, look)

    def _births(self, frame: FrameObservations, free: Flags, members: Ints) -> LiveTracks:
        """Candidates from detections that no confirmed track took, unless a candidate holds the same pair."""
        s, views, readings = self.settings, len(self.rig), frame.readings
        none = self._nobody
        if free.sum() < 2:
            return none
        found = self._first_sightings(frame, free, members)
        add_pair_odds(found.weight, found.members, frame.pair_row, frame.pair_odds)
        keep = np.flatnonzero((found.weight > s.least_birth) & self._deep(found))
        keep = keep[np.argsort(-found.weight[keep], kind="stable")[: s.most_candidates]]
        k = len(keep)
        if k == 0:
            return none
        sets, weight, position, covariance = Sightings._make(values[keep] for values in found)
        state, cov = np.zeros((k, 6)), np.zeros((k, 6, 6))
        state[:, :3], cov[:, :3, :3] = position, covariance
        cov[:, 3:, 3:] = self.model.velocity**2 * np.eye(3)
        hit = sets >= 0
        window_rows = np.full((k, s.window, views), -1, np.int64)
        window_gain = np.zeros((k, s.window, views))
        window_rows[:, -1] = frame.rows(sets)
        window_gain[:, -1] = hit * (weight / hit.sum(1))[:, None]
        names = np.arange(self.next_name, self.next_name + k)
        self.next_name += k
        return LiveTracks(
            name=names,
            confirmed=np.zeros(k, bool),
            state=state,
            cov=cov,
            born=np.full(k, readings.number),
            last=np.full(k, readings.number),
            score=weight.copy(),
            best=weight.copy(),
            debt=np.zeros(k),
            memory_size=np.where(hit, readings.log_size[sets], np.nan),
            memory_axis=np.where(hit, readings.axis[sets], np.nan),
            memory_frame=np.full(hit.shape, readings.number),
            window_rows=window_rows,
            window_gain=window_gain,
            body=np.tile(np.zeros(6) if self._usual is None else self._usual.mean, (k, 1)),
            body_cov=np.tile(np.zeros((6, 6)) if self._usual is None else self._usual.cov, (k, 1, 1)),
        )

    def _deep(self, found: Sightings) -> Flags:
        """(K,) whether views tell how far away a sighting is: no animal is born from rays without parallax.

        Before it was seen, it was somewhere within a body length of where it is.
        """
        before, largest = self.model.body_length**2, np.linalg.eigvalsh(found.cov)[:, -1]
        alone = 1.0 / np.maximum(1.0 / largest - 1.0 / before, 1e-12 / before)  # variance that views alone leave
        away = np.linalg.norm(found.position[:, None] - self._centres, axis=2)
        near = np.where(found.members >= 0, away, np.inf).min(1)
        return deep(alone, near, self.model.body_length)

    def _first_sightings(self, frame: FrameObservations, free: Flags, members: Ints) -> Sightings:
        """Return sets of free detections that may be new animals."""
        views = len(self.rig)
        known = np.zeros((len(frame), len(frame)), bool)
        for a in range(views):
            for c in range(a + 1, views):
                both = (members[:, a] >= 0) & (members[:, c] >= 0)
                known[members[both, a], members[both, c]] = True
        room = _ROOM
        while True:
            out = Sightings.empty(room + 1, views)
            count = initiate(self._rig, frame.lines, frame.readings, free, known, self._beliefs, self._birth, out)
            if count <= room:
                return Sightings._make(values[:count] for values in out)
            room = count

    def _prune(self, members: Ints) -> None:
        """Let tracks die, drop doubles, and confirm candidates that a whole window bears out."""
        s, live = self.settings, self.live
        quiet = self.now - live.last
        spread = np.sqrt(live.cov[:, 0, 0] + live.cov[:, 1, 1] + live.cov[:, 2, 2])
        lost = (quiet > s.max_age) | (live.debt > s.most_debt) | (spread > s.most_spread * self.model.body_length)
        failed = (live.score < live.best - s.most_loss) | (quiet > s.candidate_age)
        alive = np.where(live.confirmed, ~lost, ~failed)
        candidate = np.flatnonzero(~live.confirmed & alive)
        if len(candidate):
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
        score, gain, taken = live.score[candidate], live.window_gain[candidate], held[held >= 0]
        chosen, _ = explain(score, rows, gain, taken, first, last - first + 1, self.settings.least)
        if self._usual is not None:
            chosen &= ~inside(live.state[candidate, :3], live.state[live.confirmed, :3], live.body[live.confirmed])
        risen = candidate[chosen & old[candidate]]
        live.confirmed[risen] = True
        self.confirmed.update(live.name[risen].tolist())
        alive = np.ones(len(live), bool)
        alive[candidate[~chosen & old[candidate]]] = False
        self.live = live.take(alive)
