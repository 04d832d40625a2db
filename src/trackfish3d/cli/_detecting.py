"""Detections of a recording's videos, camera after camera; a camera that is finished is not done again."""

import hashlib
import json
import shutil

import numpy as np

from ..detection.detector import make_settings
from ..detection.subtraction import BackgroundDetector
from ..detection.video import Video
from ..errors import InputError
from ..recordings import Detections, Recording, read_table, write_table
from ..recordings.recording import join
from ._stages import Report


def detect_recording(recording: Recording, detector: str, settings: dict[str, str], report: Report) -> list[str]:
    """Write ``detections.parquet``; returns what a user should know, a line each."""
    if detector != "background":
        raise InputError(f"--detector {detector}: there is background")
    films = {name: Video.open(path) for name, path in recording.videos.items()}
    total, done = sum(f.count for f in films.values()), 0
    parts = recording.folder / ".detecting"
    notes: list[str] = []
    found = Detections.empty(recording.rig.names)
    pieces = []
    for name, film in films.items():
        chosen = BackgroundDetector(make_settings(BackgroundDetector.Settings, settings, detector))
        stamp = [str(film.path.resolve()), film.path.stat().st_size, film.path.stat().st_mtime_ns, detector, settings]
        key = hashlib.sha256(json.dumps(stamp, sort_keys=True).encode()).hexdigest()[:16]
        part = parts / f"{name}-{key}.parquet"
        if not part.is_file():
            notes += [f"camera {name}: {note}" for note in chosen.prepare(film)]
            rows: dict[str, list[np.ndarray]] = {"frame": []}
            for picture in film.read():
                seen = chosen.see(picture)
                rows["frame"].append(np.full(len(seen), recording.info.first_frame + picture.number))
                for column, values in seen.columns.items():
                    rows.setdefault(column, []).append(values)
                report(done + picture.number + 1, total)
            columns = {k: np.concatenate([np.zeros(0), *v]) for k, v in rows.items()}
            camera = np.full(len(columns["frame"]), recording.rig.index(name))
            frame = columns.pop("frame").astype(np.int64)
            mine = Detections.build(recording.rig.names, frame, camera, **columns)  # type: ignore[arg-type]
            write_table(mine.to_table(), part)
        done += film.count
        report(done, total)
        pieces.append(Detections.from_table(read_table(part), recording.rig.names, str(part)))
    for piece in pieces:
        found = piece if not len(found) else join(found, piece)
    recording.write_detections(iter([found]))
    shutil.rmtree(parts, ignore_errors=True)
    return notes
