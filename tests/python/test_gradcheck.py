"""The gradient of every differentiable operation against differences, in f64: plain, transposed and
stepped inputs. The operations are those that tests/parity holds against PyTorch."""

import pathlib
import sys

import causeway as cw
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "parity"))
from cases import all_cases  # noqa: E402

F = cw.nn.functional
LAYOUTS = ["plain", "transposed", "stepped"]


def laid_out(values, layout, device):
    if values.ndim == 0 or layout == "plain":
        return cw.array(values, device=device)
    if layout == "transposed":
        turned = np.ascontiguousarray(values.swapaxes(0, -1))
        return cw.array(turned, device=device).transpose(0, -1)
    return cw.array(np.repeat(values, 2, axis=-1), device=device)[..., ::2]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_gradcheck(case, layout, device):
    rng = np.random.default_rng(3)
    inputs = []
    for spec in case.inputs:
        values = np.asarray(spec.draw(rng))
        if not spec.tracked:
            inputs.append(cw.array(values, device=device))
            continue
        if values.size > 2000:
            pytest.skip("too many elements for differences; compared in smaller shapes")
        inputs.append(laid_out(values, layout, device).requires_grad_())
    cw.gradcheck(lambda given: case.ours(cw, F, *given), inputs)


def test_gradcheck_finds_a_wrong_rule(device):
    class Wrong(cw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0] * 2.01

    x = cw.array(np.array([1.0, 2.0]), device=device).requires_grad_()
    with pytest.raises(cw.InvalidArgument, match="element 1: the rule says"):
        cw.gradcheck(lambda given: Wrong.apply(given[0]) * cw.array([0.0, 1.0]).to("f64", device), [x])


def test_gradcheck_wants_f64(device):
    x = cw.ones((2,), device=device).requires_grad_()
    with pytest.raises(cw.InvalidArgument, match="f64"):
        cw.gradcheck(lambda given: given[0] * 2.0, [x])
