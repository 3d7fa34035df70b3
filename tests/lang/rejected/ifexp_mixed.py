import math

import warp as wp


@wp.kernel
def k(c: int, o: wp.array(dtype=float)):
    o[0] = 1.0 if c > 0 else 2
