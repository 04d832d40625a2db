"""Every picture keeps the number of its moment, whatever happens to its neighbours."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.detection.worlds import encode, numbered_picture, read_number
from trackfish3d.core.errors import InputError
from trackfish3d.media.timeline import number_frames
from trackfish3d.media.video import Video

GOP = {"preset": "ultrafast", "crf": "12", "g": "10", "bf": "2"}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encode(tmp_path_factory.mktemp("v") / "plain.mp4", (numbered_picture(k) for k in range(60)), options=GOP)


def damage(path: Path, number: int, out: Path) -> Path:
    """Fill the packet of one frame with noise."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        step = Fraction(1, 30) / stream.time_base
        (packet,) = [p for p in container.demux(stream) if p.size and p.pts == number * step]
        place, size = packet.pos, packet.size
    content = bytearray(path.read_bytes())
    content[place + 4 : place + size] = np.random.default_rng(0).bytes(size - 4)
    out.write_bytes(content)
    return out


def test_every_picture_has_its_own_number(plain: Path) -> None:
    video = Video.open(plain)
    assert (video.count, video.fps, video.size, video.notes) == (60, pytest.approx(30), (192, 48), [])
    assert [(p.number, read_number(p.grey)) for p in video.read()] == [(k, k) for k in range(60)]
    assert not video.skipped


@pytest.mark.parametrize("start", [1, 9, 10, 33, 59])
def test_reading_from_the_middle_is_frame_exact(plain: Path, start: int) -> None:
    numbers = [(p.number, read_number(p.grey)) for p in Video.open(plain).read(start, start + 4, threads=2)]
    assert numbers == [(k, k) for k in range(start, min(start + 4, 60))]


def test_a_broken_frame_is_left_out_and_shifts_nobody(plain: Path, tmp_path: Path) -> None:
    video = Video.open(damage(plain, 27, tmp_path / "broken.mp4"))
    found = [(p.number, read_number(p.grey)) for p in video.read()]
    assert 27 in video.skipped
    assert video.skipped <= set(range(20, 30))  # nothing outside the broken frame's own group of pictures
    assert {n for n, _ in found} == set(range(60)) - video.skipped
    intact = [(n, seen) for n, seen in found if not 20 <= n < 30]
    assert all(n == seen for n, seen in intact)


def test_frames_the_camera_lost_leave_their_numbers_out(tmp_path: Path) -> None:
    kept = [k for k in range(40) if k not in (7, 20, 21, 22)]
    path = encode(tmp_path / "holes.mp4", (numbered_picture(k) for k in kept), pts=kept, options=GOP)
    video = Video.open(path)
    assert [(p.number, read_number(p.grey)) for p in video.read()] == [(k, k) for k in kept]
    assert video.count == 40
    assert video.notes == ["4 frames were never recorded, the first is 7; later frames keep their numbers"]


def test_variable_rate_goes_by_time(tmp_path: Path) -> None:
    # Half a second at 30 a second, then at 20: by time, on ticks of the container's average.
    times = [*(round(k * 1000 / 30) for k in range(15)), *(500 + round(k * 1000 / 20) for k in range(15))]
    path = encode(
        tmp_path / "vfr.mkv", (numbered_picture(k) for k in range(30)), pts=times, time_base=Fraction(1, 1000)
    )
    video = Video.open(path)
    assert len(video.notes) == 1
    assert "variable frame rate" in video.notes[0]
    for picture in video.read():
        assert abs(picture.number / video.fps - times[read_number(picture.grey)] / 1000) < 0.75 / video.fps


@given(
    st.lists(st.integers(0, 3), min_size=12, max_size=200), st.sampled_from([1000, 512, 90000, 30]), st.integers(0, 99)
)
@settings(max_examples=60, deadline=None)
def test_jitter_and_holes_never_change_a_number(holes: list[int], base: int, seed: int) -> None:
    # At least half of the intervals are single ones, as in any video that is not mostly holes.
    steps = np.array([1 + (h if k % 3 == 0 else 0) for k, h in enumerate(holes)])
    number = np.concatenate([[0], np.cumsum(steps)])
    jitter = np.random.default_rng(seed).uniform(-0.1, 0.1, len(number)) if base > 100 else 0
    pts = np.rint((number + jitter) * base / 30)
    assert number_frames(pts).number.tolist() == number.tolist()


def test_long_drift_of_the_time_base_adds_up_to_nothing() -> None:
    number = np.arange(100_000)
    line = number_frames(np.rint(number * 1000 * 1001 / 30000))  # 29.97 a second in whole milliseconds
    assert np.array_equal(line.number, number)
    assert 1000 / line.step == pytest.approx(30000 / 1001, rel=1e-6)


@pytest.mark.parametrize("codec", ["mpeg4", "mjpeg", "ffv1"])
def test_other_codecs_and_containers(tmp_path: Path, codec: str) -> None:
    suffix, fmt = {"mpeg4": (".avi", "yuv420p"), "mjpeg": (".avi", "yuvj420p"), "ffv1": (".mkv", "bgr0")}[codec]
    options = {"g": "5", "qmin": "2", "qmax": "3"} if codec != "ffv1" else {"g": "5"}
    path = encode(
        tmp_path / f"v{suffix}", (numbered_picture(k) for k in range(20)), codec=codec, pix_fmt=fmt, options=options
    )
    video = Video.open(path)
    assert [(p.number, read_number(p.grey)) for p in video.read(3)] == [(k, k) for k in range(3, 20)]
    picture = next(video.read(4))
    assert [plane.shape for plane in picture.chroma] == [(24, 96)] * 2
    assert picture.rgb.shape == (48, 192, 3)


def test_a_raw_stream_without_times_is_counted(tmp_path: Path) -> None:
    path = encode(tmp_path / "raw.h264", (numbered_picture(k) for k in range(20)), options={**GOP, "bf": "0"})
    assert [(p.number, read_number(p.grey)) for p in Video.open(path).read(5, 9)] == [(k, k) for k in range(5, 9)]


def test_sample_is_spread_over_the_video(plain: Path) -> None:
    video = Video.open(plain)
    numbers = [p.number for p in video.at(video.sample_numbers(6))]
    assert 5 <= len(numbers) <= 6  # key frames near the wanted ones are taken instead
    assert numbers[0] < 10
    assert numbers[-1] >= 50


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda good, bad: bad.write_bytes(good.read_bytes()[: good.stat().st_size // 2]), "truncated"),
        (lambda good, bad: bad.write_text("not a video at all"), "is not a video"),
        (lambda good, bad: bad.write_bytes(b""), "is not a video"),
        (lambda good, bad: bad.write_bytes(good.read_bytes().replace(b"avc1", b"zzz9")), "codec is not known"),
        (lambda good, bad: None, "no such video"),
    ],
)
def test_what_cannot_be_read_is_one_line(plain: Path, tmp_path: Path, make, says: str) -> None:  # type: ignore[no-untyped-def]
    bad = tmp_path / "bad.mp4"
    make(plain, bad)
    with pytest.raises(InputError, match=says) as caught:
        list(Video.open(bad).read())
    assert "bad.mp4" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_video_says_where_it_ends(tmp_path: Path) -> None:
    path = encode(tmp_path / "v.mkv", (numbered_picture(k) for k in range(60)), options=GOP)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    video = Video.open(path)
    assert any("truncated" in note for note in video.notes)
    found = [(p.number, read_number(p.grey)) for p in video.read()]
    assert 10 < len(found) < 50
    assert all(n == seen for n, seen in found)


def test_metadata_that_is_not_text_is_no_reason_to_refuse_a_film(plain: Path, tmp_path: Path) -> None:
    content = plain.read_bytes()
    assert b"VideoHandler" in content
    path = tmp_path / "odd.mp4"
    path.write_bytes(content.replace(b"VideoHandler", b"Video\xff\xfe\x99dler"))
    video = Video.open(path)
    assert [p.number for p in video.read(0, 3)] == [0, 1, 2]


def test_a_clock_that_jumps_by_hours_is_damaged(tmp_path: Path) -> None:
    """Twenty pictures would stand for a million frames, and everything that counts frames would not end."""
    pictures = [numbered_picture(k) for k in range(20)]
    path = encode(tmp_path / "jump.mp4", pictures, pts=[*range(10), *range(10**6, 10**6 + 10)])
    with pytest.raises(InputError, match=r"jump\.mp4: its clock is damaged: 20 pictures in 10000.. frames"):
        Video.open(path)
    pause = encode(tmp_path / "pause.mp4", pictures, pts=[*range(10), *range(9000, 9010)])
    assert Video.open(pause).count == 9010
