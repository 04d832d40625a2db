"""The viewer in a real browser. Skips, saying so, where Chromium or Playwright is missing."""

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

import trackfish3d as tf
from tests.detection.worlds import read_number
from tests.report.test_browser import browser  # noqa: F401
from trackfish3d.recordings import Recording
from trackfish3d.recordings.edits import read_log

from .scenes import filmed

pytestmark = pytest.mark.browser
SHOTS = os.environ.get("TRACKFISH3D_SHOTS")  # folder in which every state is kept as a picture


class Viewer:
    """A window, and what it complained about."""

    def __init__(self, started, address, **options):
        self.complaints = []
        options = {"viewport": {"width": 1366, "height": 768}} | options
        self.page = started.new_context(**options).new_page()
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.open(address)

    def open(self, address):
        self.page.goto(address, timeout=120_000)
        self.page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        self.settle()

    def settle(self):
        self.page.evaluate("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def until(self, fact):
        for _ in range(1200):  # what is not compiled yet takes its time
            if fact():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("waited in vain")

    def state(self, name):
        return json.loads(self.page.evaluate(f"() => JSON.stringify(trackfish.{name} ?? null)"))

    @property
    def said(self):
        return self.page.locator("#said").text_content()

    def loaded(self):
        self.until(lambda: self.page.evaluate("() => trackfish.ready()"))
        self.settle()

    def shot(self, name):
        self.settle()
        picture = self.page.screenshot()
        if SHOTS:
            (Path(SHOTS) / f"{name}.png").write_bytes(picture)
        return imread(io.BytesIO(picture))

    def number_in_view(self, k):
        """The number that is burnt into the picture which a view shows, read off the screen."""
        box = self.page.locator(f"#views figure[data-camera='{k}'] canvas").bounding_box()
        picture = imread(io.BytesIO(self.page.screenshot(clip=box, scale="css")))[..., :3].mean(2) * 255
        width, height = self.page.evaluate("(k) => trackfish.meta.cameras[k].size", k)
        scale = min(box["width"] / width, box["height"] / height)
        left, top = box["width"] / 2 - width * scale / 2, box["height"] / 2 - height * scale / 2
        rows, columns = np.mgrid[:height, :width]
        at = picture[
            np.clip((top + (rows + 0.5) * scale).astype(int), 0, picture.shape[0] - 1),
            np.clip((left + (columns + 0.5) * scale).astype(int), 0, picture.shape[1] - 1),
        ]
        return read_number(at)

    def close(self):
        assert [c for c in self.complaints if "GPU stall" not in c] == []
        self.page.context.close()


@pytest.fixture
def shown(tmp_path):
    recording = filmed(tmp_path / "rec", frames=240)
    view = tf.view(recording, browser=False)
    yield recording, view
    view.close()


def test_seeing_picking_and_mending_by_keys_alone(browser, shown):  # noqa: F811
    recording, view = shown
    v = Viewer(browser, view.address)
    v.loaded()
    v.shot("open")
    assert "240 frames, 2 cameras" in v.page.locator("#facts").text_content()
    v.press("ArrowRight", "ArrowRight", "Shift+ArrowRight")
    assert "frame 12" in v.page.locator("#clock").text_content()
    v.press("Space")
    v.until(lambda: v.state("frame") > 14)
    v.press("Space")
    still = v.state("frame")
    v.page.wait_for_timeout(200)
    assert v.state("frame") == still
    v.press("Home", "ArrowDown", "ArrowDown", "o")
    assert v.state("selected") == 1
    assert v.state("other") not in (None, 1)
    v.press("Escape", "n")  # the likeliest suspect
    v.until(lambda: v.state("selected") == 0)
    assert v.page.locator("#compare").is_visible()
    assert 40 <= v.state("frame") <= 47
    v.loaded()
    v.shot("suspect")
    before = recording.tracks
    at = v.state("frame")
    v.press("s")
    v.until(lambda: v.said.startswith("swap 0 and 1 from frame"))
    assert read_log(recording.folder / "edits.jsonl").active[-1].first == at
    v.until(lambda: "mended" in v.page.locator("#suspectlist").text_content())
    v.shot("swapped")
    v.press("z")
    v.until(lambda: v.said.startswith("undone"))
    v.until(lambda: "3 of" not in v.page.locator("#left").text_content())
    v.press("y")
    v.until(lambda: v.said.startswith("redone"))
    v.press("n", "a")
    v.until(lambda: v.said.startswith("accept"))
    v.press("?")
    assert v.page.locator("#keys").is_visible()
    v.shot("help")
    v.press("?", "c", "c")
    v.shot("confidence")
    v.press("t")
    v.shot("other theme")
    v.press("2")
    v.loaded()
    v.shot("enlarged")
    v.press("0")
    v.open(view.address.partition("?")[0])  # reload: the cookie suffices, and the edits are there
    assert v.page.locator("#editcount").text_content() == "2"
    late = Recording.open(recording.folder).mended_tracks
    one = late.position[(late.track == 0) & (late.frame == 100)]
    np.testing.assert_array_equal(one, before.position[(before.track == 1) & (before.frame == 100)])
    v.close()


def test_keys_pressed_faster_than_the_server_answers_are_not_lost(browser, shown):  # noqa: F811
    recording, view = shown
    v = Viewer(browser, view.address)
    v.loaded()
    for key in "nszyna":
        v.page.keyboard.press(key)
    v.until(lambda: v.said.startswith("accept"))
    swap, accepted = read_log(recording.folder / "edits.jsonl").active
    assert (swap.kind, accepted.kind) == ("swap", "accept")
    v.close()


def test_picking_with_the_mouse_and_drawing_a_point(browser, shown):  # noqa: F811
    recording, view = shown
    v = Viewer(browser, view.address)
    tracks = recording.tracks
    row = np.flatnonzero((tracks.frame >= 20) & (tracks.track == 0) & (tracks.detection[:, 0] >= 0))[0]
    v.page.locator("#time").fill(str(tracks.frame[row]))
    v.loaded()
    v.until(lambda: v.page.evaluate("() => trackfish.where(2) !== null"))
    x, y = v.page.evaluate("() => trackfish.where(2)")
    box = v.page.locator("#scene").bounding_box()
    v.page.mouse.click(box["x"] + x, box["y"] + y)
    v.settle()
    assert v.state("selected") == 2
    seen = recording.detections.select(tracks.detection[row, :1])

    def click(k, pixel, **options):
        u, w = v.page.evaluate("([k, u, v]) => trackfish.toView(k, u, v)", [k, *[float(p) for p in pixel]])
        box = v.page.locator(f"#views figure[data-camera='{k}'] canvas").bounding_box()
        v.page.mouse.click(box["x"] + u, box["y"] + w, **options)
        v.settle()

    click(0, (seen.u[0], seen.v[0]))
    v.until(lambda: v.state("curves") is not None)  # the line of sight in the other view, through the water
    curves = v.state("curves")["curves"]
    assert curves[0] == []
    assert len(curves[1]) > 20
    v.shot("curve")
    v.press("Escape", "ArrowDown", "Home", *["ArrowRight"] * 5, "p")
    place = np.array([[0.5, 0.5, -6.0]])
    for k, camera in enumerate(recording.rig):
        click(k, camera.project(place)[0])
    v.shot("two clicks")
    v.press("p")
    v.until(lambda: v.said.startswith("point of 0 at frame 5"))
    mended = Recording.open(recording.folder).mended_tracks
    point = mended.position[(mended.track == 0) & (mended.frame == 5)][0]
    reach = [np.abs(c.project(point[None]) - c.project(place)).max() for c in recording.rig]
    assert max(reach) < 2.5  # a click is right to a pixel of the screen
    v.close()


def test_the_number_in_the_picture_is_the_number_on_the_page(browser, shown):  # noqa: F811
    _, view = shown
    v = Viewer(browser, view.address)
    v.page.evaluate("() => { trackfish.names = false; trackfish.trail = 0; }")
    rng = np.random.default_rng(2)
    lost = {*range(30, 34), *range(131, 160)}
    jumps = rng.integers(0, 240, 12).tolist()
    for frame in jumps:
        v.page.locator("#time").fill(str(frame))
        v.loaded()
        for k in (0, 1):
            figure = v.page.locator(f"#views figure[data-camera='{k}']")
            if k == 0 and frame in lost:
                assert "no picture was recorded" in figure.text_content()
            else:
                assert f"· {frame}" in figure.text_content()
                assert figure.get_attribute("data-shown") == str(frame)
                assert v.number_in_view(k) == frame
    for frame in range(60, 80):  # twenty quick scrubs: what comes to rest is right
        v.page.locator("#time").fill(str(240 - 3 * frame if frame % 2 else frame))
    v.page.locator("#time").fill("77")
    v.loaded()
    assert [v.number_in_view(k) for k in (0, 1)] == [77, 77]
    v.close()


def test_a_second_window_sees_the_edits_and_scripts_in_names_do_not_run(browser, tmp_path):  # noqa: F811
    from dataclasses import replace

    from trackfish3d.cameras import CameraRig

    evil = "<img src=x onerror=alert(1)>"
    made = filmed(tmp_path / "first", frames=60, fish=3)
    folder = tmp_path / f"rec {evil.replace('/', '')}"
    rig = CameraRig(tuple(replace(c, name=f"{c.name}'+alert(1)+'") for c in made.rig), made.units)
    other = Recording.create(folder, rig, frames=(0, 60), description=evil)
    other.write_tracks(replace(made.tracks, cameras=rig.names))
    view = tf.view(made, other, browser=False)
    alarms = []
    try:
        start = Viewer(browser, view.address)
        start.page.on("dialog", lambda d: alarms.append(d.message))
        assert "onerror" in start.page.locator("#recordings").text_content()
        start.shot("start")
        base = view.address.partition("?")[0]
        one = start
        one.open(f"{base}?rec=0")
        second = one.page.context.new_page()
        second.goto(f"{base}?rec=0")
        second.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        one.press("n")
        one.until(lambda: one.state("selected") is not None)
        one.press("s")
        one.until(lambda: one.said.startswith("swap"))
        second.wait_for_selector("#editlist li", timeout=20_000)
        assert "swap" in second.locator("#editlist").text_content()
        second.close()
        one.open(f"{base}?rec=1")
        assert "onerror" in one.page.locator("#title").text_content()
        assert "alert(1)" in one.page.locator("#views").text_content()
        one.page.wait_for_timeout(300)
        assert alarms == []
        one.close()
    finally:
        view.close()


@pytest.mark.parametrize(("width", "height", "dark"), [(1366, 768, True), (3840, 2160, False)])
def test_it_fits_small_and_large_screens(browser, shown, width, height, dark):  # noqa: F811
    _, view = shown
    scheme = "dark" if dark else "light"
    v = Viewer(browser, view.address, viewport={"width": width, "height": height}, color_scheme=scheme)
    v.press("n")
    v.loaded()
    v.shot(f"{width}")
    assert v.page.evaluate("() => document.documentElement.scrollHeight <= innerHeight + 1")
    for part in ("#suspectlist li", "#buttons button", "#timeline", "#scene", "#views figure"):
        box = v.page.locator(part).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width + 1
        assert box["y"] + box["height"] <= height + 1
    v.close()
