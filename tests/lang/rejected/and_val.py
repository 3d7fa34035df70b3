import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    x = c and 1
    o[0] = x
