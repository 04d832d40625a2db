"""TrackMate's XML (Fiji): a spot for each point, an edge between neighbours of a track."""

from itertools import pairwise
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

import numpy as np

from ... import __version__
from ...core.errors import InputError
from ...core.files import atomic_path
from ..dense import animal_name
from ..recording import Recording
from ..tracks import Tracks
from ..tracks_text import DIGITS

_VERSION = "7.12.1"  # of TrackMate, whose reader chooses by it
_SPOT = {
    "QUALITY": ("Quality", "QUALITY", False),
    "POSITION_X": ("X", "POSITION", False),
    "POSITION_Y": ("Y", "POSITION", False),
    "POSITION_Z": ("Z", "POSITION", False),
    "POSITION_T": ("T", "TIME", False),
    "FRAME": ("Frame", "NONE", True),
    "RADIUS": ("Radius", "LENGTH", False),
    "VISIBILITY": ("Visibility", "NONE", True),
}
_EDGE = {
    "SPOT_SOURCE_ID": ("Source spot ID", "NONE", True),
    "SPOT_TARGET_ID": ("Target spot ID", "NONE", True),
    "LINK_COST": ("Edge cost", "COST", False),
}
_TRACK = {"TRACK_INDEX": ("Track index", "NONE", True), "TRACK_ID": ("Track ID", "NONE", True)}


def write_trackmate(recording: Recording, tracks: Tracks, path: Path) -> list[str]:
    """Write spots in the world's unit with the identity's confidence as quality, and edges with 1 - confidence as cost.

    The radius of a spot is the standard deviation of its position, or 1 where that is not known. TrackMate counts
    frames from 0: those that begin below are moved up, and a note says so.
    """
    if not len(tracks):
        raise InputError("there is no track to write as TrackMate file")
    moved = max(-int(tracks.frame[0]), 0)
    fps = recording.fps if recording.info.fps_known else 1.0
    units = f'spatialunits={quoteattr(recording.units)} timeunits="{"sec" if recording.info.fps_known else "frame"}"'
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        file.write(f'<TrackMate version="{_VERSION}">\n  <Log>Written by TrackFish3D {__version__}</Log>\n')
        file.write(f"  <Model {units}>\n    <FeatureDeclarations>\n")
        for group, features in (("SpotFeatures", _SPOT), ("EdgeFeatures", _EDGE), ("TrackFeatures", _TRACK)):
            file.write(f"      <{group}>\n")
            for name, (label, dimension, whole) in features.items():
                about = f'name="{label}" shortname="{label}" dimension="{dimension}" isint="{str(whole).lower()}"'
                file.write(f'        <Feature feature="{name}" {about} />\n')
            file.write(f"      </{group}>\n")
        file.write("    </FeatureDeclarations>\n")
        _write_spots(file, tracks, moved, fps)
        _write_edges(file, tracks)
        file.write("  </Model>\n")
        file.write(_settings(recording, tracks, moved, fps))
        file.write("</TrackMate>\n")
    first = int(tracks.frame[0])
    return [f"TrackMate counts frames from 0: frame {first} is frame {first + moved} there"] if moved else []


def _write_spots(file: IO[str], tracks: Tracks, moved: int, fps: float) -> None:
    radius = np.sqrt(np.trace(tracks.covariance, axis1=1, axis2=2) / 3)
    radius = np.where(np.isfinite(radius) & (radius > 0), radius, 1.0)
    quality = np.where(np.isnan(tracks.confidence), 1.0, tracks.confidence)
    file.write(f'    <AllSpots nspots="{len(tracks)}">\n')
    starts = np.append(np.flatnonzero(np.diff(tracks.frame, prepend=tracks.frame[0] - 1)), len(tracks)).tolist()
    for start, end in pairwise(starts):
        frame = int(tracks.frame[start]) + moved
        file.write(f'      <SpotsInFrame frame="{frame}">\n')
        for row in range(start, end):
            place = " ".join(f'POSITION_{a}="{v:.{DIGITS}g}"' for a, v in zip("XYZ", tracks.position[row], strict=True))
            file.write(
                f'        <Spot ID="{row}" name="{animal_name(int(tracks.track[row]))}" QUALITY="{quality[row]:.6g}" '
                f'POSITION_T="{frame / fps:.{DIGITS}g}" FRAME="{frame}" {place} RADIUS="{radius[row]:.6g}" '
                'VISIBILITY="1" />\n'
            )
        file.write("      </SpotsInFrame>\n")
    file.write("    </AllSpots>\n")


def _write_edges(file: IO[str], tracks: Tracks) -> None:
    """Tracks of one point have no edges, and are no tracks in TrackMate: their spot stands alone."""
    cost = 1 - np.where(np.isnan(tracks.confidence), 1.0, tracks.confidence)
    kept = []
    file.write("    <AllTracks>\n")
    for index, track in enumerate(tracks.identities.tolist()):
        rows = np.flatnonzero(tracks.track == track).tolist()
        if len(rows) < 2:
            continue
        kept.append(track)
        file.write(f'      <Track name="{animal_name(track)}" TRACK_ID="{track}" TRACK_INDEX="{index}">\n')
        for source, target in pairwise(rows):
            doubt = max(cost[source], cost[target])
            ends = f'SPOT_SOURCE_ID="{source}" SPOT_TARGET_ID="{target}"'
            file.write(f'        <Edge {ends} LINK_COST="{doubt:.6g}" />\n')
        file.write("      </Track>\n")
    file.write("    </AllTracks>\n    <FilteredTracks>\n")
    file.writelines(f'      <TrackID TRACK_ID="{track}" />\n' for track in kept)
    file.write("    </FilteredTracks>\n")


def _settings(recording: Recording, tracks: Tracks, moved: int, fps: float) -> str:
    name = quoteattr(recording.folder.name)
    frames = int(tracks.frame[-1]) + moved + 1
    size = 'width="1" height="1" nslices="1" pixelwidth="1.0" pixelheight="1.0" voxeldepth="1.0"'
    image = f'<ImageData filename={name} folder="" {size} nframes="{frames}" timeinterval="{1 / fps:.{DIGITS}g}" />'
    return f"  <Settings>\n    {image}\n  </Settings>\n"
