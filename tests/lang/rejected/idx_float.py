import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=int)):
    o[c] = 1
