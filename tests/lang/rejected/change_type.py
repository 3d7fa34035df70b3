import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=int)):
    x = 1
    x = 2.0
