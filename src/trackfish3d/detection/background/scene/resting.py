"""Animals that rest for much of a film: what each pixel shows most often is then an animal, not the water.

Such an animal leaves a ghost: when it has gone, water stands out from a background that holds the animal. Ghosts are
always in the same place; and their edges are in the background, where those of an animal are in the picture.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, binary_erosion, find_objects, label, uniform_filter

from .samples import Bools, Bytes, Floats

_OFTEN = 0.12  # share of the samples in which a ghost stands out in one place
_SAME = 0.6  # of the place that a blob fills if it is the ghost
_SMALLEST = 40  # px^2 of a ghost
_WINDOW = 7  # pixels over which both sides of an edge are averaged
_WEAKER = 0.6  # of the background's edge, what that of the picture is at most around a ghost
_STEADY = 0.5  # of the difference between animal and water, what the water varies at most


def uncover(grey: Bytes, tight: Bools, taken: Bools, still: Floats, margin: int) -> int:
    """Mark the samples that show a resting animal as taken, and those that show the water there as free.

    Parameters
    ----------
    grey : (K, H, W) samples.
    tight : (K, H, W) what stands out from ``still``.
    taken : (K, H, W) the same and a margin; changed in place.
    still : (H, W) what pixels show most often.
    margin : px around animals.

    Returns
    -------
    Number of places where an animal was taken for the background.
    """
    often = tight.sum(axis=0) >= max(_OFTEN * len(grey), 3)
    places, _ = label(often)
    found = 0
    for number, box in enumerate(find_objects(places), start=1):
        inside = places[box] == number
        if inside.sum() < _SMALLEST:
            continue
        wide = tuple(slice(max(s.start - 2 * margin - 4, 0), s.stop + 2 * margin + 4) for s in box)
        inside = places[wide] == number
        shown = tight[(slice(None), *wide)][:, inside].mean(axis=1) >= _SAME
        if shown.sum() < 3:
            continue
        pictures = grey[shown][(slice(None), *wide)].astype(np.float32)
        water = np.median(pictures, axis=0)
        if _is_ghost(still[wide], water, pictures, inside):
            around = binary_dilation(inside, iterations=margin)
            for k in range(len(grey)):
                taken[k][wide][around] = not shown[k]
            found += 1
    return found


def _is_ghost(still: Floats, water: Floats, pictures: Floats, inside: NDArray[np.bool_]) -> bool:
    """Whether the edge of a place (h, w) is the background's, not that of pictures (K, h, w) in which it stands out."""
    apart = float(np.median(np.abs(water - still)[inside]))
    vary = float(np.median(np.median(np.abs(pictures - water), axis=0)[inside]))
    if vary > _STEADY * apart:
        return False
    rim = inside & ~binary_erosion(inside, iterations=2)
    outside = binary_dilation(inside, iterations=5) & ~binary_dilation(inside, iterations=2)
    beyond = _mean_over(still, outside)
    edges = [np.nanmean(np.abs(_mean_over(p, inside) - beyond)[rim]) for p in (still, water)]
    return bool(edges[1] < _WEAKER * edges[0])


def _mean_over(plane: Floats, where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean (h, w) over the neighbours of each pixel that are in ``where``; NaN where there are none."""
    share = uniform_filter(where.astype(np.float64), _WINDOW)
    total = uniform_filter(np.where(where, plane, 0.0).astype(np.float64), _WINDOW)
    return np.where(share > 1e-6, total / np.maximum(share, 1e-6), np.nan)
