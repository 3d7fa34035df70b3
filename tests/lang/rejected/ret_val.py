import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    return 1.0
