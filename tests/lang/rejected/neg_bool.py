import math

import warp as wp


@wp.kernel
def k(c: bool, o: wp.array(dtype=int)):
    o[0] = -c
