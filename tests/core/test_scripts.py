"""Workers of a script that does not expect them."""

import subprocess
import sys

SCRIPT = """
import math
from trackfish3d.core.parallel import worker_pool

print("once")
with worker_pool(2) as pool:
    print(sum(pool.map(math.sqrt, [1, 4, 9])))
print(__file__, __spec__)
"""


def test_a_script_without_a_guard_is_run_once(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT, encoding="utf-8")
    told = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, check=False)
    assert told.stdout.splitlines() == ["once", "6.0", f"{path} None"], told.stderr
