"""The compiled parts of the network against the plain formulas."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.methods.paper.kernels import keep_scale  # noqa: E402
from trackfish3d.methods.paper.losses import association_loss, contrastive_loss  # noqa: E402
from trackfish3d.methods.paper.network import Layer, TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.settings import ModelSettings  # noqa: E402


def test_the_pair_head_has_the_gradient_of_its_formula():
    torch.manual_seed(0)
    head = TrackFishNet(ModelSettings(width=16, heads=2)).transformer
    h = torch.randn(2, 7, 16, requires_grad=True)
    weight = torch.randn(2, 7, 7) * (torch.rand(2, 7, 7) > 0.3)
    leaves = [h, *head.pair.parameters(), *head.score.parameters()]
    pairs = torch.cat([h[:, :, None].expand(-1, -1, 7, -1), h[:, None].expand(-1, 7, -1, -1)], -1)
    plain = head.score(torch.relu(head.pair(pairs)))[..., 0]
    expected = torch.autograd.grad((weight * plain).sum(), leaves)
    got = torch.autograd.grad((weight * head.logits(h)).sum(), leaves)
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)


def test_gradients_of_the_losses_are_those_of_finite_differences():
    torch.manual_seed(1)
    logits = torch.randn(2, 5, 5, dtype=torch.float64, requires_grad=True)
    label = torch.randint(-1, 2, (2, 5, 5), dtype=torch.int8)
    confidence = torch.rand(2, 5, 5, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: association_loss(x, label, confidence), logits)
    h = torch.randn(2, 6, 8, dtype=torch.float64, requires_grad=True)
    group = torch.tensor([[0, 0, 1, 1, -1, 0], [2, 2, -1, -1, -1, -1]])
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    assert torch.autograd.gradcheck(lambda x: contrastive_loss(x, group, mask, 0.5), h)


def test_losses_of_frames_without_pairs_are_zero():
    none = torch.full((1, 3, 3), -1, dtype=torch.int8)
    assert association_loss(torch.randn(1, 3, 3), none, torch.zeros(1, 3, 3)).item() == 0
    alone = torch.full((1, 3), -1)
    assert contrastive_loss(torch.randn(1, 3, 4), alone, torch.ones(1, 3, dtype=torch.bool), 0.07).item() == 0


def test_dropout_factors_are_independent_and_keep_the_mean():
    a, b = keep_scale(200_000, 0.1, 12345), keep_scale(200_000, 0.1, 2**40 + 12345)
    assert set(np.unique(a)) == {np.float32(0), np.float32(1 / 0.9)}
    for factors in (a, b):
        assert (factors == 0).mean() == pytest.approx(0.1, abs=0.003)  # 4.5 standard deviations
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.01
    assert abs(np.corrcoef(a[1:], a[:-1])[0, 1]) < 0.01
    np.testing.assert_array_equal(a, keep_scale(200_000, 0.1, 12345))


def test_a_layer_drops_where_its_factors_are_zero():
    """With factors of one a layer in training is the layer at inference; with zeros it passes its input on."""
    torch.manual_seed(2)
    layer = Layer(ModelSettings())
    x, mask = torch.randn(2, 9, 128), torch.ones(2, 9, dtype=torch.bool)
    mask[1, 6:] = False
    shapes = layer.dropped_shapes(2, 9)
    ones = tuple(torch.ones(s) for s in shapes)
    torch.testing.assert_close(layer(x, mask, ones)[mask], layer(x, mask)[mask], atol=1e-5, rtol=1e-4)
    assert torch.equal(layer(x, mask, tuple(torch.zeros(s) for s in shapes)), x)


def test_a_frame_without_detections_gives_finite_gradients():
    torch.manual_seed(4)
    net = TrackFishNet().train()
    mask = torch.ones(2, 4, dtype=torch.bool)
    mask[0, 1:] = False  # the one key that an empty frame is given
    h = net(torch.rand(2, 4, 9), mask, 1)
    none = torch.full((2, 4, 4), -1, dtype=torch.int8)
    none[1] = 1 - torch.eye(4, dtype=torch.int8)
    group = torch.tensor([[-1] * 4, [0, 0, 1, 1]])
    loss = association_loss(net.transformer.logits(h), none, torch.ones(2, 4, 4)) + contrastive_loss(
        h, group, mask, 0.07
    )
    assert loss[0].item() == 0
    loss.sum().backward()
    assert all(p.grad.isfinite().all() for p in net.transformer.parameters())


def test_the_same_seed_drops_the_same():
    net = TrackFishNet().train()
    raw, mask = torch.rand(1, 6, 9), torch.ones(1, 6, dtype=torch.bool)
    assert torch.equal(net(raw, mask, 7), net(raw, mask, 7))
    assert not torch.equal(net(raw, mask, 7), net(raw, mask, 8))


def test_mixed_precision_is_the_network_up_to_rounding():
    """As on a GPU: matrix products in bfloat16, gradients of the weights in 32 bits."""
    torch.manual_seed(3)
    net = TrackFishNet().train()
    raw, mask = torch.rand(2, 9, 9), torch.ones(2, 9, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        half = net(raw, mask, 5)
    torch.testing.assert_close(half.float(), net(raw, mask, 5), atol=0.1, rtol=0)
    half.sum().backward()
    assert {p.grad.dtype for p in net.encoder.parameters()} == {torch.float32}
