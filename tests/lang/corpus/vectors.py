import warp as wp

# run vec_dot dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_dot(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.dot(a[i], b[i])


# run vec_cross dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_cross(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.cross(a[i], b[i])


# run vec_length dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_length(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.length(a[i]) + wp.length_sq(b[i])


# run vec_normalize dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_normalize(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.normalize(a[i]) - b[i]


# run vec_outer dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_outer(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.outer(a[i], b[i])


# run vec_skew dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_skew(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.skew(a[i])


# run vec_cw dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_cw(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.cw_mul(a[i], b[i]) + wp.cw_div(a[i], b[i])


# run vec_minmax dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_minmax(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.min(a[i], b[i]) + wp.max(a[i], b[i]) * 2.0


# run vec_reduce dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_reduce(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.min(a[i]) + wp.max(b[i])


# run vec_absv dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_absv(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.abs(a[i]) + wp.sign(b[i])


# run vec_arith dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_arith(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = (a[i] + b[i]) * 2.0 - a[i] / 4.0 + 3.0 * b[i] - (-a[i])


# run vec_div_scalar dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_div_scalar(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = 1.0 / (a[i] + wp.vec3(3.0, 3.0, 3.0))


# run vec_lerpv dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_lerpv(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.lerp(a[i], b[i], 0.3)


# run vec_norms dim=20 a=u(0.3,1)[20] b=u(0.3,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_norms(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.norm_l1(a[i]) + wp.norm_l2(b[i]) + wp.norm_huber(a[i], 0.7) + wp.norm_pseudo_huber(b[i], 0.5)


# run vec_smooth dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_smooth(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.smooth_normalize(a[i], 0.8)


# run vec_components dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_components(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.vec3(a[i].x, b[i].y, a[i][2] * b[i][0])


# run vec_modv dim=20 a=u(-1,1)[20] b=u(-1,1)[20] c=z[20] ulp=4
@wp.kernel
def vec_modv(a: wp.array(dtype=wp.vec3), b: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = a[i] % (b[i] + wp.vec3(2.0, 2.0, 2.0))


# run vec_argm dim=20 a=u(-1,1)[20] c=z[20]
@wp.kernel
def vec_argm(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    c[i] = wp.argmin(a[i]) * wp.uint32(10) + wp.argmax(a[i])


# run vec_assign dim=20 a=u(-1,1)[20] c=z[20]
@wp.kernel
def vec_assign(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    v = a[i]
    v[0] = v[1] * 2.0
    v.y = v.x + v.z
    v[2] += v[0]
    v[1] *= v[1]
    c[i] = v


# run vec_dynamic dim=20 a=u(-1,1)[20] c=z[20]
@wp.kernel
def vec_dynamic(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    v = a[i]
    s = float(0.0)
    for k in range(3):
        s = s * 0.5 + v[k] * v[(k + 1) % 3]
    v[i % 3] = s
    c[i] = s + v[0] * v[1]


# run vec_loop dim=6 a=u(-1,1)[6] c=z[6] n=5 ulp=4
@wp.kernel
def vec_loop(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3), n: int):
    i = wp.tid()
    v = wp.vec3(1.0, 0.5, 0.25)
    for k in range(n):
        v = wp.cross(v, a[k]) + a[i]
    c[i] = v


# run vec_store dim=6 a=u(-1,1)[6] c=z[6]
@wp.kernel
def vec_store(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = a[i]
    c[i][1] = 2.0 * a[i][0]
    c[i].z = a[i].x * a[i].y


# run vec_unpack dim=6 a=u(-1,1)[6] c=z[6]
@wp.kernel
def vec_unpack(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    v = a[i]
    c[i] = v[0] + v[1] * v[2] + v[-1] + float(len(v))


# run vec_equal dim=6 a=u(-1,1)[6] c=z[6]
@wp.kernel
def vec_equal(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=int)):
    i = wp.tid()
    if a[i] == a[0]:
        c[i] = 1


# run vec2_ops dim=6 a=u(0.2,1)[6] c=z[6] ulp=4
@wp.kernel
def vec2_ops(a: wp.array(dtype=wp.vec2), c: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    c[i] = wp.normalize(a[i]) * wp.dot(a[i], wp.vec2(1.0, 2.0))


# run vec4_ops dim=6 a=u(0.2,1)[6] c=z[6] ulp=4
@wp.kernel
def vec4_ops(a: wp.array(dtype=wp.vec4), c: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    c[i] = a[i] * wp.length(a[i]) + wp.vec4(1.0)


# run vec_slice dim=6 a=u(0.2,1)[6] c=z[6]
@wp.kernel
def vec_slice(a: wp.array(dtype=wp.vec4), c: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    v = a[i]
    c[i] = v[1:3]


# run vec3d_ops dim=6 a=u(0.2,1)[6] c=z[6] ulp=4
@wp.kernel
def vec3d_ops(a: wp.array(dtype=wp.vec3d), c: wp.array(dtype=wp.float64)):
    i = wp.tid()
    c[i] = wp.dot(a[i], wp.vec3d(1.0, 2.0, 3.0)) + wp.length(a[i])


# run vec3i_ops dim=6 a=i(-9,9)[6] c=z[6]
@wp.kernel
def vec3i_ops(a: wp.array(dtype=wp.vec3i), c: wp.array(dtype=wp.vec3i)):
    i = wp.tid()
    c[i] = a[i] * 3 + wp.vec3i(1, 2, 3)
    c[i] = c[i] - wp.vec3i(wp.dot(a[i], a[i]))


# run vec_isnan dim=6 a=u(-1,1)[6] c=z[6]
@wp.kernel
def vec_isnan(a: wp.array(dtype=wp.vec3), c: wp.array(dtype=int)):
    i = wp.tid()
    r = int(0)
    if wp.isfinite(a[i]):
        r += 1
    if wp.isnan(a[i]):
        r += 2
    if wp.isinf(a[i]):
        r += 4
    c[i] = r
