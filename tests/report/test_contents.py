import base64
import json
import time
from dataclasses import replace

import numpy as np
import pytest

from trackfish3d.recordings import Recording, Tracks
from trackfish3d.report import build_report, contents
from trackfish3d.report.contents import collect
from trackfish3d.report.frames import FrameAxis, runs
from trackfish3d.report.packing import packed, quantised, smallest
from trackfish3d.report.palette import PALETTES
from trackfish3d.report.residuals import nice_above

from .scenes import air_rig, make_recording, water_rig

KINDS = {"u8": "<u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}


def decode(found):
    """What data/decode.js does."""
    values = np.frombuffer(base64.b64decode(found["data"]), KINDS[found["kind"]]).reshape(found["shape"])
    if "step" not in found:
        return values
    return np.where(values == 65535, np.nan, np.array(found["low"]) + values * np.array(found["step"]))


def test_quantised_numbers_come_back_within_half_a_step_and_unknown_ones_as_unknown():
    values = np.random.default_rng(1).uniform([-3, 10], [5, 1000], (500, 2))
    values[7, 1] = np.nan
    values[8, 0] = 6.0  # outside: never bent to the border
    found = decode(quantised(values, [-3, 10], [5, 1000]))
    lost = np.isnan(found)
    assert lost[7, 1]
    assert lost[8, 0]
    assert lost.sum() == 2
    assert (np.abs(found - values)[~lost] <= (0.5001 * np.array([8, 990]) / 65534)[None].repeat(500, 0)[~lost]).all()


@pytest.mark.parametrize(("top", "kind"), [(0, "u8"), (255, "u8"), (256, "u16"), (65536, "u32")])
def test_whole_numbers_take_the_narrowest_type(top, kind):
    found = smallest(np.array([0, top]))
    assert found["kind"] == kind
    assert decode(found).tolist() == [0, top]
    assert decode(packed(np.zeros((0, 4)), "u8")).shape == (0, 4)


def test_runs_tell_the_same_story_as_the_rows():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(4), 60)
    place = np.tile(np.arange(60), 4)
    state = rng.integers(1, 4, 240)
    keep = rng.random(240) < 0.8
    table = runs(group[keep], place[keep], state[keep])
    unrolled = [(g, p, s) for g, first, last, s in table for p in range(first, last + 1)]
    assert unrolled == list(zip(group[keep], place[keep], state[keep], strict=True))


def test_axis_of_wide_holes_keeps_only_frames_that_occur():
    axis = FrameAxis.over([0, 10**12], [5])
    assert axis.numbers.tolist() == [0, 5, 10**12]
    assert FrameAxis.over([3, 6]).numbers.tolist() == [3, 4, 5, 6]
    assert len(FrameAxis.over([]).numbers) == 1


def test_the_page_places_tracks_where_they_are(school):
    found = collect(school, school.tracks)
    tracks = school.tracks
    order = np.lexsort((tracks.frame, tracks.track))
    xyz = decode(found["tracks"]["xyz"])
    assert np.abs(xyz - tracks.position[order]).max() < 2e-3
    assert decode(found["tracks"]["frame"]).tolist() == tracks.frame[order].tolist()
    pixels = decode(found["tracks"]["pixels"])
    for k, camera in enumerate(school.rig):
        expected = camera.project(tracks.position[order])
        inside = camera.in_image(expected)
        assert np.abs(pixels[inside, k] - expected[inside]).max() < 0.05


def test_detections_know_the_track_that_used_them(school):
    found = collect(school, school.tracks)["detections"]
    owner = decode(found["owner"])
    tracks = school.tracks
    names = tracks.identities
    row, camera = np.nonzero(tracks.detection >= 0)
    expected = np.zeros(len(school.detections), int)
    expected[tracks.detection[row, camera]] = 1 + np.searchsorted(names, tracks.track[row])
    assert np.array_equal(owner, expected)
    assert decode(found["start"])[-1] == len(school.detections)


def test_residuals_show_the_noise_and_a_displaced_camera(tmp_path):
    recording = make_recording(tmp_path / "r", fish=6, frames=200, noise=2.0)
    tracks = recording.tracks
    at_truth = Tracks.build(
        tracks.frame, tracks.track, _true_positions(recording, tracks), observed=tracks.observed,
        detection=tracks.detection, cameras=tracks.cameras,
    )  # fmt: skip
    for panel in collect(recording, at_truth)["residuals"]:
        assert panel["median"] == pytest.approx(2.0 * np.sqrt(2 * np.log(2)), rel=0.08)  # of a Rayleigh distribution
        assert np.abs(panel["bias"]).max() < 0.4
        assert sum(panel["histogram"]) == panel["count"]
    seen = recording.detections
    recording.write_detections(iter([replace(seen, u=np.where(seen.camera == 1, seen.u + 5.0, seen.u))]))
    biases = [p["bias"][0] for p in collect(recording, at_truth)["residuals"]]
    assert biases[1] == pytest.approx(5.0, abs=0.4)
    assert abs(biases[0]) < 0.4


def _true_positions(recording, tracks):
    """Positions of the fish behind each track, the swap of the first two undone."""
    late = (tracks.frame > recording.info.frame_count // 2) & (tracks.track <= 2)
    who = np.where(late, 2 - tracks.track, tracks.track - 1)
    lookup = {(f, i): p for f, i, p in zip(
        recording.truth.frame, recording.truth.identity, recording.truth.position, strict=True)}  # fmt: skip
    return np.array([lookup[f, i] for f, i in zip(tracks.frame, who, strict=True)])


def test_tracks_that_name_no_detections_get_the_nearest(school):
    tracks = school.tracks
    bare = Tracks.build(tracks.frame, tracks.track, tracks.position)
    named, nearest = (collect(school, t) for t in (tracks, bare))
    assert "do not name" in nearest["residualNote"]
    assert not named["residualNote"]
    a, b = decode(named["detections"]["owner"]), decode(nearest["detections"]["owner"])
    used = a > 0
    assert (a[used] == b[used]).mean() > 0.9


def test_tracks_of_other_detections_are_found_out(small):
    tracks = small.tracks
    wrong = np.where(tracks.detection >= 0, tracks.detection + 10**6, -1)
    other = Tracks.build(tracks.frame, tracks.track, tracks.position, detection=wrong, cameras=tracks.cameras)
    assert "not this recording's" in collect(small, other)["residualNote"]


def test_scores_and_animals_show_the_swap(school):
    scores = collect(school, school.tracks)["scores"]
    assert scores["gate"] == 1.0
    tiles = {t["name"]: t["value"] for t in scores["tiles"]}
    assert tiles["switches"] == "2"
    table = decode(scores["animals"]["runs"])
    first = table[table[:, 0] == 0]
    assert first[:, 3].tolist() == [1, 2]  # animal 0 is followed by track 1, then by track 2
    assert first[:, 1:3].tolist() == [[0, 200], [201, 399]]


def test_gate_is_half_a_centimetre_in_real_units(tmp_path):
    rig = water_rig()
    recording = make_recording(tmp_path / "w", rig=rig, fish=3, frames=30, middle=(0, 0, -6), half=(8, 8, 4))
    assert collect(recording, recording.tracks)["scores"]["gate"] == 0.5
    assert collect(recording, recording.tracks, gate=2.0)["scores"]["gate"] == 2.0


def test_water_closes_the_box_and_up_is_up(tmp_path):
    recording = make_recording(
        tmp_path / "w", rig=water_rig(), fish=3, frames=30, middle=(0, 0, -6), half=(8, 8, 4)
    )  # fmt: skip
    space = collect(recording, recording.tracks)["space"]
    assert space["high"][2] == 0  # the surface
    assert space["low"][1] == -10  # the glass
    assert space["up"] == [0, 0, 1]
    faces = [np.array(f) for f in space["water"]]
    assert len(faces) == 2
    assert all(len(f) == 4 for f in faces)
    assert np.allclose(faces[0][:, 2], 0)
    assert np.allclose(faces[1][:, 1], -10)


def test_frustums_begin_at_the_cameras_and_point_at_the_animals(school):
    space = collect(school, school.tracks)["space"]
    middle = (np.array(space["low"]) + space["high"]) / 2
    for camera, corners in zip(air_rig(), np.array(space["frustums"]), strict=True):
        assert corners[0] == pytest.approx(camera.centre, abs=1e-4)
        assert camera.project(corners[1:])[2] == pytest.approx(camera.size, abs=0.05)
        assert np.linalg.norm(corners[1:].mean(0) - middle) < np.linalg.norm(corners[0] - middle)


def test_the_usual_size_is_small_and_fast(school):
    collect(school, school.tracks)
    begin = time.perf_counter()
    text = build_report(school, school.tracks)
    assert len(text) < 5e6
    assert time.perf_counter() - begin < 10


def test_long_recordings_are_thinned_out_and_say_so(school, monkeypatch):
    whole = collect(school, school.tracks)
    monkeypatch.setattr(contents, "BUDGET", 100_000)
    found = collect(school, school.tracks)
    stride = found["axis"]["stride"]
    assert stride > 3
    assert any(f"every {stride}th frame" in n for n in found["notes"])
    assert len(decode(found["tracks"]["frame"])) < len(school.tracks) / (stride - 1)
    assert found["tracks"]["runs"] == whole["tracks"]["runs"]
    assert found["scores"] == whole["scores"]
    assert found["counts"] == whole["counts"]
    assert found["residuals"] == whole["residuals"]
    assert found["axis"]["count"] == whole["axis"]["count"] == 400


def test_same_input_same_page(small):
    again = Recording.open(small.folder)
    assert build_report(small, small.tracks) == build_report(again, again.tracks)


def test_settings_beside_the_result_are_shown(small):
    (small.folder / "track.toml").write_text('method = "joint"\n[gate]\npx = 4.5\n')
    (small.folder / "settings.json").write_text(json.dumps({"seed": 3}))
    (small.folder / "broken.toml").write_text("= =")
    found = {s["file"]: dict(map(tuple, s["values"])) for s in collect(small, small.tracks)["settings"]}
    assert found["track.toml"] == {"method": "joint", "gate.px": "4.5"}
    assert found["settings.json"] == {"seed": "3"}
    assert found["recording.toml"]["fps"] == "30.0"
    assert set(found) == {"track.toml", "settings.json", "recording.toml"}


def test_where_nobody_said_the_frame_rate_the_page_knows_no_seconds(small):
    assert collect(small, small.tracks)["fpsKnown"]
    unknown = Recording.open(small.folder)
    unknown.info = small.info.model_copy(update={"fps_known": False})
    assert not collect(unknown, small.tracks)["fpsKnown"]


@pytest.mark.parametrize("value", [0.3, 1.0, 7.0, 81.0, 99.9])
def test_scales_end_on_round_numbers(value):
    assert value <= nice_above(value) <= 2 * value


# Machado, Oliveira and Fernandes (2009), severity 1: what red-, green- and blue-blind readers see, on linear light.
BLIND = {
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def _lab(linear):
    xyz = linear @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(np.maximum(xyz / [0.9505, 1.0, 1.089], 1e-6))
    return np.column_stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", ["usual", "red", "green", "blue"])
def test_the_first_eight_colours_stay_apart_for_all_eyes(theme, eyes):
    rgb = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in PALETTES[theme]]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = linear if eyes == "usual" else np.clip(linear @ np.array(BLIND[eyes]).T, 0, 1)
    lab = _lab(seen[:8])
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)[np.triu_indices(8, 1)]
    assert apart.min() > (14 if eyes == "blue" else 20)  # CIE76; 2.3 is just noticeable
    ground = 1.0 if theme == "light" else 0.011  # luminance of the panels
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    contrast = (np.maximum(luminance, ground) + 0.05) / (np.minimum(luminance, ground) + 0.05)
    assert contrast[:8].min() > 3  # WCAG: 3 for graphics
