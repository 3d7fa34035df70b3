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


TILE = 64
tiled = cw.RawKernel(r"""
// A block computes 64 x 64 elements of c from tiles of 64 x 16 and 16 x 64 in shared memory; each of
// its 16 x 16 threads computes 4 x 4 of them in registers.
constexpr int kTile = 64;
constexpr int kDepth = 16;
constexpr int kPart = 4;

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int rows, int inner,
                                 int cols) {
  __shared__ float a_tile[kDepth][kTile + 4];  // transposed; the padding avoids bank conflicts
  __shared__ float b_tile[kDepth][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int thread = y * blockDim.x + x;
  const int first_row = blockIdx.y * kTile, first_col = blockIdx.x * kTile;
  float sum[kPart][kPart] = {};
  for (int k = 0; k < inner; k += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += blockDim.x * blockDim.y) {
      const int a_row = first_row + i / kDepth, a_col = k + i % kDepth;
      const int b_row = k + i / kTile, b_col = first_col + i % kTile;
      a_tile[i % kDepth][i / kDepth] =
          a_row < rows && a_col < inner ? a[a_row * inner + a_col] : 0;
      b_tile[i / kTile][i % kTile] = b_row < inner && b_col < cols ? b[b_row * cols + b_col] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 left = *reinterpret_cast<const float4*>(&a_tile[d][y * kPart]);
      const float4 right = *reinterpret_cast<const float4*>(&b_tile[d][x * kPart]);
      const float of_a[kPart] = {left.x, left.y, left.z, left.w};
      const float of_b[kPart] = {right.x, right.y, right.z, right.w};
      for (int i = 0; i < kPart; ++i) {
        for (int j = 0; j < kPart; ++j) sum[i][j] += of_a[i] * of_b[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kPart; ++i) {
    for (int j = 0; j < kPart; ++j) {
      const int row = first_row + y * kPart + i, col = first_col + x * kPart + j;
      if (row < rows && col < cols) c[row * cols + col] = sum[i][j];
    }
  }
}
""", "tiled")  # fmt: skip


def tiled_matmul(a, b, c):
    rows, inner, cols = np.int32((*a.shape, b.shape[1]))
    grid = (int(-(-cols // TILE)), int(-(-rows // TILE)))
    tiled(grid, (16, 16), (a, b, c, rows, inner, cols))


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
        tiled_matmul(a, b, c)
        np.testing.assert_allclose(c.numpy(), expected, rtol=1e-3, atol=1e-3)
        measure("matmul, tiled", lambda: tiled_matmul(a, b, c), args.device, n_flops=2 * n**3)
