"""Settings: checked models made from names and text; the one way in which a wrong value becomes an `InputError`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import NoneType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import InputError

Model = TypeVar("Model", bound=BaseModel)
_OPEN = ("auto", "none")  # said in text of a value that is left open


class Settings(BaseModel):
    """Named values that never change; a name that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def make_settings(model: type[Model], values: Mapping[str, Any], what: str) -> Model:
    """Return settings made from names and values, or raise an `InputError` that names the culprit.

    Parameters
    ----------
    model : the settings to make.
    values : by name; text is converted, and ``auto`` or ``none`` leaves a value open that may be. A dot leads into
        the settings of a part: ``tracker.link.max_distance``.
    what : whose settings they are, for the message: "method joint".
    """
    known = setting_names(model)
    for name in values:
        if name not in known and name not in model.model_fields:
            raise InputError(f"{what} has no setting '{name}'; it has {', '.join(known)}")
    said = {name: None if value in _OPEN and _may_be_none(model, name) else value for name, value in values.items()}
    with input_errors(f"{what}: "):
        return model.model_validate(nested(said))


def parse_settings(pairs: Sequence[str]) -> dict[str, str]:
    """Return the values of ``key=value`` pairs by name.

    Parameters
    ----------
    pairs : as a user writes them behind ``--set``.
    """
    out: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {pair}: write key=value")
        out[key.strip()] = value.strip()
    return out


@contextmanager
def input_errors(before: str) -> Iterator[None]:
    """Turn what a model refuses inside the block into an `InputError`: ``before``, the field, and what is wrong.

    Parameters
    ----------
    before : beginning of the message, with what separates it from the field: "recording.toml: ", "--set ".
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"]) or "settings"
        raise InputError(f"{before}{where}: {first['msg']}") from None


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted names as a tree.

    >>> nested({"a": 1, "b.c": 2, "b.d": 3})
    {'a': 1, 'b': {'c': 2, 'd': 3}}

    Parameters
    ----------
    values : by name.
    """
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *path, last = name.split(".")
        branch = tree
        for part in path:
            inner = branch.get(part)
            branch[part] = branch = dict(inner) if isinstance(inner, dict) else {}
        branch[last] = value
    return tree


def setting_names(model: type[BaseModel], before: str = "") -> dict[str, str]:
    """Return the names of all settings, those of parts with dots, and what each is.

    Parameters
    ----------
    model : the settings.
    before : put in front of every name.
    """
    out: dict[str, str] = {}
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            out |= setting_names(field.annotation, f"{before}{name}.")
        else:
            out[before + name] = field.description or ""
    return out


def setting_values(settings: BaseModel) -> dict[str, Any]:
    """Return the values of all settings by their names, those of parts with dots.

    Parameters
    ----------
    settings : the settings.
    """
    out: dict[str, Any] = {}
    for name in setting_names(type(settings)):
        value: Any = settings
        for part in name.split("."):
            value = getattr(value, part)
        out[name] = value
    return out


def changed_values(settings: BaseModel) -> dict[str, Any]:
    """Return the values that are not the defaults, by name.

    Parameters
    ----------
    settings : the settings; every one of them has a default.
    """
    usual = setting_values(type(settings)())
    return {name: value for name, value in setting_values(settings).items() if value != usual[name]}


def setting_lines(settings: BaseModel) -> list[str]:
    """Return a line about each setting: its name, its value, what it is.

    Parameters
    ----------
    settings : the settings.
    """
    about = setting_names(type(settings))
    values = setting_values(settings).items()
    return [f"{name} = {'auto' if value is None else value}  {about[name]}" for name, value in values]


def _may_be_none(model: type[BaseModel], name: str) -> bool:
    """Whether the setting of a dotted name may be left open."""
    first, _, rest = name.partition(".")
    kind = model.model_fields[first].annotation
    if rest and isinstance(kind, type) and issubclass(kind, BaseModel):
        return _may_be_none(kind, rest)
    return NoneType in get_args(kind)
