"""Ways in which a file goes wrong: cut, changed, mixed up, in another encoding, with numbers that nothing has."""

import re
from collections.abc import Callable

import numpy as np

WILD = (
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e308", b"-1e308", b"1.7e308", b"4.6e18", b"-1e18", b"1e18", b"1e12",
    b"9" * 20, b"1180591620717411303424", b"9223372036854775807", b"-9223372036854775808", b"1099511627776",
    b"2147483648", b"1e300", b"1e-320", b"-1", b"0", b"1e6", b"100000", b"0.5", b"", b"x", b"null", b"true", b"[]",
    b"{}", b'""', b"1,5", b"0x10", b"\xc3\xa9", b"-0", b"1e", b"../x", b"..", b"/etc/passwd",
)  # fmt: skip
SEPARATORS = (b",", b";", b"\t", b" ", b"|", b"\r", b"\n", b"\x00", b'"', b":", b"=")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{2,}")
WHOLE = (0, 1, 2, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**53, 2**62, 2**63 - 1, 2**64 - 1)

Mutation = Callable[[np.random.Generator, bytes], bytes]


def cut(rng: np.random.Generator, content: bytes) -> bytes:
    """Leave the end away, or the beginning."""
    at = int(rng.integers(0, len(content)))
    return content[:at] if rng.random() < 0.8 else content[at:]


def change(rng: np.random.Generator, content: bytes) -> bytes:
    """Change up to eight bytes."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 9))):
        out[int(rng.integers(0, len(out)))] = int(rng.integers(0, 256))
    return bytes(out)


def flip(rng: np.random.Generator, content: bytes) -> bytes:
    """Turn over one bit."""
    out = bytearray(content)
    out[int(rng.integers(0, len(out)))] ^= 1 << int(rng.integers(0, 8))
    return bytes(out)


def insert(rng: np.random.Generator, content: bytes) -> bytes:
    """Put in some bytes."""
    at = int(rng.integers(0, len(content) + 1))
    return content[:at] + rng.integers(0, 256, int(rng.integers(1, 13)), dtype=np.uint8).tobytes() + content[at:]


def repeat(rng: np.random.Generator, content: bytes) -> bytes:
    """Have a piece twice, or leave it out."""
    first, last = sorted(rng.integers(0, len(content) + 1, 2).tolist())
    return content[:last] + content[first:] if rng.random() < 0.5 else content[:first] + content[last:]


def blank(rng: np.random.Generator, content: bytes) -> bytes:
    """Overwrite a piece with one byte, as lost blocks of a disk are."""
    at = int(rng.integers(0, len(content)))
    size = min(int(rng.choice([1, 4, 16, 64, 512])), len(content) - at)
    return content[:at] + bytes([int(rng.choice([0, 255, 32]))]) * size + content[at + size :]


def whole_number(rng: np.random.Generator, content: bytes) -> bytes:
    """Write an extreme whole number of 1 to 8 bytes over what is there: sizes, counts and offsets of binary files."""
    width = int(rng.choice([1, 2, 4, 8]))
    if len(content) <= width:
        return change(rng, content)
    value = int(WHOLE[int(rng.integers(len(WHOLE)))]) % 2 ** (8 * width)
    at = int(rng.integers(0, len(content) - width))
    return content[:at] + value.to_bytes(width, str(rng.choice(["little", "big"]))) + content[at + width :]


def real_number(rng: np.random.Generator, content: bytes) -> bytes:
    """Write an extreme real number of 4 or 8 bytes over what is there."""
    kind = str(rng.choice(["<f8", ">f8", "<f4"]))
    with np.errstate(over="ignore"):
        value = np.array(rng.choice([np.nan, np.inf, -np.inf, 1e308, 1e18, -1e18, 1e-310, 1e12]), kind).tobytes()
    at = int(rng.integers(0, max(len(content) - len(value), 1)))
    return content[:at] + value + content[at + len(value) :]


def number_text(rng: np.random.Generator, content: bytes) -> bytes:
    """Replace one to three numbers of a text by wild ones."""
    for _ in range(int(rng.integers(1, 4))):
        found = list(_NUMBER.finditer(content))
        if not found:
            return change(rng, content or b" ")
        hit = found[int(rng.integers(len(found)))]
        content = content[: hit.start()] + WILD[int(rng.integers(len(WILD)))] + content[hit.end() :]
    return content


def word_text(rng: np.random.Generator, content: bytes) -> bytes:
    """Replace a word by another of the file, or by something wild."""
    found = list(_WORD.finditer(content))
    if not found:
        return number_text(rng, content)
    hit = found[int(rng.integers(len(found)))]
    other = found[int(rng.integers(len(found)))][0] if rng.random() < 0.5 else WILD[int(rng.integers(len(WILD)))]
    return content[: hit.start()] + other + content[hit.end() :]


def lines_text(rng: np.random.Generator, content: bytes) -> bytes:
    """Drop, double, swap or cut a line."""
    lines = content.split(b"\n")
    first, second = (int(k) for k in rng.integers(0, len(lines), 2))
    kind = int(rng.integers(0, 4))
    if kind == 0:
        del lines[first]
    elif kind == 1:
        lines.insert(second, lines[first])
    elif kind == 2:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines[first] = lines[first][: int(rng.integers(0, len(lines[first]) + 1))]
    return b"\n".join(lines)


def separators_text(rng: np.random.Generator, content: bytes) -> bytes:
    """Exchange a separator for another one, everywhere or once."""
    first, second = (SEPARATORS[int(k)] for k in rng.integers(0, len(SEPARATORS), 2))
    return content.replace(first, second, -1 if rng.random() < 0.7 else 1)


def encoding_text(rng: np.random.Generator, content: bytes) -> bytes:
    """Save the text in another encoding."""
    text = content.decode("utf-8", errors="replace")
    kind = str(rng.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "latin-1", "cp037"]))
    return text.encode(kind, errors="replace")


def noise(rng: np.random.Generator, content: bytes) -> bytes:
    """Forget the file, perhaps but for its first bytes."""
    kept = int(rng.choice([0, 4, 8, 64]))
    return content[:kept] + rng.integers(0, 256, int(rng.integers(0, 300)), dtype=np.uint8).tobytes()


BINARY: tuple[Mutation, ...] = (cut, change, flip, insert, repeat, blank, whole_number, real_number, noise)
TEXT: tuple[Mutation, ...] = (
    cut, change, insert, repeat, number_text, number_text, number_text, number_text, word_text, lines_text,
    separators_text, encoding_text, noise,
)  # fmt: skip


def damaged(rng: np.random.Generator, content: bytes, text: bool) -> bytes:
    """Do one to three things to a valid file."""
    kinds = TEXT if text else BINARY
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        content = kinds[int(rng.integers(len(kinds)))](rng, content or b" ")
    return content
