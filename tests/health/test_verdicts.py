"""Each fault has its name; what is not a fault is not called one; what cannot be told is said so."""

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from trackfish3d.cameras import CameraRig
from trackfish3d.cli.app import app
from trackfish3d.health import examine
from trackfish3d.health.agreement import Sample, ViewErrors
from trackfish3d.health.delay import follow, measure_delay
from trackfish3d.health.intake import take_in
from trackfish3d.health.picture import draw_rig
from trackfish3d.recordings import Detections, Recording
from trackfish3d.synfish.rigs import random_rig

from .test_health import film, ring, tank


def verdict(folder, rig, detections):
    return examine(Recording.create(folder / "rec", rig, detections=detections), 120)


def kinds(health):
    return [f.kind for f in health.findings if f.wrong]


def leaning(rig, lean, late=0, frames=300, seed=0, steady=False):
    """Detections without noise of animals 3 long whose centroids lie `lean` (C,) lengths before the middle."""
    rng = np.random.default_rng(seed)
    pace = (
        np.full((frames, 5), 0.004)
        if steady
        else 0.004 * np.exp(0.6 * np.sin(rng.uniform(0.1, 0.2, 5) * np.arange(frames)[:, None]))
    )
    angle = rng.uniform(0, 6.28, 5) + np.cumsum(pace, 0)
    radius, height = rng.uniform(4, 9, 5), rng.uniform(2, 10, 5)
    place = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.broadcast_to(height, angle.shape)], -1)
    heading = np.stack([-np.sin(angle), np.cos(angle), np.zeros_like(angle)], -1)
    columns = []
    for c, camera in enumerate(rig):
        pixel = camera.project((place + 3 * lean[c] * heading).reshape(-1, 3))
        half = camera.project((place + 1.5 * heading).reshape(-1, 3)) - camera.project(place.reshape(-1, 3))
        frame = np.repeat(np.arange(frames), 5) + (late if c == len(rig) - 1 else 0)
        size = np.abs(half) + 3
        columns.append(np.column_stack([frame, np.full(len(frame), c), pixel, pixel - size, pixel + size]))
    return Detections.build(rig.names, *np.concatenate(columns).T)


@pytest.mark.parametrize("lean", [(0.05, -0.05), (-0.06, 0.03)])
def test_centroids_that_lean_along_the_body_are_no_late_clock(tmp_path, lean):
    assert kinds(verdict(tmp_path, tank(water=True), leaning(tank(water=True), lean))) == []


@pytest.mark.parametrize("lean", [0.0, 0.05])
def test_a_smaller_residual_at_another_time_is_explained_where_it_is_no_clock(tmp_path, lean):
    """A reader of the table of shifts would set the clock by it."""
    rig = tank(water=True)
    recording = Recording.create(tmp_path / "rec", rig, detections=leaning(rig, (lean, -lean)))
    made = CliRunner().invoke(app, ["check", str(recording.folder), "--no-advice"])
    assert made.exit_code == 0
    assert ("is no late clock by itself" in made.output) == (lean > 0)


@pytest.mark.parametrize("late", [0, 3, -4])
def test_a_delay_is_told_from_a_lean_by_how_speed_changes(late):
    rig = tank(water=True)
    sample = Sample.draw(leaning(rig, (0.04, -0.02), late), 200)
    a, b = (ViewErrors.of(sample, camera, c) for c, camera in enumerate(rig))
    delay = measure_delay(sample, a, b, late, follow(sample, b))
    assert abs(delay.frames - late) < 2 * delay.error
    assert abs(delay.frames - late) < 1


def test_at_one_speed_a_delay_cannot_be_told_from_a_lean():
    rig = tank(water=True)
    sample = Sample.draw(leaning(rig, (0.0, 0.0), 2, steady=True), 200)
    a, b = (ViewErrors.of(sample, camera, c) for c, camera in enumerate(rig))
    delay = measure_delay(sample, a, b, 2, follow(sample, b))
    assert abs(delay.frames) < 5 * delay.error


@pytest.mark.parametrize("late", [8, 30, -120, 250])
def test_a_clock_far_off_is_found(tmp_path, late):
    health = verdict(tmp_path, ring(3), film(ring(3), frames=600, late=(0, late, 0)))
    assert kinds(health) == ["clock"]
    assert health.findings[0].cameras == ("cam1",)
    assert health.findings[0].late_frames == late
    assert health.findings[0].probability > 0.9


@pytest.mark.parametrize(("frames", "step"), [(6, 1), (20, 1), (37, 1), (60, 10)])
def test_short_and_thinned_recordings_are_good(tmp_path, frames, step):
    found = film(ring(2), frames=frames)
    found = replace(found, frame=found.frame * step)
    assert kinds(verdict(tmp_path, ring(2), found)) == []


def test_a_handful_of_frames_is_too_few_to_tell(tmp_path):
    health = verdict(tmp_path, ring(2), film(ring(2), frames=3))
    assert health.problems == ()
    assert health.notes[0].startswith("cannot tell much, because")


def test_animals_that_rest_are_good_and_their_clocks_unknown(tmp_path):
    still = film(ring(2), frames=1)
    many = [replace(still, frame=still.frame + k) for k in range(80)]
    rng = np.random.default_rng(0)
    columns = {k: np.concatenate([getattr(m, k) for m in many]) for k in ("frame", "camera", "u", "v")}
    noise = rng.normal(size=(2, len(columns["u"]))) * 0.2
    health = verdict(
        tmp_path,
        ring(2),
        Detections.build(ring(2).names, columns["frame"], columns["camera"], *(noise + [columns["u"], columns["v"]])),
    )
    assert health.problems == ()
    assert any("whether the clocks agree" in n for n in health.notes)


def points_of(found):
    return Detections.build(found.cameras, found.frame, found.camera, found.u, found.v)


@pytest.mark.parametrize("lean", [(0.05, -0.05), (-0.06, 0.03)])
def test_points_without_boxes_are_no_late_clock(tmp_path, lean):
    rig = tank(water=True)
    assert kinds(verdict(tmp_path, rig, points_of(leaning(rig, lean)))) == []


def test_the_delay_does_not_know_which_way_time_runs(tmp_path):
    found = film(ring(2), frames=200, late=(0, 4))
    back = Detections.build(ring(2).names, 500 - found.frame, found.camera, found.u, found.v)
    said = [verdict(tmp_path / str(k), ring(2), f).findings[0] for k, f in enumerate((points_of(found), back))]
    assert [f.late_frames for f in said] == [4, -4]


def test_a_delay_is_told_without_the_lean_that_adds_to_it(tmp_path):
    rig = tank(water=True)
    health = verdict(tmp_path, rig, leaning(rig, (0.06, -0.06), late=40, frames=400))
    assert kinds(health) == ["clock"]
    assert abs(health.findings[0].late_frames - 40) <= 1  # the least error is at another shift


def test_a_delay_as_small_as_leans_are_is_called_neither_clock_nor_calibration(tmp_path):
    rig = tank(water=True)
    health = verdict(tmp_path, rig, leaning(rig, (0.06, -0.06), late=16, frames=400))
    assert kinds(health) == []
    assert "or its centroids lean along the body" in health.notes[0]


def test_in_a_crowd_that_moves_a_late_camera_is_found(tmp_path):
    health = verdict(tmp_path, ring(3), film(ring(3), fish=28, frames=200, late=(0, 0, 12)))
    assert kinds(health) == ["clock"]
    assert health.findings[0].late_frames == 12


def test_films_of_different_days_are_given_no_clock(tmp_path):
    one, other = (film(ring(2), frames=500, seed=k) for k in (1, 2))
    parts = [(f.select(f.camera == c)) for c, f in enumerate((one, other))]
    columns = [np.concatenate([getattr(p, k) for p in parts]) for k in ("frame", "camera", "u", "v")]
    health = verdict(tmp_path, ring(2), Detections.build(ring(2).names, *columns))
    assert set(kinds(health)) <= {"disagree"}
    assert "agree" in health.findings[0].text  # that they do not, or that it cannot be told


def test_water_that_is_not_there_is_noticed_by_two_cameras(tmp_path):
    assert kinds(verdict(tmp_path, tank(water=True), film(tank(water=False)))) == ["water wrong"]


def test_a_pair_that_never_saw_anything_together_decides_nothing(tmp_path):
    found = film(ring(3), frames=200)
    kept = ~((found.camera == 0) & (found.frame >= 100)) & ~((found.camera == 2) & (found.frame < 105))
    kept |= found.frame % 25 == 0
    some = found.select(kept & ~((found.camera == 0) & (found.frame >= 100)))
    health = verdict(tmp_path, ring(3), some)
    assert not [
        f for f in health.findings if f.kind in ("clock", "disagree", "calibration", "water missing", "swapped")
    ]
    assert "nan" not in " ".join([*health.problems, *health.notes, health.summary])


def test_what_cannot_be_told_is_said_and_no_fault(tmp_path):
    recording = Recording.create(tmp_path / "rec", ring(2), detections=film(ring(2), frames=3))
    result = CliRunner().invoke(app, ["check", str(recording.folder)])
    assert result.exit_code == 0
    assert "cannot tell much, because two cameras saw something together in 3 frames only" in result.output
    assert "nothing wrong was found" in result.output
    assert "good" not in result.output


def test_what_is_inferred_comes_with_its_probability(tmp_path):
    rig = random_rig(4, 0, target=np.array([0.0, 0.0, 6.0]))
    found = film(rig)
    order = np.array([0, 3, 2, 1])
    faulty = {
        "clock": (ring(2), film(ring(2), late=(0, 4))),
        "water missing": (tank(water=False), film(tank(water=True))),
        "calibration": (ring(4, turn=(2, 1.0)), film(ring(4))),
        "swapped": (rig, Detections.build(rig.names, found.frame, order[found.camera], found.u, found.v)),
    }
    for kind, (calibrated, seen) in faulty.items():
        finding = verdict(tmp_path / kind, calibrated, seen).findings[0]
        assert finding.kind == kind
        assert 0.5 < finding.probability < 1
        assert f"{min(round(100 * finding.probability), 99)} % sure" in finding.text


def test_swapped_films_are_named(tmp_path):
    rig = random_rig(4, 0, target=np.array([0.0, 0.0, 6.0]))
    found = film(rig)
    swap = np.array([0, 3, 2, 1])[found.camera]
    health = verdict(tmp_path, rig, Detections.build(rig.names, found.frame, swap, found.u, found.v))
    assert kinds(health) == ["swapped"]
    assert set(health.findings[0].cameras) == {"cam1", "cam3"}


def test_one_film_for_two_cameras_is_named(tmp_path):
    found = film(ring(3))
    one = found.select(found.camera == 0)
    both = [np.concatenate([getattr(found.select(found.camera != 2), k), getattr(one, k)]) for k in ("frame", "u", "v")]
    camera = np.concatenate([found.camera[found.camera != 2], np.full(len(one), 2)])
    health = verdict(tmp_path, ring(3), Detections.build(ring(3).names, both[0], camera, both[1], both[2]))
    assert kinds(health) == ["twice"]
    assert set(health.findings[0].cameras) == {"cam0", "cam2"}


def test_a_calibration_that_is_a_copy_of_another_is_named(tmp_path):
    rig = ring(3)
    copied = CameraRig((rig[0], rig[1], replace(rig[1], name=rig[2].name)), rig.units)
    health = verdict(tmp_path, copied, film(rig))
    assert kinds(health) == ["copied"]
    assert set(health.findings[0].cameras) == {rig[1].name, rig[2].name}


def test_detections_written_twice_are_named(tmp_path):
    found = film(ring(2))
    twice = [np.tile(getattr(found, k), 2) for k in ("frame", "camera", "u", "v")]
    assert kinds(verdict(tmp_path, ring(2), Detections.build(ring(2).names, *twice))) == ["duplicates"]


@pytest.mark.parametrize("kind", ["dead", "frozen"])
def test_a_camera_that_stops_midway_is_named(tmp_path, kind):
    found = film(ring(3))
    ends = (found.camera == 1) & (found.frame >= 90)
    if kind == "dead":
        stopped = found.select(~ends)
    else:
        last = found.select((found.camera == 1) & (found.frame == 89))
        more = [replace(last, frame=last.frame + k) for k in range(1, 71)]
        columns = [
            np.concatenate([getattr(found, k)[~ends], *(getattr(m, k) for m in more)])
            for k in ("frame", "camera", "u", "v")
        ]
        stopped = Detections.build(ring(3).names, *columns)
    health = verdict(tmp_path, ring(3), stopped)
    assert kinds(health) == [kind]
    assert health.findings[0].cameras == ("cam1",)


def test_cameras_at_one_place_have_no_parallax(tmp_path):
    first = ring(2)[0]
    rig = CameraRig((first, replace(first, name="beside", t=first.t + [0.05, 0, 0])), "cm")
    assert kinds(verdict(tmp_path, rig, film(rig))) == ["no parallax"]


@pytest.mark.parametrize("cameras", [2, 4])
def test_a_wrong_focal_length_is_a_matter_of_calibration(tmp_path, cameras):
    rig = ring(cameras)
    lens = rig[1].K * np.array([[1.2, 1, 1], [1, 1.2, 1], [1, 1, 1]])
    wrong = CameraRig(tuple(replace(c, K=lens) if k == 1 else c for k, c in enumerate(rig)), "cm")
    health = verdict(tmp_path, wrong, film(rig))
    assert kinds(health) == ["calibration"]
    assert "cam1" in health.findings[0].cameras


def test_cameras_that_take_turns_share_no_time(tmp_path):
    found = film(ring(2))
    health = verdict(tmp_path, ring(2), found.select(found.frame % 2 == found.camera))
    assert kinds(health) == ["no common time"]


def test_noise_is_not_called_missing_water(tmp_path):
    rng = np.random.default_rng(1)
    frame, camera = np.repeat(np.arange(80), 12), np.tile(np.repeat(np.arange(2), 6), 80)
    noise = Detections.build(("top", "front"), frame, camera, *rng.uniform(0, 1000, (2, 960)))
    assert kinds(verdict(tmp_path, tank(water=False), noise)) == ["disagree"]


def test_of_a_long_recording_windows_are_taken_and_everything_is_counted(tmp_path):
    rig = ring(2)
    found = film(rig, frames=4000)
    recording = Recording.create(tmp_path / "rec", rig, detections=found)
    part = take_in(recording, most_rows=5000)
    assert not part.whole
    assert part.rows == len(found)
    assert 4000 < len(part.detections) < 6000
    whole = take_in(recording)
    assert whole.whole
    for c, activity in enumerate(part.activity):
        frames, count = np.unique(found.frame[found.camera == c], return_counts=True)
        assert np.array_equal(activity.frame, frames)
        assert np.array_equal(activity.count, count)
    kept = np.unique(part.detections.frame)
    for begin in range(0, 3999, 667):  # a window in every sixth, of whole frames that follow each other
        inside = kept[(kept >= begin) & (kept < begin + 667)]
        assert len(inside) > 20
    for frame in kept[::50]:
        assert (part.detections.frame == frame).sum() == (found.frame == frame).sum()


@pytest.mark.parametrize("down", [True, False])
def test_the_picture_shows_the_world_as_it_stands(tmp_path, monkeypatch, down):
    from matplotlib.figure import Figure

    rig = tank(water=True)
    if not down:  # the same rig in a world whose z points up
        turn = np.diag([1.0, -1.0, -1.0])
        rig = CameraRig(tuple(replace(c, R=c.R @ turn, interfaces=()) for c in rig), "cm")
    upright = CameraRig((rig[1],), "cm") if abs(rig.up[2]) < 1 else rig
    shown = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (shown.append(self), save(self, *a, **k))[1])
    draw_rig(upright, np.zeros((0, 3)), tmp_path / "rig.png")
    assert upright.up[2] == (-1 if down else 1)
    assert [a.yaxis_inverted() for a in shown[0].axes[1:]] == [False, down, down]
