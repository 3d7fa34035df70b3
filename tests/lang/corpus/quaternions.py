import warp as wp

# run quat_mul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_mul(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = p * q


# run quat_inverse dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_inverse(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_inverse(p) + q


# run quat_rotate dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_rotate(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_rotate(p, v[i])


# run quat_rotate_inv dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=8
@wp.kernel
def quat_rotate_inv(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_rotate_inv(p, v[i])


# run quat_axis dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_axis(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_from_axis_angle(wp.normalize(v[i]), 0.7)


# run quat_matrix dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_matrix(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_to_matrix(p)


# run quat_from_matrix dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_from_matrix(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_from_matrix(wp.quat_to_matrix(p))


# run quat_slerp dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_slerp(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_slerp(p, q, 0.3)


# run quat_rpy dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_rpy(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_rpy(v[i][0], v[i][1], v[i][2])


# run quat_dotq dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_dotq(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.dot(p, q) + wp.length(a[i])


# run quat_arith dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_arith(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = p * 2.0 + q - 0.5 * p


# run quat_twist dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_twist(a: wp.array(dtype=wp.quat), b: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=float)):
    i = wp.tid()
    p = wp.normalize(a[i])
    q = wp.normalize(b[i])
    c[i] = wp.quat_twist_angle(wp.normalize(v[i]), p)


# run quat_axis_angle dim=8 a=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_axis_angle(a: wp.array(dtype=wp.quat), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    axis, angle = wp.quat_to_axis_angle(wp.normalize(a[i]))
    c[i] = axis * angle


# run quat_make dim=8 x=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_make(x: wp.array(dtype=float), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    q = wp.quat(x[i], 1.0, 2.0, x[0]) + wp.quat_identity()
    r = wp.quat(wp.vec3(1.0, 2.0, x[i]), 0.5)
    c[i] = q * r[3] + r * q.w


# run quat_to_rpy_ dim=8 a=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def quat_to_rpy_(a: wp.array(dtype=wp.quat), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = wp.quat_to_rpy(wp.normalize(a[i]))


# run quaternion_ dim=8 x=u(0.2,1)[8] c=z[8]
@wp.kernel
def quaternion_(x: wp.array(dtype=float), c: wp.array(dtype=wp.quat)):
    i = wp.tid()
    c[i] = wp.quaternion(x[i], 1.0, 2.0, 3.0)
