"""Compiled parts of the network: what PyTorch can only do by filling and re-reading memory, in one pass.

The pair head has a tensor of B x N x N x 128 in between that nobody needs; the dropout of PyTorch draws each bit
through a slow sampler. Both cost more than the matrix products of so small a network.
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
