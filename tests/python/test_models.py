"""Models in Python: settings, state, training, errors. tests/parity compares the results with PyTorch."""

import causeway as cw
import numpy as np
import pytest
from causeway.models import TabularTransformer

SMALL = {"width": 16, "heads": 2, "hidden": 32, "layers": 2, "thinking": 2, "classes": 3}


def separable(rng, n_tables=4, n_rows=24):
    """Tables whose class is told by the first column."""
    x = rng.normal(size=(n_tables, n_rows, 3)).astype(np.float32)
    y = (x[:, :, 0] > 0).astype(np.float32)
    return x, y


def test_settings():
    model = TabularTransformer("nanotabpfn", layers=2)
    assert model.config["layers"] == 2 and model.config["width"] == 96
    assert TabularTransformer(model.config).config == model.config
    assert "width=96" in repr(model)
    names = [name for name, _ in model.named_parameters()]
    assert names[:2] == ["encoder", "layers.0.columns.qkv.weight"]
    assert len(model.matrices()) + len(model.others()) == len(names)
    assert {matrix.shape for matrix in model.matrices()} >= {(288, 96), (96, 96), (192, 96)}
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        TabularTransformer(depth=3)
    with pytest.raises(cw.Error, match='unknown preset "large"; expected default'):
        TabularTransformer("large")
    with pytest.raises(cw.Error, match="width / heads must be a multiple of 8"):
        TabularTransformer(width=20)


def test_state(device, rng):
    a = TabularTransformer(**SMALL, device=device, generator=cw.Generator(1))
    b = TabularTransformer(**SMALL, device=device, generator=cw.Generator(2))
    x, y = separable(rng)
    assert not np.array_equal(a.logits(x, y, 12).detach().numpy(), b.logits(x, y, 12).detach().numpy())
    b.load_state_dict(a.state_dict())
    assert np.array_equal(a.logits(x, y, 12).detach().numpy(), b.logits(x, y, 12).detach().numpy())


def test_context(device, rng):
    model = TabularTransformer(**SMALL, device=device)
    x, y = separable(rng)
    want = model.logits(x, y, 20).detach().numpy()[:, 20:]
    context = model.encode_context(x[:, :20], y[:, :20])
    got = model.predict_logits(context, x[:, 20:])
    np.testing.assert_allclose(got.numpy(), want, atol=1e-5)
    assert context.nbytes > 0
    with pytest.raises(cw.Error, match=r"expected \(4, rows, 3\)"):
        model.predict_logits(context, x[:, 20:, :2])
    with pytest.raises(cw.Error, match="has 24 rows, 3 features and 25 context rows in sizes"):
        if device != "cpu":  # sizes on a GPU are not looked at
            pytest.skip("the CPU alone looks at sizes")
        model.loss(x, y, 25)


def test_learns(device, rng):
    model = TabularTransformer(**SMALL, device=device, generator=cw.Generator(3))
    optimizer = cw.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(40):
        x, y = separable(rng, 8)
        loss = model.loss(x, y, 12)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.mean(losses[-5:]) < 0.6 * losses[0], losses


def test_numbers(device, rng):
    model = TabularTransformer(**SMALL | {"classes": 0, "bins": 16}, device=device)
    x = rng.normal(size=(2, 9, 3)).astype(np.float32)
    assert model.logits(x, x[:, :, 0], 5).shape == (2, 9, 16)
    assert model.borders().shape == (15,) and len(model.centres()) == 16
    assert TabularTransformer(**SMALL).borders() is None
