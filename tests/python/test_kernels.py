"""Kernels written in Python: launches, arguments, names that are resolved, gradients."""

import textwrap
import threading

import causeway as cw
import numpy as np
import pytest

SCALE = 3.0
OFFSET = cw.vec3(1.0, 2.0, 3.0)
Real = cw.float64


@cw.func
def shifted(x: float):
    return x + SCALE


@cw.func
def twice(x: float):
    return shifted(x) * 2.0


@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
    i = cw.tid()
    y[i] = a * x[i] + y[i]


@cw.struct
class Ball:
    position: cw.vec3
    radius: float


@cw.struct
class Grid:
    values: cw.array(dtype=float)
    step: float


def tensor(values, device):
    return cw.asarray(np.asarray(values)).to(device)


def test_launch(device, rng):
    x = rng.normal(size=1003).astype("f4")
    y = rng.normal(size=1003).astype("f4")
    on_device = tensor(y.copy(), device)
    cw.launch(saxpy, dim=1003, inputs=[2.0, tensor(x, device)], outputs=[on_device])
    np.testing.assert_array_equal(on_device.numpy(), np.float32(2) * x + y)
    saxpy.launch(1003, [2.0, tensor(x, device), on_device])


def test_functions_and_constants(device):
    @cw.kernel
    def k(x: cw.array(dtype=float), v: cw.array(dtype=cw.vec3)):
        i = cw.tid()
        x[i] = twice(x[i])
        v[i] = v[i] + OFFSET

    x, v = tensor(np.float32([1, 2]), device), tensor(np.zeros((2, 3), "f4"), device)
    k.launch(2, [x, v])
    np.testing.assert_array_equal(x.numpy(), [8, 10])
    np.testing.assert_array_equal(v.numpy(), [[1, 2, 3]] * 2)


def test_closures_and_renamed_types(device):
    factor = 7

    @cw.kernel
    def k(x: cw.array(dtype=Real)):
        i = cw.tid()
        x[i] = x[i] * Real(factor)

    x = tensor(np.ones(3), device)
    k.launch(3, [x])
    np.testing.assert_array_equal(x.numpy(), [7, 7, 7])


def test_globals_have_the_values_of_the_first_use():
    global late
    late = 5

    @cw.kernel
    def k(x: cw.array(dtype=int)):
        x[cw.tid()] = late

    late = 6
    x = np.zeros(2, "i4")
    k.launch(2, [x])
    assert x.tolist() == [6, 6]


def test_structs(device):
    @cw.kernel
    def k(ball: Ball, grid: Grid, out: cw.array(dtype=float)):
        i = cw.tid()
        out[i] = cw.length(ball.position) * ball.radius + grid.values[i] * grid.step

    out = tensor(np.zeros(2, "f4"), device)
    grid = Grid(values=tensor(np.float32([1, 2]), device), step=10)
    k.launch(2, [Ball(position=(3, 4, 0), radius=2), grid, out])
    np.testing.assert_array_equal(out.numpy(), [20, 30])
    with pytest.raises(cw.InvalidArgument, match=r"takes 3 arguments \(ball, grid, out\), got 2"):
        k.launch(2, [Ball(), grid])
    with pytest.raises(TypeError, match="Ball has no field 'size'"):
        Ball(size=1)


def test_arrays_of_structs():
    @cw.kernel
    def k(balls: cw.array(dtype=Ball), out: cw.array(dtype=float)):
        i = cw.tid()
        out[i] = balls[i].position[1] + balls[i].radius

    balls = np.zeros(3, dtype=[("position", "f4", 3), ("radius", "f4")])
    balls["position"][:, 1] = [1, 2, 3]
    balls["radius"] = 10
    out = np.zeros(3, "f4")
    k.launch(3, [balls, out])
    assert out.tolist() == [11, 12, 13]


def test_foreign_arrays_are_shared(device):
    torch = pytest.importorskip("torch")
    if device != "cpu" and not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA here")
    x, y = torch.ones(5, device=device), torch.zeros(5, device=device)
    saxpy.launch(5, [2.0, x, y])
    cw.synchronize(device)
    assert y.tolist() == [2] * 5


def test_unsigned_arrays():
    @cw.kernel
    def k(x: cw.array(dtype=cw.uint32), y: cw.array(dtype=cw.uint64), n: cw.uint32):
        i = cw.tid()
        x[i] = x[i] + n
        y[i] = y[i] + cw.uint64(1)

    x, y = np.full(2, 2**31, "u4"), np.full(2, 2**63, "u8")
    k.launch(2, [x, y, 2**31 - 1])
    assert x.tolist() == [2**32 - 1] * 2 and y.tolist() == [2**63 + 1] * 2
    with pytest.raises(cw.InvalidArgument, match='argument "n": -1 is out of range for uint32'):
        k.launch(2, [x, y, -1])


def test_strided_arrays(device, rng):
    base = rng.normal(size=(6, 8)).astype("f4")
    x = tensor(base, device)[::2, 1::3]
    out = tensor(np.zeros((3, 3), "f4"), device).T

    @cw.kernel
    def k(x: cw.array2d(dtype=float), out: cw.array2d(dtype=float)):
        i, j = cw.tid()
        out[i, j] = x[i, j] * 2.0

    k.launch((3, 3), [x, out])
    np.testing.assert_array_equal(out.numpy(), base[::2, 1::3] * 2)


def test_from_source_with_warp_names():
    k = cw.kernel_from_source(textwrap.dedent("""
        import warp as wp

        @wp.kernel
        def fill(x: wp.array(dtype=wp.int32), v: int):
            x[wp.tid()] = v
    """))
    x = np.zeros(3, "i4")
    k.launch(3, [x, 4])
    assert x.tolist() == [4, 4, 4]
    with pytest.raises(cw.InvalidArgument, match='no kernel "fil"; did you mean "fill"'):
        cw.kernel_from_source("@wp.kernel\ndef fill(x: float):\n    pass\n", "fil")


def test_forms():
    assert 'extern "C" __global__ void saxpy(float a' in saxpy.cuda
    assert 'extern "C" void saxpy(float a' in saxpy.cpp
    assert saxpy.ir.startswith("kernel @saxpy(%a: f32")
    assert "adj_saxpy" in saxpy.adjoint and "adj_x" in saxpy.adjoint
    assert repr(saxpy) == "<causeway.Kernel saxpy>"
    with pytest.raises(TypeError, match="not called but launched"):
        saxpy(1)


def test_builtins_are_names():
    assert cw.tid.__name__ == "tid"
    with pytest.raises(TypeError, match=r"atomic_add\(\) is called in kernels only"):
        cw.atomic_add(1, 2)
    assert cw.float32 == cw.f32 and repr(cw.vec2(1, 2)) == "vec2(1.0, 2.0)"
    assert cw.array([1.0, 2.0]).tolist() == [1, 2]
    assert repr(cw.array(dtype=float, ndim=2)) == "array(dtype=<class 'float'>, ndim=2)"
    with pytest.raises(TypeError, match="vec3 has 3 components, got 2"):
        cw.vec3(1, 2)


def test_compiled_and_interpreted_launches_agree(rng):
    """Enough launches that the kernel is compiled by the system's compiler after some of them."""

    @cw.kernel
    def k(x: cw.array(dtype=cw.float16), y: cw.array(dtype=cw.float16)):
        i = cw.tid()
        s = x[i]
        for _j in range(20):
            s = s * x[i] + cw.float16(0.5)
        y[i] = s

    x = rng.uniform(-1, 1, size=20_000).astype("f2")
    results = []
    for _ in range(60):
        y = np.zeros_like(x)
        k.launch(len(x), [x, y])
        results.append(y)
    expected = x
    for _ in range(20):
        expected = expected * x + np.float16(0.5)
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_threads_launch_one_kernel(device):
    results = []

    def work():
        for _ in range(20):
            y = cw.ones(500, device=device)
            saxpy.launch(500, [2.0, cw.ones(500, device=device), y])
            results.append(set(y.tolist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{3.0}] * 80


# Gradients


def test_gradient(device, rng):
    @cw.kernel
    def k(x: cw.array(dtype=float), y: cw.array(dtype=float)):
        i = cw.tid()
        y[i] = cw.sin(x[i]) * x[i]

    values = rng.normal(size=50).astype("f4")
    x = tensor(values, device).requires_grad_()
    y = cw.zeros(50, device=device)
    cw.launch(k, 50, [x], [y])
    (y * y).sum().backward()
    wide = values.astype("f8")
    value, slope = np.sin(wide) * wide, np.cos(wide) * wide + np.sin(wide)
    np.testing.assert_allclose(x.grad.numpy(), 2 * value * slope, rtol=2e-5, atol=1e-5)
    cw.launch(k, 50, [x], [y])  # the output may be used again
    with cw.no_grad():
        cw.launch(k, 50, [x], [y])


def test_gradcheck(device):
    @cw.kernel
    def k(x: cw.array(dtype=cw.float64), w: cw.array2d(dtype=cw.float64),
          y: cw.array(dtype=cw.float64)):  # fmt: skip
        i = cw.tid()
        s = cw.float64(0.0)
        for j in range(len(x)):
            s += cw.tanh(w[i, j] * x[j]) * x[j]
        y[i] = s

    def apply(inputs):
        y = cw.zeros(4, dtype="f64", device=device)
        cw.launch(k, 4, inputs, [y])
        return y.sum()

    random = cw.Generator(3)
    x = random.normal(5, dtype="f64", device=device).requires_grad_()
    w = random.normal((4, 5), dtype="f64", device=device).requires_grad_()
    cw.gradcheck(apply, [x, w])


def test_gradient_of_values_in_loops(device):
    """Warp gives [32, 8, 2] here."""

    @cw.kernel
    def k(n: int, x: cw.array(dtype=float), y: cw.array(dtype=float)):
        p = float(1.0)
        for i in range(n):
            p *= x[i]
        y[0] = p

    x = tensor(np.full(3, 2, "f4"), device).requires_grad_()
    y = cw.zeros(1, device=device)
    cw.launch(k, 1, [3, x], [y])
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [4, 4, 4])


def test_leaves_are_not_written(device):
    y = cw.zeros(3, device=device).requires_grad_()
    with pytest.raises(cw.InvalidArgument, match='"y" is a leaf that requires a gradient'):
        saxpy.launch(3, [1.0, cw.ones(3, device=device), y])


# CUDA text


def test_raw_kernel_compiles_without_a_gpu():
    k = cw.RawKernel('extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2; }', "k")
    try:
        ptx = k.ptx("sm_90")
    except cw.DeviceError as error:
        pytest.skip(str(error))
    assert ".entry k(" in ptx
    with pytest.raises(cw.CompileError, match='"k.cu" does not compile'):
        cw.RawKernel("extern void", "k").ptx()
    with pytest.raises(cw.InvalidArgument, match="is no architecture"):
        k.ptx("hopper")


def test_raw_kernel(cuda):
    k = cw.RawKernel(
        'extern "C" __global__ void k(const float* x, float* y, float a, long long n) {\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = a * x[i];\n}", "k")  # fmt: skip
    x, y = cw.ones(100, device=cuda), cw.zeros(100, device=cuda)
    k((4,), (32,), (x, y, np.float32(2.5), 100))
    assert y.tolist() == [2.5] * 100
    with pytest.raises(cw.InvalidArgument, match="argument 1 is on cpu, but the launch is on cuda:0"):
        k((4,), (32,), (y, cw.ones(3), np.float32(1), 3), stream=cw.current_stream(cuda))
