"""Teaching the paper's learned rivals: scenes of the train split with crops and identities, and one entry for all."""

import importlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.errors import InputError, MissingExtraError
from ...core.progress import Progress, TaskProgress, of_task
from ...methods.baselines.learned.crops import read_crops, write_crops
from ...methods.baselines.learned.labelled import LabelledScene, pair_auc
from ...recordings import Recording
from ...synfish.rendered_crops import rendered_crops
from ...synfish.scenes import Scene, benchmark_scenes, write_scene
from ..jobs import CROPS

STEPS = {"rest": 1200, "asnet": 3000, "selfmva": 4000, "motip": 1200, "mctr": 800, "sambamotr": 800}
HELD_OUT_FRAMES = 9
HELD_OUT = 20  # seed offset of the schools that pairs are judged on


def rival_names() -> tuple[str, ...]:
    """Names of the rivals that learn."""
    return tuple(STEPS)


def scene_crops(scene: Scene, folder: Path, seed_offset: int = 0, progress: Progress | None = None) -> Path:
    """Make the crops of a scene that stands in ``folder``, beside its recording, unless they are there."""
    path = folder / CROPS
    if not path.is_file():
        school, rig = scene.build(seed_offset)
        detections = Recording.open(folder).detections
        write_crops(path, rendered_crops(school, rig, detections, scene.seed + 1000 * seed_offset, progress))
    return path


def labelled(
    scene: Scene, folder: Path, frames: int | None, progress: Progress | None = None, seed_offset: int = 0
) -> LabelledScene:
    """Make a scene with its crops in ``folder``, or find it there, and tell who is who.

    Parameters
    ----------
    scene : of the train split.
    folder : gets one recording a scene.
    frames : only the first so many; all if None.
    progress : called with pictures done and pictures in all.
    seed_offset : another school of the same scene.
    """
    if scene.split == "test":
        raise InputError(f"scene '{scene.name}': rivals are taught on the train split only")
    short = scene if frames is None else scene.model_copy(update={"frames": min(frames, scene.frames)})
    target = folder / f"{scene.name}-{short.frames}-{seed_offset}"
    if not (target / CROPS).is_file():
        write_scene(short, target, seed_offset=seed_offset)
        scene_crops(short, target, seed_offset, progress)
    recording = Recording.open(target)
    truth = recording.truth
    assert truth is not None
    whom = truth.identities_of_detections(len(recording.detections))
    alone = (whom >= 0).sum(1) == 1
    return LabelledScene(
        scene.name,
        recording.rig,
        recording.detections,
        np.where(alone, whom.max(1), -1).astype(np.int64),
        read_crops(target / CROPS, recording.detections, "train-baseline"),
    )


def train_baseline(
    name: str,
    out: str | Path,
    data: str | Path,
    scenes: Sequence[str] | None = None,
    *,
    frames: int = 60,
    schools: int = 1,
    steps: int | None = None,
    seed: int = 0,
    progress: TaskProgress | None = None,
) -> dict[str, Any]:
    """Teach a rival of the paper on scenes of the train split and write its weights.

    Parameters
    ----------
    name : one of `rival_names`.
    out : weights, FILE.safetensors.
    data : folder in which the scenes with their crops are made, or found.
    scenes : names of train scenes; all eight by default.
    frames : so many of each scene, from its start.
    schools : so many of each scene: the benchmark's own and others (seed offsets 1, 2, ...), before the same cameras.
    steps : of the optimiser; the rival's own by default.
    seed : of weights and draws.
    progress : called with what is being done, steps done and steps in all.

    Returns
    -------
    What was learnt: held-out AUC of pairs where the rival scores pairs, parameters, seconds, steps.
    """
    if name not in STEPS:
        raise InputError(f"rival '{name}' is not known; choose one of {', '.join(STEPS)}")
    if Path(out).suffix != ".safetensors":
        raise InputError(f"{out}: name the weights FILE.safetensors")
    try:
        module = importlib.import_module(f"trackfish3d.methods.baselines.learned.{name}")
        from ...methods.baselines.learned.weights import save_weights
    except ImportError:
        raise MissingExtraError("PyTorch", "learn", "train-baseline") from None
    tell: TaskProgress = progress or (lambda task, done, total: None)
    chosen = benchmark_scenes(scenes) if scenes else [s for s in benchmark_scenes() if s.split == "train"]
    if not 1 <= schools <= HELD_OUT:
        raise InputError(f"--schools {schools}: 1 to {HELD_OUT}; pairs are judged on school {HELD_OUT}")
    taught = [
        labelled(s, Path(data), frames, of_task(tell, f"{s.name} crops"), offset)
        for offset in range(schools)
        for s in chosen
    ]
    started = time.process_time()
    net = module.teach(taught, steps or STEPS[name], seed, of_task(tell, name))
    found: dict[str, Any] = {
        "steps": steps or STEPS[name],
        "cpu_seconds": round(time.process_time() - started, 1),
        "parameters": sum(p.numel() for p in net.parameters()),
        "seed": seed,
        "frames": frames,
        "schools": schools,
        "scenes": [s.name for s in chosen],
    }
    judge: Callable[..., Any] | None = getattr(module, "pair_scores", None)
    if judge is not None:
        held = [labelled(s, Path(data), HELD_OUT_FRAMES, None, HELD_OUT) for s in chosen]
        found |= {"auc_train": _auc(judge, net, taught), "auc_held_out": _auc(judge, net, held)}
    save_weights(net, out, name, **found)
    return found


def _auc(judge: Callable[..., Any], net: Any, scenes: Sequence[LabelledScene]) -> float:
    """AUC of the pairs of two cameras in a frame, one animal against two, mean over scenes; every fourth frame."""
    values = []
    for scene in scenes:
        scores, same = [], []
        for frame in range(0, scene.frames, 4):
            rows = scene.rows(frame)
            rows = rows[scene.identity[rows] >= 0]
            camera, who = scene.detections.camera[rows], scene.identity[rows]
            pairs = np.triu(camera[:, None] != camera[None])
            scores.append(judge(net, scene, rows)[pairs])
            same.append((who[:, None] == who[None])[pairs])
        values.append(pair_auc(np.concatenate(scores), np.concatenate(same)))
    return round(float(np.nanmean(values)), 4)
