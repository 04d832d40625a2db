"""The sam2 and sam3 detectors against transformers' own way from picture to masks."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.detection.learned.sam3 import parse_boxes
from trackfish3d.detection.masks.outlines import blob_from_mask, overlap
from trackfish3d.detection.registry import make_detector
from trackfish3d.media.video import Picture, Video

from .tiny_networks import ellipse_video, sam2_folder, sam3_folder

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Video:
    return Video.open(ellipse_video(tmp_path_factory.mktemp("sam"), 30))


@pytest.fixture(scope="module")
def sam2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sam2_folder(tmp_path_factory.mktemp("sam2"))


@pytest.fixture(scope="module")
def sam3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sam3_folder(tmp_path_factory.mktemp("sam3"))


def first(video: Video) -> Picture:
    return next(iter(video.read()))


ALL = {"min_score": "0", "max_overlap": "1", "min_area": "0"}
ANY = {"min_steadiness": "0", "max_share": "1", **ALL}


def test_sam2_draws_what_transformers_draws_in_the_same_boxes(sam2: Path, video: Video) -> None:
    from transformers import Sam2ImageProcessor, Sam2Model

    detector = make_detector("sam2", {"weights": str(sam2), "margin": "0", **ANY})
    detector.prepare(video)
    picture = first(video)
    state = {k: np.array(v) for k, v in detector.state().items()}
    seen = detector.see(picture)
    detector.restore(state)
    prompts = detector._prompts(picture)  # type: ignore[attr-defined]
    expected_boxes = np.array([[8 + 5 * j, 15 + 25 * j, 32 + 5 * j, 25 + 25 * j] for j in range(3)])
    off = np.abs(prompts[:, None] - expected_boxes[None]).max(2).min(0)
    assert off.max() < 2  # the background detector points at all three ellipses
    assert len(seen) == len(prompts)

    processor = Sam2ImageProcessor(size={"height": 128, "width": 128}, mask_size={"height": 32, "width": 32})
    shown = processor(picture.rgb, return_tensors="pt")
    boxes = torch.tensor((prompts + 0.5) * np.tile([128 / 160, 128 / 96], 2), dtype=torch.float32)[None]
    with torch.inference_mode():
        out = Sam2Model.from_pretrained(sam2).eval()(shown["pixel_values"], input_boxes=boxes, multimask_output=False)
    masks = processor.post_process_masks(out.pred_masks, [(96, 160)])[0][:, 0].numpy()
    order = np.argsort(-out.iou_scores.flatten().numpy(), kind="stable")
    assert seen.columns["score"] == pytest.approx(np.clip(out.iou_scores.flatten().numpy()[order], 0, 1), abs=1e-3)
    assert seen.masks is not None
    for blob, mask in zip(seen.masks, masks[order], strict=True):
        other = blob_from_mask(mask)
        assert other is not None
        assert overlap(blob, other) > 0.97


def test_sam2_by_a_grid_finds_steady_distinct_masks_only(sam2: Path, video: Video) -> None:
    every = make_detector("sam2", {"weights": str(sam2), "prompts": "grid", "grid": "5", **ANY})
    every.prepare(video)
    picture = first(video)
    points = every._prompts(picture)  # type: ignore[attr-defined]
    assert len(points) == 5 * 3
    assert points[0] == pytest.approx([15.5, 15.5])
    assert len(every.see(picture)) > 10  # three masks a point
    for change in ({"max_overlap": "0.5"}, {"min_steadiness": "1"}, {"max_share": "0.01"}, {"min_score": "1"}):
        some = make_detector("sam2", {"weights": str(sam2), "prompts": "grid", "grid": "5", **ANY, **change})
        some.prepare(video)
        assert len(some.see(picture)) < len(every.see(picture)), change
    assert every.state() == {}


def test_sam2_of_a_video_model(video: Video, tmp_path: Path) -> None:
    """The hub's files hold the video model, of which the picture's part is taken."""
    import transformers

    plain = sam2_folder(tmp_path / "plain")
    config = transformers.Sam2Config.from_pretrained(plain)
    parts = {k: getattr(config, k).to_dict() for k in ("vision_config", "prompt_encoder_config", "mask_decoder_config")}
    sizes = {
        "image_size": 128, "memory_attention_hidden_size": 32, "memory_attention_feed_forward_hidden_size": 32,
        "memory_encoder_hidden_size": 32, "memory_encoder_output_channels": 16, "mask_downsampler_embed_dim": 32,
        "memory_fuser_embed_dim": 32, "memory_fuser_intermediate_dim": 32, "memory_attention_num_layers": 1,
    }  # fmt: skip
    transformers.Sam2VideoModel(transformers.Sam2VideoConfig(**parts, **sizes)).save_pretrained(tmp_path / "film")
    detector = make_detector("sam2", {"weights": str(tmp_path / "film"), "prompts": "grid", "grid": "2", **ANY})
    assert detector.prepare(video) == []


@pytest.mark.parametrize("prompt", [{"text": "fish"}, {"text": "bird", "boxes": "8,15,32,25 13,40,37,50"}])
def test_sam3_finds_what_transformers_finds(prompt: dict[str, str], sam3: Path, video: Video) -> None:
    from transformers import AutoTokenizer, Sam3ImageProcessor, Sam3Model

    detector = make_detector("sam3", {"weights": str(sam3), **ALL, **prompt})
    detector.prepare(video)
    picture = first(video)
    seen = detector.see(picture)
    processor = Sam3ImageProcessor(size={"height": 112, "width": 112}, mask_size={"height": 32, "width": 32})
    asked = dict(
        AutoTokenizer.from_pretrained(sam3)(prompt["text"], padding="max_length", max_length=8, return_tensors="pt")
    )
    asked.pop("token_type_ids", None)
    if "boxes" in prompt:
        low, high = np.array([[8, 15], [13, 40]]) + 0.5, np.array([[32, 25], [37, 50]]) + 0.5
        boxes = np.concatenate([(low + high) / 2 / [160, 96], (high - low) / [160, 96]], axis=1)
        asked["input_boxes"] = torch.tensor(boxes, dtype=torch.float32)[None]
    model = Sam3Model.from_pretrained(sam3).eval()
    with torch.inference_mode():
        out = model(processor(picture.rgb, return_tensors="pt")["pixel_values"], **asked)
    found = processor.post_process_instance_segmentation(out, threshold=0.0, target_sizes=[(96, 160)])[0]
    order = np.argsort(-found["scores"].numpy(), kind="stable")
    expected = [(blob_from_mask(found["masks"][k].numpy() > 0), float(found["scores"][k])) for k in order]
    expected = [(blob, score) for blob, score in expected if blob is not None]
    assert len(seen) == len(expected) >= 5
    assert seen.columns["score"] == pytest.approx([score for _, score in expected], abs=1e-3)
    assert seen.masks is not None
    alike = [overlap(blob, other) for blob, (other, _) in zip(seen.masks, expected, strict=True) if other is not None]
    assert np.median(alike) > 0.97


def test_boxes_of_examples() -> None:
    assert parse_boxes("9.5,19.5,29.5,39.5", (100, 200))[0] == pytest.approx(np.array([[0.2, 0.15, 0.2, 0.1]]))
    for text in ("1,2,3", "a,b,c,d", "", "5,5,4,9", "-9,0,5,5", "0,0,900,9", "nan,0,1,1"):
        with pytest.raises(InputError, match="boxes"):
            parse_boxes(text, (100, 200))


@pytest.mark.parametrize("name", ["sam2", "sam3"])
def test_damaged_and_missing_folders(name: str, sam2: Path, sam3: Path, video: Video, tmp_path: Path) -> None:
    whole = {"sam2": sam2, "sam3": sam3}[name]
    with pytest.raises(InputError, match="is not a folder"):
        make_detector(name, {"weights": str(whole / "config.json")}).ready()
    with pytest.raises(InputError, match="give a folder with --set weights="):
        make_detector(name).ready()
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"has no config\.json"):
        make_detector(name, {"weights": str(tmp_path / "empty")}).prepare(video)
    shutil.copytree(whole, tmp_path / "broken")
    weights = tmp_path / "broken" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(InputError, match="broken: cannot be loaded"):
        make_detector(name, {"weights": str(tmp_path / "broken")}).prepare(video)
    from safetensors.torch import load_file, save_file

    tensors = load_file(whole / "model.safetensors")
    tensors.pop(sorted(tensors)[0])
    save_file(tensors, weights, metadata={"format": "pt"})
    with pytest.raises(InputError, match="lacks 1 of the model's weights"):
        make_detector(name, {"weights": str(tmp_path / "broken")}).prepare(video)


def test_words_need_a_tokenizer(sam3: Path, video: Video, tmp_path: Path) -> None:
    shutil.copytree(sam3, tmp_path / "mute")
    (tmp_path / "mute" / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"has no tokenizer\.json"):
        make_detector("sam3", {"weights": str(tmp_path / "mute")}).prepare(video)
    with pytest.raises(InputError, match="--set text=fish"):
        make_detector("sam3", {"weights": str(sam3), "text": "none"}).prepare(video)


def test_other_weights_under_the_same_name_are_another_detector(sam2: Path, tmp_path: Path) -> None:
    shutil.copytree(sam2, tmp_path / "w")
    detector = make_detector("sam2", {"weights": str(tmp_path / "w")})
    before = detector.stamp()
    assert before == detector.stamp() != {}
    (tmp_path / "w" / "model.safetensors").write_bytes(b"other")
    assert detector.stamp() != before


def test_a_missing_extra_is_named(sam2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from trackfish3d.core.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'trackfish3d\[sam\]'"):
        make_detector("sam2", {"weights": str(sam2)}).ready()
