"""Errors that a user can cause and mend.

The command line prints them as one line and exits with code 2; a traceback is shown only with ``--debug``.
"""


class TrackFishError(Exception):
    """A mistake in the input or the call. The message names the file, row or camera and what to do."""


class InputError(TrackFishError):
    """A file, or a value in it, that cannot be used."""


class Note(UserWarning):
    """Something that a user should know; the command line prints it as one line on standard error."""


class MissingExtraError(TrackFishError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {package}: pip install 'trackfish3d[{extra}]'")
        self._told = package, extra, purpose

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """Travel between processes: exceptions are otherwise made anew from their message alone."""
        return type(self), self._told
