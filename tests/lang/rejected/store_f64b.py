import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=wp.float64)):
    o[0] = c
