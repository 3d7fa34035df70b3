import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=float)):
    o[0] = c * 2
