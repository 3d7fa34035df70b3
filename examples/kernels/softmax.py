"""Softmax of every row, written as a kernel with a thread per row and as a fused function."""

import causeway as cw
import numpy as np
from measure import measure, options


@cw.kernel
def softmax(x: cw.array2d(dtype=float), y: cw.array2d(dtype=float)):
    i = cw.tid()
    m = float(-cw.inf)
    for j in range(x.shape[1]):
        m = cw.max(m, x[i, j])
    s = float(0.0)
    for j in range(x.shape[1]):
        s += cw.exp(x[i, j] - m)
    for j in range(x.shape[1]):
        y[i, j] = cw.exp(x[i, j] - m) / s


@cw.fuse
def fused(x):
    e = cw.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


if __name__ == "__main__":
    args = options(size=4096)
    x = cw.Generator(1).normal((args.size, 128), device=args.device)
    y = cw.empty(x.shape, device=args.device)
    cw.launch(softmax, dim=args.size, inputs=[x], outputs=[y])
    e = np.exp(x.numpy() - x.numpy().max(axis=1, keepdims=True))
    np.testing.assert_allclose(y.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(fused(x).numpy(), y.numpy())
    measure("softmax", lambda: softmax.launch(args.size, [x, y]), args.device, 2 * x.nbytes)
    measure("softmax, fused", lambda: fused(x), args.device, 2 * x.nbytes)
