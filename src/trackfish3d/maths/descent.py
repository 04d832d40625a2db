"""Levenberg-Marquardt descent, for least-squares problems that know their own structure.

SciPy's ``least_squares`` takes one Jacobian, dense or sparse; problems of cameras are solved a hundred times faster
where what is seen a few times only is eliminated first. So the descent is here; how a step is solved is the problem's.
"""

from typing import Generic, Protocol, TypeVar

import numpy as np

S = TypeVar("S")
E = TypeVar("E")
N = TypeVar("N")
X = TypeVar("X")
_LARGEST_DAMPING = 1e12


class Problem(Protocol, Generic[S, E, N, X]):
    """A least-squares problem over states S: errors E, normal equations N and steps X are its own."""

    def errors(self, state: S) -> tuple[E, float]:
        """Return the errors at a state, and their cost."""

    def normal(self, state: S, errors: E) -> N:
        """Form the normal equations."""

    def step(self, normal: N, damping: float) -> X | None:
        """Solve for a step, the diagonal raised by `damping` times itself; None where it cannot be solved."""

    def moved(self, state: S, step: X) -> S:
        """Return the state after a step."""


def descend(problem: Problem[S, E, N, X], state: S, most: int, settled: float = 1e-9) -> tuple[S, int]:
    """Go down until a step gains nothing.

    Parameters
    ----------
    problem : what is minimised.
    state : where to begin.
    most : steps at most.
    settled : share of the cost; a step that gains less is the last.

    Returns
    -------
    state : where the cost is least.
    used : steps that were made.
    """
    damping = 1e-4
    errors, cost = problem.errors(state)
    used = 0
    while used < most:
        used += 1
        normal = problem.normal(state, errors)
        moved = False
        while damping < _LARGEST_DAMPING:
            step = problem.step(normal, damping)
            if step is not None:
                trial = problem.moved(state, step)
                trial_errors, trial_cost = problem.errors(trial)
                if np.isfinite(trial_cost) and trial_cost < cost:
                    moved = True
                    break
            damping *= 6
        if not moved:
            break
        gained = (cost - trial_cost) / cost
        state, errors, cost = trial, trial_errors, trial_cost
        damping = max(damping / 10, 1e-12)
        if gained < settled:
            break
    return state, used
