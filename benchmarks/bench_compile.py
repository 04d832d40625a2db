"""CPU seconds that the first command after installation spends on compiling.

Run: python benchmarks/bench_compile.py [--top N]
Everything runs in one fresh process with an empty cache and one thread; CPU seconds, because the clock depends on what
else the machine does. A second process with the cache just filled tells what is not compiling.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

GOAL = 20.0
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}


def inside(top: int) -> None:
    """Call every kernel of the default method once; print CPU seconds, and what took most of them."""
    from numba.core import event

    from trackfish3d.core.compiled import compiling
    from trackfish3d.methods.warmup import warm_up

    class Watch(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.open: list[list[float]] = []
            self.own: dict[str, list[float]] = collections.defaultdict(list)

        def on_start(self, event: Any) -> None:
            self.open.append([time.process_time(), 0.0])

        def on_end(self, event: Any) -> None:
            began, others = self.open.pop()
            spent = time.process_time() - began
            if self.open:
                self.open[-1][1] += spent
            function = event.data["dispatcher"].py_func
            self.own[f"{function.__module__}.{function.__name__}"].append(spent - others)

    watch = Watch()
    with event.install_listener("numba:compile", watch), compiling(lambda done: None):  # as the commands do
        warm_up()
    spent, count = sum(map(sum, watch.own.values())), sum(map(len, watch.own.values()))
    print(f"{time.process_time():.1f} s of CPU, {spent:.1f} s of them compiling {count} functions")
    for name, times in sorted(watch.own.items(), key=lambda item: -sum(item[1]))[:top]:
        print(f"  {sum(times):5.2f} s  {len(times):3d} x  {name}")


def main() -> None:
    """Measure with an empty cache, then with a full one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--top", type=int, default=12, help="functions to list")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(options.top)
        return
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | THREADS | {"NUMBA_CACHE_DIR": cache}
        for label in ("empty cache", "full cache"):
            print(f"{label} (goal {GOAL:.0f} s): " if label == "empty cache" else f"{label}: ", end="", flush=True)
            subprocess.run(
                [sys.executable, __file__, "--inside", "--top", str(options.top)], env=environment, check=True
            )


if __name__ == "__main__":
    main()
