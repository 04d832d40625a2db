"""What a detection's size and shape say about whose it is, and how likely an animal is detected at all.

Each cue is a log-likelihood ratio: how much more often a detection of the same animal differs that little from its last
one in the same view than the detection of any other does. Both distributions are fitted on the recording itself
(`fit`), so that cues of different kinds add up.
"""

import math

import numpy as np

from ...core.compiled import helper, inner, kernel
from ...maths.order import descending
from .arguments import Array, Beliefs, Flags, Predicted, Readings, Rig
from .bodies.hiding import hide

OUTLIER = 0.15  # share of detections whose size and shape say nothing: covered, merged, cut
ROUND = 1.3  # below this ratio of axes a mask has no direction
HARDLY, MOSTLY = 0.1, 0.5  # visible shares of a body at which it is found as one that is hidden, and as one that is not
COVER = 0.1225  # of a size squared: animals nearer than 0.35 of their size cover each other


@helper
def size_ratio(difference: float, age: float, scale: float, chance: float) -> float:
    """Log-likelihood ratio of a difference of log sizes after ``age`` frames.

    Same animal: Laplace of ``scale`` that widens with the root of age; any animal: Gaussian of deviation ``chance``.
    """
    width = scale * math.sqrt(age)
    if width >= chance:
        return 0.0
    other = math.exp(-0.5 * (difference / chance) ** 2) / (chance * math.sqrt(2.0 * math.pi))
    same = math.exp(-abs(difference) / width) / (2.0 * width)
    return math.log(((1.0 - OUTLIER) * same + OUTLIER * other) / max(other, 1e-9) + 1e-12)


@helper
def axis_ratio(difference: float, age: float, scale: float) -> float:
    """Log-likelihood ratio of a difference of axis angles, radians: Laplace against uniform."""
    turned = abs(difference) % math.pi
    turned = min(turned, math.pi - turned)
    width = scale * math.sqrt(age)
    if width >= 0.5:
        return 0.0
    same = math.exp(-turned / width) / (2.0 * width)
    return math.log((1.0 - OUTLIER) * same * math.pi + OUTLIER)


@helper
def likeness(
    now: int, size: float, axis: float, memory_size: float, memory_axis: float, memory_frame: int, scales: Array
) -> float:
    """Cues of a detection of this log size and axis angle for a track with this memory of the same view.

    memory_size, memory_axis, memory_frame : log size, axis angle and frame of its last detection there; NaN for none.
    scales : size scale, size chance, axis scale; zero switches a cue off.
    """
    total = 0.0
    if math.isnan(memory_size):
        return total
    age = float(abs(now - memory_frame))
    if scales[0] > 0.0:
        total += size_ratio(size - memory_size, age, scales[0], scales[1])
    turned = axis - memory_axis
    if scales[2] > 0.0 and not math.isnan(turned):
        total += axis_ratio(turned, age, scales[2])
    return total


@kernel
def typical_size(readings: Readings, out: Array) -> None:
    """Fill out (C,) with the median log size of each camera's detections; without any it stays."""
    for c in range(out.shape[0]):
        size = readings.log_size[readings.begin[c] : readings.begin[c + 1]]
        n = size.shape[0]
        if n > 0:
            order = descending(size)
            out[c] = 0.5 * (size[order[(n - 1) // 2]] + size[order[n // 2]])


@inner
def _visible_chances(rig: Rig, tracks: Predicted, shown: Flags, beliefs: Beliefs) -> None:
    """Fill the chances by how much of each body its nearer ones leave."""
    pixel, seen, found, sizes = tracks.pixel, tracks.seen, tracks.found, rig.sizes
    share = np.empty(seen.shape)
    hide(rig, tracks, np.arange(seen.shape[0]), shown, share)
    for t in range(seen.shape[0]):
        for c in range(seen.shape[1]):
            found[t, c] = 0.0
            if seen[t, c] and 0.0 <= pixel[t, c, 0] < sizes[c, 0] and 0.0 <= pixel[t, c, 1] < sizes[c, 1]:
                found[t, c] = visible_chance(share[t, c], beliefs.clear[c], beliefs.hidden[c])


@kernel
def visible_chance(share: float, clear: float, hidden: float) -> float:
    """Chance to be detected of a body of which a share is visible."""
    return hidden + (clear - hidden) * min(max((share - HARDLY) / (MOSTLY - HARDLY), 0.0), 1.0)


@kernel
def chances(rig: Rig, tracks: Predicted, shown: Flags, beliefs: Beliefs) -> None:
    """Fill the chance that each track is detected in each view.

    Parameters
    ----------
    rig : the cameras.
    tracks : with pixel and seen of `kernels.look`; ``found`` is filled.
    shown : (T,) tracks that may stand before others.
    beliefs : chances in full view and at the place of another.

    An animal near another in the image may be covered by it or merged with it. Which is in front is asked where bodies
    are known (`bodies.hiding`), and not otherwise, since detectors lose either.
    """
    if beliefs.bodies:
        _visible_chances(rig, tracks, shown, beliefs)
        return
    pixel, seen, found, sizes = tracks.pixel, tracks.seen, tracks.found, rig.sizes
    clear, hidden, typical, looked = beliefs.clear, beliefs.hidden, beliefs.typical, tracks.size
    for c in range(seen.shape[1]):
        for t in range(seen.shape[0]):
            found[t, c] = 0.0
            if not seen[t, c]:
                continue
            u, v = pixel[t, c, 0], pixel[t, c, 1]
            if not (0.0 <= u < sizes[c, 0] and 0.0 <= v < sizes[c, 1]):
                continue
            size = math.exp(looked[t, c] if not math.isnan(looked[t, c]) else typical[c])
            nearest = np.inf
            for s in range(seen.shape[0]):
                if s != t and shown[s] and seen[s, c]:
                    nearest = min(nearest, (pixel[s, c, 0] - u) ** 2 + (pixel[s, c, 1] - v) ** 2)
            cover = math.exp(-nearest / (COVER * size * size)) if size > 0.0 else 0.0
            found[t, c] = clear[c] - (clear[c] - hidden[c]) * cover
