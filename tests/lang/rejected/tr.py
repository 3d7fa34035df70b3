import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=int)):
    try:
        o[0] = 1
    except:
        pass
