"""Training pictures of simulated schools, with their true masks."""

from collections.abc import Iterator, Sequence

from ..detection.masks.blobs import Blob
from ..detection.masks.outlines import blob_from_mask
from ..detection.training.examples import shares, spread
from ..detection.training.training_set import Example, SetSettings
from .observe import mesh_for
from .rendering.render import Renderer
from .scenes import Scene


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
