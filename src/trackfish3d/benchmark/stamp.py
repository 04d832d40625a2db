"""What code made a file, so that results of older code are not taken for those of the present."""

import hashlib
from functools import cache
from pathlib import Path

import trackfish3d

_BELOW = ("core", "maths", "cameras", "recordings", "evaluation")
SCENE_CODE = (*_BELOW, "detection/masks", "synfish", "benchmark/scenes.py", "benchmark/zef.py", "benchmark/crowded")
METHOD_CODE = (*_BELOW, "methods", "benchmark/jobs.py")


@cache
def code_digest(parts: tuple[str, ...]) -> str:
    """Digest of the code and data files of these folders and files of the package; missing ones count for nothing."""
    root = Path(trackfish3d.__file__).parent
    digest = hashlib.sha256()
    for part in parts:
        files = [root / part] if (root / part).is_file() else sorted((root / part).rglob("*"))
        for file in files:
            if file.suffix in (".py", ".json", ".safetensors"):
                digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]
