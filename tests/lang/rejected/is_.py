import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    if c is None:
        o[0] = 1
