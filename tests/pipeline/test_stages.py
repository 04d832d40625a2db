"""Stages that are done once, and videos put to cameras."""

import json

import numpy as np
import pytest

from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.media.video import Video
from trackfish3d.media.writer import write_video
from trackfish3d.pipeline.films import common_rate, link_films, open_films, put_to_cameras
from trackfish3d.pipeline.stages import Listener, Runner, Stage


def rig(*names, size=(64, 48)):
    K = np.array([[60.0, 0, size[0] / 2], [0, 60, size[1] / 2], [0, 0, 1]])
    return CameraRig(tuple(Camera(n, size, K, np.zeros(5), np.eye(3), [k, 0, 0]) for k, n in enumerate(names)), "cm")


def film(path, frames=6, fps=20.0, size=(64, 48)):
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    write_video(path, rng.integers(0, 255, (frames, size[1], size[0], 3)).astype(np.uint8), size, fps)
    return path


class Counting:
    """A chain of two stages that count how often they work."""

    def __init__(self, folder):
        self.folder, self.worked = folder, []

    def go(self, setting=1, stop=False, again=False):
        first, second = self.folder / "a.txt", self.folder / "b.txt"

        def work_first(report):
            self.worked.append("first")
            first.write_text(f"made with {setting}")
            return "first done\na note"

        def work_second(report):
            if stop:
                raise KeyboardInterrupt
            report(1, 2)
            self.worked.append("second")
            second.write_text(first.read_text())
            return "second done"

        runner = Runner(self.folder, Listener(), again)
        runner.do(Stage("first", (), {"setting": setting}, (first,), work_first))
        runner.do(Stage("second", (first,), {}, (second,), work_second))


def test_a_stopped_run_goes_on_and_a_change_redoes_what_follows(tmp_path, capsys):
    chain = Counting(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        chain.go(stop=True)
    assert chain.worked == ["first"]
    chain.go()
    assert chain.worked == ["first", "second"]
    assert "first: first done (done before)\n  a note\n" in capsys.readouterr().out
    chain.go()
    assert chain.worked == ["first", "second"]
    chain.go(setting=2)
    assert chain.worked == ["first", "second"] * 2
    (tmp_path / "b.txt").unlink()
    chain.go(setting=2)
    assert chain.worked[4:] == ["second"]
    (tmp_path / "a.txt").write_text("edited by hand")  # kept, but what rests on it is made again
    chain.go(setting=2)
    assert chain.worked[5:] == ["second"]
    assert (tmp_path / "b.txt").read_text() == "edited by hand"
    chain.go(setting=2, again=True)
    assert chain.worked[6:] == ["first", "second"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"first": 3}', '{"first": {"key": "x"}}'])
def test_a_damaged_journal_costs_work_not_the_run(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    chain = Counting(tmp_path)
    chain.go()
    assert chain.worked == ["first", "second"]
    assert set(json.loads((tmp_path / "run.json").read_text())) == {"first", "second"}


def test_videos_find_their_cameras_by_name():
    cameras = rig("top", "front", "cam-1", "cam-10")
    found = put_to_cameras(["a/front.avi", "x=y/top.mp4", "2024_cam-10_b.mp4"], rig("top", "front", "x", "cam-10"))
    assert list(found) == ["front", "x", "cam-10"]
    assert str(found["x"]) == "y/top.mp4"
    assert list(put_to_cameras(["fish_cam-1.mp4", "fish_cam-10.mp4"], cameras)) == ["cam-1", "cam-10"]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["stop.mp4", "front.mp4"], "of which camera is it"),
        (["top_front.mp4", "front.mp4"], "of which camera is it"),
        (["side=a.mp4", "front.mp4"], "unknown camera 'side'"),
        (["top.mp4", "top=b.mp4"], "has two videos"),
        (["top.mp4"], "two cameras or more"),
    ],
)
def test_videos_that_fit_no_camera_are_refused(texts, said):
    with pytest.raises(InputError, match=said):
        put_to_cameras(texts, rig("top", "front"))


def test_videos_are_checked_against_the_calibration_and_each_other(tmp_path):
    cameras = rig("top", "front")
    paths = {"top": film(tmp_path / "top.mp4", 6), "front": film(tmp_path / "front.mp4", 9)}
    films = open_films(paths, cameras)
    assert common_rate(films) == pytest.approx(20.0)
    with pytest.raises(InputError, match="has 64 x 48 px, camera top was calibrated with 128 x 96"):
        open_films(paths, rig("top", "front", size=(128, 96)))
    films["front"] = Video.open(film(tmp_path / "slow" / "front.mp4", fps=10.0))
    with pytest.raises(InputError, match="camera front has 10 frames a second, camera top 20"):
        common_rate(films)


def test_linked_videos_open_and_are_replaced(tmp_path):
    folder = tmp_path / "rec" / "videos"
    link_films({"top": Video.open(film(tmp_path / "day1.mp4", 4))}, folder)
    link_films({"top": Video.open(film(tmp_path / "day1.mp4", 4))}, folder)
    assert Video.open(folder / "top.mp4").count == 4
    link_films({"top": Video.open(film(tmp_path / "day2.MP4", 5))}, folder)
    assert [p.name for p in folder.iterdir()] == ["top.mp4"]
    assert Video.open(folder / "top.mp4").count == 5
