"""What one recording holds, in memory and on disk."""

from ..core.files import atomic_path
from .detections import Detections
from .poses import Poses, read_poses, write_poses
from .recording import Recording
from .skeleton import Skeleton
from .storage import read_table, read_tracks, read_truth, write_table
from .tracks import Tracks
from .tracks_text import write_tracks_csv, write_tracks_table
from .truth import Truth

__all__ = [
    "Detections",
    "Poses",
    "Recording",
    "Skeleton",
    "Tracks",
    "Truth",
    "atomic_path",
    "read_poses",
    "read_table",
    "read_tracks",
    "read_truth",
    "write_poses",
    "write_table",
    "write_tracks_csv",
    "write_tracks_table",
]
