import math

import warp as wp


@wp.kernel
def k(c: float, o: wp.array(dtype=int)):
    for i in range(c):
        o[0] = i
