import math

import warp as wp


@wp.kernel
def k(c: wp.int64, o: wp.array(dtype=wp.int64)):
    o[0] = c + 1
