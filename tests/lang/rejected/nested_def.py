import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    def g(x: int):
        return x
    o[0] = g(c)
