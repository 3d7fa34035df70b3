import math

import warp as wp


@wp.kernel
def k(c: wp.float64, o: wp.array(dtype=wp.float64)):
    o[0] = c * 2.0
