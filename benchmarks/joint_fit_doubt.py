"""Fit the curve that turns gaps and meetings of tracks into the chance that a track is another animal afterwards.

    OMP_NUM_THREADS=1 python benchmarks/joint_fit_doubt.py --work FOLDER

Tracks crowded schools that no test has, draws of the tuning half of `crowd`, tanks before two cameras, 3D-ZeF 01 and 03
and CMC1, looks up in the truth where tracks changed animals, and prints `WEIGHTS` of the joint method's `confidence`,
and `LISTED`, which lays what is listed for people on a curve of its own, each with how well it holds; of `LISTED` also
how well curves hold that were fitted to half of the recordings, drawn at random, on the other half. An event is between
two frames in which the truth knows the track, so that one of the moments between is to blame, and which is not known:
its likelihood is that of at least one. Finished scenes in the work folder are not run again.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

import trackfish3d.methods.joint.method as joint_method
from joint_doubt import binned, events_of, listed_of, runs_of, true_identity
from trackfish3d.benchmark.crowded.cmc import cmc_folder, write_people
from trackfish3d.benchmark.crowded.crowd import half_of, scene_number, write_crowd
from trackfish3d.benchmark.zef import write_sequence, zef_folder
from trackfish3d.core.files import atomic_path
from trackfish3d.evaluation.oracle import shown_by
from trackfish3d.methods.joint.fit.canonical import Canonical
from trackfish3d.methods.joint.refinement.confidence import LISTED, Moments, meetings
from trackfish3d.methods.joint.refinement.refine import Refined
from trackfish3d.methods.joint.refinement.trajectories import Trajectories
from trackfish3d.methods.registry import make_method
from trackfish3d.methods.suspects import Suspect
from trackfish3d.recordings import Recording, Truth
from trackfish3d.synfish.detector import make_detector
from trackfish3d.synfish.observe import observe
from trackfish3d.synfish.presets import preset
from trackfish3d.synfish.rigs import tank_rig, tank_water
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene
from trackfish3d.synfish.school import simulate_school

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
CROWDS = (("train8", 16), ("train8", 24), ("train5", 24), ("train3", 24), ("thirty", 24))
"""Scenes, and how many fish swim in their water."""
SEEDS = (40, 41, 42, 43)
LARGE = "thirtyx30-40"  # with other seeds, thirty fish are often a jam
DRAWS = half_of("tune")[:7]
PAIRS = tuple(f"pair{fish}-{seed}" for seed in range(2, 6) for fish in (12, 18))
PAIR_MOTIONS, PAIR_FRAMES = ("tank", "startle", "milling"), 300
HALVES = 20  # times that the recordings are parted at random
REAL = ("zef01", "zef03", "CMC1-visible", "CMC1-whole")


def mended_tracks(recording: Recording) -> tuple[Refined, Refined]:
    """Track a recording; returns the tracks before doubtful joins are undone, and after."""
    kept: list[Refined] = []
    own = joint_method.refine, joint_method.suspects

    def keep(*arguments: object) -> Refined:
        kept.append(own[0](*arguments))  # type: ignore[arg-type]
        return kept[0]

    def keep_last(refined: Refined) -> list[Suspect]:
        kept.append(refined)
        return own[1](refined)

    joint_method.refine, joint_method.suspects = keep, keep_last  # type: ignore[attr-defined]
    try:
        make_method("joint").track(recording.rig, recording.detections, recording.fps)
    finally:
        joint_method.refine, joint_method.suspects = own  # type: ignore[attr-defined]
    world = Canonical.of(recording.rig, recording.detections)
    first, last = kept[0], kept[1]
    for one in {id(r): r for r in (first, last)}.values():
        # the tracker has its own order of cameras and rows, the truth that of the recording
        one.paths = replace(one.paths, members=world.members(one.paths.members))
    return first, last


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


def fit_listed(listed: Array) -> Array:
    """Constant and share of log-odds (2,) under which what came of listed moments (S, 2) is likeliest."""
    odds = logit(np.clip(listed[:, 0], 1e-6, 1 - 1e-6))

    def loss(curve: Array) -> float:
        value = curve[0] + curve[1] * odds
        return float(np.logaddexp(0, np.where(listed[:, 1] > 0, -value, value)).sum())

    return np.asarray(minimize(loss, [0.0, 1.0], method="BFGS").x)


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


def moments_of(name: str, work: Path) -> tuple[Array, Ints, int, Array]:
    """`blame` and `listed_of` of a recording of this name, kept in the work folder."""
    path = work / f"{name}.npz"
    if not path.exists():
        folder = work / name
        if not (folder / "recording.toml").is_file():
            write_named(name, folder)
        keep_moments(Recording.open(folder), path)
    with np.load(path) as kept:
        return kept["features"], kept["event"], int(kept["count"]), kept["listed"]


def write_named(name: str, folder: Path) -> None:
    """Write a recording: ``SCENExFISH-SEED``, ``pairFISH-SEED``, a draw of crowd, a sequence of 3D-ZeF, or people."""
    if name.startswith("zef"):
        write_sequence(name[3:], zef_folder(None), folder)
    elif name.startswith("CMC"):
        write_people(name, cmc_folder(None), folder)
    elif name.startswith("crowd"):
        write_crowd(scene_number(name), folder)
    elif name.startswith("pair"):
        write_pair(*map(int, name[4:].split("-")), folder)
    else:
        base, _, rest = name.rpartition("x")
        fish, _, seed = rest.partition("-")
        write_scene(benchmark_scenes([base])[0].model_copy(update={"fish": int(fish)}), folder, seed_offset=int(seed))


def write_pair(fish: int, seed: int, folder: Path) -> None:
    """Write a tank before two cameras that look through its water; how its fish move depends on the seed."""
    settings = preset(PAIR_MOTIONS[seed % len(PAIR_MOTIONS)]).model_copy(update={"length": 2.5})
    school, rig = simulate_school(settings, tank_water(), fish, PAIR_FRAMES, seed), tank_rig()
    detections, truth = observe(school, rig, make_detector("detector", fish, len(rig), seed))
    Recording.create(folder, rig, fps=30.0, detections=detections, truth=truth, frames=(0, PAIR_FRAMES))


def shown_truth(recording: Recording) -> Truth:
    """Truth that says which detection shows whom: where it does not, by its points' pixels."""
    truth = recording.truth
    assert truth is not None
    if truth.detection is not None:
        return truth
    pixel = np.stack([camera.project(truth.position) for camera in recording.rig], axis=1)
    truth = replace(truth, u=pixel[..., 0], v=pixel[..., 1], cameras=recording.rig.names)
    return replace(truth, detection=shown_by(truth, recording.detections))


def keep_moments(recording: Recording, path: Path) -> None:
    """Write `blame` of a recording to a file, and what it lists (`listed_of`), chances as they are."""
    (first, last), truth, detections = mended_tracks(recording), shown_truth(recording), len(recording.detections)
    features, event, count = blame(first, truth, detections)
    runs = runs_of(last.paths.name, last.paths.frame, true_identity(last.paths.members, truth, detections))
    listed = listed_of(meetings(last, curve=(0.0, 1.0)), runs, events_of(runs))
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(file, features=features, event=event, count=count, listed=listed)
    print(f"{path.stem}: {len(event)} moments, {count} events", flush=True)


def main() -> None:
    """Gather moments, fit, and hold the curve against them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps schools and their moments")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="schools of each crowd")
    parser.add_argument("--without-real", action="store_true", help="leave 3D-ZeF 01 and 03 and CMC1 out")
    given = parser.parse_args()
    work: Path = given.work
    work.mkdir(parents=True, exist_ok=True)
    real = () if given.without_real else REAL
    schools = [f"{base}x{fish}-{seed}" for seed in SEEDS[: given.seeds] for base, fish in CROWDS]
    schools += [LARGE, *DRAWS, *PAIRS]
    parts = []
    begun = 0
    found = [moments_of(name, work) for name in (*real, *schools)]
    for features, event, count, _ in found:
        parts.append((features, np.where(event >= 0, event + begun, -1)))
        begun += count
    features, event = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    weights = fit_weights(features, event)
    chance = expit(features @ weights)
    print(f"{len(schools)} schools, {len(real)} films, {len(event)} moments, {begun} events, of which", end=" ")
    print(f"{begun - len(np.unique(event[event >= 0]))} have no moment")
    print("WEIGHTS =", np.array2string(weights, precision=3, separator=", "))
    say_bins("moments", chance, charged(chance, event))
    listed = np.concatenate([each[3] for each in found])
    curve = fit_listed(listed)
    print(f"{len(listed)} listed, {listed[:, 1].sum():.0f} of them rightly; LISTED = ({curve[0]:.2f}, {curve[1]:.2f})")
    say_bins("listed", laid(curve, listed), listed[:, 1] > 0)
    print(f"with LISTED = {LISTED}, as the tracker has it")
    say_bins("listed", laid(np.array(LISTED), listed), listed[:, 1] > 0)
    say_halves([each[3] for each in found])


def laid(curve: Array, listed: Array) -> Array:
    """(S,) chances of listed moments (S, 2) on a curve."""
    return np.asarray(expit(curve[0] + curve[1] * logit(np.clip(listed[:, 0], 1e-6, 1 - 1e-6))))


def say_halves(found: list[Array]) -> None:
    """Print what curves of a random half of the recordings claim of the other half above one half, and what came."""
    rng = np.random.default_rng(0)
    count, claimed, right = 0, 0.0, 0.0
    for _ in range(HALVES):
        order = rng.permutation(len(found))
        known, other = (np.concatenate([found[k] for k in part]) for part in np.array_split(order, 2))
        chance = laid(fit_listed(known), other)
        high = chance > 0.5
        count, claimed, right = count + high.sum(), claimed + chance[high].sum(), right + other[high, 1].sum()
    print(f"halves held back, {HALVES} times: above 0.5 {count / HALVES:.1f} listed, ", end="")
    print(f"claimed {claimed / max(count, 1):.2f}, charged {right / max(count, 1):.2f}")


def say_bins(what: str, chance: Array, happened: NDArray[np.bool_]) -> None:
    """Print what was claimed and what came of it, by chance."""
    for n, c, h in zip(*binned(chance, happened), strict=True):
        if n:
            print(f"{n:6.0f} {what}, claimed {c / n:.4f}, charged {h / n:.4f}")


if __name__ == "__main__":
    main()
