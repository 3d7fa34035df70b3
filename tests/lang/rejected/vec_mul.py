import math

import warp as wp


@wp.kernel
def k(c: wp.vec3, o: wp.array(dtype=wp.vec3)):
    o[0] = c * c
