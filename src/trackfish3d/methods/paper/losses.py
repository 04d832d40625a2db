"""The three self-supervised losses, on batches of padded frames."""

import torch
from torch import Tensor
from torch.nn import functional as F


def association_loss(logits: Tensor, label: Tensor, confidence: Tensor) -> Tensor:
    """Confidence-weighted binary cross-entropy, positives and negatives normalised apart (paper, eq. in 3.4).

    Parameters
    ----------
    logits : (B, N, N) of ordered pairs.
    label : (B, N, N) 1 pseudo-positive, 0 negative, -1 masked.
    confidence : (B, N, N) of the positives.

    Returns
    -------
    (B,) the loss of each frame; a part without pairs is zero.
    """
    positive, negative = label == 1, label == 0
    weight = torch.where(positive, confidence, 0.0)
    pull = (weight * F.softplus(-logits)).sum((1, 2)) / weight.sum((1, 2)).clamp_min(1e-12)
    push = torch.where(negative, F.softplus(logits), 0.0).sum((1, 2)) / negative.sum((1, 2)).clamp_min(1)
    return pull + push


def contrastive_loss(h: Tensor, group: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """Detection-level InfoNCE over the members of each group (paper, eq. in 3.6).

    Parameters
    ----------
    h : (B, N, D) embeddings.
    group : (B, N) number of each detection's group, -1 for none.
    mask : (B, N) real detections.

    Returns
    -------
    (B,) mean over anchors with a positive, zero for frames without any.
    """
    z = F.normalize(h, dim=-1)
    similarity = z @ z.transpose(1, 2) / temperature
    n = h.shape[1]
    other = mask[:, None, :] & ~torch.eye(n, dtype=torch.bool, device=h.device)
    positive = other & (group[:, :, None] == group[:, None, :]) & (group >= 0)[:, :, None]
    anchor = positive.any(-1) & mask
    # Rows without a term are given one, so that logsumexp has a finite gradient; they are left out below.
    every = torch.logsumexp(similarity.masked_fill(~(other | ~anchor[:, :, None]), -torch.inf), -1)
    same = torch.logsumexp(similarity.masked_fill(~(positive | ~anchor[:, :, None]), -torch.inf), -1)
    return torch.where(anchor, every - same, 0.0).sum(1) / anchor.sum(1).clamp_min(1)


def temporal_loss(predicted: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    """Weighted mean squared error of predicted group embeddings (M, D) against their targets (M, D), weight (M,)."""
    squared = (predicted - target).square().sum(-1)
    return (weight * squared).sum() / weight.sum().clamp_min(1e-12)
