"""The pair network: symmetric, blind to order and padding, safe to load."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.core.errors import InputError  # noqa: E402
from trackfish3d.methods.joint.learning.batches import make_batch, score_pairs  # noqa: E402
from trackfish3d.methods.joint.learning.checkpoint import load_pairs, pair_notes, save_pairs  # noqa: E402
from trackfish3d.methods.joint.learning.kernels import COLUMNS, GEOMETRIC  # noqa: E402
from trackfish3d.methods.joint.learning.network import MOST, PairNet, PairSettings  # noqa: E402
from trackfish3d.methods.joint.learning.pair_features import TOKEN, PairFrames  # noqa: E402
from trackfish3d.methods.paper.checkpoint import save_model  # noqa: E402
from trackfish3d.methods.paper.network import TrackFishNet  # noqa: E402

SMALL = PairSettings(width=32, layers=2, heads=2, feed_forward=32, pair_width=16)


def frames_of(sizes, seed=0, cameras=3):
    """Random frames of these numbers of detections."""
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    camera = np.concatenate([np.sort(rng.integers(0, cameras, n)) for n in sizes]).astype(np.int64)
    pairs = [
        (i, j)
        for a, b in itertools.pairwise(offsets)
        for i in range(a, b)
        for j in range(i + 1, b)
        if camera[i] != camera[j] and rng.random() < 0.4
    ]
    first, second = np.array(pairs, np.int64).T
    starts = np.searchsorted(first, offsets).astype(np.int64)
    tokens = rng.normal(size=(offsets[-1], TOKEN)).astype(np.float32)
    return PairFrames(
        offsets, camera, tokens, starts, first, second, rng.random((len(first), COLUMNS)).astype(np.float32)
    )


@pytest.fixture
def net():
    torch.manual_seed(0)
    return PairNet(SMALL).eval()


def test_padding_and_company_in_a_batch_change_nothing(net):
    frames = frames_of([7, 12, 3, 9])
    known, beyond = score_pairs(net, frames)
    for k in range(4):
        batch, pairs = make_batch(frames, np.array([k]))
        with torch.no_grad():
            one, other = net(batch)
        np.testing.assert_allclose(one, known[pairs], atol=1e-5)
        np.testing.assert_allclose(other, beyond[pairs], atol=1e-5)
    assert np.isfinite(beyond).all()
    assert np.abs(beyond).max() < MOST
    assert beyond.std() > 1e-3


def test_order_of_detections_and_of_a_pair_change_nothing(net):
    frames = frames_of([10])
    batch, _ = make_batch(frames, np.array([0]))
    order = torch.randperm(10)
    place = torch.argsort(order)
    shuffled = batch._replace(
        tokens=batch.tokens[:, order], camera=batch.camera[:, order], first=place[batch.second],
        second=place[batch.first],
    )  # fmt: skip
    with torch.no_grad():
        for a, b in zip(net(batch), net(shuffled), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


def test_geometry_s_part_knows_geometry_only(net):
    batch, _ = make_batch(frames_of([10]), np.array([0]))
    columns = batch.columns.clone()
    columns[:, GEOMETRIC:] += 1.0
    changed = batch._replace(columns=columns, tokens=batch.tokens + 1.0)
    with torch.no_grad():
        (known, beyond), (same, other) = net(batch), net(changed)
    assert torch.equal(known, same)
    assert not torch.allclose(beyond, other, atol=1e-3)


def test_the_sign_of_an_axis_means_nothing(net):
    batch, _ = make_batch(frames_of([10]), np.array([0]))
    tokens = batch.tokens.clone()
    tokens[..., 6:9] *= -1
    with torch.no_grad():
        assert torch.equal(net(batch)[1], net(batch._replace(tokens=tokens))[1])


def test_an_empty_recording_has_no_pairs(net):
    nothing = np.zeros(0, np.int64)
    frames = PairFrames(
        np.array([0, 1]), np.zeros(1, np.int64), np.zeros((1, TOKEN), np.float32), np.array([0, 0]), nothing, nothing,
        np.zeros((0, COLUMNS), np.float32),
    )  # fmt: skip
    assert [len(part) for part in score_pairs(net, frames)] == [0, 0]


def test_files_come_back_and_broken_ones_say_so(net, tmp_path):
    net.scale.fill_(0.7)
    save_pairs(net, tmp_path / "a.safetensors", rounds=2)
    back = load_pairs(tmp_path / "a.safetensors")
    frames = frames_of([8, 8])
    np.testing.assert_array_equal(score_pairs(net, frames), score_pairs(back, frames))
    assert pair_notes(tmp_path / "a.safetensors") == {"rounds": 2}
    (tmp_path / "b.safetensors").write_bytes((tmp_path / "a.safetensors").read_bytes()[:900])
    with pytest.raises(InputError, match=r"b\.safetensors: is not a complete pair network"):
        load_pairs(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match="no such model"):
        load_pairs(tmp_path / "c.safetensors")
    save_model(TrackFishNet(), tmp_path / "d.safetensors", 3)
    with pytest.raises(InputError, match="is no pair network"):
        load_pairs(tmp_path / "d.safetensors")
