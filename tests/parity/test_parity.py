"""Every operation and its gradient against PyTorch, on every device, in every floating dtype. Needs
torch; prints the largest error of each operation, in units of the tolerance.
"""

import causeway as cw
import numpy as np
import pytest
from cases import all_cases

torch = pytest.importorskip("torch")
import torch.nn.functional as TF  # noqa: E402

F = cw.nn.functional
CASES = all_cases()
DEVICES = [entry["device"] for entry in cw.devices()]
TYPES = {"f64": (1e-7, 1e-7), "f32": (1.3e-6, 1e-5), "f16": (1e-3, 1e-3), "bf16": (1.6e-2, 1e-2)}
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1),
    "stepped": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
}
worst: dict[str, tuple[float, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def report():
    yield
    print("\nworst error of each operation, in units of the tolerance:")
    for name, (error, where) in sorted(worst.items(), key=lambda item: -item[1][0]):
        print(f"  {name:44} {error:8.3f}  {where}")


def view_of(array, dtype, device, layout):
    """A tensor with the values of `array`, strided as the layout says."""
    if array.ndim == 0 or layout == "plain":
        return cw.array(array, dtype=dtype, device=device)
    if layout == "transposed":
        return cw.array(np.ascontiguousarray(array.swapaxes(0, -1)), dtype=dtype,
                        device=device).transpose(0, -1)
    return cw.array(np.repeat(array, 2, axis=-1), dtype=dtype, device=device)[..., ::2]


def compare(case, what, dtype, device, layout, got, want):
    got = got.to("cpu", "f64").numpy()
    want = want.detach().double().cpu().numpy()
    assert got.shape == want.shape, what
    relative, absolute = TYPES[dtype]
    allowed = case.scale * (absolute + relative * np.abs(want))
    error = float(np.max(np.abs(got - want) / allowed, initial=0.0))
    name = case.name.split(" ")[0] if case.name[0].isalpha() and case.name[1:2] != " " else case.name
    if error > worst.get(name, (-1.0, ""))[0]:
        worst[name] = (error, f"{case.name}: {what}, {dtype}, {device}, {layout}")
    assert error <= 1, f"{case.name}: {what} is off by {error:.2f} times the tolerance"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parity(case, device, dtype, layout):
    if dtype in ("f16", "bf16") and not case.halves:
        pytest.skip("compared in wider types only")
    rng = np.random.default_rng(5)
    ours, theirs = [], []
    for spec in case.inputs:
        values = np.asarray(spec.draw(rng))
        if not spec.tracked:
            ours.append(cw.array(values, device=device))
            theirs.append(torch.tensor(values))
            continue
        x = view_of(values, dtype, device, layout)
        # PyTorch computes in f64 from the very numbers that were rounded to the dtype.
        theirs.append(torch.tensor(x.to("cpu", "f64").numpy()).requires_grad_())
        ours.append(x.requires_grad_())
    got = case.ours(cw, F, *ours)
    want = case.theirs(torch, TF, *theirs)
    compare(case, "result", dtype, device, layout, got, want)
    weights = rng.normal(size=tuple(want.shape))
    got.backward(cw.array(weights, dtype=got.dtype, device=device))
    seed = cw.array(weights, dtype=got.dtype).to("f64").numpy()
    want.backward(torch.tensor(seed).reshape(want.shape))
    for i, (x, y) in enumerate(zip(ours, theirs)):
        if not case.inputs[i].tracked:
            continue
        gradient = y.grad if y.grad is not None else torch.zeros_like(y)
        mine = x.grad if x.grad is not None else cw.zeros_like(x)
        compare(case, f"gradient {i}", dtype, device, layout, mine, gradient)
