import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    raise ValueError
