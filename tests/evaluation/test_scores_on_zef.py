"""Published tracks of real zebrafish score as they were published to (3D-ZeF, gate 0.5 cm)."""

import os
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.evaluation import evaluate

MOTA = {
    ("02", "naive"): 36.1,
    ("02", "mvi"): 57.7,
    ("02", "mff"): 89.2,
    ("04", "naive"): 32.4,
    ("04", "mvi"): 52.8,
    ("04", "mff"): 87.2,
}
IDF1 = {("02", "mff"): 78, ("04", "mff"): 87}


@pytest.mark.parametrize(("sequence", "method"), MOTA)
def test_published_tracks_keep_their_scores(sequence: str, method: str) -> None:
    folder = os.environ.get("TRACKFISH3D_DATA")
    if folder is None:
        pytest.skip("TRACKFISH3D_DATA is not set: no real recordings here")
    scene = Path(folder) / "zef" / sequence

    def read(name: str) -> np.ndarray:
        return np.genfromtxt(scene / name, delimiter=",", skip_header=1, usecols=range(5))

    truth, pred = read("ground_truth_head.csv"), read(f"tracks_published_{method}.csv")
    scores = evaluate(truth[:, 0], truth[:, 1], truth[:, 2:], pred[:, 0], pred[:, 1], pred[:, 2:], gate=0.5)
    assert 100 * scores.clear.mota == pytest.approx(MOTA[sequence, method], abs=0.5)
    if (sequence, method) in IDF1:
        assert 100 * scores.identity.idf1 == pytest.approx(IDF1[sequence, method], abs=0.5)
