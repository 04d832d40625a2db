"""Damaged files for every reader, in processes of their own: ``python -m fuzz`` (see ``make fuzz``)."""
