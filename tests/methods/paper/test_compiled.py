"""The compiled passes are the network: the same values, and the gradients that PyTorch finds."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from trackfish3d.methods.paper import kernels  # noqa: E402
from trackfish3d.methods.paper.compiled import Compiled, flatten  # noqa: E402
from trackfish3d.methods.paper.network import TrackFishNet  # noqa: E402
from trackfish3d.methods.paper.settings import ModelSettings  # noqa: E402


def both(**changes):
    torch.manual_seed(1)
    net = TrackFishNet(ModelSettings(**changes)).train()
    parameters = [*net.encoder.parameters(), *net.transformer.parameters()]
    with torch.no_grad():
        for p in parameters:  # norms begin as the identity, which would hide a mistake
            p.add_(0.1 * torch.randn_like(p))
    flat = flatten(parameters)
    return net, parameters, flat, Compiled(net, flat)


def compare(net, parameters, flat, compiled, mask, before=None):
    raw = torch.rand(*mask.shape, 9)
    pairs = mask[:, :, None] & mask[:, None]
    pull, push = torch.randn(*mask.shape, 128) * mask[..., None], torch.randn(pairs.shape) * pairs
    encoded, h, logits = compiled(raw, mask, 12345, before)
    (found,) = torch.autograd.grad((h * pull).sum() + (logits * push).sum(), [flat])
    expected = net.encoder(raw)
    if before is not None:
        expected = torch.cat([before[None], expected[1:]])
    torch.testing.assert_close(encoded, expected.detach(), atol=1e-5, rtol=1e-5)
    plain = net.transformer(expected, raw[..., [1, 0]], mask, 12345)
    scores = net.transformer.logits(plain)
    torch.testing.assert_close(h * mask[..., None], (plain * mask[..., None]).detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(logits * pairs, (scores * pairs).detach(), atol=1e-5, rtol=1e-4)
    grads = torch.autograd.grad((plain * pull).sum() + (scores * push).sum(), parameters)
    # By the norm, since a unit at the very kink of its ReLU may be on here and off there.
    for mine, its in zip(torch.split(found, [p.numel() for p in parameters]), grads, strict=True):
        difference = (mine.view_as(its) - its).norm()
        assert difference <= 1e-3 * its.norm() + 1e-3


@pytest.mark.parametrize("attention", [True, False])
def test_padded_frames_without_dropout(attention):
    mask = torch.ones(3, 17, dtype=torch.bool)
    mask[1, 12:] = False
    mask[2, [0, 3, 5]] = False  # holes, as left by dropped detections
    compare(*both(dropout=0.0, attention=attention), mask)


@pytest.mark.parametrize("attention", [True, False])
def test_dropout_draws_the_same_factors(attention):
    compare(*both(dropout=0.3, attention=attention), torch.ones(2, 9, dtype=torch.bool))


def test_the_first_frame_may_have_encodings_from_elsewhere_which_learn_nothing():
    compare(*both(dropout=0.0), torch.ones(2, 6, dtype=torch.bool), before=torch.randn(6, 128))


def test_another_shape_of_network():
    net = both(dropout=0.0, layers=2, heads=2, feed_forward=64, hidden=16)
    compare(*net, torch.ones(2, 5, dtype=torch.bool))


def test_a_frame_without_detections():
    _, _, flat, compiled = both(dropout=0.1)
    mask = torch.ones(2, 4, dtype=torch.bool)
    mask[0] = False
    _, h, logits = compiled(torch.rand(2, 4, 9), mask, 1)
    assert (h[0] == 0).all()
    (grad,) = torch.autograd.grad(h[1].square().sum() + logits[1].sum(), [flat])
    assert grad.isfinite().all()


def test_what_changes_the_memory_changes_the_network():
    net, _, flat, compiled = both(dropout=0.0)
    raw, mask = torch.rand(1, 4, 9), torch.ones(1, 4, dtype=torch.bool)
    before = compiled(raw, mask, 0)[1]
    with torch.no_grad():
        flat.mul_(0.5)
    after = compiled(raw, mask, 0)[1]
    assert not torch.allclose(before, after)
    torch.testing.assert_close(after, net(raw, mask).detach(), atol=1e-5, rtol=1e-4)


def test_softmax_is_exact_to_single_precision():
    from trackfish3d.methods.paper._layers import _softmax

    rng = np.random.default_rng(0)
    score = rng.normal(scale=20, size=(9, 31)).astype(np.float32)
    expected = np.exp(score.astype(float) - score.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    _softmax(score, np.empty(31, np.int32))
    np.testing.assert_allclose(score, expected, rtol=2e-5, atol=1e-12)


def test_the_contrastive_gradient_is_that_of_differences():
    rng = np.random.default_rng(3)
    h = rng.normal(size=(1, 7, 8)).astype(np.float32)
    group, mask = np.array([[0, 0, 1, 1, 1, -1, 2]]), np.array([[True] * 6 + [False]])
    _, grad = kernels.contrastive(h, group, mask, 0.5)
    for i, k in ((0, 0), (2, 3), (4, 7), (5, 1)):
        moved = [h.copy(), h.copy()]
        moved[0][0, i, k] += 1e-2
        moved[1][0, i, k] -= 1e-2
        up, down = (kernels.contrastive(m, group, mask, 0.5)[0][0] for m in moved)
        assert (up - down) / 2e-2 == pytest.approx(grad[0, i, k], abs=2e-3)
