"""A film in chapters is one film: every picture has the number that is burnt into it, whatever file it lies in."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.detection.worlds import encode, numbered_picture, read_number
from trackfish3d.cameras import CameraRig
from trackfish3d.core.errors import InputError
from trackfish3d.detection.base import Detector, FrameDetections
from trackfish3d.detection.pipeline import detect
from trackfish3d.media.chapters import in_order, pieces_of
from trackfish3d.media.video import Picture, Video
from trackfish3d.pipeline.films import link_films, put_to_cameras
from trackfish3d.recordings import Recording
from trackfish3d.synfish.rigs import random_rig

CODED = {"preset": "ultrafast", "crf": "12", "g": "20", "bf": "2", "sc_threshold": "0"}


def chapter(path: Path, numbers: list[int], clock: int | None = None) -> Path:
    """Film of numbered pictures whose clock begins with them, or began at frame `clock`."""
    start = numbers[0] if clock is None else clock
    pts = [n - start for n in numbers]
    return encode(
        path, (numbered_picture(n) for n in numbers), pts=pts, time_base=Fraction(1, 25), fps=25, options=CODED
    )


def told(video: Video, *ranges: int) -> list[tuple[int, int]]:
    return [(p.number, read_number(p.grey)) for p in video.read(*ranges)]


@pytest.fixture(scope="module")
def gopro(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three chapters of 40, 50 and 30 frames; the camera lost frames 60 to 64."""
    folder = tmp_path_factory.mktemp("gopro") / "top"
    chapter(folder / "GX010001.MP4", list(range(40)))
    chapter(folder / "GX020001.MP4", [*range(40, 60), *range(65, 90)])
    chapter(folder / "GX030001.MP4", list(range(90, 120)))
    return folder


@pytest.mark.parametrize("way", ["folder", "pattern", "list", "text"])
def test_every_picture_has_its_number_in_every_way_to_name_a_film(gopro: Path, way: str) -> None:
    files = sorted(gopro.glob("*.MP4"))
    film = {
        "folder": gopro, "pattern": str(gopro / "GX*.MP4"), "list": files, "text": "+".join(map(str, files)),
    }[way]  # fmt: skip
    video = Video.open(film)  # type: ignore[arg-type]
    assert (video.count, video.fps, len(video.chapters)) == (120, 25.0, 3)
    held = [n for n in range(120) if not 60 <= n < 65]
    assert told(video) == [(n, n) for n in held]
    assert [p.number for p in Video.open(gopro).at([3, 39, 40, 62, 91, 119])] == [3, 39, 40, 91, 119]
    for start in (0, 38, 40, 61, 89, 90, 118):
        assert told(video, start, start + 4) == [(n, n) for n in held if start <= n < start + 4]
    assert "5 frames were never recorded" in " ".join(video.notes)
    assert video.near(62) in (59, 65)
    assert video.skipped == set()


def test_a_clock_that_runs_through_all_files_tells_what_was_lost_between_them(tmp_path: Path) -> None:
    chapter(tmp_path / "hour1.mkv", list(range(30)), clock=0)
    chapter(tmp_path / "hour2.mkv", list(range(37, 60)), clock=0)
    video = Video.open(tmp_path)
    assert told(video) == [(n, n) for n in [*range(30), *range(37, 60)]]
    assert any("7 frames are missing between hour1.mkv and hour2.mkv" in note for note in video.notes)


def test_a_lost_chapter_is_named_and_its_frames_can_be_counted(tmp_path: Path) -> None:
    first, last = chapter(tmp_path / "GX010001.MP4", list(range(30))), tmp_path / "GX030001.MP4"
    chapter(last, list(range(80, 100)))
    with pytest.raises(InputError, match=r"between GX010001.MP4 and it seems to be missing.*GX010001.MP4\+N\+GX030001"):
        Video.open(tmp_path)
    video = Video.open(f"{first}+50+{last}")
    assert told(video) == [(n, n) for n in [*range(30), *range(80, 100)]]
    assert Video.open([first, 50, last]).count == 100


def test_a_chapter_that_was_cut_off_does_not_shift_the_next(tmp_path: Path) -> None:
    first = chapter(tmp_path / "a_1.mkv", list(range(60)))
    content = first.read_bytes()
    first.write_bytes(content[: int(0.7 * len(content))])
    chapter(tmp_path / "a_2.mkv", list(range(60, 80)))
    video = Video.open(tmp_path)
    seen = told(video)
    assert video.count == 80
    assert len(seen) < 80
    assert all(n == burnt for n, burnt in seen)
    assert seen[-1] == (79, 79)
    assert "truncated" in " ".join(video.notes)


def test_files_are_put_into_the_order_of_time(tmp_path: Path) -> None:
    def names(*given: str) -> list[str]:
        return [p.name for p in in_order([tmp_path / n for n in given])]

    assert names("GP020007.MP4", "GOPR0007.MP4", "GP010007.MP4") == ["GOPR0007.MP4", "GP010007.MP4", "GP020007.MP4"]
    assert names("top-10.avi", "top-9.avi", "top-1.avi") == ["top-1.avi", "top-9.avi", "top-10.avi"]
    with pytest.raises(InputError, match=r"chapters of 2 films \(0001, 0002\); name one of them"):
        names("GX010001.MP4", "GX010002.MP4", "GX020001.MP4")


def test_hours_that_are_missing_are_seen_where_they_can_be(tmp_path: Path) -> None:
    def missing(*given: str) -> bool:
        for name in given:
            (tmp_path / name).touch()
        try:
            pieces_of([tmp_path / n for n in given])
        except InputError:
            return True
        return False

    assert missing("top_0900.mp4", "top_1000.mp4", "top_1100.mp4", "top_1300.mp4")
    assert not missing("top_0900.mp4", "top_1000.mp4", "top_1100.mp4")
    assert not missing("top_0907.mp4", "top_0914.mp4")
    assert missing("f1.mp4", "f2.mp4", "f4.mp4")


def test_files_that_are_no_chapters_of_one_film_are_refused(tmp_path: Path) -> None:
    chapter(tmp_path / "a1.mp4", list(range(10)))
    encode(tmp_path / "a2.mp4", (np.zeros((64, 64, 3), np.uint8) for _ in range(5)), fps=25)
    with pytest.raises(InputError, match=r"a2.mp4: has 64 x 64 px, a1.mp4 .* not chapters of one film"):
        Video.open(tmp_path)
    for wrong, said in (
        ("+", "no such"),
        (f"{tmp_path / 'a1.mp4'}+7", "begins and ends with a file"),
        ("x*", "no file"),
    ):
        with pytest.raises(InputError, match=said):
            Video.open(wrong)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="is a folder without a video"):
        Video.open(tmp_path / "empty")


@pytest.mark.parametrize(
    "listed", ["{", "[]", "3", '["../a.mp4"]', '["/etc/passwd"]', "[-3]", "[true]", "[5]", '["x",2]']
)
def test_a_damaged_or_hostile_list_is_refused(tmp_path: Path, listed: str) -> None:
    (tmp_path / "chapters.json").write_text(listed)
    with pytest.raises(InputError, match=r"chapters\.json"):
        Video.open(tmp_path)


class Numbers(Detector):
    """Sees the number that is burnt in."""

    name = "numbers"
    stop_at = -1

    def see(self, picture: Picture) -> FrameDetections:
        if picture.number == self.stop_at:
            raise KeyboardInterrupt
        u = float(read_number(picture.grey)) / 10
        return FrameDetections.from_boxes(np.array([[u - 1, 4, u + 1, 8]]), np.ones(1))


def recording(folder: Path, size: tuple[int, int]) -> Recording:
    from dataclasses import replace

    rig = CameraRig(
        tuple(replace(c, name=n, size=size) for c, n in zip(random_rig(2, 1), ("top", "front"), strict=True))
    )
    return Recording.create(folder, rig, fps=25.0, frames=(0, 120))


def test_detection_of_chapters_counts_on_and_goes_on_where_it_stopped(
    gopro: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trackfish3d.detection.camera_job.PART_FRAMES", 25)
    monkeypatch.setattr("trackfish3d.detection.pipeline.PART_FRAMES", 25)
    whole = Video.open(gopro)
    made = recording(tmp_path / "rec", whole.size)
    link_films({"top": whole}, made.folder / "videos")
    assert json.loads((made.folder / "videos/top/chapters.json").read_text()) == ["0001.mp4", "0002.mp4", "0003.mp4"]
    again = Recording.open(made.folder)
    assert list(again.videos) == ["top"]
    stopped = Numbers()
    stopped.stop_at = 70
    with pytest.raises(KeyboardInterrupt):
        detect(again, stopped, workers=1, previews=False)
    assert len(list((made.folder / ".detect" / "top").glob("part_*.parquet"))) == 2
    report = detect(again, Numbers(), workers=1)
    found = again.detections
    np.testing.assert_array_equal(found.frame, np.rint(found.u * 10))
    assert sorted(set(found.frame.tolist())) == [n for n in range(120) if not 60 <= n < 65]
    assert report.cameras[0].frames == 120


def test_links_of_chapters_are_replaced_and_films_that_lie_there_never(gopro: Path, tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    single = Video.open(chapter(tmp_path / "one.mp4", list(range(10))))
    link_films({"top": single}, folder)
    files = sorted(gopro.glob("*.MP4"))
    link_films({"top": Video.open([files[0], 9, files[1]])}, folder)
    assert [p.name for p in folder.iterdir()] == ["top"]
    assert Video.open(folder / "top").begin == (0, 49)
    link_films({"top": single}, folder)
    assert [p.name for p in folder.iterdir()] == ["top.mp4"]
    (folder / "top.mp4").unlink()
    own = folder / "top"
    own.mkdir()
    (own / "mine.mp4").write_bytes(b"film")
    for film in (single, Video.open(gopro)):
        with pytest.raises(InputError, match="move it away"):
            link_films({"top": film}, folder)
    assert (own / "mine.mp4").read_bytes() == b"film"


def test_cameras_take_films_in_chapters(gopro: Path) -> None:
    rig = CameraRig(recording_rig())
    found = put_to_cameras([f"front={gopro}/GX*.MP4", str(gopro)], rig)
    assert {n: Video.open(f).count for n, f in found.items()} == {"top": 120, "front": 120}
    with pytest.raises(InputError, match=r"has two videos.*write top=a.mp4\+b.mp4"):
        put_to_cameras(["top=a.mp4", "top=b.mp4"], rig)


def recording_rig() -> tuple[object, ...]:
    from dataclasses import replace

    return tuple(replace(c, name=n) for c, n in zip(random_rig(2, 1), ("top", "front"), strict=True))
