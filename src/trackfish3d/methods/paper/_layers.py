"""Compiled passes through the layers of the transformer on the CPU, forward and backward, whole.

Tokens of all frames lie one after the other, (T, D) without padding; frame b has the rows ``starts[b]`` to
``starts[b + 1]``. Parameters come as two tuples: `matrices`, that of the projection and the four of each layer (qkv,
out, up, down), and `vectors`, the bias of the projection and eight of each layer (norm1 weight and bias, biases of
qkv and out, norm2 weight and bias, biases of up and down). Their gradients go to one piece of memory, `out`, at the
places given for them. Factors of dropout are 0 or ``1 / (1 - p)``, in one piece:
for each layer those of the attention weights, of its output, of the hidden units and of their output; an empty piece
means that nothing is dropped.
"""

import numpy as np
from numba import njit

_EPS = np.float32(1e-5)
_ONE = np.float32(1)


@njit(cache=True, fastmath=True, nogil=True)
def _turn(x, place, frequency, sign):  # type: ignore[no-untyped-def]
    """Turn tokens x (T, D) in place by 2D RoPE; place (T, 2) is (y, x), frequency (D / 4,); sign -1 turns back."""
    quarter = frequency.shape[0]
    for t in range(x.shape[0]):
        for axis in range(2):
            for k in range(quarter):
                angle = place[t, axis] * frequency[k]
                c, s = np.cos(angle), sign * np.sin(angle)
                at = 2 * (axis * quarter + k)
                first, second = x[t, at], x[t, at + 1]
                x[t, at] = first * c - second * s
                x[t, at + 1] = first * s + second * c


@njit(cache=True, fastmath=True, nogil=True)
def affine(x, matrix, bias, out):  # type: ignore[no-untyped-def]
    """Write x (T, K) matrix' + bias to out (T, M)."""
    np.dot(x, matrix.T, out)
    for t in range(out.shape[0]):
        for k in range(out.shape[1]):
            out[t, k] += bias[k]


@njit(cache=True, fastmath=True, nogil=True)
def norm(x, weight, bias, out, unit, inverse):  # type: ignore[no-untyped-def]
    """LayerNorm of x (T, D) to `out`; also the normalised x (T, D) and the inverse deviations (T,)."""
    rows, width = x.shape
    for t in range(rows):
        mean = np.float32(0)
        for k in range(width):
            mean += x[t, k]
        mean /= np.float32(width)
        square = np.float32(0)
        for k in range(width):
            square += (x[t, k] - mean) * (x[t, k] - mean)
        scale = _ONE / np.sqrt(square / np.float32(width) + _EPS)
        inverse[t] = scale
        for k in range(width):
            u = (x[t, k] - mean) * scale
            unit[t, k] = u
            out[t, k] = u * weight[k] + bias[k]


@njit(cache=True, fastmath=True, nogil=True)
def norm_back(grad, unit, inverse, weight, total, d_weight, d_bias):  # type: ignore[no-untyped-def]
    """Add the gradient by x to `total` (T, D); write those of weight and bias (D,)."""
    rows, width = grad.shape
    d_weight[:] = np.float32(0)
    d_bias[:] = np.float32(0)
    for t in range(rows):
        mean, along = np.float32(0), np.float32(0)
        for k in range(width):
            g = grad[t, k]
            d_bias[k] += g
            d_weight[k] += g * unit[t, k]
            mean += g * weight[k]
            along += g * weight[k] * unit[t, k]
        mean /= np.float32(width)
        along /= np.float32(width)
        for k in range(width):
            total[t, k] += inverse[t] * (grad[t, k] * weight[k] - mean - unit[t, k] * along)


@njit(cache=True, fastmath=True, nogil=True)
def _softmax(score, bits):  # type: ignore[no-untyped-def]
    """Softmax of the rows of `score` (N, N), in place.

    ``2^f`` by its series on [-1/2, 1/2], ``2^n`` through the exponent of a float, `bits` (N,) int32 being room for it:
    so the loops go through eight or sixteen numbers at once. Relative error below 3e-7.
    """
    n = score.shape[1]
    powers = bits.view(np.float32)
    for i in range(score.shape[0]):
        row = score[i]
        top = np.float32(-np.inf)
        for j in range(n):
            top = max(top, row[j])
        mass = np.float32(0)
        for j in range(n):
            t = max((row[j] - top) * np.float32(1.4426950408889634), np.float32(-125))
            whole = np.floor(t + np.float32(0.5))
            f = (t - whole) * np.float32(0.6931471805599453)
            series = np.float32(1 / 720)
            series = series * f + np.float32(1 / 120)
            series = series * f + np.float32(1 / 24)
            series = series * f + np.float32(1 / 6)
            series = series * f + np.float32(0.5)
            series = series * f + np.float32(1)
            row[j] = series * f + np.float32(1)
            bits[j] = (np.int32(whole) + np.int32(127)) << np.int32(23)
        for j in range(n):
            row[j] *= powers[j]
            mass += row[j]
        mass = np.float32(1) / mass
        for j in range(n):
            row[j] *= mass


@njit(cache=True, nogil=True)
def _take(x, begin, n, column, factor, room):  # type: ignore[no-untyped-def]
    """Copy the columns of one head, from `column` on, of n rows of x, times a factor, into `room` (n, d)."""
    for i in range(n):
        for k in range(room.shape[1]):
            room[i, k] = factor * x[begin + i, column + k]


@njit(cache=True, nogil=True)
def _put(room, begin, column, factor, x):  # type: ignore[no-untyped-def]
    """Write `room` (n, d), times a factor, to the columns of one head."""
    for i in range(room.shape[0]):
        for k in range(room.shape[1]):
            x[begin + i, column + k] = factor * room[i, k]


@njit(cache=True, fastmath=True, nogil=True)
def _attend(qkv, starts, heads, keep, weights, out):  # type: ignore[no-untyped-def]
    """Attention within each frame to `out` (T, D); its softmax weights, of all frames and heads one after another.

    qkv (T, 3 D): queries, keys and values, heads side by side.
    """
    width = qkv.shape[1] // 3
    size = width // heads
    scale = _ONE / np.sqrt(np.float32(size))
    at = 0
    for b in range(starts.shape[0] - 1):
        begin = starts[b]
        n = starts[b + 1] - begin
        query, key = np.empty((n, size), np.float32), np.empty((n, size), np.float32)
        mixed, kept, bits = np.empty((n, size), np.float32), np.empty((n, n), np.float32), np.empty(n, np.int32)
        for h in range(heads):
            _take(qkv, begin, n, h * size, scale, query)
            _take(qkv, begin, n, width + h * size, _ONE, key)
            flat = weights[at : at + n * n]
            weight = flat.reshape(n, n)
            np.dot(query, key.T, weight)
            _softmax(weight, bits)
            _take(qkv, begin, n, 2 * width + h * size, _ONE, key)
            _times(flat, keep, at, kept.reshape(n * n))
            np.dot(kept, key, mixed)
            _put(mixed, begin, h * size, _ONE, out)
            at += n * n


@njit(cache=True, fastmath=True, nogil=True)
def _attend_back(grad, qkv, starts, heads, weights, keep, out):  # type: ignore[no-untyped-def]
    """Gradient by qkv to `out` (T, 3 D) from that of the output (T, D)."""
    width = qkv.shape[1] // 3
    size = width // heads
    scale = _ONE / np.sqrt(np.float32(size))
    at = 0
    for b in range(starts.shape[0] - 1):
        begin = starts[b]
        n = starts[b + 1] - begin
        one, two = np.empty((n, size), np.float32), np.empty((n, size), np.float32)
        slope, kept, result = np.empty((n, n), np.float32), np.empty((n, n), np.float32), np.empty_like(one)
        for h in range(heads):
            flat = weights[at : at + n * n]
            weight = flat.reshape(n, n)
            _take(grad, begin, n, h * size, _ONE, one)
            _take(qkv, begin, n, 2 * width + h * size, _ONE, two)
            np.dot(one, two.T, slope)
            _times(slope.reshape(n * n), keep, at, slope.reshape(n * n))
            _times(flat, keep, at, kept.reshape(n * n))
            for i in range(n):
                mean = np.float32(0)
                for j in range(n):
                    mean += slope[i, j] * weight[i, j]
                for j in range(n):
                    slope[i, j] = weight[i, j] * (slope[i, j] - mean)
            np.dot(kept.T, one, result)
            _put(result, begin, 2 * width + h * size, _ONE, out)
            _take(qkv, begin, n, width + h * size, _ONE, one)
            np.dot(slope, one, result)
            _put(result, begin, h * size, scale, out)
            _take(qkv, begin, n, h * size, _ONE, one)
            np.dot(slope.T, one, result)
            _put(result, begin, width + h * size, scale, out)
            at += n * n


@njit(cache=True, fastmath=True, nogil=True)
def _times(x, keep, at, out):  # type: ignore[no-untyped-def]
    """Write x (M,) times its factors, which begin at place `at` of `keep`, to `out`; plain x if `keep` is empty."""
    if keep.shape[0]:
        for i in range(x.shape[0]):
            out[i] = x[i] * keep[at + i]
    else:
        for i in range(x.shape[0]):
            out[i] = x[i]


@njit(cache=True, fastmath=True, nogil=True)
def sum_rows(x, out):  # type: ignore[no-untyped-def]
    """Write the sum of x (T, D) over tokens to `out` (D,)."""
    out[:] = np.float32(0)
    for t in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[k] += x[t, k]


@njit(cache=True, fastmath=True, nogil=True)
def forward(tokens, place, starts, frequency, heads, attention, keep, matrices, vectors):  # type: ignore[no-untyped-def]
    """Context embeddings (T, D) of encoded tokens (T, D) at place (T, 2), and what `backward` needs."""
    rows, width = tokens.shape
    layers = (len(matrices) - 1) // 4
    hidden_width = matrices[3].shape[0]
    squares = 0
    for b in range(starts.shape[0] - 1):
        squares += heads * (starts[b + 1] - starts[b]) ** 2
    normed, unit = np.empty((layers, 2, rows, width), np.float32), np.empty((layers, 2, rows, width), np.float32)
    inverse = np.empty((layers, 2, rows), np.float32)
    qkv = np.empty((layers, rows, 3 * width), np.float32)
    weights = np.empty((layers, squares if attention else 0), np.float32)
    mixed, hidden = np.empty((layers, rows, width), np.float32), np.empty((layers, rows, hidden_width), np.float32)
    x, update = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    flat, change = x.reshape(rows * width), update.reshape(rows * width)
    affine(tokens, matrices[0], vectors[0], x)
    _turn(x, place, frequency, _ONE)
    at = 0  # of the factors of dropout
    for k in range(layers):
        m, v = 1 + 4 * k, 1 + 8 * k
        norm(x, vectors[v], vectors[v + 1], normed[k, 0], unit[k, 0], inverse[k, 0])
        affine(normed[k, 0], matrices[m], vectors[v + 2], qkv[k])
        if attention:
            _attend(qkv[k], starts, heads, keep[at:], weights[k], mixed[k])
        else:
            _take(qkv[k], 0, rows, 2 * width, _ONE, mixed[k])
        at += squares
        affine(mixed[k], matrices[m + 1], vectors[v + 3], update)
        _times(change, keep, at, change)
        at += rows * width
        for i in range(rows * width):
            flat[i] += change[i]
        norm(x, vectors[v + 4], vectors[v + 5], normed[k, 1], unit[k, 1], inverse[k, 1])
        affine(normed[k, 1], matrices[m + 2], vectors[v + 6], hidden[k])
        inside = hidden[k].reshape(rows * hidden_width)
        for i in range(rows * hidden_width):
            inside[i] = max(inside[i], np.float32(0))
        _times(inside, keep, at, inside)
        at += rows * hidden_width
        affine(hidden[k], matrices[m + 3], vectors[v + 7], update)
        _times(change, keep, at, change)
        at += rows * width
        for i in range(rows * width):
            flat[i] += change[i]
    return x, (normed, unit, inverse, qkv, weights, mixed, hidden)


@njit(cache=True, fastmath=True, nogil=True)
def backward(  # type: ignore[no-untyped-def]
    grad,
    tokens,
    place,
    starts,
    frequency,
    heads,
    attention,
    keep,
    scale,
    matrices,
    vectors,
    saved,
    at_matrix,
    at_vector,
    out,
):
    """Gradient by the tokens (T, D); those by the parameters go to `out`, at `at_matrix` and `at_vector`.

    `grad` (T, D), that by the context embeddings, is used up. `scale` is what dropout keeps units with.
    """
    normed, unit, inverse, qkv, weights, mixed, hidden = saved
    rows, width = tokens.shape
    layers, hidden_width = qkv.shape[0], hidden.shape[2]
    squares = 0
    for b in range(starts.shape[0] - 1):
        squares += heads * (starts[b + 1] - starts[b]) ** 2
    d_update, d_normed = np.empty((rows, width), np.float32), np.empty((rows, width), np.float32)
    d_hidden, d_qkv = np.empty((rows, hidden_width), np.float32), np.zeros((rows, 3 * width), np.float32)
    flat, change = grad.reshape(rows * width), d_update.reshape(rows * width)
    at = keep.shape[0]
    for k in range(layers - 1, -1, -1):
        m, v = 1 + 4 * k, 1 + 8 * k
        bias = at_vector[v : v + 8]
        at -= rows * width
        _times(flat, keep, at, change)
        sum_rows(d_update, out[bias[7] : bias[7] + width])
        matrix_back(d_update, hidden[k], out, at_matrix[m + 3])
        np.dot(d_update, matrices[m + 3], d_hidden)
        at -= rows * hidden_width
        inside, slope = hidden[k].reshape(rows * hidden_width), d_hidden.reshape(rows * hidden_width)
        for i in range(rows * hidden_width):
            slope[i] *= scale if inside[i] > 0 else np.float32(0)
        sum_rows(d_hidden, out[bias[6] : bias[6] + hidden_width])
        matrix_back(d_hidden, normed[k, 1], out, at_matrix[m + 2])
        np.dot(d_hidden, matrices[m + 2], d_normed)
        norm_back(
            d_normed, unit[k, 1], inverse[k, 1], vectors[v + 4], grad,
            out[bias[4] : bias[4] + width], out[bias[5] : bias[5] + width],
        )  # fmt: skip
        at -= rows * width
        _times(flat, keep, at, change)
        sum_rows(d_update, out[bias[3] : bias[3] + width])
        matrix_back(d_update, mixed[k], out, at_matrix[m + 1])
        np.dot(d_update, matrices[m + 1], d_normed)
        at -= squares
        if attention:
            _attend_back(d_normed, qkv[k], starts, heads, weights[k], keep[max(at, 0) :], d_qkv)
        else:
            _put(d_normed, 0, 2 * width, _ONE, d_qkv)
        sum_rows(d_qkv, out[bias[2] : bias[2] + 3 * width])
        matrix_back(d_qkv, normed[k, 0], out, at_matrix[m])
        np.dot(d_qkv, matrices[m], d_normed)
        norm_back(
            d_normed, unit[k, 0], inverse[k, 0], vectors[v], grad,
            out[bias[0] : bias[0] + width], out[bias[1] : bias[1] + width],
        )  # fmt: skip
    _turn(grad, place, frequency, -_ONE)
    sum_rows(grad, out[at_vector[0] : at_vector[0] + width])
    matrix_back(grad, tokens, out, at_matrix[0])
    d_tokens = np.empty_like(tokens)
    np.dot(grad, matrices[0], d_tokens)
    return d_tokens


@njit(cache=True, nogil=True)
def matrix_back(grad, x, out, at):  # type: ignore[no-untyped-def]
    """Write the gradient grad' x (M, K) of a matrix to `out` from place `at` on."""
    room = out[at : at + grad.shape[1] * x.shape[1]].reshape(grad.shape[1], x.shape[1])
    np.dot(grad.T, x, room)
