"""What a tracking method returns: tracks, where to distrust them, what made them, and what to say about it."""

import html
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from .. import __version__
from ..core import provenance
from ..core.errors import InputError
from ..core.files import write_json
from ..recordings import Poses, Recording, Tracks, write_poses, write_table, write_tracks_csv
from .postprocess import fill_gaps, numbering, remove_ghosts, renumber
from .suspects import Suspect, suspects_path, write_suspects


@dataclass(frozen=True, eq=False)
class Result:
    """Tracks of a recording, and everything that belongs to them.

    Attributes
    ----------
    tracks : the trajectories, numbered from 0 by first appearance.
    suspects : moments at which identities may be wrong, the most doubtful first; empty for methods that cannot tell.
    notes : what a user should know, a line each.
    method : name of the method.
    settings : its settings, with every length filled in that was estimated.
    model : what the method fitted to the recording, for a live tracker of the same set-up; None for most methods.
    poses : every part of every animal, where detections have parts.
    """

    tracks: Tracks
    suspects: tuple[Suspect, ...] = ()
    notes: tuple[str, ...] = ()
    method: str = ""
    settings: BaseModel | None = None
    model: Any = field(default=None, repr=False)
    poses: Poses | None = field(default=None, repr=False)

    def finished(self, max_gap: int, min_obs: int) -> "Result":
        """Return the result without ghosts, gaps filled, and tracks numbered from 0 by first appearance.

        This is the one place where tracks get the numbers under which files and suspects name them.

        Parameters
        ----------
        max_gap : points of a track at most this many frames apart are joined by a straight line.
        min_obs : tracks observed in fewer frames are removed, and suspects that name them.
        """
        tracks = fill_gaps(remove_ghosts(self.tracks, min_obs), max_gap)
        names = numbering(tracks)
        known = [s.renamed(names) for s in self.suspects if s.track in names and s.other in names]
        known.sort(key=lambda s: (-s.probability, s.first, s.track))
        return replace(self, tracks=renumber(tracks, names), suspects=tuple(known))

    @property
    def body_length(self) -> float | None:
        """Length of an animal that the method estimated, world units; None where it did not."""
        known = getattr(self.model, "body_length", None) or getattr(self.settings, "body_length", None)
        return None if known is None else float(known)

    @property
    def observed(self) -> float:
        """Share of points that two views or more saw; `one_view` and what was filled in are the rest."""
        t = self.tracks
        return float((t.observed & (t.views != 1)).mean()) if len(t) else 0.0

    @property
    def one_view(self) -> float:
        """Share of points that a single view saw."""
        t = self.tracks
        return float((t.observed & (t.views == 1)).mean()) if len(t) else 0.0

    def save(self, where: Recording | str | Path) -> Path:
        """Write the tracks and what belongs to them; returns the file of the tracks.

        Parameters
        ----------
        where : a recording, which gets ``tracks.parquet``, ``tracks.csv``, ``tracks.settings.json``,
            ``suspects.csv`` and, of detections with parts, ``poses.parquet`` and ``poses.csv``; or a file
            NAME.csv or NAME.parquet, whose side files are ``NAME.settings.json`` and ``NAME.suspects.csv``.
        """
        if isinstance(where, Recording):
            where.write_tracks(self.tracks)
            where.write_poses(self.poses)
            return self.save_beside(where)
        else:
            path = Path(where)
            if path.suffix.lower() in (".parquet", ".pq"):
                write_table(self.tracks.to_table(), path)
            elif path.suffix.lower() == ".csv":
                write_tracks_csv(self.tracks, path)
            else:
                raise InputError(f"{path}: tracks are written as .csv or .parquet")
            if self.poses is not None:
                write_poses(self.poses, path.with_suffix(f".poses{path.suffix.lower()}"))
        return self._describe(path)

    def save_beside(self, recording: Recording) -> Path:
        """Write what belongs to the tracks of a recording, which are written already; returns their file.

        Parameters
        ----------
        recording : whose tracks these are.
        """
        self._note(recording)
        return self._describe(recording.folder / "tracks.csv")

    def _describe(self, path: Path) -> Path:
        """Write settings and suspects beside a file of tracks."""
        settings = None if self.settings is None else self.settings.model_dump(mode="json")
        content: dict[str, Any] = {"method": self.method, "settings": settings, "trackfish3d": __version__}
        if (length := self.body_length) is not None:
            content["body_length"] = length
        write_json(path.with_suffix(".settings.json"), content)
        if self.suspects:
            write_suspects(self.suspects, suspects_path(path))
        else:
            suspects_path(path).unlink(missing_ok=True)  # of the tracks that were there under this name before
        return path

    def _note(self, recording: Recording) -> None:
        """Write down what the tracks of a recording were made from."""
        made = {} if self.settings is None else self.settings.model_dump(mode="json")
        files = [recording.folder / n for n in ("recording.toml", "cameras.toml", "detections.parquet")]
        model = made.get("model")
        if isinstance(model, str) and Path(model).is_file():
            files.append(Path(model))
        provenance.note(recording.folder, "track", files, {"method": self.method, "settings": made})

    def __repr__(self) -> str:
        doubt = f", {len(self.suspects)} moments to check" if self.suspects else ""
        return f"<Result of {self.method}: {self.summary}{doubt}>"

    @property
    def summary(self) -> str:
        """One line: tracks, points, and how many of them two views or more saw."""
        t = self.tracks
        if not len(t):
            return "0 tracks"
        seen = f"{100 * self.observed:.1f} % seen by two views or more, {100 * self.one_view:.1f} % by one"
        return f"{len(t.identities)} tracks, {len(t)} points, {seen}"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{s.first}–{s.last}</td><td>{s.kind}</td><td>{s.track}</td><td>{s.other}</td>"
            f"<td>{100 * s.probability:.0f} %</td></tr>"
            for s in self.suspects[:10]
        )
        head = "<tr><th>frames</th><th>kind</th><th>track</th><th>other</th><th>chance to be wrong</th></tr>"
        table = f"<table>{head}{rows}</table>" if rows else "<p>no doubtful moments</p>"
        notes = "".join(f"<p>{html.escape(n)}</p>" for n in self.notes)
        return f"<p><b>{html.escape(self.method)}</b>: {self.summary}</p>{notes}{table}"
