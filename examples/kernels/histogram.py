"""Counts of values in equal bins, by atomics."""

import causeway as cw
import numpy as np
from measure import measure, options

BINS = 64


@cw.kernel
def histogram(x: cw.array(dtype=float), counts: cw.array(dtype=int)):
    i = cw.tid()
    b = cw.clamp(int(x[i] * float(BINS)), 0, BINS - 1)
    cw.atomic_add(counts, b, 1)


if __name__ == "__main__":
    args = options(size=1_000_000)
    x = cw.Generator(1).uniform(args.size, device=args.device)
    counts = cw.zeros(BINS, dtype=cw.int32, device=args.device)
    cw.launch(histogram, dim=args.size, inputs=[x], outputs=[counts])
    expected = np.bincount((x.numpy() * np.float32(BINS)).astype(int), minlength=BINS)
    np.testing.assert_array_equal(counts.numpy(), expected)
    measure("histogram", lambda: histogram.launch(args.size, [x, counts]), args.device, 4 * args.size)
