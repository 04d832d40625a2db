"""``python -m trackfish3d`` is the ``trackfish3d`` command."""

from .cli.app import main

main()
