"""Features files: one row a detection, or a clear refusal."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.methods.paper.features import read_features
from trackfish3d.recordings import Detections


@pytest.fixture
def detections():
    return Detections.build(("a", "b"), [0, 0, 1], [0, 1, 0], [1.0, 2, 3], [1.0, 2, 3])


def test_both_formats_give_the_same_rows(tmp_path, detections):
    values = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.savez(tmp_path / "f.npz", values)
    pq.write_table(pa.table({f"c{i}": values[:, i] for i in range(4)}), tmp_path / "f.parquet")
    for name in ("f.npz", "f.parquet"):
        np.testing.assert_array_equal(read_features(tmp_path / name, detections), values)


def test_what_does_not_fit_is_refused_by_name(tmp_path, detections):
    np.savez(tmp_path / "short.npz", np.zeros((2, 4)))
    np.savez(tmp_path / "nan.npz", np.array([[0.0], [np.nan], [0]]))
    np.savez(tmp_path / "two.npz", np.zeros((3, 1)), np.zeros((3, 1)))
    (tmp_path / "torn.npz").write_bytes((tmp_path / "nan.npz").read_bytes()[:40])
    (tmp_path / "torn.parquet").write_bytes(b"PAR1")
    for name, words in (
        ("short.npz", "needs \\(3, columns"),
        ("nan.npz", "row 1 is not finite"),
        ("two.npz", "holds 2 arrays"),
        ("torn.npz", "cannot be read"),
        ("torn.parquet", "cannot be read"),
        ("gone.npz", "no such"),
        ("x.csv", "npz or .parquet"),
    ):
        with pytest.raises(InputError, match=words):
            read_features(tmp_path / name, detections)
