import warp as wp


@wp.kernel
def k(o):
    o[0] = 1.0
