"""Pictures of what a recording holds, drawn with Matplotlib: each call returns the figure."""

from .postures import postures
from .refinement import refinement
from .rig import rig
from .timeline import timeline
from .trajectories import trajectories

__all__ = ["postures", "refinement", "rig", "timeline", "trajectories"]
