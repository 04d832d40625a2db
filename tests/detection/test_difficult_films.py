"""Films that are worse than a still tank under steady light: what differs, and that fish are found all the same."""

from pathlib import Path

import numpy as np
import pytest

from trackfish3d.cli.app import main
from trackfish3d.core.errors import InputError
from trackfish3d.detection.background.scene.light import change_of_light, field
from trackfish3d.detection.background.scene.resting import uncover
from trackfish3d.media.video import Video
from trackfish3d.media.video_checks import examine
from trackfish3d.synfish.observe import mesh_for
from trackfish3d.synfish.rendering.conditions import Conditions, mirrored, rested
from trackfish3d.synfish.rendering.render import Renderer

from .difficult import FRAMES, film, scene
from .worlds import encode, numbered_picture, read_number


def test_the_change_of_light_is_found_among_animals() -> None:
    rng = np.random.default_rng(0)
    known = (60 + 40 * rng.random((67, 120))).astype(np.float32)
    gain = np.array([-0.3, 0.1, -0.05, 0.04, 0.02, -0.03])
    seen = known * (1 + field(gain, known.shape)) + 4
    seen += 0.3 * rng.standard_normal(seen.shape)
    seen[20:40, 30:60] = 200  # animals: 7 % of the picture
    change = change_of_light(seen.astype(np.float32), known, 1)
    assert change is not None
    want = known * (1 + field(gain, known.shape)) + 4
    now = known.copy()
    change.apply(now)
    assert np.abs(now - want).max() < 1
    assert change_of_light((known + 12).astype(np.float32), known, 1) is None  # a constant tells it as well


def test_a_resting_animal_is_told_from_water_by_whose_edge_it_is() -> None:
    rng = np.random.default_rng(1)
    grey = np.clip(100 + rng.standard_normal((30, 60, 80)), 0, 255).astype(np.uint8)
    there = np.zeros(30, bool)
    there[5:23] = True
    grey[there, 20:30, 20:45] = 60
    still = np.median(grey, axis=0).astype(np.float32)  # the animal: it is there more often than not
    assert still[25, 30] == 60
    tight = np.abs(grey - still) > 20
    taken = tight.copy()
    assert uncover(grey, tight, taken, still, 2) == 1
    assert np.array_equal(taken[:, 25, 30], there)
    water = np.full_like(still, 100)  # the other way round, nothing is changed
    tight = np.abs(grey - water) > 20
    taken = tight.copy()
    assert uncover(grey, tight, taken, water, 2) == 0
    assert np.array_equal(taken, tight)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> float:
    found = film(tmp_path_factory.mktemp("plain"))
    assert found.extra.mean() < 0.2
    return float(found.fish.mean())


@pytest.mark.parametrize(
    "values",
    [
        {"light_drift": 0.5},
        {"flicker": 0.05},
        {"lamp_frames": "24,48", "lamp": 0.6},
        {"ripple_px": 1.0},
        {"nudge_frame": 40, "nudge_px": 10},
    ],
    ids=["slow light", "flicker", "lamp", "ripples", "knock"],
)
def test_difficult_films_show_nearly_as_many_fish_and_no_more(
    tmp_path: Path, plain: float, values: dict[str, object]
) -> None:
    found = film(tmp_path, **values)
    assert found.fish.mean() > plain - 0.08
    assert found.extra.mean() < 0.4
    assert any("moved by about" in n and "frame 40;" in n for n in found.notes) == ("nudge_frame" in values)


def test_a_fish_that_rests_for_most_of_the_film_stays_a_fish(tmp_path: Path) -> None:
    found = film(tmp_path, fps=1.0, rest=1, rest_share=0.75)
    assert found.fish[FRAMES // 8 : FRAMES * 3 // 4, 0].mean() > 0.9
    assert found.extra.mean() < 0.4  # nor does it leave a ghost behind


def test_conditions_change_the_picture_as_they_say() -> None:
    school, rig = scene(Conditions())
    mesh = mesh_for(school, rig)

    def draw(frame: int, **values: object) -> np.ndarray:
        return Renderer(rig["cam0"], school, mesh, 5, Conditions.model_validate(values)).draw(frame).astype(int)

    still = draw(30)
    dim = draw(FRAMES // 2, light_drift=0.5).mean() / draw(FRAMES // 2).mean()
    assert dim == pytest.approx(np.sqrt(0.5), abs=0.03)  # levels go with the root of light
    knocked = draw(30, nudge_frame=30, nudge_px=10)
    assert np.abs(knocked[25:200, 30:400] - still[20:195, 20:390]).mean() < 3.5  # grain alone
    assert np.array_equal(draw(29, nudge_frame=30), draw(29))
    assert draw(30, dirt=200).mean() < still.mean()
    renderer = Renderer(rig["cam0"], school, mesh, 5, Conditions(mirror=0.6, mirror_wall="x-"))
    renderer.draw(30)
    image = mirrored(school.position[30], school.water, (0, -1))
    for k, place in enumerate(rig["cam0"].project(image)):
        box = renderer.view.box(4 + k)
        assert box[0] - 2 <= place[0] <= box[2] + 2
        assert box[1] - 2 <= place[1] <= box[3] + 2


def test_resting_fish_go_on_from_where_they_were() -> None:
    school, _ = scene(Conditions())
    held = rested(school, Conditions(rest=2))
    first, last = FRAMES // 4, FRAMES - FRAMES // 4
    assert (np.ptp(held.position[first:last, :2], axis=0) == 0).all()
    step = np.linalg.norm(np.diff(held.position, axis=0), axis=2)
    assert step.max() <= np.linalg.norm(np.diff(school.position, axis=0), axis=2).max()
    assert np.array_equal(held.position[:, 2:], school.position[:, 2:])
    with pytest.raises(InputError, match="the school has 4 fish"):
        rested(school, Conditions(rest=5))


def test_a_film_that_was_knocked_twice_has_three_parts(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    ground = np.repeat(rng.integers(40, 200, (150, 220, 1), dtype=np.uint8), 3, axis=2)
    at = [(10, 10)] * 30 + [(4, 16)] * 33 + [(18, 3)] * 37
    pictures = [ground[y : y + 120, x : x + 160] for x, y in at]
    notes, knocks = examine(Video.open(encode(tmp_path / "v.mp4", pictures)))
    assert [k.frame for k in knocks] == [30, 63]
    assert len(notes) == 2


def test_a_stretch_counts_from_its_own_first_frame(tmp_path: Path) -> None:
    video = Video.open(encode(tmp_path / "v.mp4", [numbered_picture(k) for k in range(40)]))
    part = video.stretch(12, 30)
    assert part.count == 18
    assert [(p.number, read_number(p.grey)) for p in part.read(3, 6)] == [(3, 15), (4, 16), (5, 17)]
    assert [read_number(p.grey) for p in part.at([0, 17])] == [12, 29]
    assert len(list(part.read())) == 18
    assert max(part.sample_numbers(5)) < 18


def test_conditions_that_are_no_conditions_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option, said in (("lamp_frames=soon", "write frames with commas"), ("fog=1", "no setting 'fog'")):
        with pytest.raises(SystemExit) as stop:
            main(["simulate", "--out", str(tmp_path / "r"), "--video", "--film", option])
        assert stop.value.code == 2
        assert said in capsys.readouterr().err
