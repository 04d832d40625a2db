import base64
import io

import numpy as np
import pytest
from PIL import Image

from trackfish3d.core.files import write_json
from trackfish3d.report import thumbnails as module
from trackfish3d.report.thumbnails import second_looks, thumbnails

from .scenes import make_recording

av = pytest.importorskip("av", reason="PyAV is not installed")


def write_video(path, frames=120, size=(320, 180)):
    """A video whose brightness says the frame."""
    path.parent.mkdir(exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=30, options={"crf": "10", "g": "50"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for k in range(frames):
            picture = np.full((size[1], size[0], 3), 20 + 1.5 * k, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())


def brightness(jpeg, folder):
    file = folder / "x.jpg"
    file.write_bytes(base64.b64decode(jpeg))
    with av.open(str(file)) as container:
        return next(container.decode(video=0)).to_ndarray(format="gray").mean()


def test_pictures_show_the_frames_they_say(tmp_path):
    recording = make_recording(tmp_path / "r", fish=2, frames=120)
    write_video(recording.folder / "videos" / "middle.mp4")
    recording.info.first_frame = 100
    recording.info.time_offset_frames = {"middle": 7}
    found, problems = thumbnails(recording)
    assert problems == []
    assert list(found) == ["middle"]
    frames = [p["frame"] for p in found["middle"]]
    assert frames[0] == 107
    assert frames[-1] == 107 + 119
    assert len(frames) == module.PER_CAMERA
    for picture in found["middle"]:
        assert brightness(picture["jpeg"], tmp_path) == pytest.approx(20 + 1.5 * (picture["frame"] - 107), abs=3)


def test_pictures_keep_to_their_budget(tmp_path, monkeypatch):
    recording = make_recording(tmp_path / "r", fish=2, frames=120)
    write_video(recording.folder / "videos" / "left.mp4")
    whole, _ = thumbnails(recording)
    size = len(base64.b64decode(whole["left"][0]["jpeg"]))
    monkeypatch.setattr(module, "BUDGET", int(3.5 * size))
    few, _ = thumbnails(recording)
    assert 0 < len(few["left"]) < len(whole["left"])
    assert sum(len(base64.b64decode(p["jpeg"])) for p in few["left"]) <= 3.5 * size


def test_a_broken_video_costs_only_its_pictures(tmp_path):
    recording = make_recording(tmp_path / "r", fish=2, frames=20)
    (recording.folder / "videos").mkdir()
    (recording.folder / "videos" / "left.mp4").write_bytes(b"not a video")
    found, problems = thumbnails(recording)
    assert found == {}
    assert len(problems) == 1
    assert problems[0].startswith("left.mp4: no pictures")


def test_a_second_look_is_shown_before_and_after(small):
    assert second_looks(small) is None
    rounds = [{"added": 3, "removed": 1, "moved": 7, "kept": 20}]
    write_json(small.folder / "look_again.json", {"rounds": rounds})
    assert second_looks(small) == {"rounds": [[3, 1, 7, 20]], "pictures": [], "refused": ""}
    (small.folder / "preview").mkdir()
    name, other = small.rig.names[:2]
    for ending, level in (("", 40), ("-again", 200)):
        panels = np.full((80, 120, 3), level, np.uint8)
        panels[40:] = 0  # the last two of four moments, which are left out
        Image.fromarray(panels).save(small.folder / "preview" / f"{name}{ending}.png")
        (small.folder / "preview" / f"{other}{ending}.png").write_bytes(b"no picture")
    (shown,) = second_looks(small)["pictures"]
    assert shown["camera"] == name
    for what, level in (("before", 40), ("after", 200)):
        picture = np.asarray(Image.open(io.BytesIO(base64.b64decode(shown[what]))))
        assert picture.shape == (40, 120, 3)
        assert abs(picture.mean() - level) < 2
    write_json(small.folder / "look_again.json", {"rounds": [], "refused": "tracks break 9 times, 2 before"})
    assert second_looks(small)["refused"] == "tracks break 9 times, 2 before"
    write_json(small.folder / "look_again.json", {"rounds": "many"})
    assert second_looks(small) is None
