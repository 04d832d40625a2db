"""What other packages make of the same tracks, and random tracks to ask them about."""

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True, eq=False)
class Scene:
    """Truth and prediction as flat columns, sorted by (frame, id)."""

    truth_frame: np.ndarray
    truth_id: np.ndarray
    truth_xyz: np.ndarray
    pred_frame: np.ndarray
    pred_id: np.ndarray
    pred_xyz: np.ndarray

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        return (
            self.truth_frame,
            self.truth_id,
            self.truth_xyz,
            self.pred_frame,
            self.pred_id,
            self.pred_xyz,
        )

    def by_frame(self) -> list[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
        """Frame, true ids, predicted ids, distances (n, m)."""
        rows = []
        for frame in np.union1d(self.truth_frame, self.pred_frame):
            t, p = self.truth_frame == frame, self.pred_frame == frame
            delta = self.truth_xyz[t][:, None] - self.pred_xyz[p][None]
            rows.append((int(frame), self.truth_id[t], self.pred_id[p], np.sqrt((delta**2).sum(-1))))
        return rows


def swimming_scene(
    animals: int, frames: int, noise: float, presence: float, tracks_per_animal: int, swaps: int, seed: int
) -> Scene:
    """Fish on smooth random walks, tracked with noise, gaps, broken tracks, swaps and ghosts."""
    rng = np.random.default_rng(seed)
    xyz = np.cumsum(rng.normal(scale=0.2, size=(frames, animals, 3)), axis=0) + rng.random((animals, 3)) * 2
    time = np.sort(rng.choice(3 * frames, frames, replace=False))
    label = np.arange(animals)[None] * tracks_per_animal + (np.arange(frames)[:, None] * tracks_per_animal // frames)
    for _ in range(swaps if animals > 1 else 0):
        start = rng.integers(frames)
        a, b = rng.choice(animals, 2, replace=False)
        label[start:, [a, b]] = label[start:, [b, a]]
    seen = rng.random((frames, animals)) < presence
    found = rng.random((frames, animals)) < presence
    guess = xyz + rng.normal(scale=noise, size=xyz.shape)
    frame = np.broadcast_to(time[:, None], (frames, animals))
    fish = np.broadcast_to(np.arange(animals)[None] * 7 + 3, (frames, animals))
    return _sorted(frame[seen], fish[seen], xyz[seen], frame[found], label[found], guess[found])


def chaotic_scene(truth: int, pred: int, frames: int, side: float, presence: float, seed: int) -> Scene:
    """Points anywhere in a box, without any motion: every rule of matching is met soon."""
    rng = np.random.default_rng(seed)
    t = np.argwhere(rng.random((frames, truth)) < presence)
    p = np.argwhere(rng.random((frames, pred)) < presence)
    return _sorted(t[:, 0], t[:, 1], rng.random((len(t), 3)) * side, p[:, 0], p[:, 1], rng.random((len(p), 3)) * side)


def _sorted(*columns: np.ndarray) -> Scene:
    t = np.lexsort((columns[1], columns[0]))
    p = np.lexsort((columns[4], columns[3]))
    return Scene(*(c[t] for c in columns[:3]), *(c[p] for c in columns[3:]))


def scenes() -> st.SearchStrategy[Scene]:
    seed = st.integers(0, 2**32 - 1)
    return st.one_of(
        st.builds(
            swimming_scene,
            animals=st.integers(1, 8),
            frames=st.integers(1, 40),
            noise=st.floats(0.0, 1.5),
            presence=st.floats(0.2, 1.0),
            tracks_per_animal=st.integers(1, 4),
            swaps=st.integers(0, 4),
            seed=seed,
        ),
        st.builds(
            chaotic_scene,
            truth=st.integers(0, 6),
            pred=st.integers(0, 8),
            frames=st.integers(1, 25),
            side=st.floats(0.5, 4.0),
            presence=st.floats(0.1, 1.0),
            seed=seed,
        ),
    )


def motmetrics_accumulator(scene: Scene, gate: float) -> Any:
    import motmetrics

    accumulator = motmetrics.MOTAccumulator()
    for frame, truth, pred, distance in scene.by_frame():
        accumulator.update(truth, pred, np.where(distance <= gate, distance, np.nan), frameid=frame)
    return accumulator


def motmetrics_scores(scene: Scene, gate: float, names: list[str]) -> dict[str, float]:
    import motmetrics

    host = motmetrics.metrics.create()
    return dict(host.compute(motmetrics_accumulator(scene, gate), metrics=names, return_dataframe=False))


def trackeval_hota(scene: Scene, d0: float) -> dict[str, np.ndarray]:
    with contextlib.redirect_stdout(io.StringIO()):  # it announces optional datasets it cannot import
        from trackeval.metrics import HOTA

    truth_ids, pred_ids = np.unique(scene.truth_id), np.unique(scene.pred_id)
    frames = scene.by_frame()
    return dict(
        HOTA().eval_sequence(
            {
                "num_gt_dets": len(scene.truth_id),
                "num_tracker_dets": len(scene.pred_id),
                "num_gt_ids": len(truth_ids),
                "num_tracker_ids": len(pred_ids),
                "gt_ids": [np.searchsorted(truth_ids, truth) for _, truth, _, _ in frames],
                "tracker_ids": [np.searchsorted(pred_ids, pred) for _, _, pred, _ in frames],
                "similarity_scores": [np.maximum(0, 1 - distance / d0) for *_, distance in frames],
            }
        )
    )


def published_mtbf(scene: Scene, gate: float) -> tuple[float, float]:
    """3D-ZeF's loop over py-motmetrics events, restated: any event but MATCH and SWITCH breaks a run."""
    events = motmetrics_accumulator(scene, gate).mot_events
    runs: list[int] = []
    gaps = 0
    for animal in np.unique(scene.truth_id):
        length, gap = 0, False
        for kind in events[events.OId == animal].Type:
            if kind == "MATCH":
                length += 1
            else:
                runs.append(length)
                length = int(kind == "SWITCH")
                gap = gap or kind != "SWITCH"
            if length and gap:
                gaps, gap = gaps + 1, False
        runs.append(length)
        gaps += gap
    runs = [length for length in runs if length]
    return (sum(runs) / len(runs), sum(runs) / (len(runs) + gaps)) if runs else (0.0, 0.0)
