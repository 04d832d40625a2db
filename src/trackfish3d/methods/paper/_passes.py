"""Compiled passes through encoder, transformer and pair head on the CPU.

The first two of `matrices` are the encoder's, those of `_layers` follow, the pair head's and its score's are last;
`vectors` begin with the encoder's two biases and the weight and bias of its norm, and end with the biases of the head.
"""

import numpy as np
from numba import njit

from . import _layers
from .kernels import pair_scores, pair_scores_gradient


@njit(cache=True, fastmath=True, nogil=True)
def _halves(pair):  # type: ignore[no-untyped-def]
    """Halves of the pair head's matrix (D, 2 D), for the first and for the second detection of a pair."""
    width = pair.shape[0]
    first, second = np.empty((width, width), np.float32), np.empty((width, width), np.float32)
    for i in range(width):
        for k in range(width):
            first[i, k] = pair[i, k]
            second[i, k] = pair[i, width + k]
    return first, second


@njit(cache=True, fastmath=True, nogil=True)
def forward(raw, real, before, frequency, heads, attention, keep, trunk_matrices, trunk_vectors, matrices, vectors):  # type: ignore[no-untyped-def]
    """Go from raw features (B, N, F) to encodings and context embeddings (B, N, D) and pair logits (B, N, N).

    real (B, N) says which tokens are detections; embeddings of others are zero. before (M, D) are encodings that the
    first frame has from elsewhere. Also returns what `backward` needs.
    """
    blocks, n, columns = raw.shape
    rows, width = blocks * n, matrices[1].shape[0]
    flat = raw.reshape(rows, columns)
    inside = np.empty((rows, matrices[0].shape[0]), np.float32)
    _layers.affine(flat, matrices[0], vectors[0], inside)
    for t in range(rows):
        for k in range(inside.shape[1]):
            inside[t, k] = max(inside[t, k], np.float32(0))
    plain, encoded = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    unit, inverse = np.empty((rows, width), np.float32), np.empty(rows, np.float32)
    _layers.affine(inside, matrices[1], vectors[1], plain)
    _layers.norm(plain, vectors[2], vectors[3], encoded, unit, inverse)
    encoded[: before.shape[0]] = before
    index = np.flatnonzero(real)
    starts = np.zeros(blocks + 1, np.int64)
    for b in range(blocks):
        starts[b + 1] = starts[b] + real[b].sum()
    tokens, place = np.empty((index.shape[0], width), np.float32), np.empty((index.shape[0], 2), np.float32)
    for t in range(index.shape[0]):
        tokens[t] = encoded[index[t]]
        place[t, 0], place[t, 1] = flat[index[t], 1], flat[index[t], 0]
    x, saved = _layers.forward(tokens, place, starts, frequency, heads, attention, keep, trunk_matrices, trunk_vectors)
    h = np.zeros((rows, width), np.float32)
    for t in range(index.shape[0]):
        h[index[t]] = x[t]
    first, second = _halves(matrices[2])
    ahead, behind = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    _layers.affine(h, first, vectors[4], ahead)
    np.dot(h, second.T, behind)
    logits = pair_scores(ahead.reshape(blocks, n, width), behind.reshape(blocks, n, width), matrices[3][0])
    logits += vectors[5][0]
    mine = (flat, inside, unit, inverse, index, starts, tokens, place, h, ahead, behind, first, second)
    return encoded.reshape(blocks, n, width), h.reshape(blocks, n, width), logits, mine, saved


@njit(cache=True, fastmath=True, nogil=True)
def backward(  # type: ignore[no-untyped-def]
    d_h, d_logits, fixed, frequency, heads, attention, keep, scale, trunk_matrices, trunk_vectors, matrices, vectors,
    mine, saved, at_trunk, at_trunk_vector, at_matrix, at_vector, out,
):  # fmt: skip
    """Write the gradients of all parameters to `out`, from those of embeddings (B, N, D) and logits (B, N, N).

    The first `fixed` tokens have encodings from elsewhere, which learn nothing.
    """
    flat, inside, unit, inverse, index, starts, tokens, place, h, ahead, behind, first, second = mine
    rows, width = h.shape
    blocks, n = d_logits.shape[:2]
    da, db, dw = pair_scores_gradient(
        d_logits, ahead.reshape(blocks, n, width), behind.reshape(blocks, n, width), matrices[3][0]
    )
    da, db = da.reshape(rows, width), db.reshape(rows, width)
    out[at_matrix[3] : at_matrix[3] + width] = dw
    out[at_vector[5]] = d_logits.sum()
    _layers.sum_rows(da, out[at_vector[4] : at_vector[4] + width])
    pair = out[at_matrix[2] : at_matrix[2] + 2 * width * width].reshape(width, 2 * width)
    pair[:, :width] = np.dot(da.T, h)
    pair[:, width:] = np.dot(db.T, h)
    grad = np.dot(da, first)
    grad += np.dot(db, second)
    grad += d_h.reshape(rows, width)
    real = np.empty((index.shape[0], width), np.float32)
    for t in range(index.shape[0]):
        real[t] = grad[index[t]]
    d_tokens = _layers.backward(
        real, tokens, place, starts, frequency, heads, attention, keep, scale, trunk_matrices, trunk_vectors, saved,
        at_trunk, at_trunk_vector, out,
    )  # fmt: skip
    d_encoded, d_plain = np.zeros((rows, width), np.float32), np.zeros((rows, width), np.float32)
    for t in range(index.shape[0]):
        if index[t] >= fixed:
            d_encoded[index[t]] = d_tokens[t]
    _layers.norm_back(
        d_encoded, unit, inverse, vectors[2], d_plain,
        out[at_vector[2] : at_vector[2] + width], out[at_vector[3] : at_vector[3] + width],
    )  # fmt: skip
    _layers.sum_rows(d_plain, out[at_vector[1] : at_vector[1] + width])
    _layers.matrix_back(d_plain, inside, out, at_matrix[1])
    d_inside = np.dot(d_plain, matrices[1])
    for t in range(rows):
        for k in range(d_inside.shape[1]):
            d_inside[t, k] *= np.float32(1) if inside[t, k] > 0 else np.float32(0)
    _layers.sum_rows(d_inside, out[at_vector[0] : at_vector[0] + d_inside.shape[1]])
    _layers.matrix_back(d_inside, flat, out, at_matrix[0])
