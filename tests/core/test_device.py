"""A device is one that can be used, or an error that says so."""

import pytest

from trackfish3d.core.device import pick_device
from trackfish3d.core.errors import InputError

torch = pytest.importorskip("torch")


def test_without_a_name_it_is_the_accelerator_or_the_cpu():
    assert pick_device() == pick_device("auto")
    torch.zeros(1, device=pick_device())
    assert pick_device("cpu") == "cpu"


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="device 'abacus': cannot be used here"):
        pick_device("abacus")
    with pytest.raises(InputError, match="device 'cuda:99'"):
        pick_device("cuda:99")
