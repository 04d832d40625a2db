"""The page of the paper's tables and figures: what stands in it, from results made by hand."""

import numpy as np
import pytest
from matplotlib.image import imread

from trackfish3d.benchmark.page import paper_tables
from trackfish3d.benchmark.page.document import Section, beside, write_page
from trackfish3d.benchmark.page.figures import embeddings, sick_features, trajectories
from trackfish3d.benchmark.page.paper_run import _with, given_scenes
from trackfish3d.benchmark.suites import make_suite
from trackfish3d.core.errors import InputError
from trackfish3d.recordings import Tracks, write_table
from trackfish3d.synfish.scenes import benchmark_scenes, write_scene

SCORES = {"mota": 0.5, "mt": 0.25, "ml": 0.0, "switches": 7, "fragmentations": 3, "mtbf_s": 40.0, "animals": 4}


def results(labels, scenes=paper_tables.SYNFISH_TEST):
    return [
        {"scene": s, "base": s, "seed": 0, "label": label, "scores": SCORES, "seconds": 1.0, "frames": 100}
        for s in scenes
        for label in labels
    ]


def test_every_pipeline_of_the_paper_has_a_row_with_the_papers_number():
    labels = ("hungarian", "greedy", "sort3d", "selfmva", "asnet", "rest", "paper", "joint", "motip", "mctr")
    html = "".join(paper_tables.average(Section("x"), results(labels)).parts)
    html += "".join(paper_tables.second_detector(Section("x"), results(labels)).parts)
    published = paper_tables.paper_results()["synfish_test_average"]
    for row in published.values():
        assert f"({row['MOTA']:.1f})" in html
    assert "50.0 <span>(61.3)</span>" in html  # ReST, ours and the paper's
    assert "- <span>(-10.5)</span>" in html  # SambaMOTR was not run
    assert "to the letter</td><td>-" in html  # nor was a network of recipe paper given
    given = "".join(paper_tables.average(Section("x"), results((paper_tables.RECIPE,))).parts)
    assert "to the letter</td><td>50.0" in given
    one = "".join(paper_tables.per_scene(Section("x"), results(labels)).parts)
    assert "50.0 <span>(55.2)</span>" in one
    zef = "".join(paper_tables.zef(Section("x"), results(("hungarian",), ("02", "04"))).parts)
    assert "50.0 <span>(77.4)</span>" in zef
    assert "50.0 <span>(77.1)</span>" in zef
    weights = "".join(paper_tables.weights(Section("x"), results(("alpha 0.0",))).parts)
    assert "7.0 <span>(0.3)</span>" in weights
    assert "<span>(36.8)</span>" in "".join(paper_tables.ablation(Section("x"), []).parts)
    assert "(91.9)" in "".join(paper_tables.pigeons(Section("x")).parts)
    assert "50.0 <span>(70.2)</span>" in "".join(
        paper_tables.density(Section("x"), results(("paper",), ("thirty",))).parts
    )


def test_rows_of_a_second_detector_stand_beside_the_papers_second_detector(tmp_path):
    html = "".join(paper_tables.second_detector(Section("x"), results(("hungarian",), ("test2",))).parts)
    assert "50.0 <span>(82.2)</span>" in html
    assert "- <span>(96.6)</span>" in html  # method paper was not run
    assert "<th>MOTA test2</th>" in html
    assert "--second-detector" not in html
    assert "--second-detector" in "".join(paper_tables.second_detector(Section("x"), []).parts)
    with pytest.raises(InputError, match="no recording of a test scene"):
        given_scenes(tmp_path)
    (tmp_path / "test3").mkdir()
    (tmp_path / "test3" / "recording.toml").touch()
    assert given_scenes(tmp_path) == ["test3"]


def test_a_network_of_the_published_method_goes_to_no_other(tmp_path):
    file = tmp_path / "net.safetensors"
    file.touch()
    suite = make_suite("zef", [_with("paper", file), "joint"], None)
    given = {v.label: v.settings.get("model") for v in suite.variants}
    assert given["paper"] == str(file)
    assert given["joint"] is None
    assert _with("paper", None) == "paper"


def test_names_on_the_page_are_escaped_and_sections_linked(tmp_path):
    section = Section("a <b>").say("x < y").table(("<h>",), [["<script>"], [beside("1.0", 2.0)]])
    write_page(tmp_path / "p.html", "title & more", ["words <i>"], [section])
    text = (tmp_path / "p.html").read_text()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert '<a href="#s0">a &lt;b&gt;</a>' in text
    assert "1.0 <span>(2.0)</span>" in text


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    scene = benchmark_scenes(["test1"])[0].model_copy(update={"frames": 12})
    folder = tmp_path_factory.mktemp("page") / "test1"
    return write_scene(scene, folder)[0]


def test_figures_are_drawn(school, tmp_path):
    pytest.importorskip("torch")
    from trackfish3d.methods.paper.checkpoint import shipped_model

    truth = school.truth
    tracks = Tracks.build(truth.frame, truth.identity, truth.position)
    write_table(tracks.to_table(), tmp_path / "tracks" / "stem.parquet")
    found = [{"scene": "test1", "label": "joint", "stem": "stem"}]
    drawn = [
        trajectories({"test1": school.folder}, found, tmp_path, {"joint": "joint"}, tmp_path / "t.png"),
        embeddings(school, {"shipped": shipped_model()}, tmp_path / "e.png"),
        sick_features(school, tracks, 3, tmp_path / "s.png"),
    ]
    for path in drawn:
        assert np.ptp(imread(path)) > 0.3


def test_sections_about_the_network_have_the_papers_numbers_beside(tmp_path):
    pytest.importorskip("torch")
    from trackfish3d.benchmark.page import network_sections as network

    budget = "".join(network.budget().parts)
    assert "579457 <span>(579457)</span>" in budget
    assert "655105 <span>(655105)</span>" in budget
    settings = "".join(network.hyperparameters().parts)
    assert "0.07 <span>(0.07)</span>" in settings
    assert "400 <span>(400)</span>" in settings
    entries = "".join(network.attention().parts)
    assert "8100 <span>(8100)</span>" in entries
    zef = results(("hungarian", "paper", network.NOISY), ("02", "04"))
    sort = "".join(network.sort3d(results(("sort3d",)), zef).parts)
    assert "50.0 <span>(87.7)</span>" in sort  # ours and the paper's
    assert "<td><span>(83.5)</span></td>" in sort  # Hungarian was not run on SynFish
    assert "50.0 <span>(81.1)</span>" in sort
    assert "50.0 <span>(66.8)</span>" in "".join(network.training_noise(zef).parts)
    assert "Quoted" in "".join(network.training_noise([]).parts)


def test_features_beside_a_network_are_given_to_it_alone_if_it_takes_them(tmp_path):
    pytest.importorskip("torch")
    from trackfish3d.benchmark.jobs import _features_of
    from trackfish3d.benchmark.variants import Variant
    from trackfish3d.methods.paper.checkpoint import save_model
    from trackfish3d.methods.paper.network import TrackFishNet
    from trackfish3d.methods.paper.settings import ModelSettings

    (tmp_path / "features").mkdir()
    np.savez(tmp_path / "features" / "test1.npz", features=np.zeros((3, 2)))
    save_model(TrackFishNet(ModelSettings(layers=1)), tmp_path / "full.safetensors", 3)
    save_model(TrackFishNet(ModelSettings(layers=1, raw_features=11)), tmp_path / "plus_DINOv3.safetensors", 3)
    plain, seeing = (
        Variant(n, "paper", {"model": str(tmp_path / f"{n}.safetensors")}) for n in ("full", "plus_DINOv3")
    )
    assert _features_of(plain, "test1") == {}
    assert _features_of(seeing, "test1") == {"features": str(tmp_path / "features" / "test1.npz")}
    assert _features_of(seeing, "test2") == {}
    assert _features_of(Variant("joint", "joint", {}), "test1") == {}
