"""The floor plan: which package may use which, and where things may be."""

import ast
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import trackfish3d

ROOT = Path(trackfish3d.__file__).parent
# Every package may import those that stand above it in this list, and itself. CONTRIBUTING.md draws it.
LAYERS = [
    ["core"],
    ["maths"],
    ["cameras", "media"],
    ["calibration", "recordings"],
    ["health", "behaviour", "methods"],
    ["evaluation", "detection", "bodies", "poses", "refinement"],
    ["plot", "synfish"],
    ["report", "benchmark"],
    ["pipeline"],
    ["viewer"],
    ["cli"],
]
# Inside `methods`: what all share, then one folder a method; methods do not know each other.
METHODS = [["suspects", "postprocess", "padding"], ["result"], ["base"], ["groups"], ["matching", "live", "scale"]]
METHODS += [["registry"], ["joint", "paper", "baselines"]]
OFTEN = {"__init__", "settings", "kernels"}


@cache
def modules() -> dict[str, Path]:
    """Every module by its dotted name below the package."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports() -> list[tuple[str, str]]:
    """Pairs of modules (who, whom) of our own."""
    known = modules()
    pairs = []
    for name, path in known.items():
        here = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*here[: len(here) - node.level + 1], *(node.module or "").split(".")]
                for alias in node.names:
                    whole = ".".join(p for p in [*base, alias.name] if p)
                    pairs.append((name, whole if whole in known else ".".join(p for p in base if p)))
    return pairs


PAIRS = imports()


def against(layers: list[list[str]], pairs: list[tuple[str, str]]) -> list[str]:
    """Imports that go up, or across a layer, between the first parts of the names."""
    level = {name: k for k, layer in enumerate(layers) for name in layer}
    wrong = []
    for who, whom in pairs:
        a, b = who.split(".")[0], whom.split(".")[0]
        if a in level and b in level and a != b and level[b] >= level[a]:
            wrong.append(f"{who} -> {whom}")
    return wrong


def test_nothing_imports_against_the_layers():
    packages = {p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()}
    assert packages <= {name for layer in LAYERS for name in layer}
    assert against(LAYERS, PAIRS) == []


def test_methods_share_only_what_stands_below_them():
    inside = [(a[8:], b[8:]) for a, b in PAIRS if a.startswith("methods.") and b.startswith("methods.")]
    assert against(METHODS, inside) == []


def test_no_module_is_in_a_circle():
    graph = defaultdict(set)
    for who, whom in PAIRS:
        if modules()[who].name != "__init__.py":
            graph[who].add(whom)
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])


def test_private_modules_stay_in_their_package():
    wrong = [
        f"{who} -> {whom}"
        for who, whom in PAIRS
        if any(p.startswith("_") for p in whom.split("."))
        and not who.startswith(whom[: max(whom.rfind("._"), 0)] if "._" in whom else "")
    ]
    assert wrong == []


def test_only_media_uses_pyav():
    for name, path in modules().items():
        for node in ast.walk(tree(path)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if any(n.split(".")[0] == "av" for n in names):
                assert name.startswith("media."), name


def test_folders_are_small_and_names_are_rare():
    folders = Counter(path.parent for path in modules().values() if path.name != "__init__.py")
    assert {str(f): n for f, n in folders.items() if n > 15} == {}
    names = Counter(path.stem for path in modules().values())
    assert {n: k for n, k in names.items() if k > 2 and n not in OFTEN} == {}


def test_functions_fit_on_a_screen():
    long = []
    for name, path in modules().items():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno + 1 > 80:
                long.append(f"{name}.{node.name}: {(node.end_lineno or 0) - node.lineno + 1}")
    assert long == []
