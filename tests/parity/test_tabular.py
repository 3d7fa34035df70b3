"""The tabular transformer against the same in plain PyTorch: logits and every gradient."""

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from tabular_twin import Twin  # noqa: E402

DEVICES = [entry["device"] for entry in cw.devices()]
SMALL = {"width": 32, "heads": 2, "hidden": 48, "layers": 2}
CASES = {
    "default": ("default", {}),
    "nanotabpfn": ("nanotabpfn", {}),
    "speedrun": ("speedrun", {"layers": 3}),
    "regression": ("default", {"classes": 0, **SMALL}),
    "regression behind norms": (
        "nanotabpfn", {"classes": 0, "bins": 9, "class_as_number": False, **SMALL}),
    "mean of classes": ("default", {"mean_readout": True, "group": 2, **SMALL}),
    "decay behind norms": ("nanotabpfn", {"residual_decay": 0.9, "thinking": 4, **SMALL}),
    "labels in cells": ("default", {"labels": "cells", **SMALL}),
    "numbers in cells": ("nanotabpfn", {"labels": "cells", "thinking": 4, **SMALL}),
    "regression in cells": ("default", {"labels": "cells", "classes": 0, "mean_readout": True, **SMALL}),
    "radial cells": ("default", {"cell_encoding": "radial", **SMALL}),
    "radial labelled cells": ("speedrun", {"cell_encoding": "radial", "labels": "cells", **SMALL}),
    "radial regression": (
        "nanotabpfn", {"cell_encoding": "radial", "classes": 0, "class_as_number": False, **SMALL}),
    "scaled softmax": ("default", {"scaled_softmax": True, **SMALL}),
    "scaled softmax of one layer": (
        "nanotabpfn", {"scaled_softmax": True, "projection": False, **SMALL, "layers": 1}),
    "retrieval": ("default", {"decoder": "retrieval", **SMALL}),
    "retrieval of many classes": (
        "nanotabpfn", {"decoder": "retrieval", "classes": 20, "class_as_number": False, **SMALL}),
    "retrieval of pooled cells": (
        "default", {"decoder": "retrieval", "mean_readout": True, "labels": "cells", **SMALL}),
    "rows first": ("default", {"layer_order": "rows,mlp,columns", **SMALL}),
    "rows first behind norms": (
        "nanotabpfn", {"layer_order": "rows,mlp,columns", "residual_decay": 0.9, **SMALL}),
    "rows first of pooled cells": (
        "default", {"layer_order": "rows,mlp,columns", "mean_readout": True, **SMALL}),
    "one layer": ("default", {**SMALL, "layers": 1, "thinking": 0}),
    "no biases": ("default", {"biases": False, **SMALL}),
    "no biases behind norms": ("nanotabpfn", {"biases": False, **SMALL}),
}  # fmt: skip
SIZES = {
    "full": [(14, 5, 9), (14, 5, 9)],
    "ragged": [(14, 5, 9), (10, 1, 4), (3, 7, 2), (14, 2, 14)],
}
# With tokens that read several columns of wide tables.
SHARED = {
    "pairs": ("default", {"columns_per_token": 2, **SMALL}),
    "pooled pairs": (
        "default", {"columns_per_token": 2, "mean_readout": True, "labels": "cells",
                    "cell_encoding": "radial", "layer_order": "rows,mlp,columns", **SMALL}),
    "threes behind norms": ("nanotabpfn", {"columns_per_token": 3, "group": 4, **SMALL}),
}  # fmt: skip
WIDE = [(14, 35, 9), (10, 16, 4), (12, 17, 5), (14, 33, 7), (3, 1, 2)]
RUNS = {f"{case}, {sizes}": (CASES[case], SIZES[sizes]) for case in CASES for sizes in SIZES}
RUNS |= {f"{case}, wide": (SHARED[case], WIDE) for case in SHARED}


def draw(sizes, classes, seed):
    """Tables with NaN in some cells and everywhere outside."""
    rng = np.random.default_rng(seed)
    rows, features, _ = np.max(sizes, axis=0)
    x = np.full((len(sizes), rows, features), np.nan, np.float32)
    y = np.full((len(sizes), rows), np.nan, np.float32)
    for k, (n, m, _) in enumerate(sizes):
        x[k, :n, :m] = rng.normal(3, 4, (n, m)) * rng.choice([1e-3, 1, 1e4], m)
        x[k, :n, :m][rng.random((n, m)) < 0.1] = np.nan
        y[k, :n] = rng.integers(0, classes, n) if classes else rng.normal(-2, 7, n)
    x[0, :, 1] = 5.0  # says nothing
    return x, y


def assert_near(got, want, share, what):
    """Within a share of the largest number."""
    want = want.detach().numpy()
    assert got.shape == want.shape, what
    error = np.max(np.abs(got - want), initial=0.0)
    assert error <= share * np.max(np.abs(want), initial=0.0) + 1e-7, f"{what}: off by {error}"


def draw_scales(model):
    """Scales of queries that differ from 1, where the model has them."""
    rng = np.random.default_rng(7)
    state = dict(model.state_dict())
    for name, values in state.items():
        if ".scale." in name:
            drawn = rng.uniform(0.2, 0.7, values.shape).astype(np.float32)
            state[name] = cw.asarray(drawn, device=values.device)
    model.load_state_dict(state)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_matches_the_reference(run, device):
    (preset, changes), sizes = run
    generator = cw.Generator(3)
    model = cw.models.TabularTransformer(preset, device=device, generator=generator, **changes)
    draw_scales(model)
    state = {name: values.to("cpu").numpy() for name, values in model.state_dict().items()}
    twin = Twin(model.config, state)
    x, y = draw(sizes, min(model.config["classes"], 4), 5)
    want_loss, want = twin.loss(torch.tensor(x), torch.tensor(y), sizes)
    want_loss.backward()
    got = model.logits(x, y, np.array(sizes)).detach().to("cpu").numpy()
    for k, (n, _, known) in enumerate(sizes):  # what is said of no row means nothing
        assert_near(got[k, known:n], want[k, known:n], 1e-5, f"logits of table {k}")
    loss = model.loss(x, y, np.array(sizes))
    np.testing.assert_allclose(loss.item(), want_loss.item(), rtol=1e-5)
    loss.backward()
    for name, parameter in model.named_parameters():
        gradient = twin[name].grad
        assert gradient is not None and parameter.grad is not None, name
        assert_near(parameter.grad.to("cpu").numpy(), gradient, 1e-4, name)
    # The same again, row by row.
    context = model.encode_context(x, y, np.array(sizes))
    for k, (n, _, known) in enumerate(sizes):
        for row in range(known, n):
            told = model.predict_logits(context, x[:, row : row + 1]).to("cpu").numpy()[k]
            assert_near(told, want[k, row : row + 1], 2e-5, f"row {row} of table {k}")
