import math

import warp as wp


@wp.kernel
def k(c: bool, o: wp.array(dtype=float)):
    o[0] = wp.where(c, 1.0, 2)
