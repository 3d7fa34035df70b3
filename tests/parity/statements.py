"""Everyday PyTorch statements: expressions of `torch`, `nn`, `F` and a few inputs. Each runs with PyTorch and
with the package; values, shapes, dtypes and gradients must agree. After "shape: " only shape and dtype are
compared, since the numbers are random."""

import numpy as np


def inputs():
    """Arrays by name. x, y, w, v, p, z and b are tracked; the others are not floating."""
    rng = np.random.default_rng(3)
    return {
        "x": rng.normal(size=(3, 4)).astype("f4"),
        "y": rng.normal(size=(3, 4)).astype("f4"),
        "w": rng.normal(size=(5, 4)).astype("f4"),
        "v": rng.normal(size=(4,)).astype("f4"),
        "p": rng.uniform(0.1, 0.9, size=(3, 4)).astype("f4"),
        "z": rng.normal(size=(2, 3, 4)).astype("f4"),
        "s": rng.normal(size=(4, 4)).astype("f4"),
        "q": rng.normal(size=(2, 2, 5, 8)).astype("f4"),
        "k": rng.normal(size=(2, 2, 5, 8)).astype("f4"),
        "i": np.array([[0, 2, 1, 3], [3, 3, 0, 1], [1, 0, 2, 2]]),
        "j": np.array([2, 0, 1]),
        "n": np.array([5, -3, 7, 2]),
        "m": np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]]),
    }


CREATION = """
torch.tensor([1.0, 2.0])
torch.tensor([[1, 2], [3, 4]])
torch.tensor([True, False])
torch.tensor(3)
torch.tensor([1.5], dtype=torch.float64)
torch.tensor([1, 2], dtype=torch.float)
torch.as_tensor([1, 2, 3])
torch.zeros(2, 3)
torch.zeros((2, 3), dtype=torch.long)
torch.zeros(size=(2,))
torch.ones(2, 3, device="cpu")
torch.ones(4, dtype=torch.bool)
torch.full((2, 2), 7)
torch.full((2, 2), fill_value=0.5)
torch.eye(3)
torch.arange(5)
torch.arange(1, 7, 2)
torch.arange(0, 1, 0.25)
torch.arange(end=4)
torch.arange(0, 5, dtype=torch.float32, device="cpu")
torch.linspace(0, 1, 5)
torch.linspace(0, 1, steps=3)
torch.logspace(0, 2, 3)
torch.zeros_like(x)
torch.ones_like(x, dtype=torch.int32)
torch.full_like(x, 2.0)
torch.empty_like(x).shape
torch.from_numpy(np.arange(4.0))
x.new_zeros(2, 2)
x.new_ones((2,), dtype=torch.long)
x.new_full((2,), 3.0)
x.new_tensor([1, 2])
torch.tril(torch.ones(3, 3))
torch.tril_indices(3, 3)
torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")
shape: torch.rand(2, 3)
shape: torch.randn(2, 3, dtype=torch.float64)
shape: torch.randn((4,), requires_grad=True)
shape: torch.randint(0, 10, (2, 3))
shape: torch.randint(10, (3,))
shape: torch.randperm(5)
shape: torch.rand_like(x)
shape: torch.randn_like(x)
shape: torch.normal(0.0, 1.0, size=(2, 2))
shape: torch.bernoulli(p.detach())
shape: torch.multinomial(p, 2)
shape: torch.multinomial(p, num_samples=5, replacement=True)
shape: torch.empty(2, 3)
"""

PROPERTIES = """
tuple(x.shape)
tuple(x.size())
x.size(0)
x.size(-1)
x.numel()
torch.numel(x)
x.dim()
x.ndim
x.nelement()
len(x)
x.is_contiguous()
x.t().is_contiguous()
tuple(x.t().stride())
x.stride(0)
x.element_size()
x.device.type
str(x.device)
x.device == torch.device("cpu")
x.dtype == torch.float32
x.dtype.is_floating_point
x.is_floating_point()
torch.is_tensor(x)
torch.is_floating_point(i)
x.requires_grad
x.is_leaf
x.is_cuda
x.data_ptr() == x.view(-1).data_ptr()
x[0, 0].item()
x.tolist()
i.tolist()
float(x[0, 0])
int(i[0, 1])
bool(m[0, 0])
torch.finfo(torch.float32).eps
torch.finfo(torch.float16).max
torch.iinfo(torch.int32).max
torch.get_default_dtype() == torch.float32
torch.is_grad_enabled()
"""

CONVERSION = """
x.float()
x.double()
i.float()
x.long()
x.int()
x.bool()
x.half().float()
x.bfloat16().float()
x.to(torch.float64)
x.to("cpu")
x.to(device="cpu", dtype=torch.float64)
x.to(torch.device("cpu"), torch.float64)
i.to(x)
x.type(torch.float64)
i.type_as(x)
x.cpu()
x.detach().numpy()
x.clone()
x.detach().requires_grad
x.contiguous()
x.data
"""

SHAPES = """
x.view(2, 6)
x.view(-1)
x.view((4, 3))
x.view(2, -1)
x.view_as(y)
x.reshape(2, 6)
x.reshape(-1, 2)
torch.reshape(x, (6, 2))
x.reshape_as(y)
x.flatten()
z.flatten(1)
z.flatten(start_dim=0, end_dim=1)
torch.flatten(z, 1)
x.unflatten(1, (2, 2))
x.t()
x.T
z.mT
x.transpose(0, 1)
z.transpose(-2, -1)
torch.transpose(z, 0, 2)
z.permute(2, 0, 1)
z.permute((1, 2, 0))
torch.permute(z, (1, 0, 2))
z.movedim(0, -1)
z.swapaxes(0, 1)
x.unsqueeze(0)
x.unsqueeze(dim=-1)
torch.unsqueeze(x, 1)
x[None].squeeze(0)
x.unsqueeze(1).squeeze()
x.unsqueeze(1).squeeze(0)
torch.squeeze(x.unsqueeze(0), dim=0)
v.expand(3, 4)
v.expand(3, -1)
v.expand_as(x)
v.unsqueeze(0).broadcast_to((2, 4))
v.repeat(2, 3)
x.repeat(1, 2)
torch.tile(v, (2,))
x.repeat_interleave(2, dim=0)
torch.repeat_interleave(v, 3)
torch.repeat_interleave(x, torch.tensor([1, 0, 2]), dim=0)
torch.cat([x, y])
torch.cat((x, y), dim=1)
torch.cat([x, y], -1)
torch.concat([x, y], dim=0)
torch.stack([x, y])
torch.stack((x, y), dim=-1)
torch.hstack([x, y])
torch.vstack([v, v])
x.split(2)
x.split([1, 3], dim=1)
torch.split(x, 2, dim=-1)
x.chunk(2, dim=1)
torch.chunk(x, 2)
x.unbind(0)
torch.unbind(x, dim=1)
x.narrow(1, 1, 2)
x.select(0, 1)
x.roll(1, 0)
torch.roll(x, shifts=-1, dims=1)
torch.flip(x, dims=[0])
x.flip(1)
torch.diag(v)
torch.diag(s)
s.diagonal()
torch.tril(s)
s.triu(diagonal=1)
torch.broadcast_tensors(v, x)[0]
x[0]
x[:, 1]
x[1:, ::2]
x[..., -1]
x[:, None]
x[j]
x[:, [0, -1]]
x[[0, 1], [2, 3]]
x[i.max(dim=1).values.clamp(max=2)]
z[:, j, 0]
x[m]
x[m.any(dim=1)]
x[:, m[0]]
x[x > 0]
torch.index_select(x, 0, j)
x.index_select(1, j)
x.gather(1, i)
torch.gather(x, dim=1, index=i)
torch.zeros(4, 4).scatter(0, j.unsqueeze(1).expand(3, 4), y)
torch.zeros(3, 4).scatter_add(1, i, y)
torch.zeros(3, 4).scatter(1, i[:, :1].expand(3, 4), 1.0)
torch.zeros(3, 4).scatter_(1, j.unsqueeze(1).expand(3, 4), 2.0)
torch.zeros(2, 2).copy_(torch.ones(2, 2))
torch.ones(3).add_(2).mul_(3).clamp_(max=5)
torch.zeros(2, 3).fill_(7)
torch.ones(2).zero_()
torch.zeros(3, 4).masked_fill_(m, 1.0)
F.pad(x, (1, 2))
F.pad(x, (0, 1, 2, 0), value=1.5)
F.pad(x, (-1, 0))
F.one_hot(j, num_classes=4)
F.one_hot(i)
torch.masked_select(x, m)
x.masked_fill(m, float("-inf")).exp()
x.masked_fill(m, 0.0)
torch.where(m, x, y)
torch.where(x > 0, x, 0.0)
torch.where(m)
torch.nonzero(m)
m.nonzero(as_tuple=True)
"""

ARITHMETIC = """
x + y
x - 1
2 * x
x / y
x ** 2
-x
x % 2
x.detach() // 0.5
n // 2
n % 3
1 / p
x @ w.t()
x.add(y)
x.add(y, alpha=2)
torch.add(x, y, alpha=0.5)
x.sub(y)
torch.mul(x, y)
x.mul(2)
x.div(y)
torch.div(x, 0.3, rounding_mode="floor")
torch.div(n, 2, rounding_mode="trunc")
torch.pow(p, 2.5)
x.pow(3)
torch.exp(x)
x.exp2()
p.log()
torch.log1p(p)
torch.log2(p)
torch.log10(p)
p.sqrt()
p.rsqrt()
x.abs()
torch.sign(x)
x.sin()
x.cos()
x.tanh()
x.sigmoid()
torch.relu(x)
x.square()
p.reciprocal()
torch.erf(x)
x.neg()
x.floor()
x.ceil()
x.round()
x.trunc()
x.frac()
torch.clamp(x, -0.5, 0.5)
x.clamp(min=0)
x.clamp_min(0.1)
torch.clip(x, min=-1, max=1)
torch.maximum(x, y)
torch.minimum(x, y)
torch.max(x, y)
x.lerp(y, 0.3)
torch.lerp(x, y, 0.5)
torch.addcmul(x, y, y, value=0.5)
x == y
x.eq(y)
x.ne(y)
x.lt(y)
torch.ge(x, y)
m & ~m
m | m.flip(0)
torch.logical_and(m, x > 0)
torch.logical_not(m)
x.isnan()
torch.isinf(x)
torch.isfinite(x)
torch.allclose(x, x + 1e-9)
torch.isclose(x, y)
torch.nan_to_num(x / x.clamp(max=0))
x.equal(y)
torch.equal(x, x)
torch.sinh(x)
torch.cosh(x)
"""

PRODUCTS = """
torch.matmul(x, w.t())
x.mm(w.t())
torch.bmm(z, z.transpose(1, 2))
x.mv(v)
torch.dot(v, v)
torch.outer(v, v)
torch.addmm(torch.ones(3, 5), x, w.t(), beta=0.5, alpha=2)
torch.trace(s)
torch.einsum("ij,kj->ik", x, w)
torch.einsum("bij,bkj->bik", z, z)
torch.einsum("bhqd,bhkd->bhqk", q, k)
torch.einsum("ij->ji", x)
torch.einsum("ii", s)
torch.einsum("i,i->", v, v)
torch.einsum("...d,de->...e", z, w.t())
torch.einsum("bij,j->bi", z, v)
torch.einsum("ij,ij->", x, y)
torch.cdist(x, w)
torch.norm(x)
x.norm(dim=1)
x.norm(p=1, dim=-1, keepdim=True)
"""

REDUCTIONS = """
x.sum()
x.sum(0)
x.sum(dim=1)
torch.sum(x, dim=(0, 1))
x.sum(dim=-1, keepdim=True)
i.sum()
i.sum(dtype=torch.float32)
m.sum()
x.mean()
torch.mean(x, dim=1, keepdims=True)
x.mean((0, 1))
p.prod()
p.prod(dim=1)
x.std()
x.std(0)
x.std(dim=1, keepdim=True)
torch.std(x, dim=1, keepdims=True)
x.std(unbiased=False)
x.var(dim=0, correction=0)
torch.var(x, dim=1)
x.max()
x.max(1)
x.max(dim=1, keepdim=True)
x.max(dim=0).values
torch.min(x, dim=1)
x.min(dim=-1)[1]
x.amax(1)
x.amin(dim=(0, 1))
x.argmax()
x.argmax(dim=1)
torch.argmin(x, 0, keepdim=True)
x.cumsum(0)
torch.cumsum(i, dim=1)
p.cumprod(1)
x.logsumexp(1)
torch.logsumexp(x, dim=0, keepdim=True)
x.median()
x.median(dim=1)
x.quantile(0.3)
torch.quantile(x, torch.tensor([0.25, 0.5]), dim=1)
x.sort()
x.sort(dim=0, descending=True)
torch.sort(x, dim=1).indices
x.argsort(1)
x.topk(2)
torch.topk(x, 2, dim=0, largest=False)
x.kthvalue(2)
m.any()
m.all(dim=1)
torch.any(m, 0)
torch.count_nonzero(m)
torch.unique(n)
torch.unique(i, return_inverse=True, return_counts=True)
torch.bincount(j, minlength=5)
torch.searchsorted(torch.tensor([-1.0, 0.0, 1.0]), x)
torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 5, 6]), right=True)
torch.bucketize(x, torch.tensor([-0.5, 0.5]))
torch.isin(n, torch.tensor([2, 5]))
torch.nansum(x)
"""

FUNCTIONAL = """
F.relu(x)
F.gelu(x)
F.gelu(x, approximate="tanh")
F.silu(x)
F.elu(x)
F.leaky_relu(x, 0.2)
F.softplus(x)
F.logsigmoid(x)
F.glu(x)
F.mish(x)
F.hardtanh(x)
F.softmax(x, dim=-1)
F.softmax(x, 0)
F.log_softmax(x, dim=1)
x.softmax(-1)
torch.softmax(x, dim=1)
x.log_softmax(dim=1)
F.linear(x, w)
F.layer_norm(x, (4,))
F.layer_norm(z, z.shape[1:])
F.layer_norm(x, (4,), v, v, 1e-6)
F.rms_norm(x, (4,), v)
F.group_norm(z, 3)
F.normalize(x, dim=1)
F.cosine_similarity(x, y)
F.embedding(i, w)
F.dropout(x, 0.5, training=False)
F.conv1d(z, torch.ones(2, 3, 2), padding=1)
F.cross_entropy(x, j)
F.cross_entropy(x, j, ignore_index=0, reduction="sum")
F.cross_entropy(x, j, label_smoothing=0.1)
F.cross_entropy(x, j, weight=torch.tensor([1.0, 2.0, 3.0, 0.5]))
F.cross_entropy(z, torch.tensor([[0, 2, 1, 1], [2, 2, 0, 1]]))
F.nll_loss(F.log_softmax(x, dim=1), j)
F.binary_cross_entropy(p, m.float())
F.binary_cross_entropy_with_logits(x, m.float())
F.mse_loss(x, y)
F.l1_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y)
F.huber_loss(x, y, delta=0.5)
F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean")
F.scaled_dot_product_attention(q, k, k)
F.scaled_dot_product_attention(q, k, k, is_causal=True)
F.scaled_dot_product_attention(q, k, k, attn_mask=torch.ones(5, 5, dtype=torch.bool).tril())
F.scaled_dot_product_attention(q, k, k, attn_mask=torch.arange(5.0).expand(5, 5))
F.scaled_dot_product_attention(q[:, :, :3], k, k, is_causal=True)
"""
GROUPS = {name: [line for line in text.strip().splitlines() if line]
          for name, text in {"creation": CREATION, "properties": PROPERTIES, "conversion": CONVERSION,
                             "shapes": SHAPES, "arithmetic": ARITHMETIC, "products": PRODUCTS,
                             "reductions": REDUCTIONS, "functional": FUNCTIONAL}.items()}  # fmt: skip
