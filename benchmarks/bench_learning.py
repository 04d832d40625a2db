"""Does learning from tracks help? The joint tracker with and without the pair network, on schools it has never seen.

    OMP_NUM_THREADS=1 python benchmarks/bench_learning.py --work DIR
        [--models round1=A.safetensors,round2=B.safetensors] [--zef DIR]
        [--only scenes] [--out docs/results/learning.md]

Without --models it learns first (about half an hour): two rounds on the eight train scenes of SynFish and seven schools
before random rigs. Truth is used here only: to measure how pure the labels are, how well pairs are told apart and
calibrated, and to score tracks. Scores are kept in DIR/learning.json and not made twice. --zef names a folder with
recordings 01 and 03 of 3D-ZeF in this package's format.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
import torch

from trackfish3d.cli.app import main as command
from trackfish3d.evaluation import evaluate
from trackfish3d.methods.joint.learning.batches import score_pairs
from trackfish3d.methods.joint.learning.checkpoint import load_pairs
from trackfish3d.methods.joint.learning.lessons import LearnSettings, owners
from trackfish3d.methods.joint.learning.pair_features import pair_frames
from trackfish3d.methods.joint.learning.rounds import learn_rounds
from trackfish3d.methods.joint.observations import Observations
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Recording

TRAIN = [f"train{k}" for k in range(1, 9)]
# Random rigs differ with the seed: none of the held-out ones is learned on.
LEARN = {
    "learn2": "--rig random:2 --fish 8 --frames 240 --seed 201",
    "learn3": "--rig random:3 --fish 20 --frames 240 --seed 202",
    "learn4": "--rig random:4 --fish 30 --frames 240 --seed 203",
    "learn5": "--rig random:3 --fish 30 --frames 240 --seed 204",
    "learn6": "--rig random:2 --fish 16 --frames 240 --seed 205",
    "learn7": "--rig random:3 --fish 40 --frames 240 --spread 6,4 --seed 206",
    "learn8": "--rig tank --fish 8 --frames 240 --seed 207",
}
# Held out: other schools before rigs that were learned on, and rigs that were not.
SEEN = {name: f"synfish --scenes {name} --seed-offset 7" for name in ("train5", "train6", "train7")}
SEEN |= {
    "thirty": "synfish --scenes thirty --seed-offset 7",
    "hundred": "synfish --scenes hundred --seed-offset 7",
    "tank12": "--rig tank --fish 12 --frames 300 --seed 113",
    "tight": "--rig 3 --fish 40 --spread 6,4 --frames 300 --seed 114",
}
UNSEEN = {
    "rand2": "--rig random:2 --fish 12 --frames 300 --seed 101",
    "two20": "--rig random:2 --fish 20 --frames 300 --seed 111",
    "two30": "--rig random:2 --fish 30 --frames 300 --seed 112",
    "rand3": "--rig random:3 --fish 24 --frames 300 --seed 102",
    "tightr": "--rig random:3 --fish 50 --spread 6,4 --frames 300 --seed 115",
    "rand4": "--rig random:4 --fish 30 --frames 300 --seed 103",
}
NOISY = {f"noise_{name}_{sigma}": (name, sigma) for name in ("train5", "train7") for sigma in (0.2, 0.4)}


def made(work: Path, name: str, line: str) -> Path:
    """Simulate a recording unless it is there."""
    if line.startswith("synfish"):
        folder, out = work / "seen" / name, work / "seen"
    else:
        folder = out = work / name
    if not (folder / "truth.parquet").exists():
        run(["simulate", *line.split(), "--out", str(out)])
    return folder


def run(arguments: list[str]) -> None:
    try:
        command(arguments)
    except SystemExit as end:
        if end.code:
            raise


def noisy(work: Path, name: str, source: Path, sigma: float) -> Path:
    folder = work / name
    if not (folder / "truth.parquet").exists():
        run(["noise", "detections", str(source), "--sigma", str(sigma), "--out", str(folder)])
    return folder


def true_owner(recording: Recording) -> np.ndarray:
    """(N,) identity of each detection, -1 for false ones; of a merged one, either."""
    truth, owner = recording.truth, np.full(len(recording.detections), -1)
    if truth.detection is None:
        return owner
    for c in range(len(recording.rig)):
        has = truth.detection[:, c] >= 0
        owner[truth.detection[has, c]] = truth.identity[has]
    return owner


def purity(recording: Recording, tracks: Any, shortest: int) -> tuple[float, float]:
    """Share of detections that labels cover, and of pairs labelled one animal that are one."""
    owner, true = owners(tracks, len(recording.detections), shortest), true_owner(recording)
    rows = tracks.detection
    right = total = 0
    for a in range(rows.shape[1]):
        for b in range(a + 1, rows.shape[1]):
            both = (rows[:, a] >= 0) & (rows[:, b] >= 0)
            i, j = rows[both, a], rows[both, b]
            use = owner[i] >= 0
            right += int(((true[i] == true[j]) & (true[i] >= 0))[use].sum())
            total += int(use.sum())
    return float((owner >= 0).mean()), right / max(total, 1)


def pair_quality(recording: Recording, model: Any, network: Path) -> dict[str, float]:
    """How well single pairs are told apart, by geometry's part and by both, and how far stated odds are from true."""
    noise = Observations.of(recording.rig, recording.detections, model).noise
    frames = pair_frames(recording.rig, recording.detections, noise, model.body_length)
    known, beyond = score_pairs(load_pairs(network), frames)
    true = true_owner(recording)
    one, other = true[frames.first], true[frames.second]
    use = (one >= 0) & (other >= 0)
    same = (one == other)[use]
    prior = np.log((same.sum() + 1) / ((~same).sum() + 1))
    out = {"pairs": float(use.sum()), "true": float(same.mean())}
    for name, score in (("geometry", known[use]), ("both", (known + beyond)[use])):
        p = 1 / (1 + np.exp(-(score + prior)))
        said = p > 0.5
        out[f"auc_{name}"] = auc(score, same)
        out[f"precision_{name}"] = float(same[said].mean()) if said.any() else float("nan")
        out[f"recall_{name}"] = float(said[same].mean())
        out[f"ece_{name}"] = calibration_error(p, same)
    return out


def auc(score: np.ndarray, same: np.ndarray) -> float:
    rank = np.empty(len(score))
    rank[np.argsort(score, kind="stable")] = np.arange(1, len(score) + 1)
    n = same.sum()
    return float((rank[same].sum() - n * (n + 1) / 2) / max(n * (len(same) - n), 1))


def calibration_error(p: np.ndarray, same: np.ndarray, bins: int = 15) -> float:
    """Mean distance of stated from true share, over equally wide bins of the stated one, weighted by pairs."""
    which = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(p[which == k].sum() - same[which == k].sum()) for k in range(bins)) / len(p))


def tracked(recording: Recording, model: Path | None, gate: float) -> tuple[dict[str, float], Any, Any]:
    method: Any = make_method("joint", {} if model is None else {"model": model})
    begin = time.process_time()
    result = method.track(recording.rig, recording.detections, recording.fps)
    tracks = result.tracks
    spent = time.process_time() - begin
    t = recording.truth
    score = evaluate(t.frame, t.identity, t.position, tracks.frame, tracks.track, tracks.position, gate=gate).to_dict()
    return score | {"ms": 1000 * spent / len(recording.detections.frames)}, result.model, tracks


def learn(work: Path) -> dict[str, Path]:
    folders = [made(work / "train", n, f"synfish --scenes {n}") for n in TRAIN]
    folders += [made(work, n, line) for n, line in LEARN.items()]
    recordings = [Recording.open(f) for f in folders]
    models = {f"round{k}": work / f"round{k}.safetensors" for k in (1, 2)}
    start = None
    for path in models.values():
        if not path.exists():
            learn_rounds(recordings, path, LearnSettings(), 1, start=start)
        start = path
    return models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--models", default="")
    parser.add_argument("--zef", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    work = args.work
    models = {k: Path(v) for k, v in (p.split("=") for p in args.models.split(",") if p)} or learn(work)
    scenes: dict[str, tuple[str, Path]] = {}
    for kind, lines in (("other school, seen rig", SEEN), ("unseen rig", UNSEEN)):
        scenes |= {n: (kind, made(work, n, line)) for n, line in lines.items() if wanted(n, args.only)}
    for n, (source, sigma) in NOISY.items():
        if wanted(n, args.only):
            line = (SEEN | UNSEEN)[source]
            scenes[n] = ("detection noise", noisy(work, n, made(work, source, line), sigma))
    if args.zef and wanted("zef", args.only):
        scenes |= {f"zef {k}": ("real, 3D-ZeF", args.zef / k) for k in ("01", "03")}
    kept = work / "learning.json"
    before = {r["scene"]: r for r in json.loads(kept.read_text())} if kept.exists() else {}
    results = []
    for name, (kind, folder) in scenes.items():
        recording = Recording.open(folder)
        gate = 0.5 if kind.startswith("real") else 1.0
        row: dict[str, Any] = before.get(name, {"scene": name, "kind": kind, "cameras": len(recording.rig)})
        if "geometry" not in row:
            row["fish"] = len(np.unique(recording.truth.identity))
            row["geometry"], model, tracks = tracked(recording, None, gate)
            row["covered"], row["purity"] = purity(recording, tracks, LearnSettings().shortest)
            if recording.truth.detection is not None:
                row["pairs"] = pair_quality(recording, model, next(iter(models.values())))
        for label, path in models.items():
            if label not in row:
                row[label] = tracked(recording, path, gate)[0]
        results.append(row)
        print(line_of(row, list(models)), flush=True)
        rest = [r for n, r in before.items() if n not in {x["scene"] for x in results}]
        kept.write_text(json.dumps(results + rest, indent=1, default=float))
    if args.out:
        args.out.write_text(report(results, list(models)))


def wanted(name: str, only: str) -> bool:
    return not only or any(name.startswith(o) for o in only.split(","))


def line_of(row: dict[str, Any], models: list[str]) -> str:
    cells = [f"{row['scene']}", row["kind"], f"{row['cameras']} x {row['fish']}"]
    for name in ("geometry", *models):
        s = row[name]
        cells.append(f"{100 * s['mota']:.1f} / {100 * s['idf1']:.1f} / {s['switches']:.0f}")
    return "| " + " | ".join(cells) + f" | {row[models[-1]]['ms'] - row['geometry']['ms']:+.1f} |"


HEAD = """# Learning from tracks: does it help?

Made by `python benchmarks/bench_learning.py`. A cell is MOTA % / IDF1 % / identity switches of the joint tracker, the
last column is what the network costs, ms a frame on one thread. None of these schools was learned on.
"""
PAIRS = """
## Single pairs

Plausible pairs of one frame, told apart by geometry's part and by both parts. Precision and recall at even odds, the
scene's share of true pairs given; error of calibration is the mean distance of stated from true share. Purity: share of
pairs labelled one animal by geometry's tracks that are one; covered: share of detections with a label.

| scene | pairs that are true | AUC | precision | recall | calibration error | label purity | covered |
|---|---|---|---|---|---|---|---|"""


def report(results: list[dict[str, Any]], models: list[str]) -> str:
    """The page docs/results/learning.md."""
    head = ["scene", "what is new", "cameras x fish", "geometry alone", *(m.replace("round", "round ") for m in models)]
    lines = [HEAD, "| " + " | ".join([*head, "cost"]) + " |", "|" + "---|" * (len(head) + 1)]
    results = [r for r in results if all(m in r for m in models)]
    lines += [line_of(row, models) for row in results]
    lines += ["", "Mean over scenes of each kind, MOTA / IDF1 %, switches in all:", ""]
    lines += ["| what is new | " + " | ".join(head[3:]) + " |", "|" + "---|" * (len(models) + 2)]
    for kind in dict.fromkeys(r["kind"] for r in results):
        mine = [r for r in results if r["kind"] == kind]
        cells = [
            f"{100 * np.mean([r[m]['mota'] for r in mine]):.2f} / {100 * np.mean([r[m]['idf1'] for r in mine]):.2f}, "
            f"{sum(r[m]['switches'] for r in mine):.0f}"
            for m in ("geometry", *models)
        ]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    lines.append(PAIRS)
    for r in results:
        if "pairs" not in r:
            continue
        p = r["pairs"]
        two = [f"{p[f'{k}_geometry']:.3f} -> {p[f'{k}_both']:.3f}" for k in ("auc", "precision", "recall", "ece")]
        lines.append(
            f"| {r['scene']} | {100 * p['true']:.0f} % of {p['pairs']:.0f} | " + " | ".join(two)
            + f" | {r['purity']:.3f} | {r['covered']:.2f} |"
        )  # fmt: skip
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
