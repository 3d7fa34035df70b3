"""c = a b. In Python one thread per element of c; on a GPU also tiles in shared memory, which the
kernel language does not have, as CUDA text.
"""

import causeway as cw
import numpy as np
from measure import measure, options


@cw.kernel
def matmul(a: cw.array2d(dtype=float), b: cw.array2d(dtype=float), c: cw.array2d(dtype=float)):
    i, j = cw.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


TILE = 32
tiled = cw.RawKernel(r"""
constexpr int kTile = 32;

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int rows, int inner,
                                 int cols) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < inner; k += kTile) {
    const int a_col = k + threadIdx.x;
    const int b_row = k + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] = row < rows && a_col < inner ? a[row * inner + a_col] : 0;
    b_tile[threadIdx.y][threadIdx.x] = b_row < inner && col < cols ? b[b_row * cols + col] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < rows && col < cols) c[row * cols + col] = sum;
}
""", "tiled")  # fmt: skip


def blocks(n):
    return (n + TILE - 1) // TILE


if __name__ == "__main__":
    args = options(size=512)
    n = args.size
    random = cw.Generator(1)
    a, b = (random.normal((n, n), device=args.device) for _ in range(2))
    c = cw.zeros((n, n), device=args.device)
    expected = a.numpy().astype("f8") @ b.numpy().astype("f8")
    cw.launch(matmul, dim=(n, n), inputs=[a, b], outputs=[c])
    np.testing.assert_allclose(c.numpy(), expected, rtol=1e-3, atol=1e-3)
    measure("matmul", lambda: matmul.launch((n, n), [a, b, c]), args.device, n_flops=2 * n**3)
    if args.device != "cpu":
        sizes = [np.int32(n)] * 3
        run = lambda: tiled((blocks(n), blocks(n)), (TILE, TILE), (a, b, c, *sizes))  # noqa: E731
        run()
        np.testing.assert_allclose(c.numpy(), expected, rtol=1e-3, atol=1e-3)
        measure("matmul, tiled", run, args.device, n_flops=2 * n**3)
