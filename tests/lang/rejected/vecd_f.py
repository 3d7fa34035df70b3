import math

import warp as wp


@wp.kernel
def k(c: wp.float32, o: wp.array(dtype=wp.vec3d)):
    o[0] = wp.vec3d(1.0, 2.0, c)
