"""The taught detector: what it is shown and taught, its file, and how animals are told apart by what it tells."""

from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.core.progress import silent
from trackfish3d.detection.background.appearance import Appearance
from trackfish3d.detection.background.ellipse_tracker import EllipseTracker
from trackfish3d.detection.base import FrameDetections
from trackfish3d.detection.masks.blobs import Blob
from trackfish3d.detection.masks.outlines import blob_from_mask, overlap
from trackfish3d.detection.registry import make_detector
from trackfish3d.detection.taught import cells, decode
from trackfish3d.detection.taught.lessons import DOUBTFUL, SIDE, Lessons
from trackfish3d.detection.taught.mixing import SHOWN, Batch, make_batch
from trackfish3d.detection.taught.verdict import Agreement, Verdict

from .worlds import ellipse

LOOK = Appearance(
    smallest=20, typical=130, largest=200, longest=9, major=6, minor=2, fill=0.85, level=160, side=0, gap=1, close=1
)


def told_of(masks: list[np.ndarray]) -> np.ndarray:
    """What a network without errors would tell (3, h, w) of animals, the first in front."""
    out = np.zeros((3, *masks[0].shape), np.float32)
    out[0] = -5
    for mask in masks[::-1]:
        out[0][mask] = 5
    free = np.ones(masks[0].shape, bool)
    for mask in masks:
        j, i = np.nonzero(mask & free)
        out[1, j, i], out[2, j, i] = i.mean() - i, j.mean() - j
        free &= ~mask
    return out


def test_animals_that_cross_are_told_apart_and_one_that_is_cut_in_two_stays_one() -> None:
    front, back = ellipse((64, 48), 32, 24, 20, 4, 0.5), ellipse((64, 48), 36, 25, 22, 4, -0.6)
    owner, count = decode.animals(told_of([front, back]), float(front.sum()))
    assert count == 2
    named = owner[20, 26]
    assert (owner[front] == named).mean() > 0.99
    rest = owner[back & ~front]
    assert (rest == 3 - named).mean() > 0.99  # on either side of the animal before it
    assert not owner[~(front | back)].any()


def test_nobody_is_where_the_network_sees_nobody() -> None:
    told = np.full((3, 16, 24), -3, np.float32)
    assert decode.animals(told, 50.0)[1] == 0
    told[0, 4, 5] = 3.0  # a single cell is no animal
    assert decode.animals(told, 50.0)[1] == 0


def test_cells_are_means_of_differences_and_stay_inside_the_picture() -> None:
    rng = np.random.default_rng(0)
    grey, level = rng.integers(0, 255, (40, 60)).astype(np.uint8), np.full((40, 60), 64, np.uint8)
    background = rng.uniform(100, 120, (40, 60)).astype(np.float32)
    shown = cells.show(grey, background, level, (-1, -1, 16, 8), 2)
    assert shown.shape == (2, 8, 16)
    assert not shown[:, 0].any()  # above the picture
    assert shown[0, 1, 1] == pytest.approx((grey[:2, :2] - background[:2, :2]).mean() / 32, abs=1e-5)
    assert shown[1, 1:, 1:] == pytest.approx(1.0)


def test_each_pixel_gets_the_animal_of_its_cell() -> None:
    owner = np.zeros((4, 8), np.int32)
    owner[:, :4], owner[:, 4:] = 1, 2
    mask = np.ones((9, 15), np.uint8)
    out = np.full(mask.shape, 9, np.int32)
    decode.label_pixels(owner, 1, 2, 2, mask, 3, 5, out)  # cells from (2, 4) px, the mask from (3, 5)
    assert (out[:7, :7] == 1).all()
    assert (out[:7, 7:] == 2).all()
    far = np.zeros((1, 1), np.int32)
    decode.label_pixels(owner, 1, 2, 2, np.ones((1, 1), np.uint8), 40, 5, far)
    assert far[0, 0] == 0


def lessons(count: int = 24, seed: int = 0) -> Lessons:
    """Single bright ellipses, of which every fourth has a neighbour of which nobody knows."""
    rng = np.random.default_rng(seed)
    shown, owner = np.zeros((count, 2, SIDE, SIDE), np.float16), np.zeros((count, SIDE, SIDE), np.uint8)
    for k in range(count):
        angle = rng.uniform(0, np.pi)
        u, v = rng.uniform(SIDE / 2 - 8, SIDE / 2 + 8, 2)
        mine = ellipse((SIDE, SIDE), u, v, 12, 3.5, angle)
        shown[k, :, mine] = rng.uniform(0.7, 1.3)
        owner[k][mine] = 1
        if k % 4 == 0:
            other = ellipse((SIDE, SIDE), u + 22, v, 5, 3, 0)
            shown[k, :, other], owner[k][other] = 1.0, DOUBTFUL
    return Lessons(shown, owner, np.ones(count, np.uint8), 130.0)


def test_what_is_taught_points_to_the_middle_of_every_animal() -> None:
    batch = make_batch(lessons(), 24, [0, 7])
    again = make_batch(lessons(), 24, [0, 7])
    assert all(np.array_equal(a, b) for a, b in zip(vars(batch).values(), vars(again).values(), strict=True))
    assert batch.cells.shape == (24, 2, SHOWN, SHOWN)
    assert not batch.animal[batch.known == 0].any()
    assert (batch.middled <= batch.animal).all()
    y, x = np.mgrid[:SHOWN, :SHOWN]
    crowded = 0
    for k in range(24):
        here = batch.middled[k] > 0
        middles = np.round(np.stack([x + batch.way[k, 0], y + batch.way[k, 1]])[:, here], 2)
        found = np.unique(middles, axis=1)
        assert found.shape[1] <= 4  # one and the added ones
        crowded += found.shape[1] > 1
        assert (batch.cells[k, 0][here] > 0.3).all()
        water = (batch.animal[k] == 0) & (batch.known[k] > 0)
        assert abs(float(batch.cells[k, 0][water].mean())) < 0.05
    assert crowded > 8


def test_a_short_teaching_learns_goes_on_where_it_was_and_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from trackfish3d.detection.taught import fit
    from trackfish3d.detection.taught.unet import UNet

    def loss(net: UNet) -> float:
        return float(fit.loss_of(net, make_batch(lessons(seed=1), 8, [5])).detach())

    monkeypatch.setattr(fit, "_SAVE_EVERY", 10)
    known = lessons()
    whole = fit.fit(known, 30, 0, tmp_path / "a", "x", silent)
    net = UNet()
    before = loss(net)
    import torch

    net.load_state_dict({name: torch.from_numpy(value) for name, value in whole.items()})
    assert loss(net) < 0.85 * before

    def stop(done: int, total: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.fit(known, 30, 0, tmp_path / "b", "x", stop)
    steps: list[int] = []
    resumed = fit.fit(known, 30, 0, tmp_path / "b", "x", lambda done, total: steps.append(done))
    assert steps == [20, 30]
    assert all(resumed[name].tobytes() == value.tobytes() for name, value in whole.items())
    other: list[int] = []
    fit.fit(known, 10, 0, tmp_path / "b", "another teaching", lambda done, total: other.append(done))
    assert other[0] == 0


def test_the_file_is_the_network_and_small() -> None:
    torch, ort = pytest.importorskip("torch"), pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    from trackfish3d.detection.taught.onnx_file import write_network
    from trackfish3d.detection.taught.unet import UNet

    torch.manual_seed(3)
    net = UNet()
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    assert 80_000 < sum(value.size for value in weights.values()) < 120_000
    content = write_network(weights, {"made_by": "a test"})
    assert content == write_network(weights, {"made_by": "a test"})
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = ort.InferenceSession(content)
    assert session.get_modelmeta().custom_metadata_map == {"made_by": "a test"}
    for shape in ((1, 2, 16, 24), (3, 2, 40, 8)):
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        want = net(torch.from_numpy(x)).detach().numpy()
        assert np.abs(session.run(None, {"cells": x})[0] - want).max() < 1e-5


def test_a_file_that_was_not_taught_here_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    from trackfish3d.detection.taught.onnx_file import write_network
    from trackfish3d.detection.taught.taught_detector import MADE_BY, Network

    zeros = {"head.weight": np.zeros((3, 2, 1, 1), np.float32), "head.bias": np.zeros(3, np.float32)}
    empty = {
        f"down.0.{p}.{q}": np.zeros((2, 2, 3, 3)[: 4 if q == "weight" else 1], np.float32)
        for p in ("first", "second")
        for q in ("weight", "bias")
    }
    path = tmp_path / "other.onnx"
    path.write_bytes(write_network({**empty, **zeros}, {"made_by": "somebody"}))
    with pytest.raises(InputError, match="was not taught by"):
        Network(path)
    for strange in ({"made_by": MADE_BY}, {"made_by": MADE_BY, "reach": "8", "factor": "0"}):
        path.write_bytes(write_network({**empty, **zeros}, strange))
        with pytest.raises(InputError, match="was not taught by"):
            Network(path)
    path.write_bytes(b"no network")
    with pytest.raises(InputError, match="cannot be loaded"):
        Network(path)
    with pytest.raises(InputError, match="has no weights"):
        make_detector("taught").ready()
    with pytest.raises(InputError, match="no such file"):
        make_detector("taught", {"weights": str(tmp_path / "none.onnx")}).ready()


def blob(*place: float) -> Blob:
    found = blob_from_mask(ellipse((80, 60), *place))
    assert found is not None
    return found


def seen(masks: list[Blob], visible: list[float] | None = None) -> FrameDetections:
    out = FrameDetections.from_masks(masks, np.full(len(masks), 0.9))
    return out if visible is None else out.with_visible(np.array(visible))


def test_the_verdict_counts_what_agrees_with_a_second_look() -> None:
    one, two = blob(30, 30, 12, 4, 0.2), blob(34, 40, 12, 4, 0.1)
    whole = np.zeros((60, 80), bool)
    for b in (one, two):
        h, w = b.mask.shape
        whole[b.top : b.top + h, b.left : b.left + w] |= b.mask > 0
    merged = blob_from_mask(whole)
    assert merged is not None
    assert overlap(merged, one) < 0.6
    looked = seen([one, two, blob(70, 10, 5, 3, 0.0)], [1.0, 0.8, np.nan])
    verdict = Verdict(Agreement(), Agreement())
    verdict.taught.add(seen([two, one]), looked)
    verdict.background.add(seen([merged, blob(10, 10, 5, 3, 0.0)]), looked)
    assert (verdict.taught.recall, verdict.taught.precision) == (1.0, 1.0)
    assert verdict.background.both < 0.6
    assert verdict.better
    assert "taught is better than" in verdict.lines()[0]
    assert not Verdict(verdict.background, verdict.taught).better
    assert "--detector background" in Verdict(verdict.background, verdict.taught).lines()[1]


def test_blobs_are_claimed_by_the_animals_that_were_there() -> None:
    tracker = EllipseTracker()
    level = np.full((60, 80), 160, np.uint8)
    for _ in range(4):
        tracker.step([blob(20, 20, 10, 4, 0.0), blob(44, 20, 10, 4, 0.0)], level, LOOK)
    both = np.zeros((60, 80), bool)
    for u in (24.0, 40.0):
        both |= ellipse((80, 60), u, 20, 10, 4, 0.0)
    merged = blob_from_mask(both)
    assert merged is not None
    before = tracker.mean.copy()
    assert tracker.claims([blob(60, 50, 10, 4, 0.0), merged]).tolist() == [0, 2]
    assert tracker.claims([]).tolist() == []
    assert np.array_equal(tracker.mean, before)  # asking changes nothing
    assert EllipseTracker().claims([merged]).tolist() == [0]


def test_a_batch_is_what_the_network_takes() -> None:
    assert list(Batch.__dataclass_fields__) == ["cells", "animal", "way", "known", "middled"]
    assert SHOWN % cells.MULTIPLE == 0
    assert cells.factor_of([3.0, 2.9, 9.0]) == 2
