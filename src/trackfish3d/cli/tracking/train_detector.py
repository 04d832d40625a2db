"""``trackfish3d detect --train``: a training set without anybody's labels, and a segmenter fitted to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from ...core.errors import InputError
from ...core.settings import make_settings, setting_lines
from ...detection.pipeline import check_videos
from ...detection.registry import make_detector
from ...detection.training.examples import self_labelled
from ...detection.training.segmenter import TrainSettings, check_model, fit, set_settings
from ...detection.training.training_set import SetReport, write_set
from ...recordings import Recording
from ...synfish.examples import simulated
from ...synfish.scenes import Scene, benchmark_scenes
from .._progress import Bars

_BACKGROUND = "background."


def train(
    folders: list[Path], out: Path, synfish: str | None, seed_offset: int, values: dict[str, str], only_set: bool
) -> None:
    """Write the training set into ``out`` and, unless it is asked for alone, fit a segmenter to it."""
    background = {k.removeprefix(_BACKGROUND): v for k, v in values.items() if k.startswith(_BACKGROUND)}
    others = {k: v for k, v in values.items() if not k.startswith(_BACKGROUND)}
    settings = make_settings(TrainSettings, others, "detector yolo --train")
    if bool(folders) == (synfish is not None):
        raise InputError("detect --train: give recordings with videos, or scenes to simulate with --synfish, not both")
    if out.is_file():
        raise InputError(f"--train {out}: is a file; name a folder")
    if not only_set:
        check_model(settings)
    report = _write(folders, out, synfish, seed_offset, settings, background)
    for part in ("train", "val"):
        print(f"{part}: {report.images[part]} pictures, {report.labels[part]} animals: {out / 'images' / part}")
    if only_set:
        print(f"training set: {report.data}")
        return
    model = fit(report, settings, _tell(settings.epochs))
    print(f"{model}: take it with --detector yolo --set weights={model}")


def print_settings() -> None:
    """Print each setting of a training: name, default, what it is."""
    print("\n".join(setting_lines(TrainSettings())))
    print(f"{_BACKGROUND}NAME  any setting of the background detector, which labels the pictures")


def _write(
    folders: list[Path],
    out: Path,
    synfish: str | None,
    seed_offset: int,
    settings: TrainSettings,
    background: dict[str, str],
) -> SetReport:
    chosen = set_settings(settings)
    source: dict[str, Any]
    if synfish is not None:
        scenes = _scenes(synfish)
        source = {"synfish": [s.model_dump(mode="json") for s in scenes], "seed_offset": seed_offset}
        with Bars() as bars:
            return write_set(
                out, lambda: simulated(scenes, chosen, seed_offset), chosen, source, bars.start("simulating")
            )
    labeller = make_detector("background", background)
    recordings = [Recording.open(folder) for folder in folders]
    if len({r.folder.resolve().name for r in recordings}) < len(recordings):
        raise InputError("detect --train: two recordings have folders of the same name; rename one")
    videos = {f"{r.folder.resolve().name}_{n}": v for r in recordings for n, v in check_videos(r)[0].items()}
    source = {"videos": [str(f.resolve()) for v in videos.values() for f in v.files], "background": background}
    with Bars() as bars:
        return write_set(out, lambda: self_labelled(videos, chosen, labeller), chosen, source, bars.start("labelling"))


def _scenes(text: str) -> list[Scene]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["train"]:
        return [scene for scene in benchmark_scenes() if scene.split == "train"]
    if not names:
        raise InputError("--synfish: give names of scenes with commas between, or 'train' for all train scenes")
    return benchmark_scenes(names)


def _tell(epochs: int) -> Callable[[dict[str, float]], None]:
    console = Console(stderr=True, markup=False, emoji=False)

    def tell(row: dict[str, float]) -> None:
        numbers = "  ".join(f"{name} {value:.3f}" for name, value in row.items() if name != "epoch")
        console.print(f"epoch {row['epoch']:.0f}/{epochs}  {numbers}", highlight=False, soft_wrap=True)

    return tell
