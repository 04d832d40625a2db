"""Warming up compiles all that tracking a recording needs."""

import subprocess
import sys

import pytest

SCENE = "--fish 16 --rig 5 --frames 40 --seed 7 --spread 3,2 --length 2"  # crowded: doubtful choices, darts, births
SCRIPT = """
import sys
from trackfish3d.methods.registry import make_method
from trackfish3d.methods.warmup import warm_up
from trackfish3d.recordings import Recording

def signatures():
    found = {}
    for name, module in list(sys.modules.items()):
        for key, value in vars(module).items() if name.startswith("trackfish3d.") else ():
            if hasattr(value, "py_func"):
                found[f"{name}.{key}"] = set(value.signatures)
    return found

warm_up()
before = signatures()
source = Recording.open(sys.argv[1])
make_method("joint", {}).track(source.rig, source.detections, source.fps, lambda done, total: None)
for name, types in signatures().items():
    if types - before.get(name, set()):
        print(name)
"""


@pytest.mark.slow
def test_a_recording_needs_no_kernel_that_was_not_warmed_up(tmp_path):
    main = [sys.executable, "-m", "trackfish3d"]
    subprocess.run([*main, "simulate", *SCENE.split(), "--out", str(tmp_path / "school")], check=True)
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "school")], check=True, capture_output=True, text=True
    )
    assert found.stdout == ""
