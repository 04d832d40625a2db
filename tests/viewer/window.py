"""A window of the viewer in a real browser, and what it complained about. Every wait is for a fact, and a long one."""

import io
import json
import os
import time
from pathlib import Path

import numpy as np
from matplotlib.image import imread

from tests.detection.worlds import read_number

SHOTS = os.environ.get("TRACKFISH3D_SHOTS")  # folder in which every state is kept as a picture
PATIENCE = 300.0  # seconds: a busy machine compiles slowly
DRAWN = "() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))"


class Viewer:
    """A window.

    Parameters
    ----------
    started : the browser.
    address : of the viewer, with its token.
    **options : of the browser's context.
    """

    def __init__(self, started, address, **options):
        self.complaints = []
        options = {"viewport": {"width": 1366, "height": 768}} | options
        context = started.new_context(**options)
        context.set_default_timeout(1000 * PATIENCE)
        self.page = context.new_page()
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.open(address)

    def open(self, address):
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready=yes]")
        self.settle()

    def settle(self):
        """Wait until all that was asked for is done and drawn."""
        self.until(lambda: self.page.evaluate("() => !globalThis.trackfish?.pending"))
        self.page.evaluate(DRAWN)

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
            self.settle()

    def until(self, fact):
        end = time.monotonic() + PATIENCE
        while not fact():
            assert time.monotonic() < end, f"waited in vain; the page says: {self.said}"
            self.page.wait_for_timeout(20)

    def state(self, name):
        return json.loads(self.page.evaluate(f"() => JSON.stringify(trackfish.{name} ?? null)"))

    @property
    def said(self):
        return self.page.locator("#said").text_content()

    def loaded(self):
        """Wait until tracks and pictures of the frame are there and drawn."""
        self.settle()
        self.until(lambda: self.page.evaluate("() => trackfish.ready() && trackfish.drawn === trackfish.frame"))
        self.settle()

    def go(self, frame):
        self.page.locator("#time").fill(str(frame))
        self.until(lambda: self.state("frame") == frame)
        self.loaded()

    def click_view(self, k, pixel, **options):
        """Click a pixel of a camera's picture."""
        u, v = self.page.evaluate("([k, u, v]) => trackfish.toView(k, u, v)", [k, *[float(p) for p in pixel]])
        self._click(f"#views figure[data-camera='{k}'] canvas", u, v, **options)

    def click_track(self, track, **options):
        """Click an animal in the 3D scene."""
        self.until(lambda: self.page.evaluate(f"() => trackfish.where({track}) !== null"))
        self._click("#scene", *self.page.evaluate(f"() => trackfish.where({track})"), **options)

    def _click(self, canvas, x, y, shift=False):
        box = self.page.locator(canvas).bounding_box()
        if shift:
            self.page.keyboard.down("Shift")
        self.page.mouse.click(box["x"] + x, box["y"] + y)
        if shift:
            self.page.keyboard.up("Shift")
        self.settle()

    def shot(self, name):
        self.settle()
        picture = self.page.screenshot()
        if SHOTS:
            (Path(SHOTS) / f"{name}.png").write_bytes(picture)
        return imread(io.BytesIO(picture))

    def pixels(self, box, x, y, reach=3):
        """What the screen shows about a place of a box, (2 reach + 1, 2 reach + 1, 3) from 0 to 1."""
        clip = {"x": box["x"] + x - reach, "y": box["y"] + y - reach, "width": 2 * reach + 1, "height": 2 * reach + 1}
        return imread(io.BytesIO(self.page.screenshot(clip=clip, scale="css")))[..., :3]

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
