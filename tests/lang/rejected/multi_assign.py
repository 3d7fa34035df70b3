import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    x = y = 1.0
    o[0] = x
