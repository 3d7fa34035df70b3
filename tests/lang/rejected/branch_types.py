import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    if c > 0:
        y = 1.0
    else:
        y = 2
    o[0] = 1.0
