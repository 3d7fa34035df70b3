"""y = a x + y, and its gradient."""

import causeway as cw
import numpy as np
from measure import measure, options


@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float), out: cw.array(dtype=float)):
    i = cw.tid()
    out[i] = a * x[i] + y[i]


if __name__ == "__main__":
    args = options(size=1_000_000)
    random = cw.Generator(1)
    x, y = (random.normal(args.size, device=args.device).requires_grad_() for _ in range(2))
    out = cw.empty(args.size, device=args.device)
    cw.launch(saxpy, dim=args.size, inputs=[2.0, x, y], outputs=[out])
    np.testing.assert_array_equal(out.numpy(), np.float32(2) * x.numpy() + y.numpy())
    out.sum().backward()
    assert x.grad.numpy().min() == x.grad.numpy().max() == 2
    with cw.no_grad():
        measure("saxpy", lambda: saxpy.launch(args.size, [2.0, x, y, out]), args.device, 12 * args.size)
