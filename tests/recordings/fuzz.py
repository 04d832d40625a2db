"""Files as they should not be: random bytes, cut short, with bytes changed, inserted or doubled."""

from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

from trackfish3d.core.errors import InputError


def assert_input_error_or_fine(read: Callable[[], object], path: Path) -> None:
    """Reading works, or gives an `InputError` that names the file; any other error passes through."""
    try:
        read()
        return
    except InputError as error:
        message = str(error)
    assert str(path) in message


KINDS = ("random", "cut", "change", "insert", "double", "swap")


@st.composite
def damaged(draw: st.DrawFn, valid: bytes, kinds: tuple[str, ...] = KINDS) -> bytes:
    """Bytes that were once `valid`, or never were."""
    kind = draw(st.sampled_from(kinds))
    if kind == "random" or not valid:
        return draw(st.binary(max_size=300))
    at = draw(st.integers(0, len(valid) - 1))
    if kind == "cut":
        return valid[:at]
    if kind == "insert":
        return valid[:at] + draw(st.binary(min_size=1, max_size=12)) + valid[at:]
    if kind == "double":
        return valid[:at] + valid
    if kind == "swap":
        token = draw(
            st.sampled_from([b"nan", b"-1", b"1e999", b"", b",", b"\n", b'"', b"99999999999999999999", b"[]", b"null"])
        )
        return valid[:at] + token + valid[at + 1 :]
    out = bytearray(valid)
    for _ in range(draw(st.integers(1, 8))):
        out[draw(st.integers(0, len(valid) - 1))] = draw(st.integers(0, 255))
    return bytes(out)
