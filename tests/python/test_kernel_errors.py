"""What is said about kernels that do not compile and launches that do not fit."""

import textwrap

import causeway as cw
import numpy as np
import pytest


@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
    i = cw.tid()
    y[i] = a * x[i] + y[i]


def test_compile_errors_name_the_line_of_the_file():
    @cw.kernel
    def k(x: cw.array(dtype=float)):
        i = cw.tid()
        x[i] = x[i] * 2  # an int

    line = k.__wrapped__.__code__.co_firstlineno + 3
    with pytest.raises(cw.CompileError) as caught:
        k.launch(3, [np.zeros(3, "f4")])
    first = str(caught.value).split("\n")[0]
    assert first == f"{__file__}:{line}:16: error: operator * does not take these types"


def test_errors_name_the_file_of_the_function(tmp_path, monkeypatch):
    (tmp_path / "kernel_helpers.py").write_text(textwrap.dedent("""
        import causeway as cw

        @cw.func
        def halved(x: float):
            return x / 2

        class Nested:
            @cw.func
            def doubled(x: float):
                return x * 2
    """))
    monkeypatch.syspath_prepend(tmp_path)
    import kernel_helpers

    halved, doubled = kernel_helpers.halved, kernel_helpers.Nested.doubled

    @cw.kernel
    def k(x: cw.array(dtype=float)):
        x[0] = halved(x[0])

    @cw.kernel
    def nested(x: cw.array(dtype=float)):
        x[0] = doubled(x[0])

    for kernel, place in ((k, "6:12"), (nested, "11:16")):
        with pytest.raises(cw.CompileError) as caught:
            kernel.launch(1, [np.zeros(1, "f4")])
        assert str(caught.value).startswith(f"{tmp_path}/kernel_helpers.py:{place}: error: operator")


def test_checked_launches_name_the_line():
    @cw.kernel
    def k(x: cw.array(dtype=float)):
        x[cw.tid() + 1] = 0.0

    line = k.__wrapped__.__code__.co_firstlineno + 2
    with pytest.raises(cw.InvalidArgument) as caught:
        k.launch(3, [np.zeros(3, "f4")], checked=True)
    assert str(caught.value).startswith(
        f'{__file__}:{line}:9: error: index 3 is out of range for array "x" of shape (3)')  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([1.0, np.zeros(3, "f4")], r"takes 3 arguments \(a, x, y\), got 2"),
        ([1.0, np.zeros(3, "f8"), np.zeros(3, "f4")],
         r'"x": expected f32 for array\(dtype=float32, ndim=1\), got f64'),
        ([1.0, np.zeros((3, 1), "f4"), np.zeros(3, "f4")],
         r'"x": expected a shape of 1 dimension, got \(3, 1\)'),
        ([1.0, [1.0, 2.0, 3.0], np.zeros(3, "f4")],
         r'"x": expected a tensor or an array, got a list'),
        (["a", np.zeros(3, "f4"), np.zeros(3, "f4")],
         r'"a": expected a number or a tuple of numbers, got a str'),
        ([(1.0, 2.0), np.zeros(3, "f4"), np.zeros(3, "f4")],
         r'"a": expected 1 numbers for float32, got 2'),
    ],
)  # fmt: skip
def test_wrong_arguments(arguments, message):
    with pytest.raises(cw.Error, match=message):
        saxpy.launch(3, arguments)


def test_wrong_launches():
    x, y = np.zeros(3, "f4"), np.zeros(3, "f4")
    with pytest.raises(cw.InvalidArgument, match=r"has 1 launch dimension, got dim=\(3, 3\)"):
        saxpy.launch((3, 3), [1.0, x, y])
    y.flags.writeable = False
    with pytest.raises(cw.InvalidArgument, match='"y": the kernel writes it, and its memory is read'):
        saxpy.launch(3, [1.0, x, y])
    odd = np.frombuffer(bytearray(13), "u1")[1:].view("f4")
    with pytest.raises(cw.InvalidArgument, match='"y": its elements are not aligned; pass a copy'):
        saxpy.launch(3, [1.0, x, odd])
    saxpy.launch(0, [1.0, np.zeros(0, "f4"), np.zeros(0, "f4")])


def test_device_must_match(cuda):
    x, y = cw.zeros(3), cw.zeros(3, device=cuda)
    with pytest.raises(cw.InvalidArgument, match='"y": is on cuda:0, but "x" is on cpu'):
        saxpy.launch(3, [1.0, x, y])
    with pytest.raises(cw.InvalidArgument, match='"x": is on cpu, but the launch is on cuda:0'):
        saxpy.launch(3, [1.0, x, x], device=cuda)
    with pytest.raises(cw.InvalidArgument, match="checked launches run on the CPU"):
        saxpy.launch(3, [1.0, y, y], checked=True)


def test_interactive_functions_have_no_source():
    scope = {"cw": cw}
    exec("@cw.kernel\ndef k(x: cw.array(dtype=float)):\n    x[0] = 1.0\n", scope)
    with pytest.raises(TypeError, match="the source of k is not available; use kernel_from_source"):
        scope["k"].launch(1, [np.zeros(1, "f4")])
