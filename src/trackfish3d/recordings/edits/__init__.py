"""Mending tracks by hand; the tracker's output stays as it is."""

from .edit_log import EditLog, read_log
from .editor import Change, Editor
from .kinds import AnyEdit, Pin, describe
from .mending import Mending, TrackFile

__all__ = ["AnyEdit", "Change", "EditLog", "Editor", "Mending", "Pin", "TrackFile", "describe", "read_log"]
