import math

import warp as wp


@wp.kernel
def k(c: bool, o: wp.array(dtype=int)):
    break
