"""Several animals that nobody named across the views: the one by which all cameras are placed best."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...cameras import Camera
from ..adjustment import RefusedError
from .reading import Sighting2D
from .views import Pairing, View, pair_views

_ANCHORS = 3  # animals of the first camera that are tried
_MOST = 6  # animals of each other camera that are compared with them


def one_animal(
    lenses: Mapping[str, Camera],
    seen: Mapping[str, Sequence[Sighting2D]],
    fps: Mapping[str, float] | None = None,
    synchronous: bool = False,
) -> dict[str, Sighting2D]:
    """Choose an animal that all views saw: under the right shift of clocks one geometry explains both of its paths.

    Parameters
    ----------
    lenses : by camera; poses are not used.
    seen : by camera, what it saw of each animal, the one seen most often first.
    fps : by camera, frames a second, where they differ.
    synchronous : whether frame numbers already agree.
    """
    if all(len(animals) == 1 for animals in seen.values()):
        return {name: animals[0] for name, animals in seen.items()}
    first = max(seen, key=lambda name: len(seen[name][0].frame))
    rest = [name for name in seen if name != first]
    best: tuple[float, dict[str, Sighting2D]] | None = None
    for anchor in seen[first][:_ANCHORS]:
        chosen, cost = {first: anchor}, 0.0
        a = View.of(lenses[first], anchor)
        for name in rest:
            scale = 1.0 if fps is None else fps[name] / fps[first]
            pairs = [
                (pair_views(a, View.of(lenses[name], other), scale, 0 if synchronous else None), other)
                for other in seen[name][:_MOST]
            ]
            good = [(_misfit(pair), k) for k, (pair, _) in enumerate(pairs) if pair is not None]
            if not good:
                break
            misfit, k = min(good)
            chosen[name], cost = pairs[k][1], cost + misfit
        if len(chosen) == len(seen) and (best is None or cost < best[0]):
            best = cost, chosen
    if best is None:
        raise RefusedError("no animal is seen long enough by all cameras, or no two of their paths agree")
    return {name: best[1][name] for name in seen}


def _misfit(pair: Pairing) -> float:
    """How badly one geometry explains two paths: its error, more where few moments agree with it."""
    return float(np.log(pair.error_px + 0.2) - 0.5 * np.log(pair.matches))
