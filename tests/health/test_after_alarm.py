"""What `run` does once `check` has found something wrong: it goes on, and nobody can overlook it."""

import re

import numpy as np
import pytest

from tests.cli.test_run import SIZE, cameras, films, run  # noqa: F401
from tests.report.test_page import contents
from trackfish3d.cameras.native import write_cameras
from trackfish3d.media.writer import write_video
from trackfish3d.methods.result import Result
from trackfish3d.recordings import Recording, Tracks


def page_of(folder):
    return (folder / "report.html").read_text(encoding="utf-8")


def test_after_an_alarm_tracks_are_written_and_the_verdict_stands_first_and_last(films, tmp_path, capsys):  # noqa: F811
    out = tmp_path / "rec"
    assert run(films, out, "--time-offset", "left=3") == 1
    said = capsys.readouterr().out.strip().splitlines()
    verdict = "camera right: 3 frames early"
    assert said[-1].startswith(f"something is wrong: {verdict}")
    assert len(Recording.open(out).tracks) > 0
    assert (out / "tracks.csv").stat().st_size > 0
    page = page_of(out)
    found = contents(page)
    assert found["verdicts"][0].startswith(f"Something is wrong: {verdict}")
    top, stage = page.index('<ul id="verdicts"'), page.index("<main>")
    assert top < stage  # before everything that is drawn
    assert run(films, out, "--time-offset", "left=3") == 1  # and again where every stage was done before
    assert verdict in capsys.readouterr().out.strip().splitlines()[-1]


def test_no_tracks_at_all_is_something_wrong(tmp_path, capsys):
    dark = tmp_path / "dark"
    dark.mkdir()
    rng = np.random.default_rng(0)
    for name in ("left", "right"):
        pictures = [rng.normal(120, 1, (SIZE[1], SIZE[0], 3)).astype(np.uint8) for _ in range(12)]
        write_video(dark / f"{name}.mp4", pictures, SIZE, 25.0)
    write_cameras(cameras(), dark / "cameras.toml")
    assert run(dark, tmp_path / "rec") == 1
    said = capsys.readouterr().out
    assert "something is wrong: nothing could be tracked: there are no detections" in said
    assert any("no track" in v for v in contents(page_of(tmp_path / "rec"))["verdicts"])


def test_observed_is_seen_by_two_views_and_one_view_is_told_apart():
    views = np.array([2, 3, 1, 1, 0, 2, 2, 2])
    tracks = Tracks.build(
        np.arange(8),
        np.zeros(8, int),
        np.zeros((8, 3)),
        views=views,
        observed=np.array([*[True] * 4, False, *[True] * 3]),
    )
    result = Result(tracks, method="any")
    assert result.observed == pytest.approx(5 / 8)
    assert result.one_view == pytest.approx(2 / 8)
    numbers = re.findall(r"([\d.]+) %", result.summary)
    assert [float(n) for n in numbers] == [62.5, 25.0]
