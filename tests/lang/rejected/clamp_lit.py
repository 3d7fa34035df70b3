import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=float)):
    o[0] = wp.clamp(c, 0, 1)
