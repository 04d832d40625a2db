"""The benchmark: jobs, resuming, reports; on tiny recordings."""

import json

import numpy as np
import pytest

from tests.methods.worlds import pinhole_world
from trackfish3d.benchmark.jobs import Job, _fingerprint, run_job
from trackfish3d.benchmark.paper import COLUMNS, paper_results, published_average, published_mota
from trackfish3d.benchmark.plots import hardest_scene, plot_mota_over_fish, plot_mota_over_noise, plot_trajectories
from trackfish3d.benchmark.report import average_table, noise_section, scene_table, score_text, write_report
from trackfish3d.benchmark.scenes import SceneSpec, is_made, prepare
from trackfish3d.benchmark.suites import Suite, make_suite, run_suite, summary
from trackfish3d.benchmark.variants import Variant, check_variant, parse_variant
from trackfish3d.benchmark.zef import published_tracks, write_sequence, zef_folder
from trackfish3d.core.errors import InputError
from trackfish3d.evaluation import evaluate
from trackfish3d.recordings import Recording, read_tracks


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder with two recordings called test1 and test2, as `simulate synfish` would leave them."""
    folder = tmp_path_factory.mktemp("synfish")
    for name, fish in (("test1", 3), ("test2", 5)):
        rig, detections, truth = pinhole_world(fish=fish, frames=20)
        Recording.create(folder / name, rig, detections=detections, truth=truth)
    return folder


def run(tiny, tmp_path, methods=("hungarian", "oracle"), name="synfish"):
    suite = make_suite(name, methods, ["test1", "test2"], tiny)
    heard = []
    results = run_suite(suite, tmp_path, 1, lambda what, done, total: heard.append((what, done, total)))
    return suite, results, heard


@pytest.fixture(scope="module")
def finished(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    return folder, *run(tiny, folder)


def test_a_suite_leaves_results_and_resumes(tiny, finished):
    tmp_path, suite, results, heard = finished
    assert heard[-1][1:] == (4, 4)
    content = json.loads((tmp_path / "results.json").read_text())
    assert set(content["scenes"]) == {"test1", "test2"}
    assert set(content["scenes"]["test1"]) == {"hungarian", "oracle"}
    assert content["scenes"]["test2"]["hungarian"]["scores"]["mota"] > 0.98
    assert content["scenes"]["test2"]["hungarian"]["scores"]["animals"] == 5
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "jobs").iterdir()}
    assert len(times) == 4
    (tmp_path / "jobs" / "test1__oracle.json").unlink()
    _, again, _ = run(tiny, tmp_path)
    kept = {p: p.stat().st_mtime_ns for p in (tmp_path / "jobs").iterdir()}
    assert [p for p in times if times[p] == kept[p]] == [p for p in times if p.name != "test1__oracle.json"]
    assert [r["scores"]["mota"] for r in again] == [r["scores"]["mota"] for r in results]
    assert summary(suite, results)["gate"] == 1.0


def test_a_job_is_run_again_when_its_input_changed(tmp_path):
    rig, detections, truth = pinhole_world(fish=3, frames=10)
    recording = tmp_path / "rec"
    Recording.create(recording, rig, detections=detections, truth=truth)
    job = Job("rec", Variant("hungarian", "hungarian"), 1.0)
    first = run_job(job, recording, tmp_path / "out")
    Recording.create(recording, rig, detections=detections.select(detections.frame < 5), truth=truth)
    second = run_job(job, recording, tmp_path / "out")
    assert first["scores"]["recall"] > 0.99
    assert second["scores"]["recall"] == pytest.approx(0.5, abs=0.05)
    other = run_job(Job("rec", Variant("hungarian", "hungarian", {"max_gap": 0}), 1.0), recording, tmp_path / "out")
    assert other["settings"]["max_gap"] == 0


def test_a_job_is_run_again_when_a_file_its_settings_name_changed(tmp_path):
    rig, detections, truth = pinhole_world(fish=3, frames=10)
    Recording.create(tmp_path / "rec", rig, detections=detections, truth=truth)
    (tmp_path / "model").write_text("one")
    job = Job("rec", Variant("paper", "paper", {"model": str(tmp_path / "model")}), 1.0)
    first = _fingerprint(job, tmp_path / "rec")
    assert _fingerprint(job, tmp_path / "rec") == first
    (tmp_path / "model").write_text("two")
    assert _fingerprint(job, tmp_path / "rec") != first


def test_results_and_scenes_of_other_code_are_made_again(tiny, tmp_path, monkeypatch):
    job, spec = Job("test1", Variant("hungarian", "hungarian"), 1.0), SceneSpec("test1", noise="detection", sigma=0.1)
    first = run_job(job, tiny / "test1", tmp_path)
    prepare(spec, tmp_path, tiny)
    assert is_made(spec, tmp_path)
    monkeypatch.setattr("trackfish3d.benchmark.jobs.code_digest", lambda parts: "other")
    monkeypatch.setattr("trackfish3d.benchmark.scenes.code_digest", lambda parts: "other")
    assert run_job(job, tiny / "test1", tmp_path)["fingerprint"] != first["fingerprint"]
    assert not is_made(spec, tmp_path)


def test_a_method_that_cannot_run_is_a_line_in_the_report(tmp_path):
    rig, detections, truth = pinhole_world(fish=3, frames=10)
    Recording.create(tmp_path / "rec", rig, detections=detections, truth=truth)
    good = run_job(Job("rec", Variant("hungarian", "hungarian"), 1.0), tmp_path / "rec", tmp_path)
    bad = run_job(Job("rec", Variant("external", "external"), 1.0), tmp_path / "rec", tmp_path)
    assert "folder" in bad["error"]
    suite = Suite("synfish", "A title", (), (), 1.0)
    write_report(tmp_path / "report.md", suite, [good, bad], "the command", [])
    text = (tmp_path / "report.md").read_text()
    assert "the command" in text
    assert "rec, external: method external needs" in text
    assert "| hungarian | 100.0" in text


def test_methods_scenes_and_settings_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="'nosuch' is not known"):
        make_suite("synfish", ["hungarian", "nosuch"], ["test1"])
    with pytest.raises(InputError, match="scene 'test99' is not in the benchmark"):
        make_suite("synfish", ["hungarian"], ["test99"])
    with pytest.raises(InputError, match="has no setting 'gat'"):
        parse_variant("hungarian:gat=1")
    assert parse_variant("sort3d:max_age=3:gate=0.5").settings == {"max_age": "3", "gate": "0.5"}


def test_suites_have_the_papers_noise_levels_and_settings():
    robust = make_suite("robustness", ["hungarian"], ["test4"])
    assert [s.name for s in robust.scenes] == [
        "test4", "test4-calibration-0.05", "test4-calibration-0.1", "test4-calibration-0.2", "test4-detection-0.05",
        "test4-detection-0.1", "test4-detection-0.2", "test4-detection-0.4",
    ]  # fmt: skip
    zef = make_suite("zef", ["sort3d", "hungarian"], None)
    assert {v.label: v.settings for v in zef.variants}["sort3d"] == {"max_age": 3}
    assert zef.gate == 0.5
    assert [s.base for s in zef.scenes] == ["02", "04"]
    assert [v.label for v in zef.variants][-3:] == ["published-naive", "published-mvi", "published-mff"]
    assert len(make_suite("ablation", None, None).variants) >= 6


def test_noisy_scenes_are_made_from_clean_ones(tiny, tmp_path):
    path = prepare(SceneSpec("test1", noise="calibration", sigma=0.2), tmp_path, tiny)
    noisy, clean = Recording.open(path), Recording.open(tiny / "test1")
    turn = noisy.rig[0].R @ clean.rig[0].R.T
    degrees = np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1)))
    assert 0.01 < degrees < 2.0
    path = prepare(SceneSpec("test1", noise="detection", sigma=0.4), tmp_path, tiny)
    assert not np.array_equal(Recording.open(path).detections.u, clean.detections.u)
    before = (path / "detections.parquet").stat().st_mtime_ns
    assert prepare(SceneSpec("test1", noise="detection", sigma=0.4), tmp_path, tiny) == path
    assert (path / "detections.parquet").stat().st_mtime_ns == before


def test_a_variant_may_have_a_label_of_its_own():
    assert parse_variant("clean=paper:model=a.safetensors").label == "clean"
    assert parse_variant("clean=paper:model=a.safetensors").settings == {"model": "a.safetensors"}
    assert parse_variant("paper:model=a.safetensors").label == "paper:model=a.safetensors"
    with pytest.raises(InputError, match="write name, name:key=value or label=name:key=value"):
        parse_variant("clean=paper:model")


def test_a_network_is_given_to_the_method_it_is_for(tmp_path):
    model = tmp_path / "model.safetensors"
    model.touch()
    suite = make_suite("zef", ["sort3d", "joint", "paper", "paper:model=other"], None, model=model)
    given = {v.label: v.settings.get("model") for v in suite.variants}
    assert given["paper"] == str(model)
    assert given["paper:model=other"] == "other"
    assert given["sort3d"] is given["joint"] is given["published-mff"] is None
    assert "paper" in [v.label for v in make_suite("zef", None, None, model=model).variants]
    assert "paper" not in [v.label for v in make_suite("zef", None, None).variants]
    with pytest.raises(InputError, match="is for method paper"):
        make_suite("synfish", ["sort3d"], None, model=model)
    with pytest.raises(InputError, match="no such file"):
        make_suite("synfish", ["paper"], None, model=tmp_path / "nosuch")


def test_ablation_and_weights_are_the_papers_rows_in_its_order(tmp_path):
    for name in ("zzz", "mlp_only", "without_both", "full", "without_contrastive", "without_temporal"):
        (tmp_path / f"{name}.safetensors").touch()
    suite = make_suite("ablation", None, None, models=tmp_path)
    labels = [v.label for v in suite.variants]
    assert labels == ["full", "without_temporal", "without_contrastive", "without_both", "mlp_only", "zzz"]
    assert suite.variants[4].settings["model"] == str(tmp_path / "mlp_only.safetensors")
    assert [published_average("ablation", label).get("MOTA") for label in labels] == [
        97.7,
        86.0,
        36.8,
        36.9,
        78.4,
        None,
    ]
    with pytest.raises(InputError, match=r"has no \.safetensors"):
        make_suite("ablation", None, None, models=tmp_path / "nosuch")
    weights = make_suite("weights", None, None)
    assert [v.label for v in weights.variants] == [f"alpha {a}" for a in ("1.0", "0.8", "0.6", "0.4", "0.2", "0.0")]
    for v in weights.variants:
        check_variant(v)
        assert v.settings["tracker.link.weight_distance"] + v.settings["tracker.link.weight_similarity"] == 1
    assert published_average("weights", "alpha 0.0")["Frag"] == 7.5


def scored(label, scene, mota):
    names = ("mt", "ml", "switches", "fragmentations", "mtbf_s", "idf1", "hota")
    return {"scene": scene, "base": scene.split("-")[0], "seed": 0, "label": label, "method": label} | {
        "scores": dict.fromkeys(names, 0.5) | {"mota": mota}
    }


def test_the_papers_rows_stand_beside_ours(tmp_path):
    rows = [scored(label, f"test{i}", 0.9) for label in ("full", "without_both") for i in range(1, 7)]
    text = average_table(make_suite("ablation", ["sort3d"], None), rows)
    assert "| | MOTA % | MT % | ML % | IDSw | Frag | MTBF | IDF1 % | HOTA % |" in text
    assert (
        "| full | 90.0 (97.7) | 50.0 (98.3) | 50.0 (0.0) | 0.5 (0.5) | 0.5 (3.1) | 0.5 (283.1) | 50.0 | 50.0 |" in text
    )
    assert "(" not in average_table(make_suite("ablation", ["sort3d"], None), rows[:3])  # not the paper's six scenes
    noisy = [
        scored("paper", f"test{i}{k}", 0.8) for i in range(1, 7) for k in ("", "-detection-0.1", "-calibration-0.2")
    ]
    text = "\n".join(noise_section(noisy))
    assert "| 0.1 | 80.0 (84.1) | 50.0 (94.8) |" in text
    assert "| 0.2 | 80.0 (81.3) | 50.0 (82.3) |" in text


def test_several_seeds_are_several_schools_and_give_mean_and_spread(tiny, tmp_path):
    suite = make_suite("synfish", ["hungarian"], ["test1"], tiny, seeds=3)
    assert [s.name for s in suite.scenes] == ["test1", "test1-seed1", "test1-seed2"]
    noisy = make_suite("robustness", ["hungarian"], ["test1"], tiny, seeds=2)
    assert "test1-seed1-detection-0.4" in [s.name for s in noisy.scenes]
    assert len(make_suite("zef", ["hungarian"], ["02"], seeds=3).scenes) == 1
    rows = [
        {"scene": f"{base}-{seed}", "base": base, "seed": seed, "label": "a", "method": "a", "scores": {"mota": mota}}
        for base, motas in (("test1", (0.9, 0.7, 0.8)), ("test2", (0.5, 0.3, 0.4)))
        for seed, mota in enumerate(motas)
    ]
    assert score_text(rows, "a", "mota", True) == "60.0 ± 10.0"  # 70, 50, 60: means of schools 0, 1, 2
    assert score_text(rows[:3], "a", "mota", True) == "80.0 ± 10.0"
    assert score_text(rows[:1], "a", "mota", True) == "90.0"
    assert "| a | 80.0 ± 10.0 | 40.0 ± 10.0 |" in scene_table(suite, rows)


def test_another_seed_is_another_school(tmp_path):
    paths = [prepare(SceneSpec("test1", seed=seed), tmp_path, None) for seed in (0, 1)]
    assert [p.name for p in paths] == ["test1", "test1-seed1"]
    first, second = (Recording.open(p) for p in paths)
    np.testing.assert_array_equal(first.rig[0].R, second.rig[0].R)
    assert len(np.unique(first.truth.identity)) == len(np.unique(second.truth.identity))
    assert not np.allclose(first.truth.position[:100], second.truth.position[:100])


def test_published_numbers_are_found():
    assert published_mota("synfish", "hungarian", "test4") == 55.2
    assert published_mota("synfish", "hungarian", "thirty") == 29.9
    assert published_mota("zef", "greedy", "04") == 77.4
    assert published_mota("synfish", "svt", "test4") is None
    assert published_average("zef", "sort3d")["MOTA"] == 75.6
    for row in paper_results()["synfish_test_average"].values():
        assert set(row) == {c[0] for c in COLUMNS}
    # The averages of the paper's per-scene rows are its averages.
    for name, row in paper_results()["synfish_test_MOTA_per_scene"].items():
        assert np.mean(row) == pytest.approx(paper_results()["synfish_test_average"][name]["MOTA"], abs=0.11)


def test_plots_are_drawn(tiny, finished):
    tmp_path, _, results, _ = finished
    plot_mota_over_fish(results, tmp_path / "fish.png", True)
    noisy = [r | {"scene": f"{r['scene']}-calibration-0.1"} for r in results]
    plot_mota_over_noise([*results, *noisy], tmp_path / "noise.png")
    tracks = {r["label"]: read_tracks(tmp_path / "tracks" / f"{r['stem']}.parquet") for r in results[:2]}
    plot_trajectories(Recording.open(tiny / "test1"), tracks, 1.0, tmp_path / "space.png")
    assert hardest_scene(results) in ("test1", "test2")
    for name in ("fish", "noise", "space"):
        data = (tmp_path / f"{name}.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 10_000


def test_published_zebrafish_tracks_score_as_known(real_data, tmp_path):
    source = zef_folder(real_data)
    recording = write_sequence("02", source, tmp_path / "02")
    truth = recording.truth
    for name, mota in (("naive", 36.1), ("mvi", 57.7), ("mff", 89.2)):
        t = published_tracks("02", name, source)
        found = evaluate(truth.frame, truth.identity, truth.position, t.frame, t.track, t.position, 0.5)
        assert 100 * found.clear.mota == pytest.approx(mota, abs=0.5)
    assert (truth.detection >= 0).mean() > 0.85
    result = run_job(Job("02", Variant("hungarian", "hungarian"), 0.5), tmp_path / "02", tmp_path)
    assert 0.7 < result["scores"]["mota"] < 0.9  # the paper has 77.1 %


def test_without_3d_zef_one_line_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.delenv("TRACKFISH3D_DATA", raising=False)
    with pytest.raises(InputError, match="--data FOLDER or set TRACKFISH3D_DATA"):
        zef_folder(None)
    with pytest.raises(InputError, match="holds no 3D-ZeF"):
        zef_folder(tmp_path)
