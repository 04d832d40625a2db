"""Methods by name. A method's module is imported when it is asked for, so that none pays for another's packages."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.errors import InputError
from ..core.settings import make_settings
from .base import Method


@dataclass(frozen=True)
class Entry:
    """Where a method is (``module:class``) and one line about it."""

    target: str
    summary: str


DEFAULT_METHOD = "joint"
_BASELINES = "trackfish3d.methods.baselines"
_METHODS: dict[str, Entry] = {
    "joint": Entry("trackfish3d.methods.joint.method:Joint", "one assignment over views and time; the default"),
    "hungarian": Entry(f"{_BASELINES}.geometric:Hungarian", "Hungarian matching of camera pairs, nearest neighbours"),
    "greedy": Entry(f"{_BASELINES}.geometric:Greedy", "greedy matching of camera pairs, nearest neighbours"),
    "sort3d": Entry(f"{_BASELINES}.geometric:Sort3D", "Hungarian matching of camera pairs, constant-velocity Kalman"),
    "svt": Entry(f"{_BASELINES}.svt:MatchSVT", "cycle-consistent matching of all views at once, Kalman"),
    "bytetrack": Entry(f"{_BASELINES}.single_view:ByteTrack", "ByteTrack in each view, matched once, triangulated"),
    "ocsort": Entry(f"{_BASELINES}.single_view:OCSort", "OC-SORT in each view, matched once, triangulated"),
    "sort2d": Entry(f"{_BASELINES}.single_view:Sort2D", "SORT in each view, matched once, triangulated"),
    "external": Entry(f"{_BASELINES}.external:External", "2D tracks of another program with shared ids, triangulated"),
    "paper": Entry(
        "trackfish3d.methods.paper.method:Paper", "the published network and tracker; needs a trained model"
    ),
    "rest": Entry(f"{_BASELINES}.learned.rest:ReST", "ReST: graph networks over views, then over time"),
    "asnet": Entry(f"{_BASELINES}.learned.asnet:ASNet", "ASNet: appearance and surroundings, nearest neighbours"),
    "selfmva": Entry(f"{_BASELINES}.learned.selfmva:SelfMVA", "Self-MVA: boxes by synchronisation, nearest neighbours"),
    "motip": Entry(f"{_BASELINES}.learned.motip:MOTIP", "MOTIP's association in each view, matched once"),
    "mctr": Entry(f"{_BASELINES}.learned.mctr:MCTR", "MCTR's association: track slots that all views share"),
    "sambamotr": Entry(f"{_BASELINES}.learned.sambamotr:SambaMOTR", "SambaMOTR's memory in each view, matched once"),
    "openptv": Entry(f"{_BASELINES}.openptv:OpenPTV", "OpenPTV correspondences, linked by trackpy or laptrack"),
}


def register(name: str, target: str, summary: str) -> None:
    """Make ``module:class`` known as method ``name``."""
    if name in _METHODS:
        raise ValueError(f"method '{name}' is registered already")
    _METHODS[name] = Entry(target, summary)


def method_names() -> tuple[str, ...]:
    """Names of all methods."""
    return tuple(_METHODS)


def summaries() -> dict[str, str]:
    """One line about each method."""
    return {name: entry.summary for name, entry in _METHODS.items()}


def method_class(name: str) -> type[Method]:
    """Import the class of a method."""
    if name not in _METHODS:
        raise InputError(f"method '{name}' is not known; choose one of {', '.join(_METHODS)}")
    module, _, attribute = _METHODS[name].target.partition(":")
    found: type[Method] = getattr(importlib.import_module(module), attribute)
    return found


def make_method(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """Return a method.

    Parameters
    ----------
    name : one of `method_names`.
    settings : by name; text is converted to the type of the setting. Those not given have their defaults.
    """
    cls = method_class(name)
    return cls(make_settings(cls.Settings, settings or {}, f"method {name}"))
