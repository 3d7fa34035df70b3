"""Errors name the operation, the given value and the fix, and have the expected class."""

import causeway as cw
import numpy as np
import pytest

A, B = cw.zeros((2, 3)), cw.zeros((4, 5))
INTEGERS = cw.zeros((2, 3), "i32")
MASK = A > 0
GENERATOR = cw.Generator(0)

# What is tried; its class, the operation, and words the message must have.
CASES = {
    "add": (lambda: A + B, cw.ShapeMismatch, "add", "(2, 3)", "(4, 5)", "equal or one of them 1"),
    "compare": (lambda: A == B, cw.ShapeMismatch, "equal", "(2, 3)", "(4, 5)"),
    "where": (lambda: cw.where(MASK, A, B), cw.ShapeMismatch, "where", "(2, 3)", "(4, 5)"),
    "matmul": (lambda: A @ B, cw.ShapeMismatch, "matmul", "(2, 3)", "(4, 5)", "must equal"),
    "matmul, transposed": (lambda: A @ A, cw.ShapeMismatch, "matmul", "transpose the second"),
    "matmul of integers": (lambda: INTEGERS @ INTEGERS.T, cw.InvalidArgument, "matmul", "i32",
                           '.to("f32")'),
    "matmul of nothing": (lambda: cw.array(1.0) @ A, cw.ShapeMismatch, "matmul", "use multiply"),
    "reshape": (lambda: A.reshape(4, -1), cw.ShapeMismatch, "reshape", "(2, 3)", "6", "(4, -1)"),
    "expand": (lambda: A.expand(2, 4), cw.ShapeMismatch, "expand", "(2, 3)", "(2, 4)", "size 1"),
    "squeeze": (lambda: A.squeeze(axis=1), cw.ShapeMismatch, "squeeze", "(2, 3)", "size 3, not 1"),
    "permute": (lambda: A.permute(0, 0), cw.InvalidArgument, "permute", "(0, 0)", "(2, 3)", "permutation"),
    "transpose": (lambda: A.transpose(0, 2), cw.InvalidArgument, "transpose", "axis 2", "-2 to 1"),
    "sum": (lambda: A.sum(axis=2), cw.InvalidArgument, "sum", "axis 2", "-2 to 1"),
    "sum, twice": (lambda: A.sum(axis=(0, -2)), cw.InvalidArgument, "sum", "duplicate axis"),
    "sum, no axis": (lambda: A.sum(axis=()), cw.InvalidArgument, "axis", "None for all"),
    "cumsum": (lambda: A.cumsum(axis=5), cw.InvalidArgument, "cumulative_sum", "axis 5", "-2 to 1"),
    "topk": (lambda: A.topk(7), cw.InvalidArgument, "topk", "k is 7", "(2, 3)"),
    "concatenate": (lambda: cw.concatenate([A, B]), cw.ShapeMismatch, "concatenate", "(2, 3)",
                    "(4, 5)", "axis 0"),
    "concatenate nothing": (lambda: cw.concatenate([]), cw.InvalidArgument, "concatenate",
                            "at least one tensor"),
    "stack": (lambda: cw.stack([A, B]), cw.ShapeMismatch, "stack", "(2, 3)", "(4, 5)"),
    "split": (lambda: A.split(0), cw.InvalidArgument, "split", "0"),
    "pad": (lambda: A.pad([(1, 1)]), cw.InvalidArgument, "pad", "each of the 2 axes", "(2, 3)"),
    "gather": (lambda: A.gather(INTEGERS[:, :2], 0), cw.ShapeMismatch, "gather", "(2, 2)",
               "(2, 3)"),
    "gather by floats": (lambda: A.gather(A, 0), cw.InvalidArgument, "gather", "f32", "integer dtype"),
    "index_select": (lambda: A.take(INTEGERS, 0), cw.ShapeMismatch, "index_select", "(2, 3)",
                     "one dimension"),
    "scatter": (lambda: A.scatter(INTEGERS, B, 0), cw.ShapeMismatch, "scatter", "(4, 5)", "(2, 3)"),
    "scalar": (lambda: cw.ones(2, "u8") + 300, cw.InvalidArgument, "scalar", "300", "u8",
               '.to("i64")'),
    "subtract of bools": (lambda: MASK - MASK, cw.InvalidArgument, "subtract", "bool",
                          "logical_xor"),
    "negative of bools": (lambda: -MASK, cw.InvalidArgument, "negate", "bool", '.to("i32")'),
    "and of floats": (lambda: A & A, cw.InvalidArgument, "logical_and", "f32", "x != 0"),
    "invert of floats": (lambda: ~A, cw.InvalidArgument, "logical_not", "f32", "x != 0"),
    "clip": (lambda: A.clip(2, 1), cw.InvalidArgument, "clamp", "2", "greater", "1"),
    "clip of integers": (lambda: cw.ones(2, "i8").clip(0, 200), cw.InvalidArgument, "clamp", "200",
                         "-128 to 127"),
    "in place, type": (lambda: INTEGERS.__itruediv__(2), cw.InvalidArgument, "divide", "f32", "i32",
                       "instead"),
    "in place, shape": (lambda: A[0].__iadd__(A), cw.ShapeMismatch, "add", "(2, 3)", "(3,)"),
    "mask of another size": (lambda: A[np.zeros(3, bool)], cw.InvalidIndex, "index", "size 3", "size 2"),
    "truth value": (lambda: A[True], cw.InvalidArgument, "index", "True and False are not indices"),
    "index of floats": (lambda: A[[0.5]], cw.InvalidArgument, "index_select", "f32", "integer dtype"),
    "two lists": (lambda: A[[0], [3]], cw.InvalidArgument, "index", "out of range", "size 3"),
    "two ellipses": (lambda: A[..., ...], cw.InvalidArgument, "index", "one Ellipsis"),
    "set by list": (lambda: A.__setitem__([0, 1], cw.ones(2)), cw.ShapeMismatch, "expand", "(2,)", "(2, 3)"),
    "set a large number": (lambda: INTEGERS.to("u8").__setitem__(0, -1), cw.InvalidArgument,
                           "index", "-1", "u8", "0 to 255"),
    "set a wrong shape": (lambda: A.__setitem__(0, B), cw.ShapeMismatch, "expand", "(4, 5)", "(3,)",
                          "while assigning"),
    "index": (lambda: A[2], cw.InvalidIndex, "select", "index 2", "size 2", "(2, 3)"),
    "indices": (lambda: A[0, 0, 0], cw.InvalidIndex, "index", "3 indices", "(2, 3)"),
    "dtype": (lambda: cw.zeros(1, "f8"), cw.InvalidArgument, "dtype", '"f8"', "f64 f32"),
    "device": (lambda: cw.zeros(1, device="gpu"), cw.InvalidArgument, "device", '"gpu"',
               "cuda:<index>"),
    "no such device": (lambda: cw.zeros(1, device="cuda:99"), cw.DeviceError, "device", "99"),
    "negative size": (lambda: cw.zeros((2, -1)), cw.InvalidArgument, "shape", "(2, -1)",
                      "negative"),
    "many dimensions": (lambda: cw.zeros((1,) * 9), cw.InvalidArgument, "shape", "9", "at most 8"),
    "too many elements": (lambda: cw.zeros((2**40, 2**40)), cw.InvalidArgument, "shape", "63 bits"),
    "too many bytes": (lambda: cw.empty(2**60), cw.OutOfMemory, "memory.allocate", "cpu",
                       "smaller batch"),
    "full": (lambda: cw.full(2, 256, "u8"), cw.InvalidArgument, "full", "256", "0 to 255"),
    "arange": (lambda: cw.arange(0, 1, 0), cw.InvalidArgument, "arange", "step must not be 0"),
    "linspace": (lambda: cw.linspace(0, 1, -1), cw.InvalidArgument, "linspace", "-1"),
    "uniform": (lambda: GENERATOR.uniform(2, 1, 1), cw.InvalidArgument, "uniform", "[1, 1)",
                "empty"),
    "uniform integers": (lambda: GENERATOR.uniform(2, dtype="i32"), cw.InvalidArgument, "uniform",
                         "i32", "integers()"),
    "integers": (lambda: GENERATOR.integers(2, 5, 5), cw.InvalidArgument, "integers", "[5, 5)"),
    "permutation": (lambda: GENERATOR.permutation(-1), cw.InvalidArgument, "permutation", "-1"),
    "numpy dtype": (lambda: cw.array(np.zeros(2, np.uint32)), cw.InvalidArgument, "array", "<u4",
                    ".astype("),
    "strings": (lambda: cw.array(["a"]), cw.InvalidArgument, "array", "<U1"),
    "memory limit": (lambda: cw.set_memory_limit("2 parsecs"), cw.InvalidArgument,
                     "set_memory_limit", "2 parsecs", "2GiB"),
}


@pytest.mark.parametrize("case", CASES)
def test_message(case):
    attempt, kind, *words = CASES[case]
    with pytest.raises(kind) as caught:
        attempt()
    message = str(caught.value)
    assert type(caught.value) is kind
    assert message.startswith(f"[{words[0]}] "), message
    for word in words[1:]:
        assert word in message, message


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (cw.InvalidArgument, ValueError),
        (cw.ShapeMismatch, ValueError),
        (cw.OutOfMemory, MemoryError),
        (cw.DeviceError, RuntimeError),
        (cw.FileError, OSError),
        (cw.FormatError, ValueError),
        (cw.CompileError, RuntimeError),
        (cw.DistributedError, RuntimeError),
        (cw.InternalError, RuntimeError),
        (cw.InvalidIndex, IndexError),
    ],
)
def test_classes(kind, builtin):
    assert issubclass(kind, cw.Error)
    assert issubclass(kind, builtin)
    assert issubclass(cw.Error, RuntimeError)
    assert kind.__module__ == "causeway"
    assert kind.__doc__


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: A + "1",
        lambda: "1" + A,
        lambda: A + None,
        lambda: A + [1, 2, 3],
        lambda: A + 1j,
        lambda: cw.add(1, 2),
        lambda: A["a"],
        lambda: A[1.5],
        lambda: A.reshape("a"),
        lambda: cw.zeros("a"),
        lambda: cw.zeros(1, dtype=3),
        lambda: A.sum(axis="a"),
        lambda: cw.Tensor(),
        lambda: cw.exp(1.0),
    ],
)
def test_wrong_types_are_type_errors(attempt):
    with pytest.raises(TypeError):
        attempt()


def test_large_python_integers_are_overflow_errors():
    for attempt in (lambda: A + 2**64, lambda: cw.zeros(2**64), lambda: A[2**64]):
        with pytest.raises(OverflowError):
            attempt()


def test_devices_do_not_mix(cuda):
    with pytest.raises(cw.DeviceError, match=r'\[add\].*cuda:0 and cpu.*\.to\("cuda:0"\)'):
        cw.ones(3, device=cuda) + cw.ones(3)
