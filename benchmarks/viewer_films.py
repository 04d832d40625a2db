"""The film parts of `bench_viewer.py`: frame numbers read off the browser's screen, and how fast films play."""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright
from tests.detection.worlds import encode, numbered_picture, read_number
from tests.report.test_browser import CHROMIUM, FLAGS
from tests.viewer.scenes import CODED, LOST, SIZE, small_rig
from tests.viewer.window import Viewer

import trackfish3d as tf
from trackfish3d.cameras import CameraRig
from trackfish3d.media.writer import write_video
from trackfish3d.recordings import Recording
from trackfish3d.viewer.film_pictures import FilmPictures

SEED = 4


def read_numbers(page: Any, frame: int, rate: dict[str, Any]) -> list[str]:
    """What is wrong with the numbers on the screen at a frame."""
    wrong = []
    for k, name in enumerate(("lost", "variable")):
        figure = page.page.locator(f"#views figure[data-camera='{k}']")
        said = figure.text_content()
        if f"· {frame}" not in said:
            wrong.append(f"{name} {frame}: says {said}")
        if "no picture was recorded" in said:
            if frame not in rate[name]["none"]:
                wrong.append(f"{name} {frame}: has no picture")
            continue
        read = page.number_in_view(k)
        if read != rate[name]["shows"].get(frame):
            wrong.append(f"{name} {frame}: shows {read}")
    return wrong


def filmed_two_ways(folder: Path, frames: int = 300) -> tuple[Recording, dict[str, Any]]:
    """Two cameras, one whose film lost frames and one of a variable rate; what each frame must show."""

    kept = [k for k in range(frames) if not any(k in gone for gone in LOST)]
    encode(
        folder / "videos" / "lost.mp4", (numbered_picture(k) for k in kept), pts=kept, time_base=Fraction(1, 25),
        fps=25, options=CODED,
    )  # fmt: skip
    times = np.cumsum([0, *([33] * 100 + [50] * 100 + [33] * 60 + [70] * 40)])[:frames].tolist()
    shown = (numbered_picture(k) for k in range(frames))
    encode(folder / "videos" / "variable.mkv", shown, pts=times, time_base=Fraction(1, 1000), options=CODED)
    cameras = tuple(replace(c, name=n, size=SIZE) for c, n in zip(small_rig(), ("lost", "variable"), strict=True))
    rec = Recording.create(folder, CameraRig(cameras), frames=(0, frames))
    film = tf.Video.open(rec.videos["variable"])
    shows = {p.number: p for p in film.read()}
    order = sorted(shows)
    by_number = dict(zip(order, _numbers(shows[n] for n in order), strict=True))
    for frame, number in by_number.items():  # the film's own clock says which frame a picture is of
        assert abs(frame - times[number] / 1000 * film.fps) <= 0.75, (frame, number)
    return rec, {
        "lost": {"none": set(range(frames)) - set(kept), "shows": {k: k for k in kept}},
        "variable": {"none": set(range(frames)) - set(by_number), "shows": by_number},
    }


def _numbers(pictures: Any) -> list[int]:

    return [read_number(p.rgb.mean(2)) for p in pictures]


def bench_frames(folder: Path) -> dict[str, Any]:

    rec, rate = filmed_two_ways(folder / "frames")
    view, rng, wrong, checked = tf.view(rec, browser=False), np.random.default_rng(SEED), [], 0
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = Viewer(browser, view.address)
        for frame in rng.integers(0, 300, 200).tolist():
            page.go(frame)
            wrong += read_numbers(page, frame, rate)
            checked += 1
        scrubs = 0
        for _ in range(20):
            for frame in (*rng.integers(0, 300, 10).tolist(), last := int(rng.integers(0, 300))):
                page.page.locator("#time").fill(str(frame))
            page.until(lambda last=last: page.state("frame") == last)
            page.loaded()
            wrong += read_numbers(page, last, rate)
            scrubs += 1
        page.close()
        browser.close()
    view.close()
    return {"random frames": checked, "bursts of quick scrubs": scrubs, "views": 2, "wrong": wrong}


# The player asks whether a frame is ready before it goes on: what was drawn and ready then was shown. Four seconds,
# because the films last five.
PLAYED = """() => new Promise(done => {
  const shown = new Set();
  const ready = trackfish.ready;
  trackfish.ready = () => {
    const is = ready();
    if (is && trackfish.drawn === trackfish.frame) shown.add(trackfish.frame);
    return is;
  };
  const began = performance.now();
  trackfish.speed = 1;
  document.querySelector("#play").click();
  const look = () => {
    const gone = performance.now() - began;
    if (gone < 4000) return requestAnimationFrame(look);
    document.querySelector("#play").click();
    trackfish.ready = ready;
    done((1000 * shown.size) / gone);
  };
  requestAnimationFrame(look);
})"""


def bench_play(write_large: Callable[[Path, int, int], Recording], folder: Path) -> dict[str, Any]:

    out: dict[str, Any] = {}
    rng = np.random.default_rng(SEED)
    ground = rng.integers(60, 120, (960, 1280, 3)).astype(np.uint8)
    for animals in (16, 100):
        rec = write_large(folder / f"play{animals}", animals, 300)
        (rec.folder / "videos").mkdir(exist_ok=True)
        for name in rec.rig.names:
            pictures = (np.roll(ground, 3 * k, axis=1) for k in range(300))
            write_video(rec.folder / "videos" / f"{name}.mp4", pictures, (1280, 960), 60.0)
        view = tf.view(Recording.open(rec.folder), browser=False)
        with sync_playwright() as p:
            browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = Viewer(browser, view.address)
            page.loaded()
            films = page.page.evaluate(PLAYED)
            decoded = view_rate(rec)
            browser.close()
        view.close()
        out[f"{animals} animals, 4 films"] = {
            "pictures shown a second": round(films, 1),
            "pictures a second the server decodes and sends, of all films": round(decoded, 1),
        }
    return out


def view_rate(rec: Recording) -> float:
    """Pictures a second that come out of the server's decoder when nothing is drawn, one after the other."""

    films = FilmPictures(rec.videos)
    began, count = time.perf_counter(), 0
    for number in range(40):
        for name in rec.videos:
            films.ask("bench", name, number, 640).result(120)
            count += 1
    films.close()
    return count / (time.perf_counter() - began)
