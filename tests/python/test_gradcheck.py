"""The gradient of every differentiable operation against finite differences in f64, for contiguous,
transposed and strided inputs. The operations are those of tests/parity."""

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


@pytest.mark.parametrize("case", [case for case in all_cases() if sum(spec.tracked for spec in case.inputs) > 1],
                         ids=lambda case: case.name)
def test_one_input_at_a_time(case, device):
    """Rules keep what the gradients that are wanted need: those of some inputs must not differ from
    those of all."""
    rng = np.random.default_rng(3)
    drawn = [np.asarray(spec.draw(rng)) for spec in case.inputs]
    places = [i for i, spec in enumerate(case.inputs) if spec.tracked]

    def gradients(tracked):
        inputs = [cw.array(values, device=device) for values in drawn]
        for i in tracked:
            inputs[i].requires_grad_()
        result = case.ours(cw, F, *inputs)
        if not result.requires_grad:
            return {i: None for i in tracked}
        result.backward(cw.full(result.shape, 0.5, result.dtype, device))
        return {i: inputs[i].grad for i in tracked}

    want = gradients(places)
    for left in places:
        for tracked in ([left], [i for i in places if i != left]):
            for i, found in gradients(tracked).items():
                if want[i] is None or found is None:
                    assert found is None or not np.any(found.numpy())
                else:
                    np.testing.assert_allclose(found.numpy(), want[i].numpy(), rtol=1e-10, atol=1e-12)


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
    with pytest.raises(cw.InvalidArgument, match="element 1: the gradient rule gives"):
        cw.gradcheck(lambda given: Wrong.apply(given[0]) * cw.array([0.0, 1.0]).to("f64", device), [x])


def test_gradcheck_wants_f64(device):
    x = cw.ones((2,), device=device).requires_grad_()
    with pytest.raises(cw.InvalidArgument, match="f64"):
        cw.gradcheck(lambda given: given[0] * 2.0, [x])
