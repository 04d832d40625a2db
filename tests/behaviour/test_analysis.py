from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.transform import Rotation

from trackfish3d.behaviour.analysis import World, analyse, world_of
from trackfish3d.behaviour.settings import AnalysisSettings
from trackfish3d.behaviour.streaming import blocks as blocks_module
from trackfish3d.behaviour.streaming.blocks import TrackSource, blocks
from trackfish3d.behaviour.streaming.first_pass import lasting_speed, survey
from trackfish3d.cameras import Camera, CameraRig, Interface
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Tracks, write_table

from .schools import circling, tracks_of, wandering

WORLD = World(30.0, "cm")


def run(tracks, world=WORLD, settings=None, **options):
    parts = {}
    found = analyse(tracks, world, settings, lambda name, table: parts.setdefault(name, []).append(table), **options)
    return found, {name: pa.concat_tables(tables) for name, tables in parts.items()}


def column(table, name):
    return table[name].to_numpy(zero_copy_only=False).astype(float)


def assert_same(found, expected, name):
    assert column(found, name) == pytest.approx(column(expected, name), rel=1e-3, abs=1e-3, nan_ok=True), name


def test_a_mill_is_measured_in_the_units_of_its_columns():
    found, tables = run(
        tracks_of(circling(radius=5, period=90, phase=np.arange(6) * np.pi / 3, frames=300), noise=0.01)
    )
    speed = 2 * np.pi * 5 / 90 * 30
    points, group = tables["points"], tables["group"]
    inner = (column(points, "frame") > 10) & (column(points, "frame") < 290)
    assert column(points, "speed_cm_per_s")[inner] == pytest.approx(np.full(inner.sum(), speed), rel=0.03)
    assert np.median(column(points, "turning_rad_per_s")[inner]) == pytest.approx(2 * np.pi / 90 * 30, rel=0.02)
    assert np.median(column(points, "nearest_neighbour_cm")) == pytest.approx(5.0, rel=0.01)
    assert column(points, "centroid_distance_cm") == pytest.approx(np.full(len(inner), 5.0), abs=0.1)
    assert column(points, "time_s") == pytest.approx(column(points, "frame") / 30)
    assert np.median(column(group, "milling")) == pytest.approx(1.0, abs=0.01)
    assert np.median(column(group, "polarisation")) < 0.02
    assert (column(group, "animals") == 6).all()
    fish = found.fish.to_pylist()
    assert all(row["points"] == 300 for row in fish)
    assert fish[0]["speed_median_cm_per_s"] == pytest.approx(speed, rel=0.02)


@pytest.mark.parametrize("shift", [1, -57, 100_003])
def test_what_frames_are_counted_from_changes_nothing_but_their_numbers(shift):
    """Averages that began at multiples of their length judged the same animals otherwise from frame 1 than from 0."""
    tracks = tracks_of(wandering(fish=5, frames=400), noise=0.03, missing=0.05)
    found, tables = run(tracks)
    moved, later = run(replace(tracks, frame=tracks.frame + shift))
    for name in found.fish.column_names:
        if name not in ("first_frame", "last_frame", "evidence"):
            assert column(moved.fish, name) == pytest.approx(column(found.fish, name), rel=1e-6, nan_ok=True), name
    for name in ("first_frame", "last_frame"):
        assert (column(later["windows"], name) == column(tables["windows"], name) + shift).all()
    assert column(later["windows"], "p") == pytest.approx(column(tables["windows"], "p"), rel=1e-6)


def test_small_blocks_give_what_one_block_gives(monkeypatch):
    tracks = tracks_of(wandering(fish=5, frames=900), noise=0.03, missing=0.05, interpolated=0.05)
    whole, one = run(tracks)
    monkeypatch.setattr("trackfish3d.behaviour.analysis.BLOCK_FRAMES", 160)
    monkeypatch.setattr(blocks_module, "ROWS", 700)
    parted, many = run(tracks, threads=2)
    for name in ("points", "group"):
        assert many[name].column_names == one[name].column_names
        for key in one[name].column_names:
            assert_same(many[name], one[name], key)
    assert parted.tank.sum() == whole.tank.sum()
    assert parted.delays.correlation == pytest.approx(whole.delays.correlation, abs=1e-3, nan_ok=True)
    assert parted.windows.p == pytest.approx(whole.windows.p, abs=0.02, nan_ok=True)


def test_a_file_read_in_pieces_is_as_good_as_tracks_in_memory(tmp_path, monkeypatch):
    tracks = tracks_of(wandering(fish=4, frames=200), noise=0.02)
    write_table(tracks.to_table(), tmp_path / "tracks.parquet")
    _, memory = run(tracks)
    monkeypatch.setattr(blocks_module, "ROWS", 150)  # frames are split between pieces
    _, file = run(TrackSource(path=tmp_path / "tracks.parquet"))
    for key in memory["points"].column_names:
        assert_same(file["points"], memory["points"], key)


def test_blocks_hold_every_point_once_and_skip_empty_time(monkeypatch):
    x = wandering(fish=3, frames=300)
    early, late = tracks_of(x[:100]), tracks_of(x[100:], first=1_000_000)
    frame, track = np.concatenate([early.frame, late.frame]), np.concatenate([early.track, late.track])
    tracks = Tracks.build(frame, track, np.concatenate([early.position, late.position]))
    monkeypatch.setattr(blocks_module, "ROWS", 200)
    found = list(blocks(TrackSource(tracks), length=64, margin=10))
    assert len(found) < 10
    points = sum(int(np.isfinite(b.position[b.core]).all(2).sum()) for b in found)
    assert points == len(tracks)
    for block in found:
        assert (np.diff(block.frame) == 1).all()
        assert block.frame[block.core][0] // 64 == block.frame[block.core][-1] // 64


def test_frames_that_go_back_are_told(tmp_path, monkeypatch):
    table = tracks_of(wandering(fish=2, frames=60)).to_table()
    write_table(pa.concat_tables([table.slice(60), table.slice(0, 60)]), tmp_path / "t.parquet")
    monkeypatch.setattr(blocks_module, "ROWS", 60)
    with pytest.raises(InputError, match="go back"):
        list(TrackSource(path=tmp_path / "t.parquet").pieces())


def test_turning_the_world_turns_positions_and_changes_no_measure():
    x = wandering(fish=6, frames=120)
    turn = Rotation.random(random_state=0).as_matrix()
    _, plain = run(tracks_of(x))
    _, turned = run(tracks_of(x @ turn.T), World(30.0, "cm", tuple(turn[:, 2])))
    vectors = ("x", "y", "z", "v", "heading_")
    kept = [n for n in plain["points"].column_names if not n.startswith(vectors) and n != "frame"]
    for key in kept:
        assert_same(turned["points"], plain["points"], key)
    for key in ("polarisation", "milling", "hull_volume_cm3", "length_3_cm"):
        assert_same(turned["group"], plain["group"], key)


def test_interpolated_points_are_marked_and_can_be_left_out():
    tracks = tracks_of(wandering(fish=4, frames=100), interpolated=0.3)
    _, marked = run(tracks)
    assert column(marked["points"], "observed").mean() == pytest.approx(tracks.observed.mean())
    _, only = run(tracks, settings=AnalysisSettings(observed_only=True))
    assert only["points"].num_rows == tracks.observed.sum()
    assert column(only["points"], "observed").all()


def odd(kind):
    x = wandering(fish=4, frames=60)
    if kind == "one fish":
        return tracks_of(x[:, :1])
    if kind == "one frame":
        return tracks_of(x[:1])
    if kind == "one point":
        return Tracks.build([7], [3], [[1.0, 2, 3]])
    if kind == "NaN":
        tracks = tracks_of(x)
        position = tracks.position.copy()
        position[::7] = np.nan
        position[5] = np.inf
        return Tracks.build(tracks.frame, tracks.track, position)
    if kind == "never together":
        x[:50, 0], x[10:, 1:] = np.nan, np.nan
        return tracks_of(x)
    if kind == "gaps":
        return tracks_of(x, missing=0.7)
    if kind == "no motion":
        return Tracks.build(np.repeat(np.arange(40), 4), np.tile(np.arange(4), 40), np.tile(np.eye(4, 3), (40, 1)))
    if kind == "negative frames":
        return tracks_of(x, first=-30)
    tracks = tracks_of(x)
    return Tracks.build(tracks.frame, tracks.track, tracks.position, covariance=np.full((240, 3, 3), np.inf))


@pytest.mark.parametrize(
    "kind",
    ["one fish", "one frame", "one point", "NaN", "never together", "gaps", "no motion", "negative frames", "inf cov"],
)
def test_odd_tracks_are_analysed_without_complaint(kind):
    tracks = odd(kind)
    with np.errstate(all="raise", under="ignore"):
        found, tables = run(tracks, settings=AnalysisSettings(shortest=0.0))
    finite = np.isfinite(tracks.position).all(1)
    assert tables["points"].num_rows == finite.sum()
    assert found.fish.num_rows == len(np.unique(tracks.track[finite]))
    if kind in ("one fish", "never together"):
        assert np.isnan(column(tables["group"], "polarisation")[10:]).all()
    if kind == "never together":
        assert np.isnan(found.delays.delay_frames[0, 1])


@pytest.mark.parametrize("position", [np.zeros((0, 3)), np.full((2, 3), np.nan)])
def test_nothing_to_measure_is_said(position):
    tracks = Tracks.build(np.arange(len(position)), np.zeros(len(position)), position)
    assert survey(TrackSource(tracks), 30.0) is None
    with pytest.raises(InputError, match="no track point"):
        analyse(tracks, WORLD)


def test_the_surface_is_the_level_plane_of_the_rig():
    K = np.array([[1000, 0, 500], [0, 1000, 500], [0, 0, 1.0]])
    surface = Interface(np.array([0, 0, 7.0]), np.array([0, 0, 1.0]), 1.0, 1.33)
    glass = Interface(np.array([0, -9.0, 0]), np.array([0, -1.0, 0]), 1.0, 1.33)
    cameras = [
        Camera(name, (1000, 1000), K, np.zeros(5), np.eye(3), -np.array(centre, float), interfaces=(face,))
        for name, centre, face in (("a", (0, 0, 20), surface), ("b", (0, -30, 0), glass))
    ]
    world = world_of(CameraRig(tuple(cameras), "cm"), 60.0, np.array([0, 0, 1.0]))
    assert world.surface_world == 7.0
    assert world.units == "cm"
    assert world_of(CameraRig(tuple(cameras[1:]), "cm"), 60.0, np.array([0, 0, 1.0])).surface_world is None
    _, tables = run(tracks_of(circling(centre=(0, 0, 3))), world)
    assert column(tables["points"], "depth_cm") == pytest.approx(np.full(180, 4.0), abs=0.01)


def test_same_tracks_same_tables():
    tracks = tracks_of(wandering(fish=5, frames=120), noise=0.02)
    (first, a), (second, b) = run(tracks), run(tracks, threads=2)
    for name, table in a.items():
        for key in table.column_names:
            assert np.array_equal(column(table, key), column(b[name], key), equal_nan=True)
    assert column(first.fish, "abnormal_p") == pytest.approx(column(second.fish, "abnormal_p"), abs=0, nan_ok=True)


def test_zebrafish_tracks_agree_with_their_truth(real_data):
    from trackfish3d.recordings import read_tracks

    folder = real_data / "zef" / "03"
    medians = {}
    for name in ("ground_truth_head.csv", "tracks_published_mff.csv"):
        _, tables = run(read_tracks(folder / name), World(60.0, "cm", (0.0, 0.0, -1.0), 0.0))
        columns = ("speed_cm_per_s", "nearest_neighbour_cm")
        medians[name] = [np.nanmedian(column(tables["points"], c)) for c in columns]
    true, found = medians.values()
    assert found == pytest.approx(true, rel=0.1)


def test_many_starts_do_not_raise_what_counts_as_fast():
    """Starts of 12 frames in every 60 are a fifth of all frames; animals that rest and swim for seconds swim."""
    speed = np.full((600, 4), 0.04)
    for first in range(20, 600, 60):
        speed[first : first + 12] = 0.4
    assert np.nanquantile(lasting_speed(speed, 200.0), 0.9) == pytest.approx(0.04)
    resting = np.where((np.arange(600) // 100 % 2 == 0)[:, None], 0.0, np.full((600, 4), 0.4))
    assert np.nanquantile(lasting_speed(resting, 200.0), 0.9) == pytest.approx(0.4)
    resting[:, 1] = np.nan
    assert np.isnan(lasting_speed(resting, 200.0)[:, 1]).all()


def crabs(frames=120, fish=4):
    """Animals that drift along x, each on a level of its own, and point along y, tilted up by 0.3 rad."""
    step = np.zeros((frames, fish, 3))
    step[..., 0] = 0.1 * np.arange(frames)[:, None]
    step[..., 1] = step[..., 2] = 2.0 * np.arange(fish)
    tracks = tracks_of(step, noise=0.005)
    point = np.array([0.0, np.cos(0.3), np.sin(0.3)])
    sign = np.where(tracks.track % 2 == 0, 1.0, -1.0)[:, None] * [1.0, 1.0, 0.0] + [0.0, 0.0, 1.0]
    return replace(tracks, heading=point * sign, heading_sigma=np.full(len(tracks), 0.02))


def test_animals_point_as_their_bodies_do_and_not_as_they_drift():
    tracks = crabs()
    _, bodies = run(tracks)
    _, drift = run(tracks, settings=AnalysisSettings(headings="velocity"))
    _, plain = run(replace(tracks, heading=None, heading_sigma=None))
    assert column(bodies["group"], "polarisation") == pytest.approx(np.sin(0.3), abs=1e-6)  # half of them turned about
    assert column(drift["group"], "polarisation") == pytest.approx(1.0, abs=0.02)
    assert column(bodies["points"], "pitch_rad") == pytest.approx(0.3, abs=1e-6)
    assert np.abs(column(drift["points"], "pitch_rad")).max() < 0.2
    assert column(bodies["points"], "heading_z") == pytest.approx(np.sin(0.3), abs=1e-6)
    assert column(bodies["points"], "sigma_heading_rad") == pytest.approx(0.02, rel=1e-6)
    for name in ("points", "group"):
        for key in plain[name].column_names:
            assert_same(drift[name], plain[name], key)


def test_where_a_body_does_not_tell_the_way_it_swims_does():
    tracks = crabs()
    hidden = tracks.frame >= 60
    heading = np.where(hidden[:, None], np.nan, tracks.heading)
    _, tables = run(replace(tracks, heading=heading, heading_sigma=np.where(hidden, np.nan, 0.02)))
    late = column(tables["points"], "frame") >= 60
    assert np.abs(column(tables["points"], "heading_x"))[~late].max() < 1e-6
    assert column(tables["points"], "heading_x")[late].min() > 0.9
    assert np.isfinite(column(tables["points"], "sigma_heading_rad")).all()
