"""What the published grouping and tracker make of a pair head that knows its labels, by what embeddings know.

``python benchmarks/paper_ceilings.py SCENES [--out docs/results/paper/ceilings.md]``; `SCENES` is what ``trackfish3d
simulate synfish --out SCENES`` wrote. The row whose embeddings know nothing is what the paper's "without contrastive
loss" must be: a head that has learnt which pairs are plausible, and nothing to part them by.
"""

import argparse
import shlex
import sys
from pathlib import Path

import hypothesis_parts as parts
from paper_hypotheses import HAND
from trackfish3d.benchmark.paper import SYNFISH_TEST, paper_results
from trackfish3d.core.files import atomic_path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results/paper/ceilings.md"))
    args = parser.parse_args()
    folders = [args.scenes / name for name in SYNFISH_TEST]
    losses = paper_results()["ablation_losses"]
    lines = [
        "# What the published rule makes of perfect labels",
        "",
        f"Made by `python benchmarks/paper_ceilings.py {shlex.join(sys.argv[1:])}` on SynFish's second edition. "
        "MOTA %. "
        f"The paper has {losses['without_contrastive']['MOTA']} without the contrastive loss, "
        f"{losses['without_both']['MOTA']} without both, {losses['full']['MOTA']} with all.",
        "",
        f"| | {' | '.join(SYNFISH_TEST)} | mean |",
        "|---" * (len(SYNFISH_TEST) + 2) + "|",
    ]
    for label, made in HAND.items():
        found = parts.by_hand(folders, *made)
        cells = [f"{found[name][0]:.1f}" for name in (*SYNFISH_TEST, "mean")]
        lines.append(f"| {label} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    with atomic_path(args.out) as temporary:
        temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
