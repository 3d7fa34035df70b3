"""y = x transposed. In Python one thread per element; on a GPU also through shared memory, which the
kernel language does not have, as CUDA text.
"""

import causeway as cw
import numpy as np
from measure import measure, options


@cw.kernel
def transpose(x: cw.array2d(dtype=float), y: cw.array2d(dtype=float)):
    i, j = cw.tid()
    y[i, j] = x[j, i]


TILE = 32
tiled = cw.RawKernel(r"""
constexpr int kTile = 32;

extern "C" __global__ void tiled(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[kTile][kTile + 1];  // one more column: no bank conflicts
  const int col = blockIdx.x * kTile + threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += blockDim.y) {
    const int row = blockIdx.y * kTile + r;
    if (row < rows && col < cols) tile[r][threadIdx.x] = x[row * cols + col];
  }
  __syncthreads();
  const int out_col = blockIdx.y * kTile + threadIdx.x;
  for (int r = threadIdx.y; r < kTile; r += blockDim.y) {
    const int out_row = blockIdx.x * kTile + r;
    if (out_row < cols && out_col < rows) y[out_row * rows + out_col] = tile[threadIdx.x][r];
  }
}
""", "tiled")  # fmt: skip


if __name__ == "__main__":
    args = options(size=2048)
    n, m = args.size, args.size // 2
    x = cw.Generator(1).normal((n, m), device=args.device)
    y = cw.zeros((m, n), device=args.device)
    cw.launch(transpose, dim=(m, n), inputs=[x], outputs=[y])
    np.testing.assert_array_equal(y.numpy(), x.numpy().T)
    measure("transpose", lambda: transpose.launch((m, n), [x, y]), args.device, 8 * n * m)
    if args.device != "cpu":
        grid = ((m + TILE - 1) // TILE, (n + TILE - 1) // TILE)
        y = cw.zeros((m, n), device=args.device)
        run = lambda: tiled(grid, (TILE, 8), (x, y, np.int32(n), np.int32(m)))  # noqa: E731
        run()
        np.testing.assert_array_equal(y.numpy(), x.numpy().T)
        measure("transpose, tiled", run, args.device, 8 * n * m)
