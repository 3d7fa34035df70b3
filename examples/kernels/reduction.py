"""The sum of an array: each block sums its threads' values, and one atomic per block adds them up."""

import causeway as cw
import numpy as np
from measure import measure, options

BLOCK = 64  # threads that block_sum adds up


@cw.kernel
def total(x: cw.array(dtype=float), out: cw.array(dtype=float), n: int):
    i = cw.tid()
    value = float(0.0)
    if i < n:
        value = x[i]
    s = cw.block_sum(value)
    if i % 64 == 0:
        cw.atomic_add(out, 0, s)


if __name__ == "__main__":
    args = options(size=1_000_000)
    x = cw.Generator(1).normal(args.size, device=args.device)
    out = cw.zeros(1, device=args.device)
    threads = (args.size + BLOCK - 1) // BLOCK * BLOCK
    cw.launch(total, dim=threads, inputs=[x], outputs=[out, args.size])
    np.testing.assert_allclose(out.item(), x.numpy().astype("f8").sum(), rtol=1e-3, atol=0.5)
    measure("reduction", lambda: total.launch(threads, [x, out, args.size]), args.device, 4 * args.size)
