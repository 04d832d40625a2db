"""Where PyTorch computes."""

from .errors import InputError


def pick_device(name: str | None = None) -> str:
    """Return the name of a device that can be used here.

    Parameters
    ----------
    name : cpu, cuda, cuda:1, mps; None or "auto" is the first accelerator, or the CPU where there is none.
    """
    import torch

    if name is None or name == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError, ValueError, NotImplementedError) as error:
        reason = str(error).splitlines()[0][:120]
        raise InputError(f"device '{name}': cannot be used here ({reason}); use auto, cpu, cuda or mps") from None
    return name
