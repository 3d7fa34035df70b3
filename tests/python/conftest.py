"""The fixture `device` runs a test on each device of the machine."""

import causeway as cw
import numpy as np
import pytest

DEVICES = [entry["device"] for entry in cw.devices()]


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture
def cuda():
    """A CUDA device's name; skips where there is none."""
    if not cw.cuda.is_available():
        pytest.skip(cw.cuda.absence())
    return "cuda:0"


@pytest.fixture
def rng():
    return np.random.default_rng(7)
