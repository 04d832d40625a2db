"""From the videos of a recording to its detections: stopped, broken, dark, moved, and in parallel."""

import json
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.media.test_video import damage
from trackfish3d.cameras import Camera, CameraRig
from trackfish3d.core.errors import InputError, MissingExtraError
from trackfish3d.detection import camera_job, pipeline
from trackfish3d.detection.base import FrameDetections
from trackfish3d.detection.camera_job import read_ahead
from trackfish3d.detection.preview import WIDTH, draw_seen, panel
from trackfish3d.detection.registry import detector_names, make_detector
from trackfish3d.media.video import Video
from trackfish3d.media.video_checks import displacement, examine
from trackfish3d.recordings import Recording

from .slow import SlowCamera
from .worlds import encode, swimming

SIZE = (200, 150)
GOP = {"preset": "ultrafast", "crf": "12", "g": "10", "bf": "2"}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos left.mp4 and right.mp4 of 60 frames."""
    folder = tmp_path_factory.mktemp("films")
    for k, name in enumerate(("left", "right")):
        encode(folder / f"{name}.mp4", swimming(60, seed=k)[0], options=GOP)
    return folder


def record(folder: Path, films: dict[str, Path], frames: int = 60) -> Recording:
    """A recording with these videos."""
    K = np.array([[300.0, 0, 100], [0, 300, 75], [0, 0, 1]])
    rig = CameraRig(
        tuple(Camera(n, SIZE, K, np.zeros(5), np.eye(3), [k, 0, 0]) for k, n in enumerate(("left", "right"))), "cm"
    )
    (folder / "videos").mkdir(parents=True)
    for name, path in films.items():
        (folder / "videos" / f"{name}{path.suffix}").write_bytes(path.read_bytes())
    return Recording.create(folder, rig, fps=30.0, frames=(0, frames))


def both(films: Path) -> dict[str, Path]:
    return {n: films / f"{n}.mp4" for n in ("left", "right")}


class Killed(Exception):
    """The process is gone."""


@pytest.fixture(scope="module")
def whole(films: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Detections of a run that nobody stopped, in parts of 16 frames."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (camera_job, pipeline):
            patch.setattr(module, "PART_FRAMES", 16)
        recording = record(tmp_path_factory.mktemp("whole") / "rec", both(films))
        report = pipeline.detect(recording, workers=1)
    assert report.notes == []
    assert report.detections == len(recording.detections) > 300
    assert not (recording.folder / ".detect").exists()
    assert json.loads((recording.folder / "detections.settings.json").read_text())["learnt"].keys() == {"left", "right"}
    return (recording.folder / "detections.parquet").read_bytes()


@pytest.mark.parametrize("stop", [33, 90])
def test_a_killed_run_goes_on_and_ends_in_the_same_bytes(
    films: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    for module in (camera_job, pipeline):
        monkeypatch.setattr(module, "PART_FRAMES", 16)
    recording = record(tmp_path / "rec", both(films))
    seen: list[int] = []

    def tell(camera: str, done: int, total: int) -> None:
        seen.append(done)
        if len(seen) == stop:
            raise Killed

    with pytest.raises(Killed):
        pipeline.detect(recording, workers=1, progress=tell)
    left = sorted(p.name for p in (recording.folder / ".detect").rglob("*.parquet"))
    assert len(left) == {33: 1, 90: 5}[stop]
    seen = []
    again: list[tuple[str, int]] = []
    pipeline.detect(recording, workers=1, progress=lambda c, d, t: again.append((c, d)))
    assert (recording.folder / "detections.parquet").read_bytes() == whole
    if stop == 90:
        assert ("left", 60) in again[:2]  # its parts were all there: nothing of it was done twice


def test_other_settings_do_not_take_up_what_was_begun(
    films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (camera_job, pipeline):
        monkeypatch.setattr(module, "PART_FRAMES", 16)
    recording = record(tmp_path / "rec", both(films))

    def tell(camera: str, done: int, total: int) -> None:
        if done == 40:
            raise Killed

    with pytest.raises(Killed):
        pipeline.detect(recording, workers=1, progress=tell)
    first: list[int] = []
    finder = make_detector("background", {"split": "false"})
    pipeline.detect(recording, finder, workers=1, progress=lambda c, d, t: first.append(d))
    assert first[0] == 0


def test_cameras_at_once_and_one_after_the_other_are_the_same(films: Path, tmp_path: Path) -> None:
    made = []
    for workers in (1, 2):
        recording = record(tmp_path / f"rec{workers}", both(films))
        pipeline.detect(recording, workers=workers)
        made.append((recording.folder / "detections.parquet").read_bytes())
        assert {p.name for p in (recording.folder / "preview").iterdir()} == {"left.png", "right.png"}
    assert made[0] == made[1]


def test_broken_frames_are_said_and_shift_nobody(films: Path, tmp_path: Path) -> None:
    broken = damage(films / "left.mp4", 27, tmp_path / "left.mp4")
    recording = record(tmp_path / "rec", {"left": broken, "right": films / "right.mp4"})
    report = pipeline.detect(recording, workers=1, previews=False)
    assert any("camera left" in n and "broken frames left out" in n for n in report.notes)
    found = recording.detections
    masks = swimming(60, seed=0)[1]
    left = found.camera == 0
    assert 27 not in found.frame[left]
    late = left & (found.frame > 32)
    rows = zip(found.frame[late], found.u[late], found.v[late], strict=True)
    inside = [masks[f].any(0)[round(v), round(u)] for f, u, v in rows]
    assert len(set(found.frame[late].tolist())) == 27
    assert np.mean(inside) > 0.97


def test_videos_of_different_length_are_said_and_both_used(films: Path, tmp_path: Path) -> None:
    short = encode(tmp_path / "right.mp4", swimming(40, seed=1)[0], options=GOP)
    recording = record(tmp_path / "rec", {"left": films / "left.mp4", "right": short})
    report = pipeline.detect(recording, workers=1, previews=False)
    assert "videos differ in length: right 40 of 60 frames; the rest is seen by the others" in report.notes
    found = recording.detections
    assert found.frame[found.camera == 1].max() == 39
    assert found.frame[found.camera == 0].max() == 59


def test_what_cannot_be_detected_in_is_refused_in_one_line(films: Path, tmp_path: Path) -> None:
    small = encode(tmp_path / "small.mp4", swimming(5, size=(160, 120))[0])
    slow = encode(tmp_path / "slow.mp4", swimming(5)[0], fps=10)
    cases = [
        ({"left": small}, "small.mp4|left.mp4: pictures are 160x120, camera left is calibrated for 200x150"),
        ({"left": films / "left.mp4", "right": slow}, "left has 30 frames a second, right 10"),
        ({}, "has no videos"),
    ]
    for k, (videos, said) in enumerate(cases):
        recording = record(tmp_path / f"rec{k}", videos)
        with pytest.raises(InputError, match=said) as caught:
            pipeline.detect(recording, workers=1)
        assert "\n" not in str(caught.value)


def test_a_file_that_says_a_wrong_rate_is_used_where_the_rate_is_known(films: Path, tmp_path: Path) -> None:
    slow = encode(tmp_path / "slow.mp4", swimming(5)[0], fps=10)
    recording = record(tmp_path / "rec", {"left": films / "left.mp4", "right": slow})
    videos, notes = pipeline.check_videos(recording, any_rate=True)
    assert set(videos) == {"left", "right"}
    assert "left has 30 frames a second, right 10; taken as 30 for both" in notes


def test_a_video_is_opened_once_and_passed_on(films: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    real = Video.open.__func__  # type: ignore[attr-defined]

    def counted(cls: type[Video], path: Path) -> Video:
        opened.append(Path(path))
        return real(cls, path)

    monkeypatch.setattr(Video, "open", classmethod(counted))
    recording = record(tmp_path / "rec", both(films))
    pipeline.detect(recording, workers=1, previews=False)
    assert sorted(opened) == sorted(recording.videos.values())
    first = recording.detections
    known = {name: Video.open(path) for name, path in both(films).items()}
    opened.clear()
    pipeline.detect(recording, videos=known, workers=2, previews=False)  # other processes get the facts with their job
    assert opened == []
    np.testing.assert_array_equal(recording.detections.u, first.u)


@pytest.mark.parametrize("name", detector_names())
def test_a_detector_can_be_sent_to_another_process(name: str) -> None:
    detector = make_detector(name, {"region": "0,0 9,0 9,9"} if name != "onnx" else {"min_score": "0.5"})
    sent = pickle.loads(pickle.dumps(detector))
    assert type(sent) is type(detector)
    assert sent.settings == detector.settings
    assert sent.name == name


def test_one_bad_camera_of_two_stops_the_others(films: Path, tmp_path: Path) -> None:
    recording = record(tmp_path / "rec", both(films))
    with pytest.raises(InputError, match="region"):
        pipeline.detect(recording, make_detector("background", {"region": "nowhere"}), workers=2)


def test_a_dark_video_and_a_camera_that_moved_are_said(tmp_path: Path) -> None:
    dark = encode(tmp_path / "dark.mp4", swimming(30, ground=5.0, dark=4)[0])
    assert any("dark video" in note for note in examine(Video.open(dark))[0])
    rng = np.random.default_rng(5)
    wall = np.repeat(np.repeat(rng.integers(40, 220, (30, 40)), 6, 0), 6, 1)[:, :, None].repeat(3, 2).astype(np.uint8)
    still = [wall[15:165, 20:220]] * 30
    moved = still[:15] + [wall[22:172, 32:232]] * 15
    assert examine(Video.open(encode(tmp_path / "still.mp4", still))) == ([], [])
    (note,), (knock,) = examine(Video.open(encode(tmp_path / "moved.mp4", moved)))
    assert "the camera moved by about 14 px at frame 15" in note
    assert knock.frame == 15


@pytest.mark.parametrize("shift", [(0, 0), (5, 0), (-3, 7), (11, -9)])
def test_a_shift_is_measured_and_a_change_of_light_is_none(shift: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    scene = rng.normal(100, 30, (160, 200))
    dx, dy = shift
    first, second = scene[20:140, 20:180], scene[20 - dy : 140 - dy, 20 - dx : 180 - dx]
    assert displacement(first, second + 25) == shift


def test_a_missing_package_says_which_to_install(films: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*trackfish3d\[video\]"):
        Video.open(films / "left.mp4")


def test_reading_ahead_changes_nothing_and_passes_errors_on() -> None:
    assert list(read_ahead(iter(range(100)))) == list(range(100))

    def failing():  # type: ignore[no-untyped-def]
        yield 1
        raise InputError("broken")

    with pytest.raises(InputError, match="broken"):
        list(read_ahead(failing()))
    endless = read_ahead(iter(int, 1))
    assert next(endless) == 0
    endless.close()  # and its thread ends


def test_the_preview_shows_outlines_around_the_masks(films: Path) -> None:
    video = Video.open(films / "left.mp4")
    detector = make_detector("background")
    detector.prepare(video)
    (picture,) = video.at([30])
    seen = detector.see(picture)
    drawn = draw_seen(picture.rgb, seen)
    changed = (drawn != picture.rgb).any(axis=2)
    mask = np.zeros(changed.shape, bool)
    for blob in seen.masks or ():
        h, w = blob.mask.shape
        mask[blob.top : blob.top + h, blob.left : blob.left + w] |= blob.mask > 0
    assert changed.sum() > 30 * len(seen)
    assert not (changed & mask).any() or len(seen) > 1
    boxes = draw_seen(picture.rgb, FrameDetections.from_boxes(np.array([[20.0, 30, 60, 50]]), np.ones(1)))
    assert (boxes != picture.rgb).any(axis=2).sum() == pytest.approx(2 * 40 + 2 * 20, abs=4)
    assert panel(picture.rgb, seen).shape == (150, 400, 3)
    assert (
        panel(np.zeros((1080, 1920, 3), np.uint8), FrameDetections.from_boxes(np.zeros((0, 4)), np.zeros(0))).shape[1]
        == 2 * WIDTH
    )


def read_all(path: Path) -> tuple[list[int], str | None]:
    """Numbers of the pictures, and the line that a file is refused with; any other error is a bug."""
    try:
        return [p.number for p in Video.open(path).read()], None
    except InputError as error:
        return [], str(error)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["mp4", "mkv", "avi"]),
    st.floats(0, 1),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=40)), max_size=4),
)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    damaged: dict[str, bytes], tmp_path: Path, kind: str, length: float, wounds: list[tuple[float, bytes]]
) -> None:
    content = bytearray(damaged[kind])
    for place, junk in wounds:
        at = int(place * len(content))
        content[at : at + len(junk)] = junk
    path = tmp_path / f"bad.{kind}"
    path.write_bytes(content[: int(length * len(content))] if length < 0.9 else content)
    numbers, said = read_all(path)
    assert numbers == sorted(set(numbers))
    assert said is None or ("bad." in said and "\n" not in said)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Small good videos in several containers, to be damaged."""
    folder = tmp_path_factory.mktemp("good")
    pictures = swimming(12, size=(96, 64), fish=1)[0]
    return {k: encode(folder / f"v.{k}", pictures, options=GOP).read_bytes() for k in ("mp4", "mkv", "avi")}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.sampled_from(["mp4", "avi", "mkv", "mpg", "h264", "y4m"]))
def test_random_bytes_are_refused_in_one_line(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / f"noise.{kind}"
    path.write_bytes(content)
    _, said = read_all(path)
    assert said is None or ("noise." in said and "\n" not in said)


def test_ctrl_c_while_backgrounds_are_learnt_ends_the_workers_at_once() -> None:
    """They report no step before the first frame, and would hear of it at their first one only."""
    begun = time.monotonic()

    def stopped(*_: object) -> None:
        if time.monotonic() - begun > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline._run_jobs([SlowCamera("a"), SlowCamera("b")], 2, stopped)  # type: ignore[list-item]
    assert time.monotonic() - begun < 60
