"""Some 50 zebrafish in a bowl, seen by three cameras above the water: from boards and films to tracks."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from bench_calibrate import CHANCE_LAG, agreement
from bench_run import call, draw
from trackfish3d.calibration import Board, Plan, Surface, Tank, calibrate, examine, find_boards, parse_sources
from trackfish3d.calibration.lenses import read_lenses
from trackfish3d.cameras import CameraRig
from trackfish3d.cameras.native import write_cameras
from trackfish3d.evaluation.blind import held_out_error, track_lengths
from trackfish3d.pipeline.again.rounds_of_looks import FIRST
from trackfish3d.recordings import Detections, Recording, Tracks, read_tracks

WAYS = {"given": {}, "fitted": {"fit_board": True, "refine": True, "square_pixels": True}}


def bristol(work: Path, out: Path, data: Path | None) -> dict[str, Any] | None:
    """Calibrate from floating boards, detect three views of 57 frames, track through water; pictures stay in work."""
    if data is None:
        return None
    data = data / "bristol"
    board = Board.parse("chessboard:23x15:16")
    corners = find_boards(parse_sources([f"cam-{k}={data}/calibration/cam_{k}-*.tiff" for k in (1, 2, 3)]), board)
    known = read_lenses(data / "intrinsics.json", corners)
    films = [data / f"cam-{k}.mp4" for k in (1, 2, 3)]
    results: dict[str, Any] = {}
    for name, options in WAYS.items():
        tank = Tank(surfaces=[Surface(point=(0, 0, 0), normal=(0, 0, 1))])
        made = calibrate(corners, Plan(board, known=known, floating=frozenset(corners.moments), tank=tank, **options))
        quality = examine(made)
        results[name] = {"rms_px": {"all": quality.rms_px} | {c.name: c.rms_px for c in quality.cameras}}
    folder = work / "bristol"
    folder.mkdir(parents=True, exist_ok=True)
    write_cameras(CameraRig(made.rig.cameras, "mm"), folder / "cameras.toml")
    shutil.rmtree(folder / "run", ignore_errors=True)  # a run that is done would be taken as it is
    call("run", *films, "--cameras", folder / "cameras.toml", "--out", folder / "run")
    recording = Recording.open(folder / "run")
    results["fitted"] |= measure(recording, recording.detections, recording.tracks)
    first = Recording.open(folder / "run")
    first.detections_file = FIRST["detections.parquet"]
    before = measure(first, first.detections, read_tracks(folder / "run" / FIRST["tracks.parquet"]))
    results["fitted"]["first"] = before  # of the first look, before the run's second one
    draw(recording, folder)
    return results


def measure(recording: Recording, found: Detections, tracks: Tracks) -> dict[str, Any]:
    """How well views agree in detections, and how long and true their tracks are."""
    frames = recording.info.frame_count
    views = [
        [found.centroids[(found.frame == f) & (found.camera == c)] for f in range(frames)]
        for c in range(len(recording.rig))
    ]
    triples, count, left_out, _ = agreement(recording.rig, views)
    by_chance, of, _, _ = agreement(recording.rig, views, CHANCE_LAG)
    length = track_lengths(tracks.frame, tracks.track).to_dict()
    seen = (tracks.detection >= 0).sum(axis=1)[tracks.observed]
    return {
        "detections_a_frame": [float(n / frames) for n in count],
        "agree_in_three_views": [float(triples / n) for n in count],
        "agree_by_chance": float(by_chance / of[0]),
        "left_out_median_px": float(np.median(left_out)),
        "left_out_p90_px": float(np.quantile(left_out, 0.9)),
        "tracks": held_out_error(recording.rig, tracks, found).to_dict() | length | {
            "frames": frames,
            "half_or_longer": int((np.bincount(tracks.track) >= frames / 2).sum()),
            "points_in_three_views": float((seen == 3).mean()),
            "points_a_frame": len(tracks) / frames,
        },
    }  # fmt: skip
