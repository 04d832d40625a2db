"""Recipe `paper` without one loss or both, from the end of its warm-up, which all of them share.

``python benchmarks/recipe_ablations.py STATE --seen FOLDER --unseen FOLDER --work FOLDER [--epochs 10] [--out FILE]``;
`STATE` is the ``state.safetensors`` that ``trackfish3d train seen/train? --recipe paper --set epochs=100 --out MODEL``
leaves in ``MODEL.training``, or, for less than the paper's warm-up, that of fewer epochs. Until then the association
loss acts alone, so that the runs differ from there on: each goes on, with the moments of the optimiser, for as many
epochs. `--seen` and `--unseen` are as in ``recipe_paper.py``. Networks are kept as ``WORK/models/<row>.safetensors``,
named as the rows of the paper's table, for ``trackfish3d benchmark ablation --models WORK/models``. A run that was
stopped goes on where it was.
"""

import argparse
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save

import hypothesis_parts as parts
from paper_hypotheses import table
from recipe_paper import Book, schools
from recipe_parts import mixed
from trackfish3d.benchmark.paper import paper_results
from trackfish3d.core.files import atomic_path, digest
from trackfish3d.methods.paper.checkpoint import load_model, save_model, with_sorted_header
from trackfish3d.methods.paper.train.settings import TrainingSettings
from trackfish3d.methods.paper.train.state import load_state
from trackfish3d.methods.paper.train.trainer import STATE, Trainer
from trackfish3d.methods.paper.train.training_scenes import TrainingScene

ROWS: dict[str, tuple[str, ...]] = {
    "full": (),
    "without_temporal": ("temporal",),
    "without_contrastive": ("contrastive",),
    "without_both": ("contrastive", "temporal"),
}
HEAD = ("", "the paper's MOTA", "schools it saw", "others", "test", "association", "contrastive", "temporal", "groups")
MADE = {
    "its pair scores, embeddings that know nothing": ("own", "nothing"),
    "labels for pair scores, its embeddings": ("labels", "own"),
}


def begun(state: Path) -> TrainingSettings:
    """Settings of a run, with what it has done of its warm-up for all of it."""
    with safe_open(state, "pt") as file:
        told = file.metadata()
    settings = TrainingSettings.model_validate_json(told["settings"])
    epoch = int(json.loads(told["progress"])["epoch"])
    if epoch > settings.warmup_epochs:
        raise SystemExit(f"{state}: is past its warm-up, {epoch} epochs")
    return settings.model_copy(update={"warmup_epochs": epoch, "device": "cpu"})


def branch(state: Path, target: Path, settings: TrainingSettings) -> None:
    """Copy where a run stands as where one with other settings stands."""
    with safe_open(state, "pt") as file:
        metadata = file.metadata() | {"settings": settings.model_dump_json()}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(target) as temporary:
        temporary.write_bytes(with_sorted_header(save(tensors, metadata)))


def trained(state: Path, work: Path, row: str, folders: list[Path], epochs: int) -> tuple[Path, dict[str, float]]:
    """The network of a row after so many epochs without its losses, and the last line of its log."""
    warm = begun(state)
    losses = warm.losses.model_copy(update=dict.fromkeys(ROWS[row], 0.0))
    settings = warm.model_copy(update={"losses": losses, "epochs": warm.warmup_epochs + epochs})
    folder = work / f"{row}.training"
    if not (folder / STATE).exists():
        branch(state, folder / STATE, settings)
    trainer = Trainer([TrainingScene.load(f, work / "cache") for f in folders], settings, folder)
    trainer.train(lambda r: print(f"{row}: epoch {r['epoch']:.0f}, loss {r['loss']:.3f}", flush=True))
    load_state(folder / STATE, trainer.net, trainer.optimiser, settings)
    model = work / "models" / f"{row}.safetensors"
    model.parent.mkdir(parents=True, exist_ok=True)
    save_model(trainer.net, model, trainer.n_cameras, recipe="paper", epoch=trainer.epoch, row=row)
    return model, trainer.log[-1]


@dataclass
class Row:
    """A network and what is measured of it."""

    book: Book
    kinds: dict[str, list[Path]]
    model: Path
    log: dict[str, float]

    @property
    def key(self) -> str:
        """Of its numbers in the book."""
        return digest(self.model)[:16]

    def scores(self) -> list[str]:
        """MOTA and IDF1 of each kind of schools."""
        found = [
            self.book.get(f"{self.key} {kind} tracked", lambda f=f: parts.tracked(self.model, f))
            for kind, f in self.kinds.items()
        ]
        return [f"{m:.1f} ({i:.1f})" for m, i in (one["mean"] for one in found)]

    def last(self) -> list[str]:
        """Losses and groups a frame of the last epoch."""
        losses = [f"{self.log[name]:.3f}" for name in ("association", "contrastive", "temporal")]
        return [*losses, f"{self.log['groups'] / 2:.1f}"]

    def told(self) -> list[str]:
        """AUC of P and of the cosine on plausible pairs of each kind of schools."""
        cells = []
        for kind, folders in self.kinds.items():
            found = self.book.get(f"{self.key} {kind} parting", lambda f=folders: parts.parting(self.model, f))
            cells += [f"{found[n]:.3f}" for n in ("probability", "cosine")]
        return cells

    def by_hand(self) -> list[str]:
        """MOTA of the test scenes with embeddings or pair scores made by hand."""
        net, _ = load_model(self.model)
        cells = []
        for label, how in MADE.items():
            found = [
                self.book.get(f"{self.key} {f.name} {label}", lambda f=f, h=how: mixed(net, parts.opened(f), *h))
                for f in self.kinds["test"]
            ]
            cells.append(f"{np.mean(found):.1f}")
        return cells


def named(row: str) -> str:
    return row.replace("_", " ").replace("without both", "without both losses")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state", type=Path)
    parser.add_argument("--seen", type=Path, required=True)
    parser.add_argument("--unseen", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=10, help="after warm-up")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--out", type=Path, default=Path("docs/results/recipe_paper/ablations.md"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    kinds, warm = schools(args), begun(args.state)
    models = {row: trained(args.state, args.work, row, kinds["seen"], args.epochs) for row in args.rows}
    book = Book(args.out.parent / "numbers.json")
    rows = {row: Row(book, kinds, *models[row]) for row in args.rows}
    published = paper_results()["ablation_losses"]
    shown = [[named(k), f"{published[k]['MOTA']:.1f}", *r.scores(), *r.last()] for k, r in rows.items()]
    heads = [f"{kind}, {of}" for kind in kinds for of in ("P", "cosine")]
    lines = [
        "# Recipe paper without its losses",
        "",
        f"Made by `python benchmarks/recipe_ablations.py {shlex.join(sys.argv[1:])}`: SynFish's second edition, seed "
        f"{warm.seed}, {warm.warmup_epochs} epochs with the association loss alone, which all rows share (the paper "
        f"has 100), then {args.epochs} with the losses of the row (the paper has 300). One school of each scene; "
        "*others* are other schools of the train scenes.",
        "",
        "MOTA %, in brackets IDF1; losses and groups a frame of the last epoch.",
        *table(HEAD, shown),
        "How well pair scores P and the cosine of embeddings part plausible pairs, AUC.",
        *table(["", *heads], [[named(k), *r.told()] for k, r in rows.items()]),
        "MOTA % on test scenes with one of the two made by hand. Labels: P is 0.98 on plausible pairs and 0.02 else, "
        "where a pair head ends that has learnt its labels and no more.",
        *table(["", *MADE], [[named(k), *r.by_hand()] for k, r in rows.items()]),
    ]
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    print(args.out)


if __name__ == "__main__":
    main()
