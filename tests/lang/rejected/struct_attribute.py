import warp as wp


@wp.struct
class S:
    x: float


@wp.kernel
def k(s: S, o: wp.array(dtype=float)):
    o[0] = s.y
