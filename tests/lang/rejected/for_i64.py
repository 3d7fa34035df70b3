import math

import warp as wp


@wp.kernel
def k(c: wp.int64, o: wp.array(dtype=int)):
    for i in range(c):
        o[0] = int(i)
