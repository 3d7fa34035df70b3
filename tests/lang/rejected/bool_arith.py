import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=int)):
    b = c > 0.0
    o[0] = int(b) + b
