import json
import subprocess
import sys

import numpy as np
import pytest

from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Recording
from trackfish3d.synfish.recording_difficulty import difficulty
from trackfish3d.synfish.rigs import common_point, paper_rig
from trackfish3d.synfish.scenes import benchmark_scenes, paper_audit, write_scene
from trackfish3d.synfish.school import BlockedSchoolError, Water, school_statistics, simulate_school

FILES = ("cameras.toml", "detections.parquet", "recording.toml", "truth.parquet")


def call(*arguments):
    with pytest.raises(SystemExit) as caught:
        main([str(a) for a in arguments])
    return caught.value.code or 0


def test_the_benchmark_has_the_papers_scenes():
    scenes = {scene.name: scene for scene in benchmark_scenes()}
    assert [n for n, s in scenes.items() if s.split == "train"] == [f"train{k}" for k in range(1, 9)]
    assert [n for n, s in scenes.items() if s.split == "test"] == [f"test{k}" for k in range(1, 7)]
    assert [scenes[f"test{k}"].fish for k in range(1, 7)] == [4, 5, 8, 16, 16, 16]
    assert [scenes[f"train{k}"].fish for k in range(1, 9)] == [4, 6, 8, 10, 14, 14, 16, 16]
    assert (scenes["thirty"].fish, scenes["hundred"].fish, scenes["sick"].fish) == (30, 100, 8)
    assert scenes["sick"].abnormal == 1
    assert len({scene.seed for scene in scenes.values()}) == len(scenes)
    assert paper_audit() == {4: (70.8, 100.0), 16: (25.3, 100.0), 30: (17.0, 100.0)}


def test_schools_of_one_rig_share_their_water_their_length_and_a_speed_within_the_papers_gate():
    scenes = [scene for scene in benchmark_scenes() if scene.cohesion is not None]
    assert len(scenes) == 15
    assert len({scene.length for scene in scenes}) == 1
    for rig in range(7):
        assert len({scene.spread for scene in scenes if scene.rig == rig}) == 1
    for name in ("train1", "test4"):
        school, _ = benchmark_scenes([name])[0].build()
        step = np.linalg.norm(np.diff(school.position, axis=0), axis=2)
        assert step.max() < 0.5  # theta_dist of the paper's training, world units a frame
        assert np.median(step) > 0.14


def test_the_first_edition_stays_available_by_name(tmp_path):
    before, now = (benchmark_scenes(["test4"], edition)[0] for edition in (1, 2))
    assert (before.spread, before.length, before.cohesion) == ((7.2, 5.4), 3.4, None)
    assert now.cohesion is not None
    assert call("simulate", "synfish", "--scenes", "test1", "--edition", 3, "--out", tmp_path) == 2
    with pytest.raises(InputError, match="edition 3"):
        benchmark_scenes(edition=3)


@pytest.mark.parametrize("scene", benchmark_scenes() + benchmark_scenes(["test4"], 1), ids=lambda scene: scene.name)
def test_schools_of_the_benchmark_keep_the_rules(scene):
    school, _ = scene.build()
    facts = school_statistics(school)
    assert facts["largest_step"] <= 2
    assert facts["clearance"] >= 0
    assert facts["margin"] >= 0
    assert facts["standstill"] < 0.03


@pytest.mark.parametrize("name", ["train1", "test1", "test2", "test3"])
def test_overlap_is_the_published_one(name, tmp_path):
    scene = benchmark_scenes([name])[0]
    recording, _ = write_scene(scene, tmp_path / name)
    found = difficulty(recording)
    assert abs(found.overlap - scene.paper_overlap) <= (3 if scene.paper_overlap < 1 else 10)
    assert found.audit_recall > 99
    if name == "test1":
        assert abs(found.audit_precision - paper_audit()[4][0]) <= 6


def test_same_seed_same_bytes_another_seed_another_school(tmp_path):
    scene = benchmark_scenes(["test2"])[0].model_copy(update={"frames": 20})
    for folder, offset in (("a", 0), ("b", 0), ("c", 1)):
        write_scene(scene, tmp_path / folder, seed_offset=offset)
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    a, c = (Recording.open(tmp_path / k).truth for k in "ac")
    assert not np.allclose(a.position, c.position, atol=0.5)


def test_merged_fish_are_both_in_their_detection(tmp_path):
    scene = benchmark_scenes(["test4"])[0].model_copy(update={"frames": 60})
    recording, _ = write_scene(scene, tmp_path / "crowd")
    truth = recording.truth
    identity = truth.identities_of_detections(len(recording.detections))
    row, camera = np.nonzero(truth.detection >= 0)
    assert np.all((identity[truth.detection[row, camera]] == truth.identity[row][:, None]).any(axis=1))
    assert identity.shape[1] >= 2


def test_commands_write_scenes_schools_and_noise(tmp_path, capsys):
    assert call("simulate", "synfish", "--out", tmp_path / "bench", "--scenes", "test1") == 0
    assert "largest step" in capsys.readouterr().out
    scene = tmp_path / "bench" / "test1"
    assert len(np.unique(Recording.open(scene).truth.identity)) == 4
    out = tmp_path / "free"
    args = ("--fish", 3, "--rig", "tank", "--frames", 6, "--seed", 2, "--out", out)
    assert call("simulate", *args) == 0
    free = Recording.open(out)
    assert free.rig.refractive
    assert free.fps == 60
    assert free.info.frame_count == 6
    assert call("simulate", "--fish", 2, "--rig", "random:4", "--frames", 3, "--out", tmp_path / "r", "--sick", 1) == 0
    assert len(Recording.open(tmp_path / "r").rig) == 4
    assert call("noise", "calibration", "--sigma", "0.05", out, "--out", tmp_path / "n1", "--seed", 1) == 0
    assert call("noise", "detections", "--sigma", "0.1", out, "--out", tmp_path / "n2", "--seed", 1) == 0
    capsys.readouterr()
    assert call("difficulty", scene, tmp_path / "n2") == 0
    table = capsys.readouterr().out
    assert "70.8" in table
    assert "%Overlap" in table


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("--fish", "0"), "at least one fish"),
        (("--fish", "50", "--spread", "3,2", "--length", "3"), "too small"),
        (("--fish", "200", "--length", "3"), "too small"),
        (("--fish", "8", "--length", "3", "--spread", "3,3", "--frames", "60"), "block each other"),
        (("--spread", "300,300"), "the rig sees nothing"),
        (("--rig", "tank", "--spread", "3,3"), "its own water"),
        (("--rig", "9"), "0 to 6"),
        (("--rig", "moon"), "tank or random"),
        (("--preset", "tuna"), "tank, open, milling"),
        (("--detector", "perfect"), "ideal or detector"),
        (("--sick", "99"), "abnormal"),
        (("--frames", "0"), "at least one frame"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_bad_calls_are_one_clear_line(arguments, what, tmp_path, capsys):
    code = call("simulate", "--out", tmp_path / "x", "--frames", "2", *arguments)
    message = capsys.readouterr().err
    assert code == 2
    assert what in message
    assert message.count("\n") == 1
    assert message.endswith("\n")
    assert not (tmp_path / "x" / "recording.toml").exists()


@pytest.mark.parametrize("left", ["tracks.csv", "tracks.parquet", "videos/cam0.mp4"])
def test_a_new_school_is_not_written_beside_tracks_or_videos_of_another(left, tmp_path, capsys):
    out = tmp_path / "bench" / "test1"
    (out / left).parent.mkdir(parents=True)
    (out / left).write_text("of another school")
    for arguments in (
        ("--fish", 2, "--frames", 2, "--out", out),
        ("synfish", "--scenes", "test1", "--out", out.parent),
    ):
        assert call("simulate", *arguments) == 2
        message = capsys.readouterr().err
        assert left in message
        assert "new folder" in message
    assert (out / left).read_text() == "of another school"
    assert not (out / "recording.toml").exists()


def test_simulating_again_replaces_a_recording_without_tracks_or_videos(tmp_path):
    for fish in (3, 2):
        assert call("simulate", "--fish", fish, "--frames", 2, "--out", tmp_path / "again") == 0
    assert len(np.unique(Recording.open(tmp_path / "again").truth.identity)) == 2


@pytest.mark.parametrize("protocol", ["calibration", "detections"])
def test_noise_is_not_written_beside_tracks_or_videos_of_another(protocol, tmp_path, capsys):
    assert call("simulate", "--fish", 2, "--frames", 2, "--out", tmp_path / "clean") == 0
    for left in ("tracks.parquet", "videos/cam0.mp4"):
        out = tmp_path / left.split("/")[0]
        (out / left).parent.mkdir(parents=True)
        (out / left).write_text("of another school")
        capsys.readouterr()
        assert call("noise", protocol, tmp_path / "clean", "--sigma", 0.1, "--out", out) == 2
        message = capsys.readouterr().err
        assert left in message
        assert "new folder" in message
        assert not (out / "recording.toml").exists()


def test_a_comma_too_many_is_named(tmp_path, capsys):
    assert call("simulate", "synfish", "--scenes", "test1,", "--out", tmp_path / "x") == 2
    message = capsys.readouterr().err
    assert "test1," in message
    assert "a name is empty" in message
    assert not (tmp_path / "x").exists()


def test_unknown_scene_is_refused():
    with pytest.raises(InputError, match="test9"):
        benchmark_scenes(["test9"])


def test_data_files_are_plain_json_without_paths():
    from importlib import resources

    for name in ("rigs.json", "scenes_1.json", "scenes_2.json", "detector.json"):
        text = resources.files("trackfish3d.synfish").joinpath(f"data/{name}").read_text()
        json.loads(text)
        assert "/work" not in text
        assert "shared" not in text


def test_a_thousand_fish_become_a_recording(tmp_path):
    command = [sys.executable, "-m", "trackfish3d", "simulate", "--fish", "1000", "--frames", "2", "--out"]
    result = subprocess.run([*command, str(tmp_path / "k")], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert len(np.unique(Recording.open(tmp_path / "k").truth.identity)) == 1000
    nearest = float(result.stdout.split("nearest bodies ")[1].split()[0])
    assert nearest >= 0


def test_a_school_whose_fish_block_each_other_is_drawn_again():
    (scene,) = benchmark_scenes(["test3"])
    rig = paper_rig(scene.rig)
    half = np.array([scene.spread[0], scene.spread[0], scene.spread[1]])
    with pytest.raises(BlockedSchoolError, match="block each other"):
        simulate_school(
            scene.settings(), Water.around(common_point(rig), half), scene.fish, scene.frames, scene.seed + 2000
        )
    school, _ = scene.build(2)
    np.testing.assert_array_equal(school.position, scene.build(2)[0].position)
