import warp as wp


@wp.func
def f(x: float):
    return x


@wp.kernel
def k(o: wp.array(dtype=float)):
    o[0] = f(1.0, 2.0)
