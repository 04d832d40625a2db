"""What a lab says of a session: from a YAML file, or word by word."""

from pathlib import Path
from typing import Any

import yaml

from ...core.errors import InputError
from ...core.files import read_text


def about_session(given: list[str]) -> dict[str, Any]:
    """Read ``KEY=VALUE`` and names of YAML files; what is said later holds.

    Parameters
    ----------
    given : as the command line has them.

    >>> about_session(["lab=Fish Lab", "species=Danio rerio"])
    {'lab': 'Fish Lab', 'species': 'Danio rerio'}
    """
    out: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if equals and not Path(text).is_file():
            out[key.strip()] = value.strip()
            continue
        path = Path(text)
        if not path.is_file():
            raise InputError(f"--about {text}: is neither KEY=VALUE nor a file")
        try:
            found = yaml.safe_load(read_text(path))
        except (yaml.YAMLError, RecursionError) as error:
            raise InputError(f"{path}: is not YAML ({' '.join(str(error).split())[:100]})") from None
        if not isinstance(found, dict) or not all(isinstance(k, str) for k in found):
            raise InputError(f"{path}: expected lines of KEY: VALUE")
        out |= found
    return out
