"""Fit the curve that turns gaps and meetings of tracks into the chance that a track is another animal afterwards.

    OMP_NUM_THREADS=1 python benchmarks/joint_fit_doubt.py --work FOLDER

Tracks crowded schools that no test and no other fit has, and 3D-ZeF 01 and 03, looks up in the truth where tracks
changed animals, and prints `WEIGHTS` of the joint method's `confidence` with how well the curve holds. An event is
between two frames in which the truth knows the track, so that one of the moments between is to blame, and which is
not known: its likelihood is that of at least one. Finished scenes in the work folder are not run again.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

import trackfish3d.methods.joint.method as joint_method
from joint_doubt import binned, events_of, runs_of, true_identity
from trackfish3d.benchmark.zef import write_sequence, zef_folder
from trackfish3d.core.files import atomic_path
from trackfish3d.methods.joint.fit.canonical import Canonical
from trackfish3d.methods.joint.refinement.confidence import Moments
from trackfish3d.methods.joint.refinement.refine import Refined
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording, Truth
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
CROWDS = (
    ("thirty", 30), ("thirty", 45), ("thirty", 60), ("train8", 40), ("train8", 60), ("train5", 60), ("train3", 40),
)  # fmt: skip
"""Scenes, and how many fish swim in their water."""
SEEDS = range(40, 45)
LARGE = ("hundred", 140)
LARGE_SEEDS = (40,)


def mended_tracks(recording: Recording) -> Refined:
    """Track a recording; returns the tracks before they are written."""
    kept: list[Refined] = []
    own = joint_method.refine

    def keep(*arguments: object) -> Refined:
        kept.append(own(*arguments))  # type: ignore[arg-type]
        return kept[0]

    joint_method.refine = keep  # type: ignore[attr-defined]
    try:
        make_method("joint").track(recording.rig, recording.detections, recording.fps)
    finally:
        joint_method.refine = own  # type: ignore[attr-defined]
    paths = kept[0].paths  # the tracker has its own order of cameras and rows, the truth that of the recording
    paths.members = Canonical.of(recording.rig, recording.detections).members(paths.members)
    return kept[0]


def blame(refined: Refined, truth: Truth, detections: int) -> tuple[Array, Ints, int]:
    """Features (K, 5) of moments that the truth can judge, the event (K,) each may be the cause of, and events in all.

    -1 : a moment of no event. Moments in the same place as another track are left out: the curve is not for them.
    """
    paths: Trajectories = refined.paths
    moments = Moments.of(refined)
    runs = runs_of(paths.name, paths.frame, true_identity(paths.members, truth, detections))
    events = events_of(runs)
    name = paths.name[moments.before]
    first, last = paths.frame[moments.before], paths.frame[moments.after]
    told = np.zeros(len(name), bool)
    for track, mine in runs.items():
        if mine:
            told |= (name == track) & (first >= mine[0].first) & (last <= mine[-1].last)
    told &= np.isneginf(moments.touch)
    whose = np.full(len(name), -1)
    for k, e in enumerate(events):
        whose[(name == e.track) & (last > e.before) & (first < e.after)] = k
    return moments.features()[told], whose[told], len(events)


def fit_weights(features: Array, event: Ints) -> Array:
    """Weights (5,) under which moments (K, 5) without an event, and one at least of every event's, are most likely."""
    scale = np.abs(features).max(0)

    def loss(weights: Array) -> float:
        right = -np.logaddexp(0, features / scale @ weights)
        none = np.bincount(event[event >= 0], right[event >= 0])[np.unique(event[event >= 0])]
        return -float(right[event < 0].sum() + np.log(-np.expm1(np.minimum(none, -1e-12))).sum())

    return np.asarray(minimize(loss, np.r_[-5.0, np.zeros(features.shape[1] - 1)], method="BFGS").x / scale)


def charged(chance: Array, event: Ints) -> NDArray[np.bool_]:
    """(K,) the likeliest moment of each event."""
    out = np.zeros(len(event), bool)
    for e in np.unique(event[event >= 0]):
        mine = np.flatnonzero(event == e)
        out[mine[np.argmax(chance[mine])]] = True
    return out


def scene_moments(base: str, fish: int, seed: int, work: Path) -> tuple[Array, Ints, int]:
    """`blame` of one school, kept in the work folder."""
    path = work / f"{base}x{fish}-{seed}.npz"
    if not path.exists():
        folder = work / path.stem
        if not (folder / "recording.toml").is_file():
            write_scene(benchmark_scenes([base])[0].model_copy(update={"fish": fish}), folder, seed_offset=seed)
        keep_moments(Recording.open(folder), path)
    with np.load(path) as kept:
        return kept["features"], kept["event"], int(kept["count"])


def zef_moments(sequence: str, work: Path) -> tuple[Array, Ints, int]:
    """`blame` of one sequence of 3D-ZeF, kept in the work folder."""
    path = work / f"zef{sequence}.npz"
    if not path.exists():
        folder = work / path.stem
        if not (folder / "recording.toml").is_file():
            write_sequence(sequence, zef_folder(None), folder)
        keep_moments(Recording.open(folder), path)
    with np.load(path) as kept:
        return kept["features"], kept["event"], int(kept["count"])


def keep_moments(recording: Recording, path: Path) -> None:
    """Write `blame` of a recording to a file."""
    assert recording.truth is not None
    features, event, count = blame(mended_tracks(recording), recording.truth, len(recording.detections))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, features=features, event=event, count=count)
    print(f"{path.stem}: {len(event)} moments, {count} events", flush=True)


def main() -> None:
    """Gather moments, fit, and hold the curve against them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps schools and their moments")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="schools of each crowd")
    parser.add_argument("--without-zef", action="store_true", help="leave 3D-ZeF 01 and 03 out")
    given = parser.parse_args()
    work: Path = given.work
    work.mkdir(parents=True, exist_ok=True)
    sequences = () if given.without_zef else ("01", "03")
    schools = [(*crowd, seed) for seed in SEEDS[: given.seeds] for crowd in CROWDS]
    schools += [(*LARGE, seed) for seed in LARGE_SEEDS if given.seeds == len(SEEDS)]
    parts = []
    begun = 0
    found = [scene_moments(*school, work) for school in schools] + [zef_moments(s, work) for s in sequences]
    for features, event, count in found:
        parts.append((features, np.where(event >= 0, event + begun, -1)))
        begun += count
    features, event = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    weights = fit_weights(features, event)
    chance = expit(features @ weights)
    print(
        f"{len(schools)} schools, {len(sequences)} sequences, {len(event)} moments, {begun} events, of which", end=" "
    )
    print(f"{begun - len(np.unique(event[event >= 0]))} have no moment")
    print("WEIGHTS =", np.array2string(weights, precision=3, separator=", "))
    count, claimed, happened = binned(chance, charged(chance, event))
    for n, c, h in zip(count, claimed, happened, strict=True):
        if n:
            print(f"{n:6.0f} moments, claimed {c / n:.4f}, charged {h / n:.4f}")


if __name__ == "__main__":
    main()
