"""Where labels come from that nobody drew: the background detector on one's own videos, or simulated schools."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..recordings import Recording
from ..synfish.observe import mesh_for
from ..synfish.render import Renderer
from ..synfish.scenes import Scene
from .blobs import Blob
from .masks import blob_from_mask
from .registry import make_detector
from .training_set import Example, SetSettings
from .video import Picture, Video

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


def self_labelled(
    recordings: Sequence[Recording], settings: SetSettings, background: Mapping[str, Any] | None = None
) -> Iterator[Example]:
    """Pictures of recordings' videos, labelled by the background detector; what it is not sure of is doubtful."""
    videos = [(r.folder.resolve().name, name, path) for r in recordings for name, path in r.videos.items()]
    for (folder, camera, path), wanted in zip(videos, shares(settings.images, len(videos)), strict=True):
        yield from _of_video(path, f"{folder}_{camera}", wanted, settings, background or {})


def _of_video(
    path: Path, name: str, wanted: int, settings: SetSettings, background: Mapping[str, Any]
) -> Iterator[Example]:
    video = Video.open(path)
    detector = make_detector("background", background)
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


def simulated(scenes: Sequence[Scene], settings: SetSettings, seed_offset: int = 0) -> Iterator[Example]:
    """Pictures of simulated schools with their true masks; only the frames that are taken are drawn."""
    for scene, wanted in zip(scenes, shares(settings.images, len(scenes)), strict=True):
        school, rig = scene.build(seed_offset)
        mesh = mesh_for(school, rig)
        for camera, part in zip(rig, shares(wanted, len(rig)), strict=True):
            renderer = Renderer(camera, school, mesh, scene.seed + 1000 * seed_offset)
            for frame, late in spread(len(school.position), part, settings.val_share):
                rgb = renderer.draw(frame)
                yield Example(
                    f"{scene.name}_{camera.name}_{frame:06d}", rgb, true_masks(renderer, scene.fish), late=late
                )


def true_masks(renderer: Renderer, fish_count: int) -> list[Blob]:
    """Visible masks of the fish that a renderer drew last."""
    owner = renderer.view.owner
    found = []
    for fish in range(fish_count):
        x0, y0, x1, y1 = (int(v) for v in renderer.view.box(fish))
        if x1 > x0 and y1 > y0:
            blob = blob_from_mask(owner[y0:y1, x0:x1] == fish, x0, y0, dust=True)
            found += [] if blob is None else [blob]
    return found
