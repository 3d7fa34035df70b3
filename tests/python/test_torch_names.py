"""PyTorch's names, without PyTorch: indexing against NumPy, gradients against finite differences, modules,
files, mixed precision. tests/parity compares with PyTorch where it is installed."""

import copy
import io
import math
import os
import pickle
import re
from pathlib import Path

import causeway as cw
import numpy as np
import pytest

F, nn = cw.nn.functional, cw.nn
PAGE = Path(__file__).resolve().parents[2] / "docs" / "torch-names.md"


def test_page_lists_names_that_exist():
    owners = {"torch": cw, "torch.Tensor": cw.Tensor, "torch.nn": nn, "torch.nn.functional": F,
              "torch.nn.init": nn.init, "torch.nn.utils": nn.utils, "torch.nn.Module": nn.Module, "torch.optim": cw.optim,
              "torch.optim.Optimizer": cw.optim.Optimizer, "torch.optim.lr_scheduler": cw.optim.lr_scheduler,
              "torch.amp": cw.amp, "torch.autograd": cw.autograd, "torch.cuda": cw.cuda}
    sections = dict(re.findall(r"^## (\S+)\n\n\d+ names: (.*)$", PAGE.read_text(), re.MULTILINE))
    assert sections.keys() == owners.keys()
    listed = [(space, name) for space, names in sections.items() for name in re.findall(r"`(\w+)`", names)]
    assert len(listed) > 600
    for space, name in listed:
        assert hasattr(owners[space], name), f"{space}.{name}"


VALUES = np.arange(24.0, dtype="f4").reshape(2, 3, 4)
MASK = VALUES % 3 == 0
KEYS = {
    "mask": MASK, "mask of rows": MASK[:, 0, 0], "mask after slice": (slice(None), MASK[0]),
    "mask and integer": (1, MASK[1]), "mask between": (slice(None), MASK[0, :, 0], slice(1, 3)),
    "two lists": ([0, 1], [2, -1]), "lists apart": ([0, 1], slice(None), [3, 0]),
    "lists that broadcast": ([[0], [1]], slice(None), [3, 0, 1]), "list and integer": ([1, 0], slice(None), 2),
    "three lists": ([0, 1], [1, 1], [2, 3]), "no element": np.zeros((2, 3, 4), bool), "empty list": [],
    "mask of none": (np.zeros(2, bool), slice(None)), "new axis": (None, MASK[:, 0, 0]),
}  # fmt: skip


def key_of(key, device):
    if isinstance(key, tuple):
        return tuple(key_of(part, device) for part in key)
    return cw.array(key, device=device) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("name", KEYS)
def test_index_arrays(name, device):
    expected = VALUES[KEYS[name]]
    got = cw.array(VALUES, device=device)[key_of(KEYS[name], device)]
    assert got.device == device
    np.testing.assert_array_equal(got.numpy(), expected)


@pytest.mark.parametrize("name", KEYS)
def test_assignment_through_index_arrays(name, device):
    for value in (-1.0, np.linspace(1, 2, 4, dtype="f4")):
        expected, x = VALUES.copy(), cw.array(VALUES, device=device)
        shape = expected[KEYS[name]].shape
        if isinstance(value, np.ndarray) and (not shape or shape[-1] != 4):
            continue
        expected[KEYS[name]] = value
        x[key_of(KEYS[name], device)] = value if isinstance(value, float) else cw.array(value, device=device)
        np.testing.assert_array_equal(x.numpy(), expected)


def test_assignment_reaches_views_and_needs_no_grad():
    x = cw.zeros(4, 4)
    x[:, 1:3][cw.eye(4)[:, 1:3] > 0] = 5.0
    assert x.tolist() == (5 * np.diag([0, 1, 1, 0])).tolist()
    w = cw.zeros(3).requires_grad_()
    with pytest.raises(cw.InvalidArgument, match="no_grad"):
        w[cw.tensor([True, False, True])] = 1.0
    with pytest.raises(cw.InvalidArgument, match="no_grad"):
        w.add_(1)
    with cw.no_grad():
        w.add_(1)[[0]] = 7.0
    assert w.tolist() == [7, 1, 1]


def test_view_shares_memory_or_raises():
    x = cw.zeros(2, 3)
    x.view(6)[2] = 5.0
    assert x[0, 2].item() == 5
    with pytest.raises(cw.ShapeMismatch, match="reshape"):
        x.t().view(6)
    assert x.size == 6 and x.size() == (2, 3) and x.size(-1) == 3
    assert not x.t().is_contiguous and not x.t().is_contiguous()
    assert x.data_ptr == x.data_ptr() == x.view(3, 2).data_ptr()


def test_keyword_decides_between_numpy_and_pytorch():
    x = cw.tensor([[1.0, 5.0], [7.0, 3.0]])
    assert x.max(axis=1).tolist() == [5, 7]
    assert [part.tolist() for part in x.max(dim=1)] == [[5, 7], [1, 0]]
    assert x.sort(axis=1).tolist() == x.sort(dim=1).values.tolist() == [[1, 5], [3, 7]]
    assert x.std(axis=0).tolist() == [3, 1]
    np.testing.assert_allclose(x.std(dim=0).numpy(), np.sqrt([18, 2]), rtol=1e-6)
    np.testing.assert_allclose(x.std().item(), np.std(x.numpy(), ddof=1), rtol=1e-6)
    with pytest.raises(TypeError):
        x.std(False)
    index = cw.tensor([[1], [0]])
    assert x.gather(1, index).tolist() == x.gather(index, axis=1).tolist() == [[5], [7]]


def test_device_is_a_string_with_parts():
    x = cw.zeros(2)
    assert x.device == "cpu" == cw.device("cpu") and x.device.type == "cpu" and x.device.index is None
    assert cw.device("cuda", 1) == "cuda:1" and cw.device("cuda:1").index == 1
    assert pickle.loads(pickle.dumps(cw.device("cuda:1"))) == "cuda:1"
    with pytest.raises(ValueError, match="tpu"):
        cw.device("tpu")


def normal(*shape, device="cpu"):
    return cw.array(np.random.default_rng(0).normal(size=shape), dtype="f64", device=device).requires_grad_()


def on(x, values):
    """A tensor on the device of another."""
    return cw.tensor(values, device=x.device)


SKEW = [[True, False, True], [False, True, True]]
GRADIENTS = {
    "einsum": lambda x: cw.einsum("ij,kj,k->ik", x, x, x[:, 0]),
    "einsum diagonal": lambda x: cw.einsum("ii->i", x @ x.t()),
    "masked_fill": lambda x: x.masked_fill(on(x, SKEW), 2.0) * x,
    "mask": lambda x: x[on(x, SKEW)] ** 2,
    "two lists": lambda x: x[[0, 1, 0], [2, 0, 2]] ** 2,
    "repeat": lambda x: x.repeat(2, 1, 3).sin(),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=1).sin(),
    "roll": lambda x: x.roll((1, -1), (0, 1)).sin() * x,
    "tril": lambda x: x.tril().exp(),
    "diag": lambda x: x[0].diag(1) @ x[0].diag(1).t(),
    "logsumexp": lambda x: x.logsumexp(1),
    "norm": lambda x: x.norm(3.0, dim=1),
    "cumprod": lambda x: x.cumprod(1),
    "quantile": lambda x: x.quantile(0.4, dim=1),
    "max": lambda x: x.max(dim=1).values,
    "pad": lambda x: F.pad(x, (1, -1, 0, 2)).exp(),
    "normalize": lambda x: F.normalize(x, dim=1),
    "logsigmoid": lambda x: F.logsigmoid(x * 3),
    "group_norm": lambda x: F.group_norm(x.reshape(1, 6), 2),
    "conv1d": lambda x: F.conv1d(x.unsqueeze(0), x.unsqueeze(0), padding=1),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, on(x, SKEW).double()),
    "weighted": lambda x: F.cross_entropy(x, on(x, [0, 2]), on(x, [1.0, 2.0, 3.0]).double()),
    "attention mask": lambda x: F.scaled_dot_product_attention(x, x, x, on(x, np.tri(2, dtype=bool))),
    "checkpoint": lambda x: cw.checkpoint(lambda a, flag, b: (a * b, None)[: 2 if flag else 1], x, True, x)[0],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient(name, device):
    cw.gradcheck(lambda given: GRADIENTS[name](given[0]), [normal(2, 3, device=device)])


@pytest.mark.parametrize("make", [
    lambda: nn.MultiheadAttention(4, 2, dtype="f64"), lambda: nn.TransformerEncoderLayer(4, 2, 6, 0.0, dtype="f64"),
    lambda: nn.LSTM(4, 3, 2, bidirectional=True, dtype="f64"), lambda: nn.GRU(4, 3, dtype="f64")])
def test_gradient_of_modules(make, device):
    module = make().to(device)

    def run(given):
        x = given[0]
        result = module(x, x, x) if isinstance(module, nn.MultiheadAttention) else module(x)
        return result[0] if isinstance(result, tuple) else result

    cw.gradcheck(run, [normal(3, 2, 4, device=device)])


def test_norm_of_zero_has_a_gradient():
    x = cw.zeros(2, 3).requires_grad_()
    (x.norm(dim=1).sum() + F.normalize(x).sum() + x.norm(3.0) + cw.cdist(x, x).sum()).backward()
    assert x.grad.isfinite().all()
    x.grad.zero_()
    assert x.grad.abs().sum().item() == 0


def test_in_place_operations_return_the_tensor():
    x = cw.ones(2, 3)
    assert x.mul_(4).sqrt_().sub_(1, alpha=0.5) is x and x[0, 0].item() == 1.5
    with pytest.raises(cw.ShapeMismatch, match="add_"):
        cw.ones(3).add_(x)
    with pytest.raises(cw.ShapeMismatch, match="div_"):
        cw.arange(3).div_(2)
    mask = same = cw.tensor([True, False])
    mask |= cw.tensor([False, True])
    assert mask is same and mask.all()


def test_save_and_load(tmp_path):
    state = {"weights": cw.ones(2).requires_grad_(), "step": 3, "names": ["a"], "dtype": cw.bfloat16}
    cw.save(state, tmp_path / "file.pt")
    loaded = cw.load(tmp_path / "file.pt", map_location="cpu")
    assert loaded["weights"].tolist() == [1, 1] and loaded["weights"].requires_grad
    assert loaded["step"] == 3 and loaded["dtype"] is cw.bf16 and [p.name for p in tmp_path.iterdir()] == ["file.pt"]
    buffer = io.BytesIO()
    cw.save(Path("x"), buffer)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        cw.load(buffer)


def test_hooks_on_compiled_layers():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    seen = []
    handles = [net[0].register_forward_hook(lambda module, args, result: seen.append(result.shape)),
               net[0].register_forward_pre_hook(lambda module, args: args[0] * 0),
               net[1].register_forward_hook(lambda module, args, result: result + 1)]
    x = cw.ones(4, 2)
    got = net(x)
    np.testing.assert_allclose(got.detach().numpy()[0], np.maximum(net[0].bias.detach().numpy(), 0) + 1, rtol=1e-6)
    assert seen == [(4, 3)]
    for handle in handles:
        handle.remove()
    assert net(x).shape == (4, 3) and len(seen) == 1


def test_modules_have_pytorch_methods():
    net = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ModuleList([nn.Linear(3, 1), nn.Dropout(0.1)])})
    assert [name for name, _ in net.named_modules()] == ["", "a", "b", "b.0", "b.1"]
    seen = []
    assert net.apply(lambda module: seen.append(type(module).__name__)) is net
    assert seen == ["Linear", "Linear", "Dropout", "ModuleList", "ModuleDict"]
    assert next(net.parameters()).shape == (3, 2) and len(net.parameters()) == 4
    assert net.load_state_dict({"a.weight": cw.ones(3, 2), "c": cw.ones(1)}, strict=False).unexpected_keys == ["c"]
    assert net["a"].weight.sum().item() == 6
    with pytest.raises(cw.Error):
        net.load_state_dict({})
    assert isinstance(net["a"].weight, nn.Parameter) and not isinstance(cw.ones(2), nn.Parameter)
    net.requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())
    assert len(net.parameters(recurse=False)) == 0 and len(net["a"].parameters(recurse=False)) == 2
    with pytest.raises(NotImplementedError, match="requires_grad_"):
        nn.Parameter(cw.ones(1), requires_grad=False)


def test_buffers_that_are_not_saved():
    def make():
        net = nn.Sequential(nn.Linear(2, 2), nn.ModuleList())
        net[1].register_buffer("table", cw.ones(3), persistent=False)
        net[1].register_buffer("count", cw.zeros(1))
        return net

    net, other = make(), make()
    net[1].table[0] = 5.0
    net[1].count[0] = 7.0
    assert sorted(net.state_dict()) == ["0.bias", "0.weight", "1.count"]
    other.load_state_dict(net.state_dict())
    assert other[1].table.tolist() == [1, 1, 1] and other[1].count.tolist() == [7]
    assert net.to("f64")[1].table.dtype == cw.f64 and copy.deepcopy(net).state_dict().keys() == net.state_dict().keys()
    net[1].register_buffer("table", cw.ones(3))
    assert "1.table" in net.state_dict()


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_autocast(dtype, device):
    net, x = nn.Linear(8, 4, device=device), cw.randn(3, 8, device=device)
    with cw.autocast(device, dtype=dtype):
        y = net(x)
        z = x @ x.t()
        normed, probabilities = F.layer_norm(y), y.softmax(-1)
        loss = F.cross_entropy(y, on(x, [0, 1, 2]))
        with cw.autocast(device, enabled=False):
            assert net(x).dtype == cw.f32
        again = cw.checkpoint(lambda a: net(a).square(), x.requires_grad_())
    assert y.dtype == z.dtype == again.dtype == getattr(cw, dtype)
    assert normed.dtype == probabilities.dtype == loss.dtype == cw.f32
    np.testing.assert_allclose(y.float().detach().cpu().numpy(), net(x).detach().cpu().numpy(), atol=0.05)
    (loss + again.float().sum()).backward()
    assert net.weight.grad.dtype == cw.f32 and net(x).dtype == cw.f32
    with pytest.raises(cw.InvalidArgument, match="f16 or bf16"):
        cw.autocast("cpu", dtype="f32").__enter__()


def test_gradient_scaler_skips_overflow():
    w = cw.ones(2).requires_grad_()
    optimizer, scaler = cw.optim.SGD([w], lr=0.5), cw.amp.GradScaler(init_scale=4.0, growth_interval=1)
    for factor, expected, scale in ((1.0, 0.5, 8.0), (float("inf"), 0.5, 4.0)):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        assert w[0].item() == expected and scaler.get_scale() == scale


def test_random_tensors_have_the_distribution(device):
    cw.manual_seed(5)
    x = cw.randn(20000, device=device)
    assert abs(x.mean().item()) < 0.03 and abs(x.std().item() - 1) < 0.03
    cw.manual_seed(5)
    assert cw.randn(20000, device=device).equal(x)
    weights = on(x, [[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    drawn = cw.multinomial(weights, 20000, replacement=True)
    shares = np.stack([np.bincount(row, minlength=3) / 20000 for row in drawn.numpy()])
    np.testing.assert_allclose(shares, [[0.25, 0, 0.75], [0.5, 0.5, 0]], atol=0.015)
    both = cw.multinomial(weights, 2)
    assert np.sort(both.numpy(), axis=1).tolist() == [[0, 2], [0, 1]]
    with pytest.raises(ValueError, match="without replacement"):
        cw.multinomial(weights, 3)
    assert sorted(cw.randperm(9).tolist()) == list(range(9))


def test_set_grad_enabled_warns_if_unused():
    with cw.set_grad_enabled(False):
        assert not cw.is_grad_enabled()
    with pytest.warns(UserWarning, match="with statement"):
        cw.set_grad_enabled(False)


def test_imports_with_another_prefix():
    import causeway.nn as layers
    import causeway.nn.functional as functional
    from causeway.nn.init import zeros_
    from causeway.optim.lr_scheduler import LambdaLR

    assert functional is F and layers is nn and zeros_ is nn.init.zeros_ and LambdaLR is cw.optim.lr_scheduler.LambdaLR


def test_as_torch_is_undone():
    with cw.testing.as_torch() as library:
        import torch
        import torch.nn.functional

        assert torch is library and torch.nn.functional is F and torch.float is cw.f32
        assert torch.equal(torch.ones(2), torch.ones(2)) is True
    import sys

    assert sys.modules.get("torch") is not library


def test_grad_scaler_of_two_optimizers():
    weights = [cw.tensor([1.0], requires_grad=True) for _ in range(2)]
    optimizers = [cw.optim.SGD([weight], lr=0.1) for weight in weights]
    scaler = cw.amp.GradScaler(init_scale=1024.0)
    scaler.scale(weights[0].sum() + weights[1].sum()).backward()
    weights[1].grad = weights[1].grad * math.inf
    for optimizer in optimizers:
        scaler.step(optimizer)
    scaler.update()
    assert weights[0].item() == pytest.approx(0.9) and weights[1].item() == 1.0
    assert scaler.get_scale() == 512.0


def test_integer_division_promotes_and_refuses_zero():
    small, large = cw.tensor([7], dtype=cw.int8), cw.tensor([-1000])
    assert (large // small).dtype == cw.int64 and (small // large).tolist() == [-1]
    assert (large // small).tolist() == [-143] and small.div(large, rounding_mode="trunc").dtype == cw.int64
    for zero in (0, cw.tensor([0])):
        with pytest.raises(ZeroDivisionError, match="integer division by zero"):
            large // zero


def test_fmod_is_exact():
    a, b = np.array([1e10, -7.5, 5.0, -5.0], "f4"), np.array([3.0, 2.0, math.inf, -math.inf], "f4")
    assert cw.tensor(a).fmod(cw.tensor(b)).tolist() == np.fmod(a, b).tolist()
    assert cw.tensor([-7, 7]).fmod(3).tolist() == [-1, 1] and cw.tensor([7.0]).fmod(-4).tolist() == [3.0]
    x = cw.tensor([7.0, -7.0], requires_grad=True)
    y = cw.tensor([3.0, -2.0], requires_grad=True)
    x.fmod(y).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and y.grad.tolist() == [-2.0, -3.0]


def test_norms_of_16_bit_tensors_do_not_overflow():
    x = cw.tensor([300.0, -400.0], dtype=cw.float16)
    assert x.norm().item() == 500.0 and x.norm().dtype == cw.float16
    assert x.norm(-math.inf).item() == 300.0 and cw.tensor([0.0, 2.0, 3.0]).norm(0).item() == 2.0
    weight = cw.tensor([1.0, 1.0], dtype=cw.float16, requires_grad=True)
    (weight * x).sum().backward()
    assert nn.utils.clip_grad_norm_([weight], 1.0).item() == 500.0
    np.testing.assert_allclose(weight.grad.float().numpy(), [0.6, -0.8], rtol=1e-3)


def test_median_and_quantile_propagate_nan():
    x = cw.tensor([[1.0, math.nan, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0]])
    assert math.isnan(x.median().item()) and math.isnan(x.quantile(0.5).item())
    values, places = x.median(1)
    assert math.isnan(values[0].item()) and values[1].item() == 2.0 and places.tolist() == [1, 2]
    assert math.isnan(x.quantile(0.25, 1)[0].item()) and x.quantile(0.25, 1)[1].item() == 1.75
    for level in (-0.1, 1.1):
        with pytest.raises(ValueError, match="are not all in"):
            x.quantile(level)


def test_nll_loss_of_several_dimensions():
    x = cw.tensor(np.arange(18, dtype="f4").reshape(2, 3, 3))
    target = cw.tensor([[0, 1, 2], [2, 1, 0]])
    assert F.nll_loss(x, target, reduction="none").tolist() == [[-0.0, -4.0, -8.0], [-15.0, -13.0, -11.0]]
    assert F.nll_loss(cw.tensor([[-math.inf, 0.0], [-1.0, -2.0]]), cw.tensor([-100, 1])).item() == 2.0
    with pytest.raises(cw.ShapeMismatch, match="nll_loss"):
        F.nll_loss(x, cw.tensor([0, 1]))


def test_param_group_as_dict_has_the_rate():
    optimizer = cw.optim.SGD([cw.tensor([1.0], requires_grad=True)], lr=0.1)
    group = optimizer.param_groups[0]
    assert dict(group)["lr"] == {**group}["lr"] == group.copy()["lr"] == 0.1


def test_roll_by_nothing_is_a_copy():
    x = cw.zeros(2)
    x.roll(0, 0).add_(1)
    assert x.tolist() == [0.0, 0.0]


def test_saved_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").touch()
    cw.save(cw.ones(2), tmp_path / "tensor")
    assert os.stat(tmp_path / "tensor").st_mode == os.stat(tmp_path / "plain").st_mode
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        cw.save(lambda: 0, tmp_path / "tensor")
    assert sorted(os.listdir(tmp_path)) == ["plain", "tensor"] and cw.load(tmp_path / "tensor").tolist() == [1.0, 1.0]


@pytest.mark.parametrize("loss", ["binary_cross_entropy_with_logits", "nll_loss", "kl_div", "gaussian_nll_loss"])
def test_autocast_computes_losses_in_f32(loss):
    x = cw.tensor([[0.1, -3.3, 2.7], [1.9, 0.3, -0.7]]).bfloat16()
    more = {"nll_loss": [cw.tensor([0, 2])], "gaussian_nll_loss": [x * 2, x.abs()]}.get(loss, [(x > 0).bfloat16()])
    wide = [part.float() if part.is_floating_point() else part for part in more]
    with cw.autocast("cpu"):
        found = getattr(F, loss)(x, *more)
    assert found.dtype == cw.float32 and found.item() == getattr(F, loss)(x.float(), *wide).item()
