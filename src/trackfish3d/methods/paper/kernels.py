"""Compiled parts of the network: what PyTorch can only do by filling and re-reading memory, in one pass.

The pair head and the contrastive loss have tensors of B x N x N (x 128) in between that nobody needs; the dropout of
PyTorch draws each bit through a slow sampler. Both cost more than the matrix products of so small a network.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

F32 = np.float32


@njit(cache=True, fastmath=True, nogil=True)
def pair_scores(a: NDArray[F32], b: NDArray[F32], w: NDArray[F32]) -> NDArray[F32]:
    """Score (B, N, N) of pairs: ``sum_k w_k relu(a_ik + b_jk)`` for a, b (B, N, K) and w (K,)."""
    blocks, n, width = a.shape
    out = np.empty((blocks, n, n), np.float32)
    for f in range(blocks):
        for i in range(n):
            for j in range(n):
                total = np.float32(0)
                for k in range(width):
                    total += w[k] * max(a[f, i, k] + b[f, j, k], np.float32(0))
                out[f, i, j] = total
    return out


@njit(cache=True, fastmath=True, nogil=True)
def pair_scores_gradient(
    grad: NDArray[F32], a: NDArray[F32], b: NDArray[F32], w: NDArray[F32]
) -> tuple[NDArray[F32], NDArray[F32], NDArray[F32]]:
    """Gradients of a, b and w from that of the scores (B, N, N); pairs without one (same camera, padding) are free."""
    blocks, n, width = a.shape
    da = np.zeros_like(a)
    db = np.zeros_like(b)
    dw = np.zeros_like(w)
    for f in range(blocks):
        for i in range(n):
            for j in range(n):
                g = grad[f, i, j]
                if g == 0:
                    continue
                for k in range(width):
                    x = a[f, i, k] + b[f, j, k]
                    on = g if x > 0 else np.float32(0)
                    dw[k] += on * x
                    da[f, i, k] += on
                    db[f, j, k] += on
    for f in range(blocks):
        for i in range(n):
            for k in range(width):
                da[f, i, k] *= w[k]
                db[f, i, k] *= w[k]
    return da, db, dw


@njit(cache=True, nogil=True)
def info_nce(
    similarity: NDArray[F32], group: NDArray[np.int64], mask: NDArray[np.bool_]
) -> tuple[NDArray[F32], NDArray[F32]]:
    """Loss (B,) of each frame and its gradient by similarity (B, N, N), already divided by the temperature."""
    blocks, n = group.shape
    loss = np.zeros(blocks, similarity.dtype)
    grad = np.zeros(similarity.shape, similarity.dtype)
    e = np.empty(n)
    for f in range(blocks):
        anchors = 0
        total = 0.0
        for i in range(n):
            if not mask[f, i] or group[f, i] < 0:
                continue
            most = -np.inf
            found = False
            for j in range(n):
                if mask[f, j] and j != i:
                    most = max(most, similarity[f, i, j])
                    found = found or group[f, j] == group[f, i]
            if not found:
                continue
            every = 0.0
            same = 0.0
            for j in range(n):
                e[j] = 0.0
                if mask[f, j] and j != i:
                    e[j] = np.exp(similarity[f, i, j] - most)
                    every += e[j]
                    if group[f, j] == group[f, i]:
                        same += e[j]
            same = max(same, 1e-300)
            anchors += 1
            total += np.log(every) - np.log(same)
            for j in range(n):
                if e[j] > 0:
                    grad[f, i, j] = e[j] / every - (e[j] / same if group[f, j] == group[f, i] else 0.0)
        if anchors:
            loss[f] = total / anchors
            for i in range(n):
                for j in range(n):
                    grad[f, i, j] /= anchors
    return loss, grad


@njit(cache=True, fastmath=True, nogil=True)
def contrastive(
    h: NDArray[F32], group: NDArray[np.int64], mask: NDArray[np.bool_], temperature: float
) -> tuple[NDArray[F32], NDArray[F32]]:
    """`info_nce` of the directions of embeddings h (B, N, D): loss (B,) of each frame and its gradient by h."""
    blocks, n, width = h.shape
    z = np.empty_like(h)
    size = np.empty((blocks, n), np.float32)
    similarity = np.empty((blocks, n, n), np.float32)
    for f in range(blocks):
        for i in range(n):
            total = np.float32(0)
            for k in range(width):
                total += h[f, i, k] * h[f, i, k]
            size[f, i] = max(np.sqrt(total), np.float32(1e-12))
            for k in range(width):
                z[f, i, k] = h[f, i, k] / size[f, i]
        np.dot(z[f], z[f].T, similarity[f])
    similarity /= np.float32(temperature)
    loss, slope = info_nce(similarity, group, mask)
    grad = np.empty_like(h)
    both = np.empty((n, n), np.float32)
    for f in range(blocks):
        for i in range(n):
            for j in range(n):
                both[i, j] = (slope[f, i, j] + slope[f, j, i]) / np.float32(temperature)
        np.dot(both, z[f], grad[f])
        for i in range(n):
            along = np.float32(0)
            for k in range(width):
                along += grad[f, i, k] * z[f, i, k]
            for k in range(width):
                grad[f, i, k] = (grad[f, i, k] - along * z[f, i, k]) / size[f, i]
    return loss, grad


@njit(cache=True, nogil=True)
def keep_scale(count: int, drop: float, seed: int) -> NDArray[F32]:
    """``count`` factors of dropout: 0 with probability `drop`, else ``1 / (1 - drop)``.

    Each is a hash of its place and the seed (two rounds of Wellons' low-bias 32-bit mixer), so that the same seed
    gives the same factors whatever runs beside it.
    """
    out = np.empty(count, np.float32)
    limit = np.uint32(drop * 4294967296.0)
    scale = np.float32(1.0 / (1.0 - drop))
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32((seed >> 32) & 0xFFFFFFFF)
    for i in range(count):
        x = np.uint32(i) ^ low
        x ^= x >> np.uint32(16)
        x = np.uint32(x * np.uint32(0x21F0AAAD))
        x ^= x >> np.uint32(15)
        x = np.uint32(x * np.uint32(0x735A2D97))
        x = np.uint32((x ^ (x >> np.uint32(15))) + high)
        x ^= x >> np.uint32(16)
        x = np.uint32(x * np.uint32(0x7FEB352D))
        x ^= x >> np.uint32(15)
        x = np.uint32(x * np.uint32(0x846CA68B))
        x ^= x >> np.uint32(16)
        out[i] = scale if x >= limit else np.float32(0)
    return out


@njit(cache=True, nogil=True)
def association(
    logits: NDArray[F32], label: NDArray[np.int8], confidence: NDArray[F32]
) -> tuple[NDArray[F32], NDArray[F32]]:
    """Confidence-weighted cross-entropy (B,) of each frame and its gradient by the logits (B, N, N)."""
    blocks, n = label.shape[:2]
    loss = np.zeros(blocks, logits.dtype)
    grad = np.zeros(logits.shape, logits.dtype)
    for f in range(blocks):
        mass = 0.0
        negatives = 0
        for i in range(n):
            for j in range(n):
                if label[f, i, j] == 1:
                    mass += confidence[f, i, j]
                elif label[f, i, j] == 0:
                    negatives += 1
        pull = 1.0 / max(mass, 1e-12)
        push = 1.0 / max(negatives, 1)
        total = 0.0
        for i in range(n):
            for j in range(n):
                if label[f, i, j] < 0:
                    continue
                x = logits[f, i, j]
                small = np.exp(-abs(x))
                tail = np.log1p(small)  # softplus(x) = max(x, 0) + tail
                chance = (1.0 if x >= 0 else small) / (1.0 + small)
                if label[f, i, j] == 1:
                    weight = pull * confidence[f, i, j]
                    total += weight * (max(-x, 0.0) + tail)
                    grad[f, i, j] = weight * (chance - 1.0)
                else:
                    total += push * (max(x, 0.0) + tail)
                    grad[f, i, j] = push * chance
        loss[f] = total
    return loss, grad
