"""Scenes of the benchmark: each is made once, as a recording in a folder, and found there the next time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..core.errors import InputError
from ..core.files import atomic_path
from ..recordings import Recording
from ..synfish.noise import add_calibration_noise, add_detection_noise
from ..synfish.scenes import EDITION, benchmark_scenes, write_scene
from .crowded.cmc import SCENES as PEOPLE
from .crowded.cmc import write_people
from .crowded.crowd import scene_number, write_crowd
from .crowded.people import gathering_number, write_gathering
from .stamp import SCENE_CODE, code_digest
from .zef import SEQUENCES, write_sequence

NOISE_SEED = 7
STAMP = "made_by.txt"


@dataclass(frozen=True)
class SceneSpec:
    """A scene: ``base`` as it is, or with noise of level ``sigma`` on its calibration or detections.

    ``seed`` above 0 is another school of the same kind: how far a score depends on the one school that was simulated.
    """

    base: str
    source: Literal["synfish", "zef", "crowd", "cmc"] = "synfish"
    noise: Literal["none", "calibration", "detection"] = "none"
    sigma: float = 0.0
    seed: int = 0
    edition: int = EDITION

    @property
    def name(self) -> str:
        """Name of the scene's folder, and of the scene in results."""
        clean = self.base if self.edition == EDITION else f"{self.base}-edition{self.edition}"
        clean = f"{clean}-seed{self.seed}" if self.seed else clean
        return clean if self.noise == "none" else f"{clean}-{self.noise}-{self.sigma:g}"

    @property
    def clean(self) -> "SceneSpec":
        """The same scene without noise."""
        return SceneSpec(self.base, self.source, seed=self.seed, edition=self.edition)


def check_scene(spec: SceneSpec) -> None:
    """Refuse a scene that does not exist."""
    if spec.source == "synfish":
        benchmark_scenes([spec.base], spec.edition)
    elif spec.source == "crowd":
        gathering_number(spec.base) if spec.base.startswith("people") else scene_number(spec.base)
    elif spec.source == "cmc":
        if spec.base not in PEOPLE:
            raise InputError(f"scene '{spec.base}' is not in CMC; it has {', '.join(PEOPLE)}")
    elif spec.base not in SEQUENCES:
        raise InputError(f"scene '{spec.base}' is not in 3D-ZeF; it has {', '.join(SEQUENCES)}")


def prepare(spec: SceneSpec, folder: Path, source: Path | None) -> Path:
    """Make the scene in ``folder`` unless it is there as the present code makes it, and return its recording's folder.

    ``source`` holds SynFish recordings made before (used where they have the scene: ``test1``, ``test1-seed1``), or
    the 3D-ZeF or CMC sequences.
    """
    target = folder / spec.name
    if is_made(spec, folder):
        return target
    if spec.noise != "none":
        clean = Recording.open(prepare(spec.clean, folder, source))
        add = add_calibration_noise if spec.noise == "calibration" else add_detection_noise
        add(clean, target, spec.sigma, NOISE_SEED)
    elif spec.source in ("zef", "cmc"):
        if source is None:
            name = "3D-ZeF" if spec.source == "zef" else "CMC"
            raise InputError(f"{name}: where is it? Give --data FOLDER or set TRACKFISH3D_DATA")
        write = write_sequence if spec.source == "zef" else write_people
        write(spec.base, source, target)
    elif spec.source == "crowd":
        if spec.base.startswith("people"):
            write_gathering(gathering_number(spec.base), target)
        else:
            write_crowd(scene_number(spec.base), target)
    elif source is not None and (source / spec.name / "recording.toml").is_file():
        return source / spec.name
    else:
        write_scene(benchmark_scenes([spec.base], spec.edition)[0], target, seed_offset=spec.seed)
    with atomic_path(target / STAMP) as temporary:
        temporary.write_text(code_digest(SCENE_CODE) + "\n", encoding="utf-8")
    return target


def is_made(spec: SceneSpec, folder: Path) -> bool:
    """Whether the scene is in ``folder``, made by the present code."""
    stamp = folder / spec.name / STAMP
    return stamp.is_file() and stamp.read_text("utf-8").strip() == code_digest(SCENE_CODE)
