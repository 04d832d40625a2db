"""What README and the pages of the site say is true."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import yaml

import trackfish3d as tf

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXTRA = re.compile(r"^([a-z0-9]+) = \[", re.MULTILINE)


def blocks(page: Path) -> list[str]:
    """Python of a page that is not run while the site is built."""
    return [textwrap.dedent(code) for code in PYTHON.findall(page.read_text(encoding="utf-8"))]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder in which REC is a recording of five fish before two cameras, with truth, and school another."""
    folder = tmp_path_factory.mktemp("pages")
    tf.simulate(folder / "REC", fish=5, rig="tank", frames=40, seed=1)
    return folder


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_tutorial_of_ten_lines_works_as_typed(page, place, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    monkeypatch.chdir(place)
    monkeypatch.setattr(tf, "run", lambda videos, cameras, out: tf.open(out), raising=False)  # films take minutes
    (code,) = blocks(ROOT / page)
    names: dict = {}
    exec(code, names)
    frames, tracks, axes = names["positions"].shape
    assert (frames, axes) == (40, 3)
    assert tracks >= 5


def test_the_live_loop_of_the_guide_works_as_typed(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    names: dict = {}
    for code in blocks(ROOT / "docs" / "online.md"):
        exec(code, names)
    assert isinstance(names["tracker"], tf.OnlineJoint | tf.OnlineTracker)
    assert "track 0" in capsys.readouterr().out


def test_the_measures_of_the_guide_work_as_typed():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=(60, 4, 3)), axis=0)
    names = {"position": walk, "covariance": np.broadcast_to(0.01 * np.eye(3), (60, 4, 3, 3)).copy()}
    for code in blocks(ROOT / "docs" / "behaviour.md"):
        exec(code, names)
    assert names["s"].velocity.shape == walk.shape


def test_readme_lists_every_extra():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = set(EXTRA.findall(text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]))
    rows = re.findall(
        r"^\| (`.*?) \| ", (ROOT / "README.md").read_text(encoding="utf-8").partition("## In Python")[0], re.M
    )
    assert extras == {name for row in rows for name in re.findall(r"`(\w+)`", row)}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_are_there(page):
    named = re.findall(r"\b((?:src|tests|benchmarks)/[\w/.-]+\w)", page.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_api_pages_hold_every_name_of_the_front_door():
    shown = set(
        re.findall(r"^::: trackfish3d\.(\w+)", "\n".join(p.read_text() for p in (ROOT / "docs/api").glob("*.md")), re.M)
    )
    assert set(tf.__all__) - {"__version__"} <= shown


def _pages_of(entry):
    """Pages of an entry of the navigation, in its order."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in _pages_of(part)]


def test_every_page_is_once_in_the_navigation_or_among_the_results():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = _pages_of(yaml.safe_load(text[text.index("\nnav:") :])["nav"])
    pages = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    assert len(listed) == len(set(listed))
    assert set(listed) <= pages
    assert [page for page in sorted(pages - set(listed)) if not page.startswith("results/")] == []


def test_links_between_pages_lead_somewhere():
    """What the site's builder refuses, without building it."""
    lost = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in (ROOT / "docs").rglob("*.md")
        for target in re.findall(r"\]\(([^)#:\s]+\.md)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).is_file()
    ]
    assert lost == []
