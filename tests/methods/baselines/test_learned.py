"""The learned rivals: that they learn what can be learnt, keep to their rules, and go from crops to tracks."""

import numpy as np
import pytest

from trackfish3d.core.errors import InputError
from trackfish3d.methods.baselines.learned.crops import SIZE, cut, read_crops, write_crops
from trackfish3d.methods.baselines.learned.labelled import LabelledScene, pair_auc
from trackfish3d.methods.registry import make_method
from trackfish3d.recordings import Detections
from trackfish3d.synfish.rigs import common_point, paper_rig

torch = pytest.importorskip("torch")
from trackfish3d.benchmark.rivals import train_baseline  # noqa: E402
from trackfish3d.benchmark.rivals.teaching import _auc  # noqa: E402
from trackfish3d.methods.baselines.learned import asnet, mctr, motip, rest, sambamotr, selfmva  # noqa: E402
from trackfish3d.methods.baselines.learned.weights import load_weights, save_weights  # noqa: E402

RIG = paper_rig(5)
RIVALS = {"rest": rest, "asnet": asnet, "selfmva": selfmva, "motip": motip, "mctr": mctr, "sambamotr": sambamotr}


def world(fish: int, frames: int, seed: int) -> tuple[LabelledScene, np.ndarray]:
    """Fish on circles, each with a colour of its own, seen without fail; and their positions (T, N, 3)."""
    rng = np.random.default_rng(seed)
    phase, height = rng.uniform(0, 2 * np.pi, fish), np.linspace(-3, 3, fish)
    colour = rng.integers(0, 256, (fish, 3))
    t = np.arange(frames)[:, None]
    angle = phase + 0.03 * t
    position = common_point(RIG) + np.stack([6 * np.cos(angle), 6 * np.sin(angle), height + 0 * angle], 2)
    frame, camera, who = (x.ravel() for x in np.meshgrid(np.arange(frames), range(3), range(fish), indexing="ij"))
    pixel = np.stack([RIG[c].project(position.reshape(-1, 3)).reshape(frames, fish, 2) for c in range(3)], 1)
    u, v = pixel.reshape(-1, 2).T
    det = Detections.build(
        RIG.names, frame, camera.astype(np.int16), u, v, x1=u - 20, y1=v - 10, x2=u + 20, y2=v + 10,
        score=np.full(len(u), 0.9),
    )  # fmt: skip
    crops = np.zeros((len(u), 3, SIZE, SIZE), np.uint8) + 60
    crops[:, :, 12:36, 12:36] = colour[who][:, :, None, None]
    crops = np.clip(crops + rng.normal(0, 6, crops.shape), 0, 255).astype(np.uint8)
    return LabelledScene("circles", RIG, det, who, crops), position


@pytest.fixture(scope="module")
def taught():
    return [world(5, 20, seed)[0] for seed in range(3)]


def test_a_crop_has_its_box_in_the_middle_half_and_black_outside_the_picture():
    picture = np.full((100, 200, 3), 50, np.uint8)
    picture[40:60, 80:120] = 200
    crop = cut(picture, np.array([[80.0, 40.0, 120.0, 60.0], [0.0, 0.0, 40.0, 20.0]]))
    assert crop.shape == (2, 3, SIZE, SIZE)
    half = crop[0, 0, :, SIZE // 4 : 3 * SIZE // 4]
    assert (half == 200).mean() == pytest.approx(0.25, abs=0.03)  # the box is half as high as it is wide
    assert (crop[0, 0, :, : SIZE // 4] == 50).all()
    assert (crop[1, 0, :, : SIZE // 4] == 0).all()


def test_the_auc_of_pairs_counts_pairs():
    rng = np.random.default_rng(0)
    score, same = rng.integers(0, 5, 60).astype(float), rng.random(60) < 0.3
    wins = [(a > b) + 0.5 * (a == b) for a in score[same] for b in score[~same]]
    assert pair_auc(score, same) == pytest.approx(np.mean(wins))


def test_an_object_of_rest_has_one_detection_a_camera_and_only_sure_edges():
    rng = np.random.default_rng(1)
    camera = np.repeat(np.arange(3), 4)
    score = rng.random((12, 12))
    score = np.where(camera[:, None] != camera, (score + score.T) / 2, 0)
    label = rest.objects_of(score, camera, 0.6, 3)
    for one in np.unique(label):
        mine = np.flatnonzero(label == one)
        assert len(set(camera[mine])) == len(mine)
        if len(mine) > 1:
            assert score[np.ix_(mine, mine)].max() >= 0.6


@pytest.mark.parametrize(("name", "steps"), [("rest", 60), ("asnet", 60)])
def test_they_tell_animals_that_look_different_apart(name, steps, taught):
    module = RIVALS[name]
    net = module.teach(taught, steps, 0, lambda done, total: None)
    assert _auc(module.pair_scores, net, [world(5, 8, 9)[0]]) > 0.9


@pytest.mark.parametrize("name", list(RIVALS))
def test_from_crops_to_tracks_by_weights_on_disk(name, taught, tmp_path):
    net = RIVALS[name].teach(taught, 6, 0, lambda done, total: None)
    again = RIVALS[name].teach(taught, 6, 0, lambda done, total: None)
    for key, value in net.state_dict().items():
        assert torch.equal(value, again.state_dict()[key]), key  # same seed, same weights
    save_weights(net, tmp_path / "w.safetensors", name)
    assert (tmp_path / "w.safetensors").stat().st_size < 1_100_000
    scene, _ = world(5, 12, 4)
    write_crops(tmp_path / "c.npz", scene.crops)
    settings = {"model": tmp_path / "w.safetensors"}
    if name != "selfmva":
        settings["crops"] = tmp_path / "c.npz"
    tracks = make_method(name, settings).track(scene.rig, scene.detections).tracks
    assert set(np.unique(tracks.frame)) <= set(range(12))
    for frame in range(12):
        used = tracks.detection[tracks.frame == frame]
        used = used[used >= 0]
        assert len(np.unique(used)) == len(used)  # no detection in two tracks
    other = "rest" if name != "rest" else "asnet"
    with pytest.raises(InputError, match=f"not of {other}"):
        load_weights(RIVALS[other].teach(taught[:1], 1, 0, lambda done, total: None), settings["model"], other)


def test_motip_keeps_identities_gives_new_ones_and_uses_words_again():
    def surely(token, time, past, past_time, word):
        """Logits of a network that knows: the word of the past token that is alike."""
        logits = torch.full((len(token), motip.WORDS + 1), -9.0)
        alike = token @ past.T
        for i in range(len(token)):
            j = int(alike[i].argmax())
            logits[i, int(word[j]) if alike[i, j] > 0.9 else motip.NEW] = 9.0
        return logits

    view = motip._View(surely, 0.2)
    looks = torch.eye(motip.MODEL)
    first = view.update(0, looks[:3])
    assert (view.update(1, looks[[2, 0, 1]]) == first[[2, 0, 1]]).all()
    later = view.update(2, looks[[0, 5]])
    assert later[0] == first[0]
    assert later[1] not in first
    for k in range(motip.MODEL // 12):  # far more animals than words, one after the other
        seen = view.update(20 * (k + 1), looks[12 * k : 12 * k + 12])
        assert len(set(seen.tolist())) == 12
        assert seen.min() > later.max()
        later = seen


def test_crops_and_weights_that_do_not_fit_are_refused(tmp_path):
    scene, _ = world(2, 3, 0)
    with pytest.raises(InputError, match="trackfish3d crops"):
        read_crops(None, scene.detections, "rest")
    write_crops(tmp_path / "few.npz", scene.crops[:-1])
    with pytest.raises(InputError, match="make them anew"):
        read_crops(tmp_path / "few.npz", scene.detections, "rest")
    (tmp_path / "bad.npz").write_bytes(b"PK not a zip")
    with pytest.raises(InputError, match="cannot be read as crops"):
        read_crops(tmp_path / "bad.npz", scene.detections, "rest")
    (tmp_path / "bad.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="not complete weights"):
        make_method("selfmva", {"model": tmp_path / "bad.safetensors"}).track(scene.rig, scene.detections)
    with pytest.raises(InputError, match="not known"):
        train_baseline("nobody", tmp_path / "w.safetensors", tmp_path)
    with pytest.raises(InputError, match="train split only"):
        train_baseline("selfmva", tmp_path / "w.safetensors", tmp_path, ["test1"])
