"""The viewer in a real browser. Skips, saying so, where Chromium or Playwright is missing."""

import numpy as np
import pytest

import trackfish3d as tf
from tests.report.test_browser import browser  # noqa: F401
from trackfish3d.recordings import Recording
from trackfish3d.recordings.edits import read_log

from .scenes import LOST, filmed
from .window import Viewer

pytestmark = pytest.mark.browser


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
    assert not v.state("playing")
    still = v.state("frame")
    v.page.wait_for_timeout(200)
    assert v.state("frame") == still
    v.press("Home", "ArrowDown", "ArrowDown", "o")
    assert v.state("selected") == 1
    assert v.state("other") not in (None, 1)
    v.press("Escape", "n")  # the likeliest suspect
    assert v.state("selected") == 0
    assert v.page.locator("#compare").is_visible()
    assert 40 <= v.state("frame") <= 47
    v.loaded()
    v.shot("suspect")
    before = recording.tracks
    at = v.state("frame")
    v.press("s")
    assert v.said.startswith("swap 0 and 1 from frame")
    assert read_log(recording.folder / "edits.jsonl").active[-1].first == at
    assert "mended" in v.page.locator("#suspectlist").text_content()
    v.loaded()
    v.shot("swapped")
    v.press("z")
    assert v.said.startswith("undone")
    assert "4 of 4" in v.page.locator("#left").text_content()
    v.shot("undone")
    v.press("y")
    assert v.said.startswith("redone")
    v.press("n", "a")
    assert v.said.startswith("accept")
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
    v.go(int(tracks.frame[row]))
    v.click_track(2)
    assert v.state("selected") == 2
    v.click_track(1, shift=True)
    assert (v.state("selected"), v.state("other")) == (2, 1)
    assert "Track 2 and 1" in v.page.locator("#chosen").text_content()
    v.shot("picked in 3D")
    seen = recording.detections.select(tracks.detection[row, :1])
    v.click_view(0, (seen.u[0], seen.v[0]))
    assert v.state("selected") == 0
    v.until(lambda: v.state("curves") is not None)  # the line of sight in the other view, through the water
    curves = v.state("curves")["curves"]
    assert curves[0] == []
    assert len(curves[1]) > 20
    v.shot("curve")
    v.press("Escape", "ArrowDown", "Home", *["ArrowRight"] * 5, "p")
    place = np.array([[0.5, 0.5, -6.0]])
    for k, camera in enumerate(recording.rig):
        v.click_view(k, camera.project(place)[0])
    v.shot("two clicks")
    v.press("p")
    assert v.said.startswith("point of 0 at frame 5")
    mended = Recording.open(recording.folder).mended_tracks
    point = mended.position[(mended.track == 0) & (mended.frame == 5)][0]
    reach = [np.abs(c.project(point[None]) - c.project(place)).max() for c in recording.rig]
    assert max(reach) < 2.5  # a click is right to a pixel of the screen
    v.close()


def test_a_point_is_drawn_by_keys_alone(browser, shown):  # noqa: F811
    recording, view = shown
    v = Viewer(browser, view.address)
    tracks = recording.tracks
    v.press("ArrowDown", "Home", *["ArrowRight"] * 8, "p", "1", "2", "ArrowRight", "Shift+ArrowUp", "Shift+ArrowUp")
    assert v.state("frame") == 8  # arrows move the cross, not time
    v.shot("a point by keys")
    v.press("p")
    assert v.said.startswith("point of 0 at frame 8")
    mended = Recording.open(recording.folder).mended_tracks
    place, point = (t.position[(t.track == 0) & (t.frame == 8)] for t in (tracks, mended))
    asked = [c.project(place)[0] for c in recording.rig]
    asked[1] = asked[1] + [10, -2]
    moved = [c.project(point)[0] - c.project(place)[0] for c in recording.rig]
    assert np.linalg.norm(moved[1]) > 2  # the views disagree on purpose: the point lies between what both say
    assert all(np.linalg.norm(c.project(point)[0] - a) < 10 for c, a in zip(recording.rig, asked, strict=True))
    v.press("z")
    v.close()


def test_the_number_in_the_picture_is_the_number_on_the_page(browser, shown):  # noqa: F811
    _, view = shown
    v = Viewer(browser, view.address)
    v.page.locator("#names").uncheck()
    v.page.locator("#trail").select_option("0")
    lost = {frame for gone in LOST for frame in gone}
    for frame in np.random.default_rng(2).integers(0, 240, 12).tolist():
        v.go(frame)
        for k in (0, 1):
            figure = v.page.locator(f"#views figure[data-camera='{k}']")
            assert f"· {frame}" in figure.text_content()
            if k == 0 and frame in lost:
                assert "no picture was recorded" in figure.text_content()
            else:
                assert figure.get_attribute("data-shown") == str(frame)
                assert v.number_in_view(k) == frame
    for frame in range(60, 80):  # twenty quick scrubs: what comes to rest is right
        v.page.locator("#time").fill(str(240 - 3 * frame if frame % 2 else frame))
    v.go(77)
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
        second.wait_for_selector("html[data-ready=yes]")
        one.press("n", "s")
        assert one.said.startswith("swap")
        second.wait_for_selector("#editlist li")
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
