"""The whole way from videos: a simulated school whose truth is known, and real zebrafish.

Run: python benchmarks/bench_run.py [FOLDER]   (films, recordings and pictures go there; bench_run unless told)

Simulated: MOTA from films alone, beside MOTA of the same school seen by the simulated detector. Real (needs
TRACKFISH3D_DATA): tracks of some 50 zebrafish in a bowl with three calibrations, and pictures with the tracks drawn in.
"""

import os
import sys
from pathlib import Path

import numpy as np

from trackfish3d.cli.app import main as trackfish3d
from trackfish3d.evaluation import evaluate
from trackfish3d.evaluation.blind import held_out_error
from trackfish3d.media.video import Video
from trackfish3d.recordings import Recording

SHOWN = (10, 30, 50)
TRAIL = 12  # frames


def call(*arguments):
    """Run a command of the package; a verdict that is not good is no failure."""
    try:
        trackfish3d([str(a) for a in arguments])
    except SystemExit as stop:
        if stop.code not in (0, 1, None):
            raise


def mota(tracks, truth, gate=1.0):
    scores = evaluate(truth.frame, truth.identity, truth.position, tracks.frame, tracks.track, tracks.position, gate)
    return (
        f"MOTA {100 * scores.clear.mota:.1f} % IDF1 {100 * scores.identity.idf1:.1f} % switches {scores.clear.switches}"
    )


def simulated(folder, fish, frames):
    school = folder / f"school{fish}"
    if not (school / "videos").is_dir():
        call("simulate", "--fish", fish, "--rig", 5, "--frames", frames, "--seed", 1, "--video", "--out", school)
    call("track", school)
    films = sorted((school / "videos").glob("*.mp4"))
    call("run", *films, "--cameras", school / "cameras.toml", "--truth", school, "--out", folder / f"run{fish}")
    made, told = Recording.open(folder / f"run{fish}"), Recording.open(school)
    print(f"{fish} fish, {frames} frames: films {mota(made.tracks, told.truth)}", flush=True)
    print(f"{fish} fish, {frames} frames: simulated detector {mota(told.tracks, told.truth)}", flush=True)


def real(folder, data):
    board = [f"cam-{k}={data}/calibration/cam_{k}-*.tiff" for k in (1, 2, 3)]
    board += ["--board", "chessboard:23x15:16", "--floating", "all", "--intrinsics", data / "intrinsics.json"]
    call("calibrate", *board, "--out", folder / "given.toml")
    call("calibrate", *board, "--fit-board", "--refine-lens", "--square-pixels", "--out", folder / "fitted.toml")
    films = [data / f"cam-{k}.mp4" for k in (1, 2, 3)]
    ways = {
        "published": (data / "cameras.json", "--water-plane", "z=0", "--units", "mm"),
        "given": (folder / "given.toml",),
        "fitted": (folder / "fitted.toml",),
    }
    for name, cameras in ways.items():
        call("run", *films, "--cameras", *cameras, "--out", folder / name)
        recording = Recording.open(folder / name)
        tracks = recording.tracks
        frames = np.bincount(tracks.track)
        frames, total = frames[frames > 0], recording.info.frame_count
        off = held_out_error(recording.rig, tracks, recording.detections).to_dict()
        print(
            f"{name}: {len(frames)} tracks, median length {np.median(frames):.0f} of {total} frames, "
            f"{(frames == total).sum()} through; held-out view: median "
            f"{off['held_out_median_px']:.2f} px, 95 % {off['held_out_p95_px']:.2f} px",
            flush=True,
        )
    draw(Recording.open(folder / "fitted"), folder)


def draw(recording, folder):
    """Write a picture per camera and shown frame: detections as boxes, tracks as rings, numbers and trails."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    tracks, found = recording.tracks, recording.detections
    hue = np.random.default_rng(0).permutation(len(tracks.identities)) / len(tracks.identities)
    colour = {int(i): colormaps["hsv"](h) for i, h in zip(tracks.identities, hue, strict=True)}
    for c, camera in enumerate(recording.rig):
        for picture in Video.open(recording.videos[camera.name]).at(SHOWN):
            frame = picture.number
            figure = Figure(figsize=(camera.size[0] / 128, camera.size[1] / 128))
            axes = figure.add_axes((0, 0, 1, 1))
            axes.imshow(picture.rgb)
            for k in np.flatnonzero((found.frame == frame) & (found.camera == c)):
                x, y = found.x1[k], found.y1[k]
                axes.add_patch(Rectangle((x, y), found.x2[k] - x, found.y2[k] - y, fill=False, color="w", lw=0.6))
            for i in np.unique(tracks.track[tracks.frame == frame]):
                recent = (tracks.track == i) & (tracks.frame <= frame) & (tracks.frame > frame - TRAIL)
                way = camera.project(tracks.position[recent])
                axes.plot(*way.T, color=colour[int(i)], lw=1.2)
                axes.plot(*way[-1], "o", mfc="none", color=colour[int(i)], ms=10)
                axes.text(way[-1, 0] + 12, way[-1, 1] - 8, str(i), color=colour[int(i)], fontsize=9)
            axes.set(xlim=(0, camera.size[0]), ylim=(camera.size[1], 0))
            axes.set_axis_off()
            figure.savefig(folder / f"{camera.name}_{frame}.png", dpi=80)
    print(f"pictures of frames {', '.join(map(str, SHOWN))}: {folder}/*.png")


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "bench_run")
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ.get("TRACKFISH3D_DATA", "")) / "bristol"
    if "TRACKFISH3D_DATA" in os.environ and data.is_dir():
        real(folder, data)
    else:
        print("no real films: TRACKFISH3D_DATA is not set")
    for fish, frames in ((8, 150), (16, 150)):
        simulated(folder, fish, frames)


if __name__ == "__main__":
    main()
