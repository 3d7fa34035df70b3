import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    x = 0
    while x < c:
        x += 1
    o[0] = float(x)
