import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    if c in (1, 2):
        o[0] = 1
