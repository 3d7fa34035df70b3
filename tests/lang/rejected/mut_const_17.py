import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    x = 0.0
    for i in range(17):
        x += 1.0
    o[0] = x
