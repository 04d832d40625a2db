"""From videos and a calibration to tracks and a report: the stages of a run."""

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..cameras import CameraRig
from ..cameras.formats import CalibrationWarning, read_calibration
from ..cameras.native import camera_table
from ..core import provenance
from ..core.errors import InputError
from ..core.files import atomic_path
from ..core.lock import locked
from ..core.progress import Progress
from ..detection.base import Detector
from ..detection.pipeline import detect
from ..detection.registry import make_detector
from ..evaluation.gate import default_gate
from ..health import examine
from ..health.kept import CHECK, keep_verdict
from ..health.picture import animals, draw_rig
from ..media.video import Video
from ..methods.base import Method
from ..methods.joint.learning.odds import SHIPPED
from ..methods.registry import DEFAULT_METHOD
from ..recordings import Recording, Truth
from ..report import write_report
from ..report.scoring import score
from .films import Film, common_rate, link_films, open_films, put_to_cameras
from .stages import JOURNAL, Listener, Runner, Stage
from .tracking import chosen_method, load_truth, problems_of

PAIRS = "pairs.safetensors"
LEARN_STEPS, LEARN_RATE = 500, 5e-4  # of learning on one recording, from a network that has learnt on others
_MADE = (
    "cameras.toml", "detections.parquet", "detections.settings.json", "truth.parquet", "rig.png", CHECK, PAIRS,
    "tracks.parquet", "tracks.csv", "tracks_table.csv", "tracks.settings.json", "suspects.csv", "report.html",
    "preview", ".detect",
)  # fmt: skip


def run(
    videos: Mapping[str, Film] | Sequence[str | Path],
    cameras: str | Path | CameraRig,
    out: str | Path,
    *,
    detector: str = "background",
    detector_settings: Mapping[str, Any] | None = None,
    method: str = DEFAULT_METHOD,
    settings: Mapping[str, Any] | None = None,
    animals: int | None = None,
    scene: Literal["open", "closed"] | None = None,
    model: str | Path | None = None,
    learn: bool = False,
    fps: float | None = None,
    time_offset_frames: Mapping[str, int] | None = None,
    units: str | None = None,
    water_plane: str | None = None,
    truth: str | Path | None = None,
    gate: float | None = None,
    workers: int | None = None,
    again: bool = False,
    listener: Listener | None = None,
) -> Recording:
    """Detect, check, track and report: everything from videos to tracks.csv and report.html.

    Each stage is done once: a stopped run goes on where it stopped, and after a change of videos, calibration or
    settings only what depends on them is done again. What `check` finds wrong is no reason to stop; it is kept in
    ``check.json``, stands at the top of the report, and is what `trackfish3d.problems` returns.

    Parameters
    ----------
    videos : film of each camera by its name, or films whose names tell the camera; of chapters folder, pattern or a+b.
    cameras : a rig, or a calibration in any format that is read.
    out : folder of the recording; made, or gone on with.
    detector : name of the detector.
    detector_settings : its settings by name.
    method : name of the tracking method.
    settings : its settings by name.
    animals : how many animals there are, where that is known.
    scene : "open" where animals come and go, "closed" where none can leave; by the tracks otherwise.
    model : trained network of a method that has one.
    learn : whether the network learns on this recording first.
    fps : frames a second, where the videos are wrong.
    time_offset_frames : by camera, added to its frame numbers.
    units : unit of the calibration's world, where it does not say.
    water_plane : water, where the calibration lacks it: ``z=0`` or ``x,y,z,nx,ny,nz``.
    truth : true positions, for scores only: a recording, CSV or Parquet.
    gate : distance of a match for scores, world units.
    workers : cameras detected at once; as many as cores by default.
    again : whether finished stages are done again.
    listener : hears how it goes on; by default each stage prints a line.
    """
    folder, network = Path(out), None if model is None else Path(model)
    own = learn and method == "joint"  # it learns in a stage of its own, from its own tracks
    chosen = chosen_method(method, settings, animals, network, learn and not own, scene)
    if own:
        network = folder / PAIRS
        chosen = chosen_method(method, settings, animals, network, False, scene)
    finder = make_detector(detector, detector_settings or {})
    finder.ready()  # before anything is made
    whole = cameras if isinstance(cameras, CameraRig) else _calibration(Path(cameras), units, water_plane)
    films = open_films(put_to_cameras(videos, whole), whole)
    stages = Stages(
        folder=folder,
        rig=whole.select(tuple(films)),
        films=films,
        fps=common_rate(films) if fps is None else fps,
        offsets={name: n for name, n in (time_offset_frames or {}).items() if whole.index(name) >= 0},
        method=chosen,
        detector=finder,
        detector_settings=dict(detector_settings or {}),
        truth=None if truth is None else Path(truth),
        gate=gate,
        network=network,
        workers=workers,
        any_rate=fps is not None,
        teach=None if not own else SHIPPED if model is None else str(model),
        calibration=None if isinstance(cameras, CameraRig) else Path(cameras),
    )
    return stages.do(listener or Listener(), again, [n for n in whole.names if n not in films])


@dataclass
class Stages:
    """The stages of a run: each method makes one, once the files of those before it are there."""

    folder: Path
    rig: CameraRig
    films: dict[str, Video]
    fps: float
    offsets: dict[str, int]
    method: Method
    detector: Detector
    detector_settings: dict[str, Any]
    truth: Path | None
    gate: float | None
    network: Path | None
    workers: int | None
    any_rate: bool
    teach: str | None
    calibration: Path | None = None

    def do(self, listener: Listener, again: bool, missing: Sequence[str]) -> Recording:
        """Do all stages that are not done yet.

        Parameters
        ----------
        listener : hears how it goes on.
        again : whether finished stages are done again.
        missing : cameras that have no video.
        """
        _refuse_foreign(self.folder)
        with locked(self.folder):
            return self._do(Runner(self.folder, listener, again), listener, missing)

    def _do(self, runner: Runner, listener: Listener, missing: Sequence[str]) -> Recording:
        if missing:
            listener.say(f"no video of {', '.join(missing)}; the other {len(self.films)} cameras are used")
        order = [self.recording, self.detect, self.check, self.track, self.report]
        if self.teach is not None:
            order.insert(3, self.learn)
        for stage in order:
            runner.do(stage())
        recording = Recording.open(self.folder)
        for problem in problems_of(recording):
            listener.say(f"something is wrong: {problem}")
        return recording

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

        def work(progress: Progress) -> str:
            count = max(f.count for f in self.films.values())
            known = None if self.truth is None else _positions(load_truth(self.truth))
            self._file("truth.parquet").unlink(missing_ok=True)
            link_films(self.films, self.folder / "videos")
            Recording.create(
                self.folder, self.rig, fps=self.fps, truth=known, frames=(0, count), time_offset_frames=self.offsets
            )
            return f"{len(self.films)} cameras, {count} frames at {self.fps:g} a second"

        outputs = self._file("recording.toml"), self._file("cameras.toml")
        known = () if self.calibration is None else (self.calibration,)
        return Stage("recording", inputs, settings, outputs, work, (*known, *self._film_files()))

    def detect(self) -> Stage:
        """Find the animals in the videos."""
        settings = {
            "videos": self._stamps(),
            "detector": self.detector.name,
            "settings": {k: str(v) for k, v in self.detector_settings.items()},
            **self.detector.stamp(),
        }

        def work(progress: Progress) -> str:
            recording = Recording.open(self.folder)
            done = dict.fromkeys(self.films, 0)
            total = sum(f.count for f in self.films.values())

            def count(camera: str, frames: int, _: int) -> None:
                done[camera] = frames
                progress(sum(done.values()), total)

            made = detect(
                recording,
                self.detector,
                videos=self.films,
                workers=self.workers,
                progress=count,
                any_rate=self.any_rate,
            )
            rates = [f"{c.detections / max(c.frames, 1):.1f}" for c in made.cameras]
            return "\n".join([f"{made.detections} detections, {' / '.join(rates)} a frame", *made.notes])

        return Stage("detect", (), settings, (self._file("detections.parquet"),), work, self._film_files())

    def _film_files(self) -> tuple[Path, ...]:
        return tuple(file for film in self.films.values() for file in film.files)

    def _stamps(self) -> dict[str, list[Any]]:
        """Name of the camera, place, size and time of every video: their content would take too long to read."""
        return {name: film.stamp for name, film in self.films.items()}

    def check(self) -> Stage:
        """Say whether cameras, clocks and water agree; if not, that is no reason to stop."""

        def work(progress: Progress) -> str:
            recording = Recording.open(self.folder)
            health = examine(recording)
            draw_rig(recording.rig, animals(recording.rig, recording.detections), self._file("rig.png"))
            keep_verdict(self.folder, health)
            return health.summary

        outputs = (self._file("rig.png"), self._file(CHECK))
        return Stage("check", self._recorded(), {}, outputs, work)

    def _recorded(self) -> tuple[Path, ...]:
        return tuple(self._file(n) for n in ("recording.toml", "cameras.toml", "detections.parquet"))

    def learn(self) -> Stage:
        """Let the pair network go on learning from the tracks of this recording."""
        known = Path(str(self.teach))
        inputs = self._recorded() if self.teach == SHIPPED else (*self._recorded(), known)

        def work(progress: Progress) -> str:
            from ..methods.joint.learning.checkpoint import load_pairs, shipped_pairs
            from ..methods.joint.learning.lessons import LearnSettings
            from ..methods.joint.learning.rounds import learn_rounds

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
        settings = {"method": self.method.name, "settings": self.method.settings.model_dump(mode="json")}

        def work(progress: Progress) -> str:
            recording = Recording.open(self.folder)
            result = self.method.track(recording.rig, recording.detections, recording.fps, progress)
            result.save(recording)
            return "\n".join([result.summary, *result.notes])

        outputs = tuple(self._file(n) for n in ("tracks.parquet", "tracks.csv"))
        inputs = self._recorded() if self.network is None else (*self._recorded(), self.network)
        return Stage("track", inputs, settings, outputs, work)

    def report(self) -> Stage:
        """Write the page, and the scores where the truth is known."""
        made = ("tracks.parquet", "tracks.settings.json", "truth.parquet", CHECK)
        inputs = (*self._recorded(), *(self._file(n) for n in made))

        def work(progress: Progress) -> str:
            recording = Recording.open(self.folder)
            gate = default_gate(recording).distance if self.gate is None else self.gate
            page = write_report(recording, gate=gate)
            scores = score(recording.truth, recording.mended_tracks, gate)
            line = str(page)
            if scores is not None:
                c, i = scores.clear, scores.identity
                line += f" (gate {gate:g}: MOTA {100 * c.mota:.1f} %, IDF1 {100 * i.idf1:.1f} %, {c.switches} switches)"
            return line

        return Stage("report", inputs, {"gate": self.gate}, (self._file("report.html"),), work)


def _calibration(path: Path, units: str | None, water: str | None) -> CameraRig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalibrationWarning)  # a size that is guessed wrong is told by the videos
        return read_calibration(path, units=units, water=water)


def _refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds a recording of another making: it would be overwritten."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; name a folder")
    known = provenance.read(folder)
    if (folder / JOURNAL).exists() and (not known or "key" in known.get("recording", {})):
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
