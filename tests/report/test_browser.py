"""The page in a real browser. Skips, saying so, where Chromium or Playwright is missing."""

import shutil

import numpy as np
import pytest

from trackfish3d.recordings import Recording, Tracks
from trackfish3d.report import write_report

from .scenes import air_rig, make_recording, water_rig

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    with playwright.sync_playwright() as p:
        started = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Shown:
    """A page, and what it complained about or asked the network for."""

    def __init__(self, browser, path, **options):
        self.complaints, self.requests = [], []
        self.page = browser.new_page(viewport={"width": 1366, "height": 768}, **options)
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.address = path.resolve().as_uri()
        self.page.goto(self.address, timeout=120_000)  # a busy machine starts slowly
        self.page.wait_for_selector("html[data-ready=yes]", timeout=30000)
        self.settle()

    def settle(self):
        """Wait until what was asked for is drawn."""
        self.page.evaluate("() => new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => d())))")

    def picture(self, selector):
        self.settle()
        return self.page.locator(selector).screenshot()

    def until(self, fact):
        """Wait until fact() holds. (Playwright's own wait evaluates text, which the page's policy forbids.)"""
        for _ in range(100):
            if fact():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("waited in vain")

    @property
    def clock(self):
        self.settle()
        return self.page.locator("#clock").text_content()

    def check(self):
        # Software drawing makes Chromium warn that reading pixels back is slow: our screenshots, not the page.
        assert [c for c in self.complaints if "GPU stall" not in c] == []
        assert [r for r in self.requests if r != self.address and not r.startswith("data:")] == []
        self.page.close()


@pytest.fixture(scope="module")
def page_path(tmp_path_factory):
    recording = make_recording(tmp_path_factory.mktemp("browser") / "r", fish=6, frames=120)
    return write_report(recording)


@pytest.fixture(scope="module")
def opened(browser, page_path):
    page = Shown(browser, page_path)
    yield page
    page.check()


@pytest.fixture
def shown(opened):
    """The page as it was when opened: starting a browser's drawing anew for each test takes seconds."""
    opened.page.evaluate("scrollTo(0, 0)")
    opened.page.locator("#time").fill("60")
    opened.page.locator("h1").click()
    for key in ("Escape", "f"):
        opened.page.keyboard.press(key)
    opened.settle()
    yield opened
    assert opened.complaints == [] or all("GPU stall" in c for c in opened.complaints)


def test_opens_without_complaint_and_without_network(shown):
    assert shown.page.title() == "r – TrackFish3D"
    assert shown.page.locator("#views canvas").count() == 3
    assert shown.page.locator("#nogl").is_hidden()
    assert shown.page.locator("#tiles dd").first.text_content().endswith("%")


def test_the_slider_moves_time_in_all_pictures(shown):
    before = {s: shown.picture(s) for s in ("#scene", "#views figure >> nth=0")}
    shown.page.locator("#time").fill("100")
    assert shown.clock == "3.33 s · frame 100"
    for selector, picture in before.items():
        assert shown.picture(selector) != picture


def test_dragging_turns_the_view_and_buttons_set_it(shown):
    before = shown.picture("#scene")
    box = shown.page.locator("#scene").bounding_box()
    shown.page.mouse.move(box["x"] + 300, box["y"] + 300)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 420, box["y"] + 260, steps=4)
    shown.page.mouse.up()
    turned = shown.picture("#scene")
    assert turned != before
    shown.page.locator("#rig").click()
    far = shown.picture("#scene")
    assert far != turned
    shown.page.locator("#fit").click()
    assert shown.picture("#scene") not in (turned, far)


def test_the_wheel_zooms_only_after_a_click(shown):
    box = shown.page.locator("#scene").bounding_box()
    shown.page.mouse.move(box["x"] + 60, box["y"] + 400)
    shown.page.mouse.wheel(0, 30)
    shown.until(lambda: shown.page.evaluate("scrollY") > 0)
    shown.page.evaluate("scrollTo(0, 0)")
    before = shown.picture("#scene")
    shown.page.mouse.click(box["x"] + 60, box["y"] + 400)
    shown.page.mouse.wheel(0, -120)
    shown.page.wait_for_timeout(100)
    assert shown.picture("#scene") != before
    assert shown.page.evaluate("scrollY") == 0


def test_a_click_on_the_timeline_goes_there_and_chooses_the_track(shown):
    rows = shown.page.locator("#timeline-rows")
    rows.scroll_into_view_if_needed()
    box = rows.bounding_box()
    rows.click(position={"x": 62 + 0.75 * (box["width"] - 72), "y": 5})
    number = int(shown.clock.rsplit(" ", 1)[1])
    assert abs(number - 90) <= 1
    assert shown.page.locator("#chosen").text_content().startswith("track 1")


def test_keys_play_step_and_choose(shown):
    start = shown.clock
    shown.page.keyboard.press("ArrowRight")
    stepped = shown.clock
    assert int(stepped.rsplit(" ", 1)[1]) == int(start.rsplit(" ", 1)[1]) + 1
    shown.page.keyboard.press("Shift+ArrowLeft")
    assert int(shown.clock.rsplit(" ", 1)[1]) == int(start.rsplit(" ", 1)[1]) - 9
    shown.page.keyboard.press("ArrowDown")
    shown.settle()
    assert shown.page.locator("#chosen").text_content().startswith("track 1")
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("Home")
    assert shown.clock == "0.00 s · frame 0"
    shown.page.keyboard.press(" ")
    shown.until(lambda: float(shown.clock.split()[0]) > 0.2)
    assert shown.page.locator("#play").get_attribute("aria-label") == "Pause"
    shown.page.keyboard.press(" ")
    shown.settle()
    paused = shown.clock
    shown.page.wait_for_timeout(200)
    assert shown.clock == paused


def test_a_click_on_a_fish_in_a_view_chooses_it(shown):
    place = shown.page.evaluate(
        """() => {
          const box = document.querySelector("#views canvas").getBoundingClientRect();
          return [box.left, box.top, box.width];
        }"""
    )
    recording = Recording.open(page_folder(shown))
    frame = int(shown.clock.rsplit(" ", 1)[1])
    tracks = recording.tracks
    row = np.flatnonzero((tracks.frame == frame) & (tracks.track == 3))[0]
    u, v = recording.rig[0].project(tracks.position[row : row + 1])[0] * place[2] / recording.rig[0].size[0]
    shown.page.mouse.click(place[0] + u, place[1] + v)
    shown.settle()
    assert shown.page.locator("#chosen").text_content().startswith("track 3")


def page_folder(shown):
    return shown.address.removeprefix("file://").removesuffix("/report.html")


def test_light_and_dark(browser, page_path):
    grounds = []
    shown = Shown(browser, page_path)
    for scheme in ("light", "dark"):
        shown.page.emulate_media(color_scheme=scheme)
        shown.page.evaluate("delete document.documentElement.dataset.theme")
        grounds.append(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))
        shown.page.locator("#theme").click()
        grounds.append(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    shown.check()
    assert grounds[0] == grounds[3] != grounds[1] == grounds[2]


def test_every_control_and_picture_has_a_name(shown):
    unnamed = shown.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas")].filter(e =>
             !(e.getAttribute("aria-label") || e.textContent.trim() || e.closest("label") || e.ariaHidden === "true")
           ).map(e => e.outerHTML)"""
    )
    assert unnamed == []


def test_markup_in_names_runs_nothing(browser, tmp_path):
    name = "<img src=x onerror=document.title='hacked'>"
    camera = "&lt;img src=x onerror=document.title='hacked'&gt;"  # the worst that a camera may be called
    rig = air_rig(names=(camera, "&#60;b&#62;", "a&b"))
    recording = make_recording(tmp_path / name, rig=rig, fish=2, frames=10)
    shown = Shown(browser, write_report(recording))
    assert shown.page.title() == f"{name} – TrackFish3D"
    assert shown.page.locator("img").count() == 0
    assert camera in shown.page.locator("#views figcaption").first.text_content()
    shown.check()


def test_water_and_odd_tracks_open_without_complaint(browser, tmp_path):
    wet = make_recording(tmp_path / "wet", rig=water_rig(), fish=3, frames=30, middle=(0, 0, -6), half=(8, 8, 4))
    paths = [write_report(wet)]
    for k, tracks in enumerate(
        [
            Tracks.build([], [], np.zeros((0, 3))),
            Tracks.build([3], [9], [[0.0, 0, -5]]),
            Tracks.build([3, 4], [9, 9], [[np.nan] * 3, [1e9, 0, 0]]),
        ]
    ):
        wet.write_tracks(tracks)
        paths.append(write_report(wet, tmp_path / f"{k}.html"))
    (wet.folder / "detections.parquet").unlink()
    (wet.folder / "truth.parquet").unlink()
    paths.append(write_report(Recording.open(wet.folder), tmp_path / "bare.html"))
    for path in paths:
        shown = Shown(browser, path)
        shown.page.keyboard.press("End")
        shown.page.keyboard.press("c")
        shown.settle()
        shown.check()
