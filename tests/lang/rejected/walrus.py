import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    if (y := c) > 0:
        o[0] = y
