import math

import warp as wp


@wp.kernel
def k(c: bool, o: wp.array(dtype=int)):
    d = c & True
    o[0] = int(d)
