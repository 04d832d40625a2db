"""What the published grouping does with each animal of each frame, and at which of its rules it is lost.

Truth is used here to analyse, never to track.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..maths.assignment import assign
from ..methods.groups import Groups
from ..methods.paper.settings import GroupingSettings
from ..recordings import Detections, Truth

Ints = NDArray[np.int64]
EXACT = "found exactly"
PART = "found, a view missing"
MIXED = "in a group with another's detection"
MERGED = "merged with others, and rejected"
UNPAIRED = "no right pair matched"
DOUBTFUL = "two views, below their threshold"
OUTSIDE = "point outside a box"
FATES = (EXACT, PART, MIXED, MERGED, UNPAIRED, DOUBTFUL, OUTSIDE)


def fates(
    detections: Detections,
    truth: Truth,
    groups: Groups,
    affinity: dict[int, NDArray[np.float32]],
    settings: GroupingSettings,
) -> dict[str, int]:
    """Count animals seen by two cameras or more, over all frames, by what became of their detections.

    ``groups`` are those of the published grouping, ``affinity`` the (n, n) pair scores of each frame by its index.
    """
    assert truth.detection is not None
    of_detection = np.full(len(detections), -1, np.int64)
    of_detection[groups.members] = np.repeat(np.arange(len(groups)), np.diff(groups.offsets))
    shown = truth.detection[(truth.detection >= 0).sum(1) >= 2]
    frame = np.searchsorted(detections.frames, detections.frame[shown.max(1)])
    count: Counter[str] = Counter(dict.fromkeys(FATES, 0))
    for k in range(len(detections.frames)):
        rows = detections.at(k)
        camera = detections.camera[rows]
        component = matched_components(camera, affinity[k], settings.threshold)
        for animal in shown[frame == k]:
            members = animal[animal >= 0]
            found = groups_around(of_detection, members, groups)
            local = members - rows.start
            count[found or reason(local, component, affinity[k], settings)] += 1
    return dict(count)


def groups_around(of_detection: Ints, members: Ints, groups: Groups) -> str | None:
    """Fate of an animal that has a group; None without."""
    inside = np.unique(of_detection[members][of_detection[members] >= 0])
    sets = [set(groups.members[groups.offsets[g] : groups.offsets[g + 1]].tolist()) for g in inside]
    mine = set(members.tolist())
    if mine in sets:
        return EXACT
    if any(s < mine for s in sets):
        return PART
    return MIXED if sets else None


def matched_components(camera: NDArray[np.integer], affinity: NDArray[np.float32], threshold: float) -> Ints:
    """Component (n,) of each detection after the Hungarian matching of camera pairs and transitive merging."""
    first: list[Ints] = []
    second: list[Ints] = []
    for a in range(int(camera.max(initial=-1)) + 1):
        for b in range(a + 1, int(camera.max()) + 1):
            i, j = np.flatnonzero(camera == a), np.flatnonzero(camera == b)
            scores = affinity[np.ix_(i, j)].astype(np.float64)
            partner = assign(-scores)
            ok = np.flatnonzero(partner >= 0)
            ok = ok[scores[ok, partner[ok]] >= threshold]
            first.append(i[ok])
            second.append(j[partner[ok]])
    n = len(camera)
    ends = [np.concatenate([np.zeros(0, np.int64), *part]) for part in (first, second)]
    graph = coo_array((np.ones(len(ends[0])), (ends[0], ends[1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def reason(members: Ints, component: Ints, affinity: NDArray[np.float32], settings: GroupingSettings) -> str:
    """Why an animal whose detections are ``members`` of a frame has no group."""
    numbers, size = np.unique(component[members], return_counts=True)
    if size.max() < 2:
        return UNPAIRED
    largest = numbers[np.argmax(size)]
    whole = np.flatnonzero(component == largest)
    if len(whole) > size.max():
        return MERGED
    if len(whole) == 2 and affinity[whole[0], whole[1]] < settings.two_view_threshold:
        return DOUBTFUL
    return OUTSIDE
