import math

import warp as wp


@wp.kernel
def k(c: wp.uint32, o: wp.array(dtype=wp.uint32)):
    o[0] = c + 2
