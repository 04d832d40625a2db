"""Methods with settings, as the benchmark runs them and calls them in its tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core.errors import InputError
from ..core.settings import make_settings
from ..methods.baselines.geometric import KalmanSettings
from ..methods.registry import method_class
from .paper import ABLATION_ROWS, WEIGHTS
from .zef import PUBLISHED

ORACLE = "oracle"
ORACLE_TRUE = "oracle-true"
ORACLES = (ORACLE, ORACLE_TRUE)
"""Told which detections belong together; the second also where the middle of each animal is in its detections."""


@dataclass(frozen=True)
class Variant:
    """A method with settings, and what it is called in tables."""

    label: str
    method: str
    settings: dict[str, Any] = field(default_factory=dict)


def parse_variant(text: str) -> Variant:
    """``name``, ``name:key=value:key=value`` or ``label=name:key=value`` to a variant.

    Unknown methods and settings are refused here.
    """
    label = text.strip()
    name, *pairs = label.split(":")
    if "=" in name:
        label, _, name = (part.strip() for part in name.partition("="))
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--methods {text}: write name, name:key=value or label=name:key=value")
        settings[key] = value
    variant = Variant(label, name, settings)
    check_variant(variant)
    return variant


def check_variant(variant: Variant) -> None:
    """Refuse a method that is not known, or a setting it does not have."""
    if variant.method in ORACLES:
        make_settings(KalmanSettings, variant.settings, f"method {ORACLE}")
    elif not variant.method.startswith("published-"):
        make_settings(method_class(variant.method).Settings, variant.settings, f"method {variant.method}")
    elif variant.method.removeprefix("published-") not in PUBLISHED:
        raise InputError(f"method '{variant.method}' is not known; published tracks are {', '.join(PUBLISHED)}")


def with_model(variants: Sequence[Variant], model: Path | None) -> tuple[Variant, ...]:
    """Give a network of method ``paper`` to its variants that name none; other methods' networks are of other kinds."""
    if model is None:
        return tuple(variants)
    if not model.is_file():
        raise InputError(f"--model {model}: no such file")
    if not any(v.method == "paper" for v in variants):
        raise InputError(f"--model {model}: is for method paper; add it to --methods, or write NAME:model={model}")
    return tuple(
        replace(v, settings={"model": str(model)} | v.settings) if v.method == "paper" else v for v in variants
    )


def ablation_variants(folder: Path) -> tuple[Variant, ...]:
    """Return the method ``paper`` with each network of a folder, the paper's rows first, in its order.

    Files are named by the rows: ``full.safetensors``, ``without_temporal.safetensors``, ...; others come after.
    """
    names = sorted(p.stem for p in folder.glob("*.safetensors"))
    if not names:
        raise InputError(f"--models {folder}: has no .safetensors; name them {', '.join(ABLATION_ROWS)}")
    order = [n for n in ABLATION_ROWS if n in names] + [n for n in names if n not in ABLATION_ROWS]
    return tuple(Variant(n, "paper", {"model": str(folder / f"{n}.safetensors")}) for n in order)


def weight_variants() -> tuple[Variant, ...]:
    """Return the method ``paper`` with each weighting of distance and similarity in the paper's table."""
    return tuple(
        Variant(
            f"alpha {alpha}",
            "paper",
            {
                "tracker.link.weight_distance": float(alpha),
                "tracker.link.weight_similarity": round(1 - float(alpha), 6),
            },
        )
        for alpha in WEIGHTS
    )
