"""Training sets that nobody labelled: outlines where the animals are, and a segmenter fitted to them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.detection.masks.blobs import Blob
from trackfish3d.detection.masks.outlines import blob_from_mask
from trackfish3d.detection.pipeline import check_videos
from trackfish3d.detection.registry import make_detector
from trackfish3d.detection.training.examples import self_labelled, shares, spread
from trackfish3d.detection.training.training_set import Example, SetSettings, cut_example, hide, read_labels, write_set
from trackfish3d.recordings import Recording
from trackfish3d.synfish.examples import true_masks
from trackfish3d.synfish.rigs import random_rig

from .tiny_networks import ellipse_pictures, ellipse_video, quiet_ultralytics


def labelled(recording: Recording, settings: SetSettings) -> Iterator[Example]:
    return self_labelled(check_videos(recording)[0], settings, make_detector("background"))


def ellipse_blob(u: float, v: float, a: float, b: float, size: tuple[int, int] = (320, 200)) -> Blob:
    y, x = np.mgrid[: size[1], : size[0]]
    blob = blob_from_mask(((x - u) / a) ** 2 + ((y - v) / b) ** 2 < 1)
    assert blob is not None
    return blob


def painted(blobs: list[Blob], size: tuple[int, int] = (320, 200)) -> np.ndarray:
    """Grey picture with animals in white."""
    rgb = np.full((size[1], size[0], 3), 60, np.uint8)
    for blob in blobs:
        h, w = blob.mask.shape
        rgb[blob.top : blob.top + h, blob.left : blob.left + w][blob.mask > 0] = 255
    return rgb


def drawn(ring: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """(h, w) whether pixels are inside an outline in shares of the picture, four times finer to be exact."""
    canvas = Image.new("L", (4 * size[0], 4 * size[1]))
    ImageDraw.Draw(canvas).polygon([tuple(p) for p in ring * (4 * np.array(size)) - 0.5], fill=1, outline=0)
    return np.asarray(canvas).reshape(size[1], 4, size[0], 4).mean((1, 3)) > 0.5


@pytest.mark.parametrize(("size", "tile"), [(320, None), (640, 160), (160, 96), (320, 320)])
def test_outlines_lie_on_the_animals_of_the_tile(size: int, tile: int | None) -> None:
    blobs = [ellipse_blob(90, 60, 30, 12), ellipse_blob(200, 130, 14, 40), ellipse_blob(310, 20, 30, 10)]
    settings = SetSettings(size=size, tile=tile)
    found = 0
    for seed in range(6):
        rgb, lines = cut_example(Example("x", painted(blobs), blobs), settings, np.random.default_rng(seed))
        assert max(rgb.shape[:2]) == min(size, tile or size)
        white = rgb[..., 0] > 157
        inside = np.zeros_like(white)
        for line in lines:
            ring = np.array([float(v) for v in line.split()[1:]]).reshape(-1, 2)
            inside |= drawn(ring, (rgb.shape[1], rgb.shape[0]))
            found += 1
        union = (white | inside).sum()
        assert union == 0 or (white & inside).sum() / union > 0.9
    assert found >= 4


def test_doubtful_animals_are_painted_over_and_not_labelled() -> None:
    sure, doubtful = ellipse_blob(90, 60, 30, 12), ellipse_blob(200, 130, 14, 40)
    example = Example("x", painted([sure, doubtful]), [sure], [doubtful])
    rgb, lines = cut_example(example, SetSettings(size=320, tile=None), np.random.default_rng(0))
    assert len(lines) == 1
    assert (rgb[80:] == 60).all()
    assert (hide(painted([sure]), sure) == 60).all()


def test_what_is_held_back_is_the_end_and_apart() -> None:
    chosen = spread(1000, 60, 0.2)
    learnt, late = [f for f, after in chosen if not after], [f for f, after in chosen if after]
    assert len(late) == pytest.approx(12, abs=1)
    assert min(late) - max(learnt) > 20
    assert min(late) >= 0.8 * 999
    assert spread(1, 10, 0.2) == [(0, True)]
    assert sum(shares(100, 7)) == 100
    assert max(shares(100, 7)) - min(shares(100, 7)) == 1


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """Recording with one video of three dark ellipses."""
    rig = random_rig(2, 1)
    rig = CameraRig(tuple(replace(camera, size=(160, 96)) for camera in rig))
    made = Recording.create(tmp_path / "tank", rig, frames=(0, 30))
    folder = tmp_path / "tank" / "videos"
    folder.mkdir()
    ellipse_video(tmp_path).rename(folder / f"{rig[0].name}.mp4")
    return made


def test_ones_own_video_is_labelled_by_the_background_detector(recording: Recording, tmp_path: Path) -> None:
    settings = SetSettings(images=8, size=160, tile=None)
    report = write_set(tmp_path / "set", lambda: labelled(recording, settings), settings, {"of": "test"})
    assert sum(report.images.values()) == pytest.approx(8, abs=1)
    assert report.images["val"] >= 1
    alike = []
    for part in ("train", "val"):
        pictures = sorted((tmp_path / "set" / "images" / part).glob("*.jpg"))
        assert len(pictures) == report.images[part]
        for path in pictures:
            frame = int(path.stem.split("_")[-1])
            true = ellipse_pictures(frame + 1)[frame][..., 0] < 100
            inside = np.zeros_like(true)
            for ring in read_labels(tmp_path / "set" / "labels" / part / f"{path.stem}.txt"):
                inside |= drawn(ring, (160, 96))
            assert (true & inside).sum() / true.sum() > 0.8, path.stem
            alike.append((true & inside).sum() / (true | inside).sum())
    assert np.median(alike) > 0.6


def test_a_set_is_written_once(tmp_path: Path) -> None:
    blobs = [ellipse_blob(90, 60, 30, 12)]
    calls = []

    def examples() -> list[Example]:
        calls.append(1)
        return [Example(f"p{k}", painted(blobs), blobs, late=k == 3) for k in range(4)]

    settings = SetSettings(images=4, size=320, tile=None)
    first = write_set(tmp_path, examples, settings, {"of": 1})
    again = write_set(tmp_path, examples, settings, {"of": 1})
    assert len(calls) == 1
    assert (
        (first.images, first.labels) == (again.images, again.labels) == ({"train": 3, "val": 1}, {"train": 3, "val": 1})
    )
    with pytest.raises(InputError, match="give another folder to --train"):
        write_set(tmp_path, examples, settings, {"of": 2})
    with pytest.raises(InputError, match="no animals to learn from"):
        write_set(tmp_path / "none", lambda: [Example("p", painted([]), [])], settings, {})
    assert not (tmp_path / "none" / "set.json").exists()


def test_true_masks_are_those_of_the_simulator() -> None:
    from trackfish3d.synfish.observe import mesh_for
    from trackfish3d.synfish.presets import preset
    from trackfish3d.synfish.rendering.render import Renderer
    from trackfish3d.synfish.rigs import common_point
    from trackfish3d.synfish.school import Water, simulate_school

    rig = random_rig(2, 3)
    water = Water.around(common_point(rig), np.array([8.0, 8.0, 6.0]))
    school = simulate_school(preset("milling"), water, 6, 3, 1)
    camera = replace(rig[0], size=(480, 270), K=rig[0].K / np.array([[4], [4], [1.0]]))
    renderer = Renderer(camera, school, mesh_for(school, CameraRig((camera,))), 1)
    renderer.draw(1)
    blobs = true_masks(renderer, 6)
    owner = np.zeros((270, 480), int)
    for blob in blobs:
        h, w = blob.mask.shape
        owner[blob.top : blob.top + h, blob.left : blob.left + w] += blob.mask
    assert len(blobs) == len(np.unique(renderer.view.owner)) - 1 > 3
    assert (owner == (renderer.view.owner >= 0)).all()


def test_the_set_needs_no_extra(recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("ultralytics", "torch", "torchvision"):
        monkeypatch.setitem(sys.modules, name, None)
    out = tmp_path / "set"
    arguments = ["detect", str(recording.folder), "--train", str(out), "--set", "images=6", "--set", "tile=none"]
    with pytest.raises(SystemExit) as end:
        main([*arguments, "--only-set", "--set", "background.side=dark"])
    assert end.value.code == 0
    assert (out / "data.yaml").is_file()
    assert json.loads((out / "set.json").read_text())["stamp"]["source"]["background"] == {"side": "dark"}
    with pytest.raises(SystemExit) as end:
        main([*arguments[:3], str(tmp_path / "other"), "--set", "images=6"])
    assert end.value.code == 2
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--train", "{out}"], "give recordings with videos, or scenes"),
        (["--train", "{out}", "--synfish", "nowhere", "--only-set"], "scene 'nowhere' is not in the benchmark"),
        (["--train", "{out}", "--synfish", "train1", "--set", "epoch=3"], "has no setting 'epoch'"),
        (["{rec}", "--train", "{out}", "--only-set", "--set", "background.lo=3"], "has no setting 'lo'"),
        (["{rec}", "--only-set"], "belong to --train"),
        ([], "give the folder of a recording"),
        (["{rec}", "--detector", "yolo"], "has no weights"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], says: str, recording: Recording, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(["detect", *(a.format(out=tmp_path / "o", rec=recording.folder) for a in arguments)])
    assert end.value.code == 2
    error = capsys.readouterr().err.strip().splitlines()
    assert len(error) == 1
    assert says in error[0]


def test_a_segmenter_is_fitted_stopped_and_resumed(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    quiet_ultralytics(tmp_path)
    pytest.importorskip("ultralytics")
    from trackfish3d.detection.registry import make_detector
    from trackfish3d.detection.training.segmenter import TrainSettings, check_model, fit, set_settings
    from trackfish3d.media.video import Video

    settings = TrainSettings(images=6, size=160, tile=64, epochs=2, batch=4, device="cpu")
    check_model(settings)
    chosen = set_settings(settings)
    report = write_set(tmp_path / "set", lambda: labelled(recording, chosen), chosen, {})
    told: list[float] = []

    class Stop(Exception):
        pass

    def stop(row: dict[str, float]) -> None:
        told.append(row["epoch"])
        raise Stop

    with pytest.raises(Stop):
        fit(report, settings, stop)
    assert told == [1]
    assert not (tmp_path / "set" / "model.pt").exists()
    told.clear()
    model = fit(report, settings, lambda row: told.append(row["epoch"]))
    assert told == [2]  # the first epoch is not done again
    assert fit(report, settings, lambda row: told.append(row["epoch"])) == model
    assert told == [2]
    detector = make_detector("yolo", {"weights": str(model)})
    video = Video.open(next(iter(recording.videos.values())))
    detector.prepare(video)
    assert detector.describe()["size"] == 160
    assert detector.describe()["task"] == "segment"
    detector.see(next(iter(video.read())))
