"""A tour of tensors: devices, matrix products, creation, views, random numbers, DLPack.

Run it with .venv/bin/python examples/tour.py after `make build`.
"""

import time

import numpy as np

import causeway as cw


def chapter(title):
    print(f"\n--- {title}")


def show(code):
    """Prints an expression and its value."""
    value = str(eval(code, globals()))
    if "\n" in value:
        print(f">>> {code}\n{value}")
    else:
        print(f">>> {code:44} {value}")


def matmul_rate(device, n):
    """GFLOP/s of an (n, n) f32 matrix product, the best of five."""
    numbers = cw.Generator(7)
    a = numbers.normal((n, n), device=device)
    b = numbers.normal((n, n), device=device)
    cw.matmul(a, b)
    best = float("inf")
    for _ in range(5):
        cw.synchronize(device)
        start = time.perf_counter()
        cw.matmul(a, b)
        cw.synchronize(device)
        best = min(best, time.perf_counter() - start)
    return 2 * n**3 / best / 1e9


chapter("devices, and a matrix product on each")
for info in cw.devices():
    device, gib = info["device"], info["memory_total"] / 2**30
    n = 8192 if device.startswith("cuda") else 1024
    print(f"{device:8} {info['name']}, {gib:.0f} GiB")
    print(f"{'':8} ({n}, {n}) @ ({n}, {n}) f32: {matmul_rate(device, n):,.0f} GFLOP/s")
if not cw.cuda.is_available():
    print(f"no CUDA device: {cw.cuda.absence()}")

chapter("creation, arithmetic and broadcasting")
x = cw.arange(6, dtype="f32").reshape(2, 3)
row = cw.array([10.0, 20.0, 30.0])
show("x")
show("x * 2 + row")
show("cw.where(x > 2, x, 0)")
show("cw.zeros((2, 0, 3)).shape")

chapter("views share memory")
table = cw.zeros((3, 4))
table[:, 1] = 7
table.T[3] = cw.arange(3)
show("table")
show("table[1:, ::2].shape")

chapter("reductions and sorting")
show("x.sum().item()")
show("x.mean(axis=0)")
show("x.argmax(axis=1)")
show("cw.array([3, 1, 2]).sort(axis=0, descending=True)")

chapter("random numbers: the same bits on every device")
for info in cw.devices():
    drawn = cw.Generator(seed=42).normal((1000, 1000), device=info["device"]).numpy()
    print(f"{info['device']:8} first {drawn[0, :3]}, sum of all bits {drawn.view('u4').sum():x}")

chapter("exchange with other libraries, without a copy")
tensor = cw.ones((2, 3))
view = np.from_dlpack(tensor)
view[0, 0] = 5
show("tensor")
show("cw.from_dlpack(np.arange(3)) + 1")
try:
    import torch

    show("torch.from_dlpack(tensor)")
except ImportError:
    pass

chapter("error messages")
try:
    cw.matmul(cw.zeros((2, 3)), cw.zeros((4, 5)))
except cw.Error as error:
    print(error)
