"""From videos and a calibration to tracks and a report: the stages of a run."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..cameras import CameraRig
from ..core import provenance
from ..core.errors import InputError
from ..core.files import atomic_path
from ..core.lock import locked
from ..core.progress import Progress
from ..detection.base import Detector
from ..detection.registry import make_detector
from ..health.kept import CHECK
from ..media.video import Video
from ..methods.base import Method
from ..methods.joint.learning.odds import SHIPPED
from ..methods.registry import DEFAULT_METHOD
from ..recordings import Recording
from .again.rounds_of_looks import FIRST, LOOKED
from .again.run_stages import SecondLooks
from .films import Film, common_rate, open_films, put_to_cameras
from .stages import JOURNAL, Listener, Runner, Stage
from .steps import calibration_of, check_stage, detect_stage, recorded, recording_stage, report_stage, track_stage
from .tracking import chosen_method, problems_of

PAIRS = "pairs.safetensors"
LEARN_STEPS, LEARN_RATE = 500, 5e-4  # of learning on one recording, from a network that has learnt on others
_MADE = (
    "cameras.toml",
    "detections.parquet",
    "detections.settings.json",
    "truth.parquet",
    "rig.png",
    CHECK,
    PAIRS,
    "tracks.parquet",
    "tracks.csv",
    "tracks_table.csv",
    "tracks.settings.json",
    "suspects.csv",
    "report.html",
    "preview",
    ".detect",
    ".track",
    *FIRST.values(),
    LOOKED,
)


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
    region: str | None = None,
    model: str | Path | None = None,
    learn: bool = False,
    fps: float | None = None,
    time_offset_frames: Mapping[str, int] | None = None,
    units: str | None = None,
    water_plane: str | None = None,
    truth: str | Path | None = None,
    gate: float | None = None,
    workers: int | None = None,
    look_again: int = 1,
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
    region : a box ``x0:x1,y0:y1,z0:z1`` or a file with an outline; animals outside it are left out.
    model : trained network of a method that has one.
    learn : whether the network learns on this recording first.
    fps : frames a second, where the videos are wrong.
    time_offset_frames : by camera, added to its frame numbers.
    units : unit of the calibration's world, where it does not say.
    water_plane : water, where the calibration lacks it: ``z=0`` or ``x,y,z,nx,ny,nz``.
    truth : true positions, for scores only: a recording, CSV or Parquet.
    gate : distance of a match for scores, world units.
    workers : cameras detected at once; as many as cores by default.
    look_again : rounds in which every film is looked at once more with what the tracks expect; 0 for none.
    again : whether finished stages are done again.
    listener : hears how it goes on; by default each stage prints a line.
    """
    folder, given = Path(out), None if model is None else Path(model)
    own = learn and method == "joint"  # it learns in a stage of its own, from its own tracks
    network = folder / PAIRS if own else given
    first = chosen_method(method, settings, animals, given, learn and not own, scene, region)
    whole = cameras if isinstance(cameras, CameraRig) else calibration_of(Path(cameras), units, water_plane)
    films = open_films(put_to_cameras(videos, whole), whole)
    return Stages(
        folder=folder,
        rig=whole.select(tuple(films)),
        films=films,
        fps=common_rate(films) if fps is None else fps,
        offsets={name: n for name, n in (time_offset_frames or {}).items() if whole.index(name) >= 0},
        method=chosen_method(method, settings, animals, network, False, scene, region) if own else first,
        expects=(first, look_again),
        detector=_ready(make_detector(detector, detector_settings or {})),
        detector_settings=dict(detector_settings or {}),
        truth=None if truth is None else Path(truth),
        gate=gate,
        network=network,
        workers=workers,
        any_rate=fps is not None,
        teach=None if not own else SHIPPED if model is None else str(model),
        calibration=None if isinstance(cameras, CameraRig) else Path(cameras),
    ).do(listener or Listener(), again, [n for n in whole.names if n not in films])


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
    looks: SecondLooks = field(init=False)
    expects: InitVar[tuple[Method, int] | None] = None
    """Method whose tracks tell second looks what to expect, and how many of these there are."""

    def __post_init__(self, expects: tuple[Method, int] | None) -> None:
        method, rounds = expects or (self.method, 0)
        self.looks = SecondLooks(self.folder, self.films, self.detector, method, rounds, self.workers)

    def do(self, listener: Listener, again: bool, missing: Sequence[str]) -> Recording:
        """Do all stages that are not done yet.

        Parameters
        ----------
        listener : hears how it goes on.
        again : whether finished stages are done again.
        missing : cameras that have no video.
        """
        refuse_foreign(self.folder)
        with locked(self.folder):
            return self._do(Runner(self.folder, listener, again), listener, missing)

    def _do(self, runner: Runner, listener: Listener, missing: Sequence[str]) -> Recording:
        if missing:
            listener.say(f"no video of {', '.join(missing)}; the other {len(self.films)} cameras are used")
        looks = [self.looks.track, self.looks.look] if self.looks.rounds else []
        learns = [] if self.teach is None else [self.learn]
        order = [self.recording, self.detect, self.check, *looks, *learns, self.track, self.report]
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
        return recording_stage(self.folder, self.rig, self.films, self.fps, self.offsets, self.truth, self.calibration)

    def detect(self) -> Stage:
        """Find the animals in the videos."""
        made = (self.folder, self.films, self.detector, self.detector_settings, self.workers, self.any_rate)
        return self.looks.kept(detect_stage(*made))

    def check(self) -> Stage:
        """Say whether cameras, clocks and water agree; if not, that is no reason to stop."""
        return check_stage(self.folder, self.looks.found)

    def learn(self) -> Stage:
        """Let the pair network go on learning from the tracks of this recording."""
        known = Path(str(self.teach))
        inputs = recorded(self.folder) if self.teach == SHIPPED else (*recorded(self.folder), known)

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
        return track_stage(self.folder, self.method, self.network)

    def report(self) -> Stage:
        """Write the page, and the scores where the truth is known."""
        return report_stage(self.folder, self.gate)


def _ready(detector: Detector) -> Detector:
    detector.ready()  # before anything is made
    return detector


def refuse_foreign(folder: Path) -> None:
    """Refuse a folder that holds a recording of another making: it would be overwritten.

    Parameters
    ----------
    folder : where a run would write.
    """
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
