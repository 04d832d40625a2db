"""Starter of a batch by Snakemake: a Snakefile whose rules are the steps, and whose jobs are units of work."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ...core.errors import InputError
from ...core.files import atomic_path
from .manifest import Job
from .units import MAKE, Work

_MADE = {
    MAKE: "recording.toml",
    "detect": "detections.parquet",
    "check": "check.json",
    "track": "tracks.parquet",
    "analyse": "behaviour/fish.parquet",
    "report": "report.html",
}
_HEAD = '''"""Written by trackfish3d {version}: snakemake --cores 4, or any of its profiles for clusters.

Each job is one step of one recording; 'trackfish3d batch' does it, and knows itself what is done already.
"""

import re

RECORDINGS = [
{recordings}
]


wildcard_constraints:
    recording="|".join(map(re.escape, RECORDINGS)),


rule all:
    input:
        expand({last}, recording=RECORDINGS),
'''
_RULE = """

rule {step}:
{inputs}    output:
        "{{recording}}/{made}",
    threads: 1
    shell:
        {command}
"""


def write_snakefile(path: Path, jobs: Sequence[Job], work: Work, arguments: Sequence[str], version: str) -> Path:
    """Write a Snakefile that does what a batch would do.

    Parameters
    ----------
    path : where it is written; recordings stand in it by absolute paths.
    jobs : the recordings.
    work : what is done with each.
    arguments : of the command ``trackfish3d batch``, those that every job needs: settings, the manifest.
    version : of this program.
    """
    films = [bool(job.videos) for job in jobs]
    if any(films) and not all(films):
        raise InputError("--write-snakefile: some recordings are there and some are made of films; write one for each")
    folders = [str(job.folder.resolve()) for job in jobs]
    steps = [s for s in ((MAKE, *work.steps) if films[0] else work.steps) if s != "detect" or _has_films(jobs)]
    if not steps:
        raise InputError("--write-snakefile: there is nothing to do")
    last = [f'"{{recording}}/{_MADE[step]}"' for step in steps]
    text = _HEAD.format(
        version=version,
        recordings="\n".join(f"    {folder!r}," for folder in folders),
        last="[" + ", ".join(last) + "]",
    )
    for step in steps:
        text += _rule(step, steps, arguments)
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def _has_films(jobs: Sequence[Job]) -> bool:
    return any(job.videos or (job.folder / "videos").is_dir() for job in jobs)


def _rule(step: str, steps: Sequence[str], arguments: Sequence[str]) -> str:
    # one after the other: steps of one recording exclude each other
    files = [f'        "{{recording}}/{_MADE[s]}",\n' for s in steps[: steps.index(step)][-1:]]
    words = " ".join(_quoted(a) for a in arguments)
    command = f"trackfish3d batch {{wildcards.recording:q}} --steps {step} --workers 1 --alarms-pass --out none {words}"
    inputs = "    input:\n" + "".join(files) if files else ""
    return _RULE.format(step=step, inputs=inputs, made=_MADE[step], command=repr(command.strip()))


def _quoted(argument: str) -> str:
    """Quote an argument for a shell, and braces for Snakemake."""
    return shlex.quote(argument).replace("{", "{{").replace("}", "}}")
