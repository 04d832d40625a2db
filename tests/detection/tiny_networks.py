"""Networks small enough to be built in a test, saved as their users would save them."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from .worlds import encode


def ellipse_pictures(count: int, size: tuple[int, int] = (160, 96)) -> list[np.ndarray]:
    """RGB pictures (H, W, 3) of three dark ellipses that swim to the right before bright water."""
    y, x = np.mgrid[: size[1], : size[0]]
    pictures = []
    for k in range(count):
        picture = np.full((size[1], size[0], 3), 150, np.uint8)
        for j in range(3):
            picture[((x - 20 - 3 * k - 5 * j) / 12) ** 2 + ((y - 20 - 25 * j) / 5) ** 2 < 1] = 40
        pictures.append(picture)
    return pictures


def ellipse_video(folder: Path, count: int = 30) -> Path:
    return encode(folder / "ellipses.mp4", ellipse_pictures(count))


def quiet_ultralytics(folder: Path) -> None:
    """Keep the settings file of ultralytics out of the home folder."""
    os.environ.setdefault("YOLO_CONFIG_DIR", str(folder / "ultralytics"))


def yolo_weights(
    folder: Path, name: str, distance: float | None = None, parts: Sequence[Sequence[float]] | None = None
) -> Path:
    """Save an untrained YOLO of one class that finds much: its features have the size of those of a trained one.

    ``distance``: every cell believes, equally, in a box that reaches so many cells to all sides.
    ``parts``: and in parts so many cells from its middle, with these logits of being seen (P, 3).
    """
    pytest.importorskip("ultralytics")
    import torch
    import yaml
    from ultralytics.utils.checks import check_yaml

    from trackfish3d.detection.learned.yolo import import_ultralytics

    config = yaml.safe_load(Path(check_yaml(re.sub(r"(\d)[nsmlx]", r"\1", name) + ".yaml")).read_text()) | {"nc": 1}
    if parts is not None:
        config["kpt_shape"] = [len(parts), 3]
    own = folder / f"{name}.yaml"
    own.write_text(yaml.safe_dump(config))
    torch.manual_seed(1)
    model = import_ultralytics()(str(own))
    net = model.model.train()
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = 1.0
    with torch.no_grad():
        net(torch.rand(4, 3, 96, 160))
    head = net.model[-1]
    for part in ("cv2", "one2one_cv2", "cv3", "one2one_cv3"):
        for level in getattr(head, part, None) or ():
            last = level[-1]
            if part.endswith("cv3"):
                torch.nn.init.normal_(last.weight, std=0.0 if distance else 0.1)
                last.bias.data[:] = 1.0 if distance else -1.5
            elif distance is not None:
                last.weight.data[:] = 0
                last.bias.data[:] = distance
    for level in (*getattr(head, "cv4_kpts", ()), *getattr(head, "one2one_cv4_kpts", ())):
        level.weight.data[:] = 0
        level.bias.data[:] = torch.tensor(parts).ravel()
    net.eval()
    path = folder / f"{name}.pt"
    model.save(str(path))
    return path


def sam2_folder(folder: Path) -> Path:
    """Save a SAM 2 for pictures of 128 x 128."""
    pytest.importorskip("transformers")
    import torch

    from trackfish3d.detection.learned.transformers_glue import require_transformers

    make = require_transformers("sam", "test")
    backbone = {
        "model_type": "sam2_hiera_det_model", "image_size": [128, 128], "hidden_size": 8,
        "blocks_per_stage": [1, 1, 2, 1], "embed_dim_per_stage": [8, 16, 32, 64],
        "num_attention_heads_per_stage": [1, 1, 2, 2], "window_size_per_stage": [8, 4, 4, 2],
        "global_attention_blocks": [3],
    }  # fmt: skip
    config = make.Sam2Config(
        vision_config={
            "model_type": "sam2_vision_model", "backbone_config": backbone, "fpn_hidden_size": 32,
            "backbone_channel_list": [64, 32, 16, 8], "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        },
        prompt_encoder_config={"hidden_size": 32, "image_size": 128, "patch_size": 16},
        mask_decoder_config={"hidden_size": 32, "mlp_dim": 32, "num_attention_heads": 2, "iou_head_hidden_dim": 16},
    )  # fmt: skip
    torch.manual_seed(0)
    make.Sam2Model(config).save_pretrained(folder)
    return folder


def sam3_folder(folder: Path) -> Path:
    """Save a SAM 3 for pictures of 112 x 112, with a tokenizer that knows three words."""
    pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    from trackfish3d.detection.learned.transformers_glue import require_transformers

    make = require_transformers("sam", "test")
    small = {"hidden_size": 32, "num_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = make.Sam3Config(
        vision_config={
            "backbone_config": {
                "model_type": "sam3_vit_model", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                "num_attention_heads": 2, "image_size": 112, "patch_size": 14, "window_size": 4,
                "global_attn_indexes": [1], "pretrain_image_size": 56,
            },
            "fpn_hidden_size": 32, "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
        },
        text_config={
            "model_type": "clip_text_model", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 32,
            "projection_dim": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "max_position_embeddings": 8,
            "eos_token_id": 1, "bos_token_id": 0, "pad_token_id": 1,
        },
        geometry_encoder_config=small | {"roi_size": 3},
        detr_encoder_config=small,
        detr_decoder_config=small | {"num_queries": 10},
        mask_decoder_config={"hidden_size": 32, "num_attention_heads": 2, "num_upsampling_stages": 2},
    )  # fmt: skip
    torch.manual_seed(0)
    make.Sam3Model(config).save_pretrained(folder)
    words = {"<|startoftext|>": 0, "<|endoftext|>": 1, "fish": 2, "visual": 3, "bird": 4}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|startoftext|> $A <|endoftext|>", special_tokens=[("<|startoftext|>", 0), ("<|endoftext|>", 1)]
    )
    make.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>", bos_token="<|startoftext|>"
    ).save_pretrained(folder)
    return folder
