"""Where labels come from that nobody drew: the background detector on one's own videos, or simulated schools."""

import copy
from collections.abc import Iterator, Mapping

import numpy as np

from ...media.video import Picture, Video
from ..base import Detector
from .training_set import Example, SetSettings

_WATCH = 12  # frames seen before one that is labelled: touching animals are told apart by where they were


def spread(count: int, wanted: int, val_share: float) -> list[tuple[int, bool]]:
    """About ``wanted`` frames evenly over a video of ``count``, and whether each is of the end that is held back.

    Between what is learnt and what is held back lies a gap, because neighbouring frames are nearly the same picture.
    """
    wanted = max(2, min(wanted, count))
    frames = np.unique(np.linspace(0, count - 1, wanted).round().astype(int)).tolist()
    border = (1 - val_share) * (count - 1)
    late = [f > border for f in frames]
    if not any(late):
        late[-1] = True
    gap = min(0.02 * count, 30)
    return [(f, after) for f, after in zip(frames, late, strict=True) if after or f <= border - gap]


def shares(total: int, parts: int) -> list[int]:
    """Divide a number into parts as equal as can be."""
    return [total // parts + (k < total % parts) for k in range(parts)]


def self_labelled(videos: Mapping[str, Video], settings: SetSettings, detector: Detector) -> Iterator[Example]:
    """Give pictures of videos, labelled by a detector; what it is not sure of is doubtful.

    Parameters
    ----------
    videos : by the name that their pictures begin with.
    settings : of the set.
    detector : with masks and a state, as the background detector has.
    """
    for (name, video), wanted in zip(videos.items(), shares(settings.images, len(videos)), strict=True):
        yield from _of_video(video, name, wanted, settings, copy.deepcopy(detector))


def _of_video(video: Video, name: str, wanted: int, settings: SetSettings, detector: Detector) -> Iterator[Example]:
    detector.prepare(video)
    fresh = {k: np.array(v) for k, v in detector.state().items()}
    source: Iterator[Picture] = iter(())
    reached = -1
    for frame, late in spread(video.count, wanted, settings.val_share):
        if reached < 0 or frame - _WATCH > reached + 1:
            detector.restore({k: v.copy() for k, v in fresh.items()})
            source = video.read(max(0, frame - _WATCH))
        for picture in source:
            reached = picture.number
            seen = detector.see(picture)
            if reached >= frame:
                masks = seen.masks or ()
                sure = seen.columns["score"] >= settings.trust
                animals = [m for m, s in zip(masks, sure, strict=True) if s]
                doubtful = [m for m, s in zip(masks, sure, strict=True) if not s]
                yield Example(f"{name}_{reached:06d}", picture.rgb, animals, doubtful, late)
                break
