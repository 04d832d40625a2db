"""Figures of behaviour on the page: what is drawn, and that a bad file costs nothing but its figures."""

import copy
import json
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trackfish3d.behaviour.analysis import World, analyse, world_of
from trackfish3d.behaviour.settings import AnalysisSettings
from trackfish3d.cameras import CameraRig
from trackfish3d.recordings import Recording, Tracks
from trackfish3d.report import build_report, write_report
from trackfish3d.report.behaviour import FIGURES, digest, figures_of, read_figures
from trackfish3d.report.figures import Figures
from trackfish3d.report.frames import FrameAxis

from ..behaviour.schools import darting, recording_of, tracks_of
from .scenes import make_recording
from .test_browser import Shown, browser  # noqa: F401


@pytest.fixture(scope="module")
def analysed(tmp_path_factory):
    """A recording with the figures of its analysis."""
    recording = make_recording(tmp_path_factory.mktemp("figures") / "r", fish=6, frames=150)
    put_figures(recording)
    return recording


def put_figures(recording):
    found = analyse(recording.tracks, World(recording.fps))
    folder = recording.folder / "behaviour"
    folder.mkdir(exist_ok=True)
    content = figures_of(found, recording.folder / "tracks.parquet")
    (folder / FIGURES).write_text(json.dumps(content, allow_nan=False))
    return found


def contents(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def test_figures_hold_what_was_found(analysed):
    found = contents(build_report(analysed, analysed.tracks))["behaviour"]
    assert found["tracks"] == analysed.tracks.identities.tolist()
    assert found["speed"]["shape"] == [len(found["frame"]), 6, 1]
    assert len(found["anomaly"]["whole"]) == 6
    assert len(found["maps"]["cells"]) == len(found["tank"]["sides"]) == 3
    assert contents(build_report(analysed, analysed.tracks))["notes"] == []


def bolting(folder, units="unit", first=1):
    """A recording whose tracks each have a fast start, and its figures."""
    x, onset = darting(fish=5, frames=200, seed=2)
    recording = recording_of(folder, x, tracks_of(x, noise=0.005, first=first), fps=200.0)
    rig = CameraRig(recording.rig.cameras, units)
    found = analyse(recording.tracks, world_of(rig, recording.fps, rig.up), AnalysisSettings(stimulus=20))
    (folder / "behaviour").mkdir()
    content = figures_of(found, folder / "tracks.parquet")
    (folder / "behaviour" / FIGURES).write_text(json.dumps(content, allow_nan=False))
    return recording, found, onset + first


def test_fast_starts_come_with_their_sigmas(tmp_path):
    recording, found, onset = bolting(tmp_path / "r")
    drawn = contents(build_report(recording, recording.tracks))["behaviour"]["starts"]
    assert drawn["total"] == found.starts.num_rows == len(onset)
    assert drawn["fps"] == 200  # as analysed: the recording may not know its rate
    assert drawn["profile"]["shape"] == [len(onset), 31, 1]
    for start in drawn["each"]:
        assert abs(start["onset"] - onset[start["track"]]) <= 1
        assert start["latency"] == pytest.approx((start["onset"] - 20) / 200)
        assert 0 < start["sigma_onset"] < 0.02
        assert 0 < start["sigma_peak"] < start["peak"]


@pytest.mark.parametrize("units", ["bananas", "µm", "</script>", "[/x]", "$\\bad{$"])
def test_whatever_the_unit_is_called_the_figures_are_shown(tmp_path, units):
    recording, _, _ = bolting(tmp_path / "r", units)
    found, notes = read_figures(recording.folder, recording.folder / "tracks.parquet", FrameAxis(np.arange(200)))
    assert found is not None
    assert notes == []


def test_windows_begin_and_end_with_the_recording(analysed):
    tracks = analysed.tracks
    moved = Tracks.build(tracks.frame + 1, tracks.track, tracks.position)
    parts = {}
    found = analyse(moved, World(analysed.fps), sink=lambda name, table: parts.setdefault(name, []).append(table))
    figures = figures_of(found, analysed.folder / "tracks.parquet")["anomaly"]
    first = np.concatenate([t["first_frame"].to_numpy() for t in parts["windows"]])
    last = np.concatenate([t["last_frame"].to_numpy() for t in parts["windows"]])
    assert first.min() == min(figures["first"]) == moved.frame.min() == 1
    assert last.max() == max(figures["last"]) == moved.frame.max()


def test_without_an_analysis_there_is_no_section(tmp_path):
    recording = make_recording(tmp_path / "r", fish=2, frames=10)
    assert contents(build_report(recording, recording.tracks))["behaviour"] is None


def test_figures_of_other_tracks_are_not_shown(tmp_path):
    recording = make_recording(tmp_path / "r", fish=3, frames=40)
    put_figures(recording)
    tracks = recording.tracks
    recording.write_tracks(tracks.select(tracks.frame < 30))
    again = Recording.open(recording.folder)
    found = contents(build_report(again, again.tracks))
    assert found["behaviour"] is None
    assert any("of other tracks" in n for n in found["notes"])


def paths(tree, at=()):
    yield at
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from paths(value, (*at, key))


JUNK = [None, -1, 1e300, "", "</script>", "%%%", [], {}, [1, "a"], True, 2**70]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_file_is_refused_or_still_whole(analysed, tmp_path_factory, data):
    """Whatever is changed in the file: the page is made, and what reaches it has passed every check."""
    tree = json.loads((analysed.folder / "behaviour" / FIGURES).read_text())
    where = data.draw(st.sampled_from([p for p in paths(tree) if p]))
    parent = tree
    for key in where[:-1]:
        parent = parent[key]
    if data.draw(st.booleans()):
        parent[where[-1]] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    else:
        del parent[where[-1]]
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "behaviour").mkdir()
    (folder / "behaviour" / FIGURES).write_text(json.dumps(tree))
    found, notes = read_figures(folder, analysed.folder / "tracks.parquet", FrameAxis.over([0, 149]))
    assert (found is None) == bool(notes)
    if found is not None:
        for key in ("place",):
            found.pop(key)
        for key in ("middle", "span"):
            found["anomaly"].pop(key)
        Figures.model_validate(found)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_cut_and_garbled_bytes_are_refused(analysed, tmp_path_factory, data):
    raw = bytearray((analysed.folder / "behaviour" / FIGURES).read_bytes())
    kind = data.draw(st.sampled_from(["cut", "flip", "deep", "binary"]))
    if kind == "cut":
        raw = raw[: data.draw(st.integers(0, len(raw) - 3))]
    elif kind == "flip":
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    else:
        raw = bytearray(b"[" * 100_000 if kind == "deep" else bytes(range(256)))
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "behaviour").mkdir()
    (folder / "behaviour" / FIGURES).write_bytes(bytes(raw))
    found, notes = read_figures(folder, analysed.folder / "tracks.parquet", FrameAxis.over([0, 149]))
    assert (found is None) == bool(notes)
    if kind != "flip":
        assert found is None


def test_a_digest_knows_a_file_again(tmp_path):
    (tmp_path / "a").write_bytes(b"fish")
    (tmp_path / "b").write_bytes(b"fish")
    (tmp_path / "c").write_bytes(b"fist")
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")
    assert digest(tmp_path / "none") == ""


@pytest.mark.browser
def test_figures_are_drawn_and_answer_to_the_pointer(browser, analysed, tmp_path):  # noqa: F811
    shown = Shown(browser, write_report(analysed, tmp_path / "page.html"))
    page = shown.page
    assert page.locator("#behaviour").is_visible()
    blank = "c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; return !d.some(v => v) }"
    canvases = page.locator("#behaviour canvas")
    assert canvases.count() >= 14
    for k in range(canvases.count()):
        assert not canvases.nth(k).evaluate(blank), canvases.nth(k).get_attribute("aria-label")
    speeds = page.locator("#speeds")
    speeds.scroll_into_view_if_needed()
    box = speeds.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 40)
    shown.until(lambda: "units/s" in (page.locator("#tip").text_content() or ""))
    before = shown.picture("#speeds")
    page.keyboard.press("ArrowDown")  # choose the first track
    shown.settle()
    assert shown.picture("#speeds") != before
    speeds.click(position={"x": 62 + 0.5 * (box["width"] - 72), "y": 40})
    assert abs(int(shown.clock.rsplit(" ", 1)[1]) - 75) <= 2
    assert page.locator("#behaviourtable tbody tr").count() == 6
    shown.check()


@pytest.mark.browser
def test_fast_starts_are_drawn_and_the_clock_is_that_of_the_tables(browser, tmp_path):  # noqa: F811
    recording, found, _ = bolting(tmp_path / "r")
    for name in ("detections", "truth"):  # which begin at frame 0; the tracks begin at 1
        (recording.folder / f"{name}.parquet").unlink()
    recording.forget()
    recording.info.frame_count = 0
    shown = Shown(browser, write_report(recording, tmp_path / "page.html"))
    shown.page.locator("#time").fill("3")
    assert shown.clock == "0.02 s · frame 4"
    picture = shown.page.locator("#faststarts")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    shown.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60)
    shown.until(lambda: "after the stimulus" in (shown.page.locator("#tip").text_content() or ""))
    shown.page.mouse.down()
    shown.page.mouse.up()
    assert int(shown.clock.rsplit(" ", 1)[1]) in found.starts["onset_frame"].to_pylist()
    shown.check()


@pytest.mark.browser
@pytest.mark.parametrize("fish", [1, 2])
def test_lonely_fish_make_a_page_without_complaint(browser, tmp_path, fish):  # noqa: F811
    recording = make_recording(tmp_path / "r", fish=fish, frames=30)
    tracks = recording.tracks
    found = put_figures(recording)
    assert np.isnan(found.whole.p).all()
    assert len(tracks)
    shown = Shown(browser, write_report(recording))
    assert "Too few animals" in shown.page.locator("#behaviourtext").text_content()
    shown.check()
