"""Work that is done once: what was finished, what it was made from, and folders in which stopped work goes on."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .files import read_json, renew_folder, write_json

_FILE = "job.json"
_WHOLE = "job"


def key_of(made_from: Mapping[str, Any]) -> str:
    """Return a digest of everything that an outcome depends on: the same key, the same outcome.

    Parameters
    ----------
    made_from : plain values by name: settings, the program's version, `files.digest` or `files.stamp` of inputs.
    """
    return hashlib.sha256(json.dumps(made_from, sort_keys=True, default=str).encode()).hexdigest()


class Journal:
    """A JSON file that says of finished work, by name, under which key it was done and what is to be known of it.

    A file that is not there or damaged is an empty journal: everything is done again.

    Parameters
    ----------
    path : the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        found = read_json(path)
        entries = found if isinstance(found, dict) else {}
        self._entries: dict[str, dict[str, Any]] = {
            name: entry for name, entry in entries.items() if isinstance(entry, dict)
        }

    def facts(self, name: str, key: str, outputs: Iterable[Path] = ()) -> dict[str, Any] | None:
        """Return what is known of a piece of work, or None where it is to be done.

        Parameters
        ----------
        name : of the work.
        key : that it would be done under now.
        outputs : files that it makes: where one is gone, it is to be done again.
        """
        entry = self._entries.get(name)
        if entry is None or entry.get("key") != key or not all(path.exists() for path in outputs):
            return None
        return {fact: value for fact, value in entry.items() if fact != "key"}

    def note(self, name: str, key: str, **facts: Any) -> None:
        """Write down that a piece of work is done.

        Parameters
        ----------
        name : of the work.
        key : under which it was done.
        **facts : plain values to be known of it.
        """
        self._entries[name] = {"key": key, **facts}
        self.write()

    def write(self) -> None:
        """Write the journal; an empty one marks a folder before anything else is in it."""
        write_json(self.path, self._entries)


def open_work(folder: Path, key: str) -> Journal:
    """Return the journal of a folder in which stopped work goes on; what work of another key left there is removed.

    Parameters
    ----------
    folder : of ours, made where it is not there.
    key : of the whole work.
    """
    journal = Journal(folder / _FILE)
    if journal.facts(_WHOLE, key) is None:
        renew_folder(folder)
        journal = Journal(folder / _FILE)
        journal.note(_WHOLE, key)
    return journal
