"""Do visual features tell fish apart? Share of detections whose likest in a later frame is the same fish.

    trackfish3d simulate --fish 8 --rig 5 --frames 24 --seed 4 --video --out REC
    trackfish3d features REC --backbone PATH --components 16 --out features.npz
    python benchmarks/bench_features.py REC features.npz

In the same view some frames later, and in another view at the same time; truth says which fish a detection shows.
"""

import argparse
from pathlib import Path

import numpy as np

from trackfish3d.methods.paper.features import read_features
from trackfish3d.recordings import Recording


def identities(recording: Recording) -> np.ndarray:
    """(N,) fish that each detection shows; -1 where it shows none."""
    truth = recording.truth
    assert truth is not None
    assert truth.detection is not None
    out = np.full(len(recording.detections), -1)
    for rows in truth.detection.T:
        out[rows[rows >= 0]] = truth.identity[rows >= 0]
    return out


def likest(features: np.ndarray, fish: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[int, int, float]:
    """Right choices, choices, and right ones by chance, of the likest of rows ``b`` for each of rows ``a``."""
    a, b = a[fish[a] >= 0], b[fish[b] >= 0]
    a = a[np.isin(fish[a], fish[b])]
    if not len(a) or len(b) < 2:
        return 0, 0, 0.0
    apart = ((features[a][:, None] - features[b][None]) ** 2).sum(2)
    return int((fish[b[apart.argmin(1)]] == fish[a]).sum()), len(a), len(a) / len(b)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path)
    parser.add_argument("features", type=Path)
    arguments = parser.parse_args()
    recording = Recording.open(arguments.recording)
    d = recording.detections
    features, fish = read_features(arguments.features, d), identities(recording)
    rows = {
        (f, c): np.flatnonzero((d.frame == f) & (d.camera == c))
        for f in np.unique(d.frame)
        for c in range(len(d.cameras))
    }
    cases = {f"same view, {gap} frames later": (gap, 0) for gap in (1, 5, 20)} | {"another view, same frame": (0, 1)}
    for name, (gap, turn) in cases.items():
        found = np.zeros(3)
        for (f, c), mine in rows.items():
            found += likest(features, fish, mine, rows.get((f + gap, (c + turn) % len(d.cameras)), np.zeros(0, int)))
        print(f"{name}: {found[0] / found[1]:.3f} of {found[1]:.0f}, by chance {found[2] / found[1]:.3f}")


if __name__ == "__main__":
    main()
