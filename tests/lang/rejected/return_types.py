import warp as wp


@wp.func
def f(x: float):
    if x > 0.0:
        return x
    return 1


@wp.kernel
def k(o: wp.array(dtype=float)):
    o[0] = f(1.0)
