"""Suspects gone through, solved again, and found mended after the viewer was closed, in a real browser."""

from itertools import pairwise

import numpy as np
import pytest

import trackfish3d as tf
from tests.report.test_browser import browser  # noqa: F401
from trackfish3d.methods.suspects import Suspect, write_suspects
from trackfish3d.recordings import Recording
from trackfish3d.recordings.edits import read_log

from .scenes import filmed, schooled
from .window import Viewer

pytestmark = pytest.mark.browser


@pytest.fixture
def exchanged(tmp_path):
    """Two of four animals are exchanged at frame 81, which is the second of three suspects."""
    recording = filmed(tmp_path / "rec", frames=160, fish=4)
    found = [Suspect(30, 36, 1, 2, 0.6, "swap"), Suspect(78, 84, 0, 1, 0.5, "swap"), Suspect(40, 48, 0, 0, 0.1, "gap")]
    write_suspects(found, recording.folder / "suspects.csv")
    return recording


def test_suspects_are_gone_through_by_key_and_one_is_looped(browser, exchanged):  # noqa: F811
    view = tf.view(exchanged, browser=False)
    try:
        v = Viewer(browser, view.address)
        current = v.page.locator("#suspectlist li[aria-current=true]")
        for key, text in [("n", "swap 1, 2"), ("n", "swap 0, 1"), ("n", "gap 0"), ("n", "swap 1, 2"), ("b", "gap 0")]:
            v.press(key)
            assert text in current.text_content()
        v.page.locator("#suspectlist li").nth(1).click()
        v.settle()
        assert (v.state("selected"), v.state("other")) == (0, 1)
        assert 78 <= v.state("frame") <= 85
        first, last = (v.state("range")[k] for k in ("first", "last"))
        v.page.locator("#speed").select_option("5")
        v.page.locator("#stage").click(position={"x": 3, "y": 3})  # keys go to the page again
        shown = []
        v.press("l")
        assert v.state("playing")

        def came_round():
            shown.append(v.state("frame"))
            return any(b < a for a, b in pairwise(shown))

        v.until(came_round)
        assert min(shown) >= first
        assert max(shown) <= last
        v.press("Space")
        v.loaded()
        v.shot("looped")
        v.close()
    finally:
        view.close()


def test_a_stretch_is_solved_again_and_the_change_is_there_after_closing_and_opening_anew(browser, exchanged):  # noqa: F811
    view = tf.view(exchanged, browser=False)
    try:
        v = Viewer(browser, view.address)
        v.press("n", "n", "v")
        assert "again: swap 0 and 1 from frame 81" in v.said
        (change,) = read_log(exchanged.folder / "edits.jsonl").active
        assert (change.kind, change.first, change.last) == ("swap", 81, None)
        assert "solved: swap 0 and 1 from frame 81" in v.page.locator("#editlist li.solved").text_content()
        assert v.state("frame") == 81  # what changed is what is shown
        v.loaded()
        v.shot("solved")
        v.press("v")
        assert "nothing changes" in v.said
        v.close()
    finally:
        view.close()
    steps = {}
    for name, tracks in (("raw", exchanged.tracks), ("mended", Recording.open(exchanged.folder).mended_tracks)):
        path = tracks.position[tracks.track == 0]
        steps[name] = np.linalg.norm(np.diff(path, axis=0), axis=1).max()
    assert steps["mended"] < 2 < steps["raw"]
    again = tf.view(exchanged.folder, browser=False)
    try:
        v = Viewer(browser, again.address)
        assert v.page.locator("#editcount").text_content() == "1"
        assert "2 of 3 left" in v.page.locator("#left").text_content()
        v.press("z")
        assert v.said.startswith("undone: swap 0 and 1")
        assert "3 of 3 left" in v.page.locator("#left").text_content()
        v.close()
    finally:
        again.close()


def test_bodies_with_parts_are_drawn_in_3d_and_in_every_view(browser, tmp_path):  # noqa: F811
    recording = schooled(tmp_path / "rec")
    view = tf.view(recording, browser=False)
    try:
        v = Viewer(browser, view.address)
        v.go(20)
        v.until(lambda: v.state("shown3d.skeletons") == 4)
        assert v.state("shown3d.bodies") == 0
        v.shot("skeletons")
        v.page.locator("#names").uncheck()
        v.page.locator("#trail").select_option("0")
        v.press("ArrowDown")  # the first track alone is lit
        poses = recording.poses
        tip = poses.part("tail_tip")[(poses.track == 0) & (poses.frame == 20)]
        for k, camera in enumerate(recording.rig):
            box = v.page.locator(f"#views figure[data-camera='{k}'] canvas").bounding_box()
            x, y = v.page.evaluate("([k, u, v]) => trackfish.toView(k, u, v)", [k, *camera.project(tip)[0].tolist()])
            if not (8 < x < box["width"] - 8 and 30 < y < box["height"] - 8):
                continue
            with_parts = v.pixels(box, x, y)
            v.page.locator("#parts").uncheck()
            v.settle()
            assert v.state("shown3d") == {"bodies": 4, "rests": 0, "skeletons": 0}
            assert np.abs(with_parts - v.pixels(box, x, y)).max() > 0.2
            v.page.locator("#parts").check()
            v.settle()
        v.press("d")  # the track is deleted, and its body with it
        assert v.said.startswith("delete 0")
        v.until(lambda: v.state("shown3d.skeletons") == 3)
        v.close()
    finally:
        view.close()
