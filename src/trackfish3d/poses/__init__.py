"""Parts of bodies in 3D: from tracks and the parts of their detections to poses, nothing labelled or tuned."""

from .points import with_middle, with_point
from .reconstruct import reconstruct_poses

__all__ = ["reconstruct_poses", "with_middle", "with_point"]
