"""The yolo detector: known boxes through ultralytics and back, classes, damaged weights."""

import os
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video

from .tiny_networks import ellipse_pictures, ellipse_video, quiet_ultralytics, yolo_weights
from .worlds import encode

pytest.importorskip("ultralytics")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("yolo")
    quiet_ultralytics(path)
    return path


@pytest.fixture(scope="module")
def video(folder: Path) -> Video:
    return Video.open(ellipse_video(folder, 2))


@pytest.fixture(scope="module")
def segmenter(folder: Path) -> Path:
    return yolo_weights(folder, "yolo26n-seg")


@pytest.fixture(scope="module")
def cells(folder: Path) -> Path:
    """Return a detector whose every cell, of 8, 16 and 32 px, claims a box of two cells around its middle."""
    return yolo_weights(folder, "yolo26n", distance=1.0)


def test_boxes_of_cells_are_where_the_cells_are(cells: Path, folder: Path) -> None:
    """At twice its size the picture of 160 x 72 has 320 x 144 px, in an input of 320 x 160: 8 px of grey above."""
    video = Video.open(encode(folder / "low.mp4", ellipse_pictures(1, (160, 72))))
    detector = make_detector("yolo", {"weights": str(cells), "size": "320", "max_overlap": "0.9", "max_animals": "999"})
    detector.prepare(video)
    assert detector.describe()["task"] == "detect"
    seen = detector.see(next(iter(video.read())))
    side = 2 * (seen.columns["x2"] - seen.columns["x1"])
    whole = (seen.columns["x1"] > 0) & (seen.columns["x2"] < 159) & (seen.columns["y1"] > 0) & (seen.columns["y2"] < 71)
    assert whole.sum() > 20
    assert "area" not in seen.columns
    for cell in (8, 16):
        mine = whole & (np.abs(side - 2 * cell) < 1e-3)
        assert mine.sum() >= 3, cell
        for name, start in (("u", 0), ("v", 8)):
            at = (2 * (seen.columns[name][mine] + 0.5) + start) / cell - 0.5
            assert at == pytest.approx(np.rint(at), abs=1e-3), (cell, name)


@pytest.mark.parametrize("name", ["yolo26n-seg", "yolo11n-seg"])
def test_segmenters_give_masks_with_moments(name: str, folder: Path, video: Video) -> None:
    detector = make_detector("yolo", {"weights": str(yolo_weights(folder, name)), "size": "160", "min_score": "0.1"})
    assert detector.prepare(video) == []
    for picture in video.read():
        seen = detector.see(picture)
        assert len(seen) > 3
        assert seen.masks is not None
        assert len(seen.masks) == len(seen)
        assert {"area", "angle", "major", "minor"} <= set(seen.columns)
        for k, blob in enumerate(seen.masks):
            pixels = blob.pixels()
            assert seen.columns["u"][k] == pytest.approx(pixels[:, 0].mean())
            assert seen.columns["x1"][k] == pixels[:, 0].min() - 0.5
            assert seen.columns["y2"][k] == pixels[:, 1].max() + 0.5


def test_region_score_and_number_are_kept(segmenter: Path, video: Video) -> None:
    settings = {"weights": str(segmenter), "size": "160", "min_score": "0.05"}
    free = make_detector("yolo", settings)
    held = make_detector("yolo", settings | {"region": "-9,-9 80,-9 80,200 -9,200"})
    few = make_detector("yolo", settings | {"max_animals": "2"})
    for detector in (free, held, few):
        detector.prepare(video)
    picture = next(iter(video.read()))
    everything, left, two = free.see(picture), held.see(picture), few.see(picture)
    assert len(two) == 2
    assert 0 < len(left) < len(everything)
    assert left.columns["u"].max() < 81
    assert len(left) == (everything.columns["u"] < 79.5).sum()
    assert left.masks is not None
    assert len(left.masks) == len(left)


@pytest.mark.parametrize("name", ["yolo26n-seg.yaml", "own"])
def test_a_yaml_is_a_fresh_network(name: str, segmenter: Path, video: Video) -> None:
    path = str(segmenter.with_suffix(".yaml")) if name == "own" else name
    detector = make_detector("yolo", {"weights": path, "size": "64"})
    assert "learnt nothing" in detector.prepare(video)[0]
    assert len(detector.see(next(iter(video.read())))) == 0


def test_no_yaml_is_no_network(video: Video) -> None:
    with pytest.raises(InputError, match=r"yolo_none\.yaml: cannot be loaded"):
        make_detector("yolo", {"weights": "yolo_none.yaml"}).prepare(video)


def test_classes_by_name_and_number(segmenter: Path, video: Video) -> None:
    make_detector("yolo", {"weights": str(segmenter), "classes": "0"}).prepare(video)
    with pytest.raises(InputError, match="has no class 'shark'; it has 0 "):
        make_detector("yolo", {"weights": str(segmenter), "classes": "shark"}).prepare(video)


def test_damaged_and_missing_weights(segmenter: Path, video: Video, tmp_path: Path) -> None:
    whole = segmenter.read_bytes()
    for k, content in enumerate((b"", b"nonsense", whole[: len(whole) // 2], whole[len(whole) // 2 :])):
        path = tmp_path / f"{k}.pt"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{k}.pt: cannot be loaded as a YOLO model"):
            make_detector("yolo", {"weights": str(path)}).prepare(video)
    with pytest.raises(InputError, match="no such file"):
        make_detector("yolo", {"weights": str(tmp_path / "none.pt")}).ready()
    with pytest.raises(InputError, match="give a file with --set weights="):
        make_detector("yolo").ready()
    (tmp_path / "net.onnx").write_bytes(b"x")
    with pytest.raises(InputError, match="--detector onnx"):
        make_detector("yolo", {"weights": str(tmp_path / "net.onnx")}).prepare(video)


def test_weights_that_carry_code_do_not_run_it(video: Video, tmp_path: Path) -> None:
    import pickle

    import torch

    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "trapped"),)

    torch.save({"model": Trap()}, tmp_path / "trap.pt", pickle_module=pickle)
    with pytest.raises(InputError, match="cannot be loaded"):
        make_detector("yolo", {"weights": str(tmp_path / "trap.pt")}).prepare(video)
    assert not (tmp_path / "trapped").exists()


def test_a_missing_extra_is_named(segmenter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle
    import sys

    from trackfish3d.core.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "ultralytics", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trackfish3d\[yolo\]'") as error:
        make_detector("yolo", {"weights": str(segmenter)}).ready()
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
