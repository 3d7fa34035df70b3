import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    for i in [1,2]:
        o[0] = i
