"""A 5 x 5 convolution of an image, with the gradient of the filter."""

import causeway as cw
import numpy as np
from measure import measure, options

RADIUS = 2


@cw.kernel
def convolve(image: cw.array2d(dtype=float), weights: cw.array2d(dtype=float),
             out: cw.array2d(dtype=float)):  # fmt: skip
    i, j = cw.tid()
    s = float(0.0)
    for u in range(2 * RADIUS + 1):
        for v in range(2 * RADIUS + 1):
            r = cw.clamp(i + u - RADIUS, 0, image.shape[0] - 1)
            c = cw.clamp(j + v - RADIUS, 0, image.shape[1] - 1)
            s += image[r, c] * weights[u, v]
    out[i, j] = s


def reference(image, weights):
    padded = np.pad(image, RADIUS, mode="edge").astype("f8")
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape)
    return np.einsum("ijuv,uv->ij", windows, weights), windows


if __name__ == "__main__":
    args = options(size=512)
    n = args.size
    random = cw.Generator(1)
    image = random.normal((n, n), device=args.device)
    weights = random.normal((5, 5), device=args.device).requires_grad_()
    out = cw.empty((n, n), device=args.device)
    cw.launch(convolve, dim=(n, n), inputs=[image, weights], outputs=[out])
    expected, windows = reference(image.numpy(), weights.numpy())
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)
    (out * out).mean().backward()
    gradient = np.einsum("ij,ijuv->uv", 2 * expected / expected.size, windows)
    np.testing.assert_allclose(weights.grad.numpy(), gradient, rtol=1e-2, atol=1e-2)
    with cw.no_grad():
        measure("convolution", lambda: convolve.launch((n, n), [image, weights, out]), args.device,
                n_flops=50 * n * n)  # fmt: skip
