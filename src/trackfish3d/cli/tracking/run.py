"""``trackfish3d run``: from videos and a calibration to tracks and a report, in one line."""

import re
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ...cameras import CameraRig
from ...cameras.formats import CalibrationWarning, read_calibration
from ...cameras.native import camera_table
from ...core.errors import InputError
from ...core.files import atomic_path
from ...core.settings import parse_settings
from ...detection.pipeline import detect
from ...detection.registry import detector_names, make_detector
from ...evaluation.gate import default_gate
from ...health import examine
from ...health.picture import animals, draw_rig
from ...media.video import Video
from ...methods.base import Method
from ...methods.joint.learning.odds import SHIPPED
from ...methods.registry import DEFAULT_METHOD, make_method, method_names
from ...recordings import Recording, Truth
from ...report import write_report
from ...report.scoring import score
from ..films import common_rate, link_films, open_films, put_to_cameras
from ..results.evaluate import load_truth
from ..stages import JOURNAL, Report, Runner, Stage
from .track import with_network, write_doubts, write_settings

PAIRS = "pairs.safetensors"
_MADE = (
    "cameras.toml", "detections.parquet", "detections.settings.json", "truth.parquet", "rig.png", PAIRS,
    "tracks.parquet", "tracks.csv", "tracks.settings.json", "suspects.csv", "report.html", "preview", ".detect",
)  # fmt: skip
LEARN_STEPS, LEARN_RATE = 500, 5e-4  # of learning on one recording, from a network that has learnt on others


def command(
    videos: Annotated[list[str], typer.Argument(help="A video of each camera; CAMERA=FILE where names differ.")],
    cameras: Annotated[Path, typer.Option(help="Calibration, in any format 'convert' reads.")],
    out: Annotated[Path, typer.Option(help="Folder of the recording; a stopped run goes on there.")],
    detector: Annotated[str, typer.Option(help=f"One of: {', '.join(detector_names())}.")] = "background",
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"One of: {', '.join(method_names())}.")
    ] = DEFAULT_METHOD,
    model: Annotated[Path | None, typer.Option("--model", help="Trained network of a method that has one.")] = None,
    learn: Annotated[bool, typer.Option("--learn", help="Let the network learn on this recording first.")] = False,
    set_: Annotated[list[str] | None, typer.Option("--set", help="A setting of the method, key=value.")] = None,
    detect_set: Annotated[list[str] | None, typer.Option(help="A setting of the detector, key=value.")] = None,
    fps: Annotated[float | None, typer.Option(min=1e-6, help="Frames a second, where the videos are wrong.")] = None,
    time_offset: Annotated[
        list[str] | None, typer.Option(help="CAMERA=frames, added to its frame numbers. Repeatable.")
    ] = None,
    units: Annotated[str | None, typer.Option(help="Unit of the calibration's world, where it does not say.")] = None,
    water_plane: Annotated[
        str | None, typer.Option(metavar="PLANE", help="Water, where the calibration lacks it: z=0 or x,y,z,nx,ny,nz.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option(help="True positions, for scores only: a recording, CSV or Parquet.")
    ] = None,
    gate: Annotated[float | None, typer.Option(help="Distance of a match for scores, world units.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Cameras detected at once [default: one a core].")] = None,
    again: Annotated[bool, typer.Option("--again", help="Do finished stages again.")] = False,
) -> None:
    """Detect, check, track and report: everything from videos to tracks.csv and report.html.

    Each stage is done once: a stopped run goes on where it stopped, and after a change of videos, calibration or
    settings only what depends on them is done again.
    """
    values = parse_settings(set_ or [])
    teach = None
    if learn and method == "joint":  # it learns in a stage of its own, from its own tracks
        with_network(method, values, model, learn=False)  # refuses a network that is given twice
        teach, model = (SHIPPED if model is None else str(model)), out / PAIRS
        learn = False
    chosen = make_method(method, with_network(method, values, model, learn))
    make_detector(detector, parse_settings(detect_set or [])).ready()  # says what is wrong before anything is made
    whole = _calibration(cameras, units, water_plane)
    films = open_films(put_to_cameras(videos, whole), whole)
    rig = whole.select(tuple(films))
    rate = common_rate(films) if fps is None else fps
    offsets = _offsets(time_offset or [], rig)
    _refuse_foreign(out)
    run = _Run(
        out, rig, films, rate, offsets, method, chosen, detector, parse_settings(detect_set or []), truth, gate, model,
        workers, any_rate=fps is not None, teach=teach,
    )  # fmt: skip
    with Runner(out, again) as runner:
        missing = [n for n in whole.names if n not in films]
        if missing:
            runner.say(f"no video of {', '.join(missing)}; the other {len(films)} cameras are used")
        stages = [run.recording, run.detect, run.check, run.track, run.report]
        if teach is not None:
            stages.insert(3, run.learn)
        for stage in stages:
            runner.do(stage())


@dataclass
class _Run:
    """The stages of a run: each method makes one, once the files of those before it are there."""

    folder: Path
    rig: CameraRig
    films: dict[str, Video]
    fps: float
    offsets: dict[str, int]
    method: str
    chosen: Method
    detector: str
    detector_settings: dict[str, str]
    truth: Path | None
    gate: float | None
    model: Path | None
    workers: int | None
    any_rate: bool
    teach: str | None

    def _file(self, name: str) -> Path:
        return self.folder / name

    def recording(self) -> Stage:
        """Write cameras.toml and recording.toml, and link the videos."""
        settings: dict[str, Any] = {
            "videos": self._stamps(),
            "cameras": [camera_table(c) for c in self.rig],
            "units": self.rig.units,
            "fps": self.fps,
            "offsets": self.offsets,
            "truth": None if self.truth is None else str(self.truth),
        }
        inputs = () if self.truth is None else (_truth_file(self.truth),)

        def work(report: Report) -> str:
            count = max(f.count for f in self.films.values())
            known = None if self.truth is None else _positions(load_truth(self.truth))
            self._file("truth.parquet").unlink(missing_ok=True)
            link_films(self.films, self.folder / "videos")
            Recording.create(
                self.folder, self.rig, fps=self.fps, truth=known, frames=(0, count), time_offset_frames=self.offsets
            )
            return f"{len(self.films)} cameras, {count} frames at {self.fps:g} a second"

        return Stage("recording", inputs, settings, (self._file("recording.toml"), self._file("cameras.toml")), work)

    def detect(self) -> Stage:
        """Find the animals in the videos."""
        settings = {
            "videos": self._stamps(),
            "detector": self.detector,
            "settings": self.detector_settings,
            **make_detector(self.detector, self.detector_settings).stamp(),
        }

        def work(report: Report) -> str:
            recording = Recording.open(self.folder)
            done = dict.fromkeys(self.films, 0)
            total = sum(f.count for f in self.films.values())

            def progress(camera: str, frames: int, _: int) -> None:
                done[camera] = frames
                report(sum(done.values()), total)

            made = detect(
                recording, self.detector, self.detector_settings, workers=self.workers, progress=progress,
                any_rate=self.any_rate,
            )  # fmt: skip
            rates = [f"{c.detections / max(c.frames, 1):.1f}" for c in made.cameras]
            return "\n".join([f"{made.detections} detections, {' / '.join(rates)} a frame", *made.notes])

        return Stage("detect", (), settings, (self._file("detections.parquet"),), work)

    def _stamps(self) -> dict[str, list[Any]]:
        """Name of the camera, place, size and time of every video: their content would take too long to read."""
        stats = {n: f.path.stat() for n, f in self.films.items()}
        return {n: [str(self.films[n].path.resolve()), s.st_size, s.st_mtime_ns] for n, s in stats.items()}

    def check(self) -> Stage:
        """Say whether cameras, clocks and water agree; if not, that is no reason to stop."""
        inputs = self._recorded()

        def work(report: Report) -> str:
            recording = Recording.open(self.folder)
            health = examine(recording)
            draw_rig(recording.rig, animals(recording.rig, recording.detections), self._file("rig.png"))
            return "; ".join(health.problems) or f"good, the cameras agree to {health.typical_error_px:.1f} px"

        return Stage("check", inputs, {}, (self._file("rig.png"),), work)

    def _recorded(self) -> tuple[Path, ...]:
        return tuple(self._file(n) for n in ("recording.toml", "cameras.toml", "detections.parquet"))

    def learn(self) -> Stage:
        """Let the pair network go on learning from the tracks of this recording."""
        known = Path(str(self.teach))
        inputs = self._recorded() if self.teach == SHIPPED else (*self._recorded(), known)

        def work(report: Report) -> str:
            from ...methods.joint.learning.checkpoint import load_pairs, shipped_pairs
            from ...methods.joint.learning.lessons import LearnSettings
            from ...methods.joint.learning.rounds import learn_rounds

            start, out = (shipped_pairs() if self.teach == SHIPPED else known), self._file(PAIRS)
            load_pairs(start)  # says what is wrong with it
            settings = LearnSettings(steps=LEARN_STEPS, learning_rate=LEARN_RATE)
            said: list[str] = []
            try:
                learn_rounds([Recording.open(self.folder)], out, settings, 1, start=start, say=said.append)
            except InputError:  # no track is long enough to teach anything
                with atomic_path(out) as temporary:
                    shutil.copyfile(start, temporary)
                return "no track is long enough to learn from; the network stays as it was"
            return f"{LEARN_STEPS} steps, {said[0].partition(': ')[2]}"

        settings = {"start": self.teach, "steps": LEARN_STEPS, "rate": LEARN_RATE}
        return Stage("learn", inputs, settings, (self._file(PAIRS),), work)

    def track(self) -> Stage:
        """Make tracks of the detections."""
        settings = {"method": self.method, "settings": self.chosen.settings.model_dump(mode="json")}

        def work(report: Report) -> str:
            recording = Recording.open(self.folder)
            found = recording.detections
            ready = self.chosen.resolve(recording.rig, found) if len(found) else self.chosen
            tracks = ready.track(recording.rig, found, recording.fps, report)
            recording.write_tracks(tracks)
            write_settings(self._file("tracks.settings.json"), self.method, ready)
            write_doubts(self._file("tracks.csv"), ready)
            share = 100 * float(tracks.observed.mean()) if len(tracks) else 0.0
            return f"{len(tracks.identities)} tracks, {len(tracks)} points, {share:.1f} % observed"

        outputs = tuple(self._file(n) for n in ("tracks.parquet", "tracks.csv"))
        inputs = self._recorded() if self.model is None else (*self._recorded(), self.model)
        return Stage("track", inputs, settings, outputs, work)

    def report(self) -> Stage:
        """Write the page, and the scores where the truth is known."""
        made = ("tracks.parquet", "tracks.settings.json", "truth.parquet")
        inputs = (*self._recorded(), *(self._file(n) for n in made))
        gate = default_gate(self.rig.units) if self.gate is None else self.gate

        def work(report: Report) -> str:
            recording = Recording.open(self.folder)
            page = write_report(recording, gate=gate)
            scores = score(recording.truth, recording.tracks, gate)
            line = str(page)
            if scores is not None:
                c, i = scores.clear, scores.identity
                line += f" (gate {gate:g}: MOTA {100 * c.mota:.1f} %, IDF1 {100 * i.idf1:.1f} %, {c.switches} switches)"
            return line

        return Stage("report", inputs, {"gate": gate}, (self._file("report.html"),), work)


def _calibration(path: Path, units: str | None, water: str | None) -> CameraRig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # a size that is guessed wrong is told by the videos
        return read_calibration(path, units=units, water=water)


def _offsets(texts: list[str], rig: CameraRig) -> dict[str, int]:
    offsets = {}
    for text in texts:
        name, _, value = text.partition("=")
        rig.index(name)
        if not re.fullmatch(r"[+-]?\d{1,9}", value):
            raise InputError(f"--time-offset {text}: write CAMERA=frames, a whole number")
        offsets[name] = int(value)
    return offsets


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds a recording of another making: it would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder")
    if (folder / JOURNAL).exists():
        return
    if (folder / "recording.toml").exists():
        raise InputError(f"{folder}: is a recording that 'run' did not make; name a new folder")
    for name in _MADE:
        if (folder / name).exists():
            raise InputError(f"{folder / name}: was not made by 'run', which would overwrite it; name a new folder")


def _truth_file(path: Path) -> Path:
    return path / "truth.parquet" if path.is_dir() else path


def _positions(truth: Truth) -> Truth:
    """Only where the animals were: which detection showed them is about other detections."""
    return Truth.build(truth.frame, truth.identity, truth.position, heading=truth.heading, head=truth.head)
