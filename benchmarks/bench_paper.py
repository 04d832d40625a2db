"""Time the published inference, stage by stage, and its peak memory; beside it the plain way, frame by frame.

    python benchmarks/bench_paper.py [--scenes train8,hundred] [--data FOLDER] [--model FILE] [--threads 2]

Prints milliseconds a frame, wall and CPU, compiled code loaded before. Without --model it is the shipped network, or
one with random weights where none is shipped: its time is the same, its groups are fewer, so that linking is also
timed with all animals grouped. The reference builds every pair [h_i | h_j], calls SciPy's assignment and triangulates
group by group; both must find the same groups.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment

from trackfish3d.evaluation.oracle import true_groups
from trackfish3d.methods.groups import triangulated
from trackfish3d.methods.padding import size_batches
from trackfish3d.methods.paper import checkpoint
from trackfish3d.methods.paper.batches import affinity, embed
from trackfish3d.methods.paper.features import raw_features
from trackfish3d.methods.paper.inference import BATCH_TOKENS, group_frames, predictor
from trackfish3d.methods.paper.method import link_groups
from trackfish3d.methods.paper.network import TrackFishNet
from trackfish3d.methods.paper.online import OnlineTracker
from trackfish3d.methods.paper.settings import GroupingSettings
from trackfish3d.methods.paper.tracker import PaperTracker, TrackerSettings
from trackfish3d.methods.postprocess import postprocess
from trackfish3d.recordings import Detections, Recording
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

WIDTH = 46


def network(model: Path | None) -> tuple[TrackFishNet, str]:
    if model is not None:
        return checkpoint.load_model(model)[0], str(model)
    shipped = getattr(checkpoint, "shipped_model", lambda: None)()
    if shipped is None:
        torch.manual_seed(0)
        return TrackFishNet().eval(), "random weights"
    return checkpoint.load_model(shipped)[0], "the shipped model"


def timed(what: str, frames: int, call: Callable[[], object], repeat: int = 3) -> tuple[float, object]:
    """Print the best of some runs; the best CPU time, because other programs may share the machine."""
    wall = cpu = np.inf
    for _ in range(repeat):
        began, spent = time.perf_counter(), time.process_time()
        result = call()
        wall, cpu = min(wall, time.perf_counter() - began), min(cpu, time.process_time() - spent)
    print(f"  {what:<{WIDTH}}{1000 * wall / frames:9.3f}{1000 * cpu / frames:9.3f}", flush=True)
    return cpu, result


def reference_groups(net: TrackFishNet, recording: Recording, settings: GroupingSettings) -> list[tuple[int, ...]]:
    """Pass 1 as one would first write it: members of the groups of all frames."""
    rig, d = recording.rig, recording.detections
    raw = torch.from_numpy(raw_features(rig, d))
    found = []
    for k in range(len(d.frames)):
        rows = np.arange(d.offsets[k], d.offsets[k + 1])
        n = len(rows)
        with torch.no_grad():
            h = net(raw[rows][None], torch.ones(1, n, dtype=torch.bool))[0]
            pairs = torch.cat([h[:, None].expand(n, n, -1), h[None].expand(n, n, -1)], -1)
            p = net.transformer.score(net.transformer.pair(pairs).relu())[..., 0].sigmoid()
            z = torch.nn.functional.normalize(h, dim=-1)
            a = (settings.weight_probability * p + settings.weight_feature * 0.5 * (z @ z.T + 1)).numpy()
        label = list(range(n))
        for first in range(len(rig)):
            for second in range(first + 1, len(rig)):
                i, j = (np.flatnonzero(d.camera[rows] == c) for c in (first, second))
                for x, y in zip(*linear_sum_assignment(-a[np.ix_(i, j)]), strict=True):
                    if a[i[x], j[y]] >= settings.threshold:
                        old, new = label[j[y]], label[i[x]]
                        label = [new if entry == old else entry for entry in label]
        for one in dict.fromkeys(label):
            best: dict[int, int] = {}
            for m in range(n):
                camera = int(d.camera[rows[m]])
                if label[m] == one and (camera not in best or d.score[rows[m]] > d.score[rows[best[camera]]]):
                    best[camera] = m
            members = [best[c] for c in sorted(best)]
            if len(members) < 2 or (len(members) == 2 and a[members[0], members[1]] < settings.two_view_threshold):
                continue
            rowset = rows[members]
            kept = triangulated(
                rig, d.frames[k : k + 1], rowset, np.array([len(rowset)]), d.camera, d.centroids, d.boxes
            )
            if len(kept):
                found.append(tuple(int(r) for r in rowset))
    return sorted(found)


def bench(folder: Path, model: Path | None, threads: int) -> None:
    torch.set_num_threads(threads)
    recording = Recording.open(folder)
    rig, d = recording.rig, recording.detections
    frames = len(d.frames)
    net, name = network(model)
    grouping, linking = GroupingSettings(), TrackerSettings()
    few = d.select(np.arange(int(d.offsets[min(5, frames)])))
    link_groups(net, group_frames(net, rig, few, grouping), few, rig, linking)  # compiles
    fish = 0 if recording.truth is None else len(np.unique(recording.truth.identity))
    print(f"{folder.name}: {fish} fish, {len(rig)} cameras, {len(d) / frames:.0f} detections a frame; {name}")
    print(f"  {'':<{WIDTH}}{'wall ms':>9}{'CPU ms':>9}")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    postprocess(link_groups(net, group_frames(net, rig, d, grouping), d, rig, linking))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    batches = list(size_batches(d.offsets, np.arange(frames), BATCH_TOKENS))
    features, raw = timed("features", frames, lambda: raw_features(rig, d))

    @torch.inference_mode()
    def run_network() -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        return [embed(net, raw, d.offsets, batch) for batch in batches]

    @torch.inference_mode()
    def run_affinity() -> None:
        for h, logits, _ in outputs:
            affinity(h, logits, grouping)

    nets, outputs = timed("network, with pair head", frames, run_network)
    pairs, _ = timed("affinity", frames, run_affinity)
    outputs = []
    pass1, groups = timed("pass 1 (the above and grouping)", frames, lambda: group_frames(net, rig, d, grouping))
    print(f"  {'grouping, by difference':<{WIDTH}}{'':>9}{1000 * (pass1 - features - nets - pairs) / frames:9.3f}")
    pass2, tracks = timed("pass 2 and stitching", frames, lambda: link_groups(net, groups, d, rig, linking))
    after, _ = timed("post-processing", frames, lambda: postprocess(tracks))
    full = pass2
    if recording.truth is not None and recording.truth.detection is not None:
        full, _ = timed("linking, every animal grouped", frames, lambda: link_everybody(net, recording, linking), 1)
    total = 1000 * (pass1 + max(pass2, full) + after) / frames
    print(f"  {'whole, the slower linking counted':<{WIDTH}}{'':>9}{total:9.3f}")
    timed("online, frame by frame", frames, lambda: run_online(net, recording), 1)
    slow, expected = timed("reference for pass 1", frames, lambda: reference_groups(net, recording, grouping), 1)
    same = sorted(tuple(g.tolist()) for g in np.split(groups.members, groups.offsets[1:-1])) if len(groups) else []
    differing = len(set(same) ^ set(expected))
    print(f"  {len(same) / frames:.1f} groups a frame; {differing} of {len(same)} differ from the reference, ", end="")
    print(f"which takes {slow / pass1:.1f} times as long")
    print(f"  peak memory {peak:.0f} MB, {peak - before:.0f} MB more than Python, PyTorch and the recording\n")


def link_everybody(net: TrackFishNet, recording: Recording, settings: TrackerSettings) -> None:
    """Link all animals seen by two cameras, each with a vector of its own."""
    groups = true_groups(recording.rig, recording.detections, recording.truth)
    shown = recording.truth.identities_of_detections(len(recording.detections))[groups.members[groups.offsets[:-1]], 0]
    vectors = np.random.default_rng(0).normal(size=(shown.max() + 1, net.settings.width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    tracker = PaperTracker(settings, predictor(net))
    order = np.argsort(groups.frame, kind="stable")
    starts = np.searchsorted(groups.frame[order], recording.detections.frames)
    for frame, rows in zip(recording.detections.frames.tolist(), np.split(order, starts[1:]), strict=True):
        tracker.update(frame, groups.position[rows], vectors[shown[rows]])
    tracker.finish()


def run_online(net: TrackFishNet, recording: Recording) -> None:
    tracker = OnlineTracker(recording.rig, net)
    d: Detections = recording.detections
    for k in range(len(d.frames)):
        tracker.update(d.select(np.arange(d.offsets[k], d.offsets[k + 1])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="train8,hundred")
    parser.add_argument("--data", type=Path, help="SynFish recordings made before; they are simulated else")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        for scene in benchmark_scenes(arguments.scenes.split(",")):
            folder = (arguments.data or Path(made)) / scene.name
            if not (folder / "recording.toml").exists():
                write_scene(scene, folder)
            # Peak memory is that of a process, so each scene has its own.
            child = multiprocessing.get_context("spawn").Process(
                target=bench, args=(folder, arguments.model, arguments.threads)
            )
            child.start()
            child.join()
            if child.exitcode:
                raise SystemExit(child.exitcode)


if __name__ == "__main__":
    main()
