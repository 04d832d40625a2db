"""One job is one method on one scene. Jobs run in parallel processes, and finished ones are not run again."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..core.errors import InputError, TrackFishError
from ..core.files import digest, read_json, write_json
from ..core.parallel import stop_workers, worker_pool
from ..core.resume import key_of
from ..core.settings import make_settings, setting_names
from ..evaluation import evaluate
from ..evaluation.association import association_of_tracks
from ..evaluation.oracle import at_true_pixels, track_oracle
from ..evaluation.tables import plain
from ..methods.baselines.geometric import KalmanSettings
from ..methods.registry import make_method, method_class
from ..recordings import Detections, Recording, Tracks, Truth, write_table
from .crowded.cmc import PUBLISHED_PEOPLE, on_floor, published_people
from .crowded.cmc import SCENES as PEOPLE
from .stamp import METHOD_CODE, code_digest
from .variants import ORACLE, ORACLE_TRUE, ORACLES, Variant
from .zef import published_tracks

WARM_UP_FRAMES = 5
CROPS = "crops.npz"  # beside a recording, see rivals
T = TypeVar("T")


@dataclass(frozen=True)
class Job:
    """A method on a scene, scored under a gate (world units)."""

    scene: str
    variant: Variant
    gate: float
    source: str | None = None  # 3D-ZeF's folder, for published tracks
    base: str = ""  # the scene without noise and seed; the scene itself if empty
    seed: int = 0

    @property
    def stem(self) -> str:
        """Name of the job's files."""
        safe = "".join(c if c.isalnum() or c in "-_.=" else "_" for c in self.variant.label)
        return f"{self.scene}__{safe}"


def run_job(job: Job, recording: Path, folder: Path) -> dict[str, Any]:
    """Run a job unless its result is there and was made by the same code from the same input; returns the result.

    Timed without compilation: the method has run on the first frames before.
    """
    path = folder / "jobs" / f"{job.stem}.json"
    fingerprint = _fingerprint(job, recording)
    done = read_json(path)
    if isinstance(done, dict) and done.get("fingerprint") == fingerprint and "error" not in done:
        return done
    result: dict[str, Any] = {
        "scene": job.scene,
        "method": job.variant.method,
        "label": job.variant.label,
        "stem": job.stem,
        "gate": job.gate,
        "fingerprint": fingerprint,
        "base": job.base or job.scene,
        "seed": job.seed,
    }
    try:
        source = Recording.open(recording)
        tracks, used, seconds = _track(job, source)
        tracks = on_floor(tracks) if job.scene in PEOPLE else tracks
        truth = source.truth
        if truth is None:
            raise InputError(f"{source.folder}: has no truth to score against")
        result |= {"settings": used, "seconds": seconds, "frames": len(np.unique(truth.frame))}
        result |= {"scores": score(truth, tracks, job.gate)}
        write_table(tracks.to_table(), folder / "tracks" / f"{job.stem}.parquet")
    except TrackFishError as error:
        result["error"] = " ".join(str(error).split())
    except Exception as error:  # another group's package may fail in any way; the other jobs go on
        result["error"] = f"{type(error).__name__}: {' '.join(str(error).split())}"
    write_json(path, result)
    return result


def _fingerprint(job: Job, recording: Path) -> str:
    names = ("recording.toml", "cameras.toml", "detections.parquet", "truth.parquet")
    # A setting may name a file or folder (a trained model, 2D tracks): other content there is other input.
    named = [Path(v) for v in job.variant.settings.values() if isinstance(v, str) and len(v) < 1000]
    inside = [file for path in named if path.is_dir() for file in sorted(path.iterdir())]
    files = [*(recording / name for name in names), *named, *inside]
    made_from = {
        "code": code_digest(METHOD_CODE),
        "job": asdict(job),
        "files": [digest(f) for f in files if f.is_file()],
    }
    return key_of(made_from)[:16]


def _track(job: Job, source: Recording) -> tuple[Tracks, dict[str, Any], float | None]:
    """Tracks, the settings that made them, and the seconds it took."""
    variant, rig, detections = job.variant, source.rig, source.detections
    if variant.method.startswith("published-"):
        if variant.method == PUBLISHED_PEOPLE:
            return published_people(job.base or job.scene, Path(job.source or "")), {}, None
        name = variant.method.removeprefix("published-")
        return published_tracks(job.scene, name, Path(job.source or "")), {}, None
    few = _first_frames(detections, WARM_UP_FRAMES)
    if variant.method in ORACLES:
        truth = source.truth
        if truth is None:
            raise InputError(f"{source.folder}: oracle needs the truth")
        settings = make_settings(KalmanSettings, variant.settings, f"method {ORACLE}")
        if variant.method == ORACLE_TRUE:
            detections, truth = at_true_pixels(detections, truth)
        track_oracle(rig, detections, truth, settings)
        start = time.process_time()
        tracks = track_oracle(rig, detections, truth, settings)
        return tracks, settings.model_dump(mode="json"), time.process_time() - start
    given = variant.settings | _crops_of(variant, source) | _features_of(variant, job.scene)
    method = make_method(variant.method, given)
    if not given.keys() & {"features", "crops"}:  # such a file is of all detections, not of a few
        method.track(rig, few, source.fps)
    start = time.process_time()
    result = method.track(rig, detections, source.fps)
    assert result.settings is not None
    return result.tracks, result.settings.model_dump(mode="json"), time.process_time() - start


def _crops_of(variant: Variant, source: Recording) -> dict[str, Any]:
    """Crops that stand beside a recording, for a method that looks at them."""
    path = source.folder / CROPS
    wanted = "crops" in setting_names(method_class(variant.method).Settings) and "crops" not in variant.settings
    return {"crops": str(path)} if wanted and path.is_file() else {}


def _features_of(variant: Variant, scene: str) -> dict[str, Any]:
    """Features of a scene's detections that stand beside a network, ``features/SCENE.npz``, if it takes such."""
    model = variant.settings.get("model")
    if variant.method != "paper" or model is None or "features" in variant.settings:
        return {}
    path = Path(model).parent / "features" / f"{scene}.npz"
    if not path.is_file():
        return {}
    from ..methods.paper.checkpoint import load_model
    from ..methods.paper.features import GEOMETRIC

    return {"features": str(path)} if load_model(model)[0].settings.raw_features > GEOMETRIC else {}


def _first_frames(detections: Detections, count: int) -> Detections:
    return detections.select(np.arange(int(detections.offsets[min(count, len(detections.frames))])))


def score(truth: Truth, tracks: Tracks, gate: float) -> dict[str, Any]:
    """All scores of tracks, and of the groups behind them where both sides name detections."""
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)
    association = association_of_tracks(tracks, truth)
    return plain(scores.to_dict() | (association.to_dict() if association is not None else {}))


def in_parallel(
    work: Sequence[tuple[Callable[..., T], tuple[Any, ...]]], workers: int, done: Callable[[T], None]
) -> list[T]:
    """Call functions in ``workers`` new processes of one thread each; ``done`` hears of each result as it comes.

    Results are in the order of ``work``.
    """
    os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
    results: dict[int, T] = {}
    with worker_pool(workers) as pool:
        waiting = {pool.submit(function, *arguments): i for i, (function, arguments) in enumerate(work)}
        try:
            for future in as_completed(waiting):
                results[waiting[future]] = future.result()
                done(results[waiting[future]])
        except BaseException:
            stop_workers(pool)
            raise
    return [results[i] for i in range(len(work))]


def by_scene(results: Iterable[dict[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Results by scene and label."""
    out: dict[str, dict[str, dict[str, Any]]] = {}
    for result in results:
        out.setdefault(result["scene"], {})[result["label"]] = result
    return out
