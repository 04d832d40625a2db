"""The API reference is made of docstrings: every parameter has a line of its own there."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import trackfish3d as tf

SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n\S|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^\*{0,2}(\w+)(?: : |$)")
CROWDED = re.compile(r"^\w+(?: \([^)]*\))?,|[;,.] \w+(?: \([^)]*\))? : ")
# Packages whose docstrings have a parameter a line throughout, and not only at the front door.
TIDY = ("core", "maths", "media", "calibration", "behaviour", "evaluation", "synfish", "pipeline", "plot")


def entries(text: str) -> list[str]:
    """Names that a docstring documents in its section of parameters or attributes."""
    lines = [line for section in SECTION.findall(text) for line in section.splitlines()]
    return [found[1] for line in lines if (found := ENTRY.match(line))]


def public() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Every function, class and method of the front door with its docstring."""
    for name in tf.__all__:
        value = getattr(tf, name)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{n}", f := getattr(value, n), inspect.getdoc(f) or "") for n in value.__all__)
        elif inspect.isfunction(value):
            yield name, value, inspect.getdoc(value) or ""
        elif inspect.isclass(value) and not issubclass(value, Exception):
            yield name, value, inspect.getdoc(value) or ""
            yield from ((f"{name}.{key}", f, inspect.getdoc(f) or "") for key, f in methods(value))


def methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Public methods of a class, each as the first of its bases introduced it: there it is documented."""
    for key in (k for k in dir(cls) if not k.startswith("_")):
        home = next(c for c in reversed(cls.__mro__) if key in vars(c))
        held = vars(home)[key]
        method = held.__func__ if isinstance(held, classmethod | staticmethod) else held
        if inspect.isfunction(method):
            yield key, method


@pytest.mark.parametrize(("name", "thing", "text"), [pytest.param(*p, id=p[0]) for p in public()])
def test_every_parameter_of_the_front_door_is_documented_on_a_line_of_its_own(name, thing, text):
    taken = [p for p in inspect.signature(thing).parameters if p not in ("self", "cls")]
    documented = entries(text)
    assert [p for p in taken if p not in documented] == []
    assert len(documented) == len(set(documented))


def test_no_line_documents_two_parameters():
    crowded = []
    for path in sorted(p for package in TIDY for p in (Path(tf.__file__).parent / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                text = ast.get_docstring(node) or ""
                lines = [line for section in SECTION.findall(text) for line in section.splitlines()]
                crowded += [f"{path.name}: {line}" for line in lines if line[:1] != " " and CROWDED.search(line)]
    assert crowded == []
