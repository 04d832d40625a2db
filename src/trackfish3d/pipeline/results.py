"""What is done with finished tracks, each in one call: scores, behaviour, report, exports."""

import html
import json
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .. import __version__
from ..behaviour.analysis import Behaviour, world_of
from ..behaviour.analysis import analyse as analyse_tracks
from ..behaviour.settings import AnalysisSettings
from ..behaviour.streaming.blocks import TrackSource
from ..behaviour.streaming.output import TableFolder, whole_tables
from ..core import provenance
from ..core.errors import InputError
from ..core.files import inside, write_json
from ..core.progress import Progress
from ..core.reading.limits import FASTEST, SLOWEST
from ..core.settings import make_settings
from ..evaluation import SceneScores
from ..evaluation import evaluate as score_points
from ..evaluation.gate import default_gate
from ..evaluation.long.score_files import evaluate_files, long_tracks, long_truth
from ..evaluation.pose_scores import PoseScores, score_poses
from ..methods.result import Result
from ..recordings import Poses, Recording, Tracks, Truth, read_poses, read_tracks
from ..recordings.edits.edit_log import FILE as EDITS
from ..recordings.edits.edit_log import read_log
from ..recordings.exporters import export_tracks
from ..recordings.exporters.poses import POSE_FORMATS, export_poses
from ..recordings.tracks_text import note_edits
from ..recordings.whole_frames import iter_tracks
from ..report import build_report
from ..report import write_report as write_page
from ..report.behaviour import FIGURES, figures_of
from .posture_files import write_postures
from .tracking import Source, load_truth, open_recording

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def evaluate(
    tracks: Recording | Result | Tracks | str | Path,
    truth: Recording | Truth | str | Path | None = None,
    gate: float | None = None,
    raw: bool = False,
) -> SceneScores:
    """Score tracks against the truth.

    What was matched with whom is in ``pairs`` and ``correspondence`` of the answer, but not where files have more than
    a million points: these are read piece by piece.

    Parameters
    ----------
    tracks : a recording with tracks, a result, tracks, or a file of tracks.
    truth : the truth, or where it is; by default that of the recording given first.
    gate : largest distance of a match, world units; by default a third of the body length that the tracker estimated.
    raw : the tracks of a recording as the tracker left them, without what was edited.
    """
    home = _home_of(tracks)
    if gate is None:
        if home is None:
            raise InputError("gate is missing: the largest distance of a match in world units, about a third of a body")
        gate = default_gate(home).distance
    place, known_place = (_place(tracks), _place(home if truth is None else truth))
    if place is not None and known_place is not None:
        long, known_file = long_tracks(place, raw), long_truth(known_place)
        if long is not None and known_file is not None:
            return evaluate_files(long[0], known_file, gate)[0]
    found = _tracks_of(tracks, raw)
    known = _truth_of(home if truth is None else truth)
    return score_points(known.frame, known.identity, known.position, found.frame, found.track, found.position, gate)


def evaluate_poses(
    recording: Source, truth: str | Path | Poses | None = None, limbs: Sequence[tuple[str, str]] | None = None
) -> PoseScores:
    """Score the poses of a recording: limbs (PCP), parts (MPJPE, PCK), identities, and whether sigmas hold.

    Parameters
    ----------
    recording : with poses.
    truth : true poses, or a table with frame, id, part, x, y, z; by default the recording's own.
    limbs : pairs of parts that are scored as limbs; by default the skeleton's edges.
    """
    source = open_recording(recording)
    if source.poses is None:
        raise InputError(f"{source.folder}: has no poses; import them without --keypoint, and track")
    known = source.truth_poses if truth is None else truth if isinstance(truth, Poses) else read_poses(truth)
    if known is None:
        raise InputError(f"{source.folder}: has no true poses to compare with")
    return score_poses(known, source.poses, limbs)


def _home_of(source: object) -> Recording | None:
    """Return the recording that was given, or None where it was something else."""
    if isinstance(source, Recording):
        return source
    return open_recording(source) if isinstance(source, str | Path) and Path(source).is_dir() else None


def _place(source: object) -> Path | None:
    """Return the folder or file that was given, or None where it was something in memory."""
    if isinstance(source, Recording):
        return source.folder
    return Path(source) if isinstance(source, str | Path) else None


def _tracks_of(source: Recording | Result | Tracks | str | Path, raw: bool) -> Tracks:
    if isinstance(source, Tracks):
        return source
    if isinstance(source, Result):
        return source.tracks
    home = _home_of(source)
    if home is not None:
        return home.tracks if raw else home.mended_tracks
    assert isinstance(source, str | Path)
    return read_tracks(source)


def _truth_of(source: Recording | Truth | str | Path | None) -> Truth:
    if isinstance(source, Truth):
        return source
    if source is None:
        raise InputError("truth: is missing; give a recording that has one, or a file")
    return load_truth(source.folder if isinstance(source, Recording) else Path(source))


def analyse(
    recording: Source,
    tracks: str | Path | None = None,
    out: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    up: str | None = None,
    fps: float | None = None,
    format: Literal["parquet", "csv"] = "parquet",
    raw: bool = False,
    progress: Progress | None = None,
    threads: int | None = None,
) -> "Analysis":
    """Measure swimming and schooling, find abnormal animals, write tables and figures.

    Parameters
    ----------
    recording : with tracks.
    tracks : file of tracks to analyse instead of the recording's own.
    out : folder of the tables; ``behaviour`` in the recording by default.
    settings : of the analysis, by name; those of the detection of abnormal animals as ``anomaly.NAME``.
    up : world axis that points up, as in ``-z``; by the cameras otherwise.
    fps : frames a second, of a recording that does not know it.
    format : of the tables.
    raw : the tracks as the tracker left them, without what was edited.
    progress : called with frames done and frames in all.
    threads : blocks measured at once; as many as cores by default.
    """
    source = open_recording(recording)
    chosen = make_settings(AnalysisSettings, settings or {}, "analyse")
    if up is not None and up not in AXES:
        raise InputError(f"--up {up}: choose one of {', '.join(AXES)}")
    folder = inside(source.folder, "behaviour", FIGURES).parent if out is None else Path(out)
    rate = _frame_rate(source, fps)
    world = world_of(source.rig, rate, source.rig.up if up is None else np.array(AXES[up], float))
    own = source.folder / "tracks.parquet"
    if tracks is None and not own.is_file():
        raise InputError(f"{source.folder}: has no tracks yet; run 'trackfish3d track {source.folder}'")
    if tracks is None:
        note_edits(own)
    if tracks is not None:
        points = TrackSource(read_tracks(tracks))
    else:  # edits are few and tracks long: without any, they are read piece by piece
        edited = not raw and bool(read_log(source.folder / EDITS).active)
        points = TrackSource(source.mended_tracks) if edited else TrackSource(path=own)
    about = {"fps": repr(rate), "units": source.units, "up": json.dumps(list(world.up))}
    with TableFolder(folder, format, about) as tables:
        found = analyse_tracks(points, world, chosen, tables, progress, threads)
        for name, table in whole_tables(found).items():
            tables(name, table)
        if tracks is None and source.poses is not None:
            write_postures(source.poses, world, chosen, tables)
    write_json(folder / FIGURES, figures_of(found, own if tracks is None else Path(tracks), raw), indent=None)
    write_json(folder / "settings.json", {"trackfish3d": __version__, "settings": chosen.model_dump(mode="json")})
    if out is None:
        made = {"up": list(world.up), "fps": rate, "settings": chosen.model_dump(mode="json")}
        provenance.note(source.folder, "analyse", [own if tracks is None else Path(tracks)], made)
    return Analysis(found, tables, world.surface_world is None)


def _frame_rate(source: Recording, told: float | None) -> float:
    """Return frames a second: what the recording knows, else what was told; without either there are no seconds."""
    known = getattr(source.info, "fps_known", True)
    if told is None:
        if not known:
            raise InputError(
                f"{source.folder}: its frame rate is not known, so nothing can be measured in seconds; say --fps N"
            )
        return source.fps
    if not SLOWEST <= told <= FASTEST:
        raise InputError(f"--fps {told:g}: is no number of frames a second")
    if known and told != source.fps:
        raise InputError(f"--fps {told:g}: {source.folder / 'recording.toml'} says {source.fps:g}; correct it there")
    return told


@dataclass(frozen=True)
class Analysis:
    """What was found, the ``tables`` that were written, and whether the surface is a guess (``guessed``)."""

    behaviour: Behaviour
    tables: TableFolder
    guessed: bool

    @property
    def animals(self) -> Any:
        """A row for every animal, as a pandas table."""
        return self.behaviour.fish.to_pandas()

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {count}" for name, count in self.tables.rows.items())
        return f"<Analysis of {len(self.behaviour.survey.track)} tracks: {rows} rows in {self.tables.folder}>"

    def _repr_html_(self) -> str:
        table: str = self.animals.to_html(index=False, float_format="%.3g")
        return table


def write_report(
    recording: Source,
    out: str | Path | None = None,
    tracks: str | Path | None = None,
    gate: float | None = None,
    raw: bool = False,
) -> Path:
    """Write one self-contained page: 3D trajectories, camera views, residuals, timelines, scores.

    Parameters
    ----------
    recording : with tracks.
    out : the page; ``report.html`` in the recording by default.
    tracks : file of tracks to show instead of the recording's own.
    gate : largest distance of a match, world units, where the truth is known.
    raw : the tracks as the tracker left them, without what was edited.
    """
    source = open_recording(recording)
    page = write_page(source, out, tracks, gate, raw)
    if out is None:
        used = [source.folder / "tracks.parquet" if tracks is None else Path(tracks)]
        provenance.note(source.folder, "report", used, {"gate": gate, "raw": raw})
    return page


def export(
    recording: Source, format: str, out: str | Path, tracks: str | Path | None = None, raw: bool = False
) -> list[str]:
    """Write tracks in the format of another tool; returns what could not be written, a line each.

    Parameters
    ----------
    recording : with tracks.
    format : one of `trackfish3d.recordings.exporters.FORMATS`, or of ``exporters.poses.POSE_FORMATS``.
    out : the file.
    tracks : file of tracks to write instead of the recording's own.
    raw : the tracks as the tracker left them, without what was edited.
    """
    source, path = open_recording(recording), Path(out)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if format in POSE_FORMATS:
        return export_poses(source, path, format)
    return export_tracks(source, path, format, tracks_in_pieces(source, tracks, raw))


def tracks_in_pieces(recording: Recording, tracks: str | Path | None = None, raw: bool = False) -> Iterable[Tracks]:
    """Return tracks to be gone through once: long ones piece by piece, others as a whole.

    Parameters
    ----------
    recording : with tracks.
    tracks : file of tracks instead of the recording's own.
    raw : the tracks as the tracker left them, without what was edited.
    """
    long = long_tracks(recording.folder if tracks is None else Path(tracks), raw)
    if long is not None:
        note_edits(long[0])
        return iter_tracks(long[0])
    if tracks is not None:
        return [read_tracks(tracks)]
    return [recording.tracks if raw else recording.mended_tracks]


@dataclass(frozen=True)
class Page:
    """The report of a recording, shown where it is looked at: in a notebook as a frame, else in the browser."""

    recording: Recording
    height: int = 720

    def open(self) -> Path:
        """Write the page beside the recording and open it in the browser."""
        path = write_page(self.recording)
        webbrowser.open(path.resolve().as_uri())
        return path

    def _repr_html_(self) -> str:
        text = html.escape(build_report(self.recording, self.recording.mended_tracks), quote=True)
        return f'<iframe srcdoc="{text}" style="width:100%;height:{self.height}px;border:0"></iframe>'


def show(recording: Source) -> Page:
    """Return the report of a recording; a notebook shows it, and ``.open()`` opens it in the browser.

    Parameters
    ----------
    recording : with tracks.
    """
    return Page(open_recording(recording))
