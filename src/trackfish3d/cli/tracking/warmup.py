"""``trackfish3d warmup``: compile once, so that the first recording does not wait."""

import time

from ...core.compiled import compiling
from ...methods.warmup import warm_up
from .._progress import Bars


def command() -> None:
    """Compile what tracking needs, once after installation; `track` would do it otherwise."""
    counted = [0]
    began = time.process_time()
    with Bars() as bars:

        def tell(done: int) -> None:
            counted[0] = done
            bars.compiled(done)

        with compiling(tell):
            warm_up()
    print(f"{counted[0]} kernels compiled in {time.process_time() - began:.0f} s" if counted[0] else "ready")
