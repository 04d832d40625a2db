"""The network against the paper's numbers and plain, slow references."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from trackfish3d.methods.paper.batches import affinity  # noqa: E402
from trackfish3d.methods.paper.checkpoint import save_model  # noqa: E402
from trackfish3d.methods.paper.losses import association_loss, contrastive_loss, temporal_loss  # noqa: E402
from trackfish3d.methods.paper.network import Layer, Rope2d, TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.settings import GroupingSettings, ModelSettings  # noqa: E402
from trackfish3d.methods.paper.train.settings import TrainingSettings, fast_recipe  # noqa: E402


def test_parameter_counts_are_the_papers():
    assert TrackFishNet().parameter_counts() == {"encoder": 9216, "transformer": 579457, "predictor": 66432}


def test_rope_turns_each_pair_by_its_formula():
    rng = np.random.default_rng(0)
    token, (y, x) = rng.normal(size=128), (0.3, 0.8)
    expected = np.empty(128)
    for half, place in ((0, y), (1, x)):
        for k in range(32):
            theta = place / 10000 ** (2 * k / 64) * np.pi
            a, b = token[64 * half + 2 * k], token[64 * half + 2 * k + 1]
            expected[64 * half + 2 * k] = a * np.cos(theta) - b * np.sin(theta)
            expected[64 * half + 2 * k + 1] = a * np.sin(theta) + b * np.cos(theta)
    got = Rope2d(128)(torch.tensor(token[None], dtype=torch.float32), torch.tensor([[y, x]], dtype=torch.float32))
    np.testing.assert_allclose(got[0].numpy(), expected, atol=1e-5)


def test_a_layer_is_torchs_pre_norm_layer():
    torch.manual_seed(0)
    ours = Layer(ModelSettings(dropout=0.0)).eval()
    stock = nn.TransformerEncoderLayer(128, 4, 256, 0.0, batch_first=True, norm_first=True)
    with torch.no_grad():
        stock.self_attn.in_proj_weight.copy_(ours.qkv.weight)
        stock.self_attn.in_proj_bias.copy_(ours.qkv.bias)
        for a, b in (
            (stock.self_attn.out_proj, ours.out),
            (stock.linear1, ours.up),
            (stock.linear2, ours.down),
            (stock.norm1, ours.norm1),
            (stock.norm2, ours.norm2),
        ):
            a.load_state_dict(b.state_dict())
    x = torch.randn(2, 9, 128)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 6:] = False
    expected = stock.train()(x, src_key_padding_mask=~mask)  # train mode avoids the stock layer's fast path
    torch.testing.assert_close(ours(x, mask)[mask], expected[mask], atol=1e-5, rtol=1e-4)


def test_the_factored_pair_head_is_the_concatenation():
    torch.manual_seed(1)
    head = TrackFishNet().transformer
    h = torch.randn(1, 5, 128)
    got = head.logits(h)
    for i in range(5):
        for j in range(5):
            pair = torch.cat([h[0, i], h[0, j]])
            torch.testing.assert_close(got[0, i, j], head.score(torch.relu(head.pair(pair)))[0], atol=1e-5, rtol=1e-4)


def test_padding_changes_nothing():
    torch.manual_seed(2)
    net = TrackFishNet().eval()
    raw = torch.rand(1, 7, 9)
    padded = torch.cat([raw, torch.rand(1, 4, 9)], 1)
    mask = torch.arange(11)[None] < 7
    torch.testing.assert_close(net(padded, mask)[:, :7], net(raw, mask[:, :7]), atol=1e-5, rtol=1e-4)


def test_without_attention_detections_do_not_see_each_other():
    net = TrackFishNet(ModelSettings(attention=False)).eval()
    raw = torch.rand(1, 6, 9)
    mask = torch.ones(1, 6, dtype=torch.bool)
    torch.testing.assert_close(net(raw, mask)[:, :3], net(raw[:, :3], mask[:, :3]), atol=1e-6, rtol=1e-5)


def test_association_loss_is_the_formula():
    rng = np.random.default_rng(3)
    n = 6
    logits, confidence = rng.normal(size=(n, n)), rng.uniform(0.1, 1, (n, n))
    label = rng.integers(-1, 2, (n, n))
    p = 1 / (1 + np.exp(-logits))
    pull = sum(confidence[i, j] * np.log(p[i, j]) for i in range(n) for j in range(n) if label[i, j] == 1)
    mass = sum(confidence[i, j] for i in range(n) for j in range(n) if label[i, j] == 1)
    push = [np.log(1 - p[i, j]) for i in range(n) for j in range(n) if label[i, j] == 0]
    expected = -pull / mass - sum(push) / len(push)
    got = association_loss(*(torch.tensor(x[None]) for x in (logits, label, confidence)))
    assert got[0].item() == pytest.approx(expected)


def test_contrastive_loss_is_the_formula():
    rng = np.random.default_rng(4)
    h = rng.normal(size=(7, 16))
    group = np.array([0, 0, 1, 1, 1, -1, 2])  # group 2 has one member: no positive
    z = h / np.linalg.norm(h, axis=1, keepdims=True)
    s = np.exp(z @ z.T / 0.07)
    terms = []
    for i in range(7):
        positives = [j for j in range(7) if j != i and group[i] == group[j] >= 0]
        if positives:
            terms.append(-np.log(sum(s[i, j] for j in positives) / sum(s[i, k] for k in range(7) if k != i)))
    pad = rng.normal(size=(2, 16))
    mask = torch.tensor([[True] * 7 + [False] * 2])
    leaf = torch.tensor(np.concatenate([h, pad])[None], requires_grad=True)
    got = contrastive_loss(leaf, torch.tensor([[*group, -1, -1]]), mask, 0.07)
    assert got[0].item() == pytest.approx(np.mean(terms))
    got.sum().backward()
    assert torch.isfinite(leaf.grad).all()


def test_temporal_loss_is_the_weighted_mean():
    a, b = torch.randn(4, 8), torch.randn(4, 8)
    w = torch.tensor([0.45, 0.8, 0.8, 1.0])
    expected = sum(w[i] * ((a[i] - b[i]) ** 2).sum() for i in range(4)) / w.sum()
    torch.testing.assert_close(temporal_loss(a, b, w), expected)
    assert temporal_loss(a[:0], b[:0], w[:0]).item() == 0


def test_affinity_is_the_formula_and_bars_pairs_below_the_thresholds():
    rng = np.random.default_rng(5)
    h, logits = rng.normal(size=(1, 9, 4)), rng.normal(size=(1, 9, 9))
    z = h[0] / np.linalg.norm(h[0], axis=1, keepdims=True)
    cosine, p = z @ z.T, 1 / (1 + np.exp(-logits[0]))
    plain = 0.6 * p + 0.4 * (cosine + 1) / 2
    tensors = torch.tensor(h), torch.tensor(logits)
    np.testing.assert_allclose(affinity(*tensors, GroupingSettings())[0], plain)
    barred = (cosine < 0.55) | (p < 0.6)
    assert 0 < barred.sum() < barred.size
    got = affinity(*tensors, GroupingSettings(min_cosine=0.55, min_probability=0.6))[0]
    np.testing.assert_allclose(got, np.where(barred, -1, plain))
    opposite = torch.tensor([[[1.0, 1e-4], [-1.0, -1e-4]]])  # a cosine of -1 may round to less
    assert (affinity(opposite, torch.zeros(1, 2, 2), GroupingSettings()) >= 0).all()


def test_only_recipe_paper_has_the_papers_thresholds():
    paper, fast = TrainingSettings().grouping, fast_recipe().grouping
    assert (paper.threshold, paper.min_cosine, paper.min_probability) == (0.6, 0.55, 0.6)
    assert (fast.threshold, fast.min_cosine, fast.min_probability) == (0.6, -1, 0)
    one = fast_recipe(grouping={"min_cosine": 0.2}).grouping
    assert (one.threshold, one.min_cosine, one.min_probability) == (0.6, 0.2, 0)


def test_the_same_network_gives_the_same_bytes(tmp_path):
    """What safetensors writes before the numbers changes its order from one write to the next."""
    net = TrackFishNet(ModelSettings())
    for name in "abcdefgh":
        save_model(net, tmp_path / f"{name}.safetensors", 3, recipe="fast", seed=1)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
