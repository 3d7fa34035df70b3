import warp as wp


@wp.func
def f(x: float):
    return x


@wp.kernel
def k(o: wp.array(dtype=float), n: int):
    o[0] = f(n)
