"""z = x + y, one thread per element."""

import causeway as cw
import numpy as np
from measure import measure, options


@cw.kernel
def add(x: cw.array(dtype=float), y: cw.array(dtype=float), z: cw.array(dtype=float)):
    i = cw.tid()
    z[i] = x[i] + y[i]


if __name__ == "__main__":
    args = options(size=1_000_000)
    random = cw.Generator(1)
    x, y = (random.normal(args.size, device=args.device) for _ in range(2))
    z = cw.empty(args.size, device=args.device)
    cw.launch(add, dim=args.size, inputs=[x, y], outputs=[z])
    np.testing.assert_array_equal(z.numpy(), x.numpy() + y.numpy())
    measure("vector_add", lambda: add.launch(args.size, [x, y, z]), args.device, 12 * args.size)
