"""The onnx detector: graphs that answer what is known, through letterbox and back."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trackfish3d.core.errors import InputError
from trackfish3d.detection.learned.onnx import Fit, OnnxDetector, OnnxSettings
from trackfish3d.detection.learned.onnx_outputs import LAYOUTS, guess_layout, read_outputs
from trackfish3d.detection.masks.outlines import overlap
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Video

from .tiny_networks import ellipse_video, quiet_ultralytics, yolo_weights

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

# Two animals in a picture of 160 x 96: corners from edge to edge, px of the picture.
ANIMALS = np.array([[10.0, 20.0, 40.0, 30.0], [100.0, 50.0, 120.0, 90.0]])
SCORES = np.array([0.9, 0.6], np.float32)
SIDE = 80  # of the network's square input


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    return Video.open(ellipse_video(tmp_path_factory.mktemp("onnx"), 3))


def in_input(boxes: np.ndarray) -> np.ndarray:
    """Corners in px of the network's square input: half as large, with 16 px of grey above and below."""
    return boxes * (SIDE / 160) + np.tile([0, 16], 2)


def save_graph(path: Path, outputs: dict[str, np.ndarray], *, dtype: int | None = None, shape: Any = None) -> Path:
    """Write a graph that answers constants, whatever it is shown."""
    from onnx import TensorProto, helper, numpy_helper

    dtype = TensorProto.FLOAT if dtype is None else dtype
    shown = helper.make_tensor_value_info("images", dtype, shape or [1, 3, SIDE, SIDE])
    nodes, infos = [], []
    for name, value in outputs.items():
        nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    graph = helper.make_graph(nodes, "g", [shown], infos)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def middles(corners: np.ndarray) -> np.ndarray:
    return np.concatenate([(corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]], axis=1)


def answer(layout: str) -> dict[str, np.ndarray]:
    """Return the two animals as a network of that layout would, among nothing and doubles."""
    corners = in_input(ANIMALS).astype(np.float32)
    none = np.zeros((20, 4), np.float32) + 5
    if layout == "yolo":  # every animal twice, the second a little off and less sure
        rows = np.concatenate([middles(corners), middles(corners + 0.3), none])
        scores = np.concatenate([SCORES, SCORES - 0.1, np.zeros(20)])
        return {"output0": np.column_stack([rows, scores, 0 * scores]).T[None].astype(np.float32)}
    if layout == "yolov5":
        rows = np.concatenate([middles(corners), none])
        sure = np.concatenate([[1.0, 0.8], np.zeros(20)])
        kind = np.concatenate([[[0.9, 0.1], [0.3, 0.75]], np.zeros((20, 2))])
        return {"output": np.column_stack([rows, sure, kind])[None].astype(np.float32)}
    if layout == "end2end":
        rows = np.column_stack([corners, SCORES, [0, 0]])
        return {"output0": np.concatenate([rows, np.zeros((8, 6))])[None].astype(np.float32)}
    if layout == "efficient_nms":
        boxes = np.concatenate([corners, none])[None]
        scores = np.concatenate([SCORES, np.ones(20)])[None].astype(np.float32)
        return {
            "num_dets": np.array([[2]], np.int32), "det_boxes": boxes.astype(np.float32), "det_scores": scores,
            "det_classes": np.zeros((1, 22), np.int32),
        }  # fmt: skip
    if layout == "rcnn":
        return {"boxes": corners, "labels": np.array([1, 1]), "scores": SCORES}
    shares = (middles(ANIMALS) / [160, 96, 160, 96]).astype(np.float32)
    logits = np.log(SCORES / (1 - SCORES))
    return {
        "pred_logits": np.stack([logits, [-9, -9]], axis=1)[None].astype(np.float32),
        "pred_boxes": shares[None],
    }


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_boxes_that_the_graph_holds(layout: str, video: Video, tmp_path: Path) -> None:
    path = save_graph(tmp_path / "net.onnx", answer(layout))
    detector = make_detector("onnx", {"weights": str(path)})
    detector.prepare(video)
    assert detector.describe()["layout"] == layout
    seen = detector.see(next(iter(video.read())))
    order = np.argsort(-seen.columns["score"])
    found = np.column_stack([seen.columns[c] for c in ("x1", "y1", "x2", "y2")])[order]
    assert found == pytest.approx(ANIMALS - 0.5, abs=1e-4)  # pixels of detections have their centre at whole numbers
    assert seen.columns["score"][order] == pytest.approx(SCORES, abs=1e-6)
    assert seen.columns["u"][order] == pytest.approx(ANIMALS[:, [0, 2]].mean(1) - 0.5, abs=1e-4)
    assert "area" not in seen.columns


def prototype_of(u: float, v: float, a: float, b: float) -> np.ndarray:
    """(SIDE, SIDE) map that is positive inside an ellipse given in px of the picture."""
    y, x = np.mgrid[:SIDE, :SIDE] + 0.5
    px, py = x / 0.5 - 0.5, (y - 16) / 0.5 - 0.5
    return (1 - np.hypot((px - u) / a, (py - v) / b)).astype(np.float32)


@pytest.mark.parametrize("layout", ["yolo", "end2end"])
def test_masks_of_prototypes_have_the_moments_of_the_animals(layout: str, video: Video, tmp_path: Path) -> None:
    prototypes = np.stack([prototype_of(24.5, 24.5, 14, 4), prototype_of(109.5, 69.5, 9, 19)])
    name, table = next(iter(answer(layout).items()))
    weights = np.zeros((table.shape[2] if layout == "yolo" else table.shape[1], 2), np.float32)
    weights[0, 0] = weights[1, 1] = 10
    axis = 1 if layout == "yolo" else 2
    table = np.concatenate([table, (weights.T if layout == "yolo" else weights)[None]], axis=axis)
    path = save_graph(tmp_path / "net.onnx", {name: table, "output1": prototypes[None]})
    detector = make_detector("onnx", {"weights": str(path), "min_score": "0.55"})
    detector.prepare(video)
    assert detector.describe() == {"layout": layout, "input": [SIDE, SIDE], "masks": True}
    seen = detector.see(next(iter(video.read())))
    assert seen.columns["u"] == pytest.approx([24.5, 109.5], abs=0.4)
    assert seen.columns["v"] == pytest.approx([24.5, 69.5], abs=0.4)
    assert seen.columns["area"] == pytest.approx([np.pi * 14 * 4, np.pi * 9 * 19], rel=0.12)  # 2 px a cell of the map
    assert np.abs(seen.columns["angle"]) == pytest.approx([0, np.pi / 2], abs=0.05)
    assert seen.columns["major"] == pytest.approx([7, 9.5], rel=0.1)
    assert seen.masks is not None
    assert len(seen.masks) == 2


def test_whole_masks_of_rcnn(video: Video, tmp_path: Path) -> None:
    maps = np.stack([prototype_of(24.5, 24.5, 14, 4), prototype_of(109.5, 69.5, 9, 19)])[:, None]
    path = save_graph(tmp_path / "net.onnx", answer("rcnn") | {"masks": np.clip(maps + 0.5, 0, 1)})
    detector = make_detector("onnx", {"weights": str(path)})
    detector.prepare(video)
    seen = detector.see(next(iter(video.read())))
    assert seen.columns["u"] == pytest.approx([24.5, 109.5], abs=0.4)
    assert seen.columns["area"] == pytest.approx([np.pi * 14 * 4, np.pi * 9 * 19], rel=0.12)


@settings(deadline=None)
@given(
    st.integers(16, 4000), st.integers(16, 4000), st.integers(1, 40), st.integers(1, 40), st.booleans()
)  # fmt: skip
def test_a_fit_maps_corners_of_the_picture_to_corners_of_its_place(
    w: int, h: int, a: int, b: int, stretch: bool
) -> None:
    fit = Fit.of((w, h), (32 * a, 32 * b), stretch)
    x, y = fit.start
    assert min(x, y) >= 0
    assert x + fit.inner[0] <= fit.size[0]
    assert y + fit.inner[1] <= fit.size[1]
    place = np.array([[x, y, x + fit.inner[0], y + fit.inner[1]]], float)
    back = fit.placing((w, h)).boxes_in_picture(place)[0]
    assert back == pytest.approx([-0.5, -0.5, w - 0.5, h - 0.5], abs=1e-6)
    assert stretch or max(fit.inner[0] / fit.size[0], fit.inner[1] / fit.size[1]) == 1


def test_the_input_holds_the_picture_and_grey(video: Video) -> None:
    picture = next(iter(video.read()))
    shown = Fit.of(video.size, (160, 160), False).bring(picture)
    assert (shown[:32] == 114).all()
    assert (shown[128:] == 114).all()
    assert (shown[32:128] == picture.rgb).all()


def test_what_a_network_is_shown_reaches_it(video: Video, tmp_path: Path) -> None:
    """A graph that answers with the mean of its input: colours in order, levels from 0 to 1, mean and std taken off."""
    from onnx import TensorProto, helper, numpy_helper

    rest = np.tile(np.array([8, 8, 20, 20], np.float32)[None, :, None], (1, 1, 20))
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[2, 3], keepdims=1),
        helper.make_node("Reshape", ["mean", "flat"], ["three"]),
        helper.make_node("Expand", ["three", "wide"], ["scores"]),
        helper.make_node("Concat", ["boxes", "scores"], ["output0"], axis=1),
    ]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, 96, 160])],
        [helper.make_tensor_value_info("output0", TensorProto.FLOAT, [1, 7, 20])],
        [
            numpy_helper.from_array(np.array([1, 3, 1], np.int64), "flat"),
            numpy_helper.from_array(np.array([1, 3, 20], np.int64), "wide"),
            numpy_helper.from_array(rest, "boxes"),
        ],
    )  # fmt: skip
    path = tmp_path / "mean.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    picture = next(iter(video.read()))
    mean = picture.rgb.reshape(-1, 3).mean(0) / 255
    for normal, expected in (({}, mean), ({"mean": "0.1,0.2,0.05", "std": "0.7"}, (mean - [0.1, 0.2, 0.05]) / 0.7)):
        detector = make_detector("onnx", {"weights": str(path), "min_score": "0", **normal})
        detector.prepare(video)
        seen = detector.see(picture)
        assert len(seen) == 1  # all boxes are the same one
        assert seen.columns["score"][0] == pytest.approx(expected.max(), abs=2e-3)


def test_the_same_network_by_ultralytics_and_exported(video: Video, tmp_path: Path) -> None:
    quiet_ultralytics(tmp_path)
    weights = yolo_weights(tmp_path, "yolo11n-seg")
    from trackfish3d.detection.learned.yolo import YoloDetector, YoloSettings, import_ultralytics

    import_ultralytics()(str(weights)).export(format="onnx", imgsz=(96, 160), simplify=False, verbose=False)
    ours = OnnxDetector(OnnxSettings(weights=weights.with_suffix(".onnx"), min_score=0.1, max_overlap=0.5))
    theirs = YoloDetector(YoloSettings(weights=weights, size=160, min_score=0.1, max_overlap=0.5))
    ours.prepare(video)
    theirs.prepare(video)
    for picture in video.read():
        a, b = ours.see(picture), theirs.see(picture)
        assert len(a) == len(b) > 3
        assert a.columns["score"] == pytest.approx(b.columns["score"], abs=1e-3)
        assert a.masks is not None
        assert b.masks is not None
        # ultralytics cuts a mask at the edge of its box half a pixel off
        assert min(overlap(mine, other) for mine, other in zip(a.masks, b.masks, strict=True)) > 0.94


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ({"x": np.zeros((1, 5), np.float32)}, "not understood (x (1, 5))"),
        ({"a": np.zeros((1, 3, 5), np.float32), "b": np.zeros((1, 9, 8), np.float32)}, "not understood"),
        ({"m": np.zeros((1, 8, 16, 16), np.float32)}, "not understood"),
    ],
)
def test_layouts_that_are_not_understood_are_named(
    outputs: dict[str, np.ndarray], says: str, video: Video, tmp_path: Path
) -> None:
    path = save_graph(tmp_path / "net.onnx", outputs)
    with pytest.raises(InputError, match="outputs are not understood") as error:
        make_detector("onnx", {"weights": str(path)}).prepare(video)
    assert says in str(error.value)
    assert "docs/detect.md" in str(error.value)
    with pytest.raises(InputError, match=r"not of layout|not understood"):
        make_detector("onnx", {"weights": str(path), "layout": "end2end"}).prepare(video)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x08\x08" * 300])
def test_damaged_files(content: bytes, video: Video, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="cannot be loaded as an ONNX network"):
        make_detector("onnx", {"weights": str(path)}).prepare(video)


def test_inputs_that_are_no_pictures(video: Video, tmp_path: Path) -> None:
    path = save_graph(tmp_path / "net.onnx", answer("end2end"), shape=[1, 10])
    with pytest.raises(InputError, match="its input 'images'"):
        make_detector("onnx", {"weights": str(path)}).prepare(video)


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=4), st.lists(st.integers(0, 9), max_size=5)), max_size=5))
def test_any_outputs_are_read_or_refused(shapes: list[tuple[str, list[int]]]) -> None:
    outputs = [(name, np.zeros(shape, np.float32)) for name, shape in shapes]
    layout = guess_layout([(n, v.shape) for n, v in outputs], None)
    for name in LAYOUTS if layout is None else [layout]:
        try:
            found = read_outputs(name, outputs, (64, 64), None)
        except (ValueError, IndexError, StopIteration):
            continue
        assert found.boxes.ndim == 2
