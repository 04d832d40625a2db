"""A long run's state as plain arrays, so that a stopped one goes on: nothing that is loaded runs code."""

from dataclasses import fields
from pathlib import Path

import numpy as np

from ....core.files import atomic_path
from ..engine import Engine
from ..live_tracks import FrameLog, LiveTracks
from ..refinement.trajectories import Trajectories
from .windows import Carried

_LIVE = [f.name for f in fields(LiveTracks)]
_PATHS = [f.name for f in fields(Trajectories)]
_LOG = ("name", "members", "state", "cov", "weight")


def save_state(path: Path, engine: Engine, carried: Carried) -> None:
    """Write the state between two sections.

    Parameters
    ----------
    path : NPZ file.
    engine : as it is.
    carried : what the last section handed on.
    """
    logs = engine.logs
    arrays = {f"live_{n}": getattr(engine.live, n) for n in _LIVE}
    arrays |= {f"tail_{n}": getattr(carried.tail, n) for n in _PATHS}
    arrays |= {f"log_{n}": np.concatenate([getattr(g, n) for g in logs]) for n in _LOG if logs}
    arrays["log_frame"] = np.array([g.frame for g in logs], np.int64)
    arrays["log_count"] = np.array([len(g.name) for g in logs], np.int64)
    arrays["heirs"] = np.array(sorted(carried.heirs.items()), np.int64).reshape(-1, 2)
    arrays["confirmed"] = np.array(sorted(engine.confirmed), np.int64)
    arrays["typical"] = engine.typical
    counts = (engine.now, engine.next_name, engine.stopped, engine.tried, engine.changed, carried.named)
    arrays["counts"] = np.array(counts, np.int64)
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def load_state(path: Path, engine: Engine) -> Carried:
    """Put an engine into the state that was written; returns what the last section handed on.

    Parameters
    ----------
    path : NPZ file of `save_state`.
    engine : a new one of the same rig, model and settings.
    """
    with np.load(path, allow_pickle=False) as kept:
        arrays = {name: kept[name] for name in kept.files}
    engine.live = LiveTracks(*(arrays[f"live_{n}"] for n in _LIVE))
    engine.confirmed = set(arrays["confirmed"].tolist())
    engine.typical[:] = arrays["typical"]
    engine.now, engine.next_name, engine.stopped, engine.tried, engine.changed, named = arrays["counts"].tolist()
    ends = np.cumsum(arrays["log_count"])
    engine.logs = [
        FrameLog(int(frame), *(arrays[f"log_{n}"][end - count : end] for n in _LOG))
        for frame, count, end in zip(arrays["log_frame"], arrays["log_count"], ends, strict=True)
    ]
    heirs = {int(a): int(b) for a, b in arrays["heirs"].tolist()}
    return Carried(Trajectories(*(arrays[f"tail_{n}"] for n in _PATHS)), heirs, int(named))
