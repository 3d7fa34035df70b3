import warp as wp

vec5 = wp.types.vector(length=5, dtype=wp.float32)
mat23 = wp.types.matrix(shape=(2, 3), dtype=wp.float32)


# run mat22_mul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_mul(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = a[i] * b[i]


# run mat22_matmul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_matmul(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = a[i] @ b[i] + a[i] * 2.0 - 0.5 * b[i]


# run mat22_det dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_det(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.determinant(a[i] + wp.identity(n=2, dtype=float) * 3.0)


# run mat22_inverse dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_inverse(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = wp.inverse(a[i] + wp.identity(n=2, dtype=float) * 3.0)


# run mat22_transpose dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_transpose(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = wp.transpose(a[i])


# run mat22_trace dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_trace(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.trace(a[i]) + wp.ddot(a[i], b[i])


# run mat22_cw dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat22_cw(a: wp.array(dtype=wp.mat22), b: wp.array(dtype=wp.mat22), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = wp.cw_mul(a[i], b[i]) + wp.cw_div(a[i], b[i])


# run mat33_mul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_mul(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = a[i] * b[i]


# run mat33_matmul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_matmul(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = a[i] @ b[i] + a[i] * 2.0 - 0.5 * b[i]


# run mat33_det dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_det(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.determinant(a[i] + wp.identity(n=3, dtype=float) * 3.0)


# run mat33_inverse dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_inverse(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.inverse(a[i] + wp.identity(n=3, dtype=float) * 3.0)


# run mat33_transpose dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_transpose(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.transpose(a[i])


# run mat33_trace dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_trace(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.trace(a[i]) + wp.ddot(a[i], b[i])


# run mat33_cw dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat33_cw(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.cw_mul(a[i], b[i]) + wp.cw_div(a[i], b[i])


# run mat44_mul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_mul(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] * b[i]


# run mat44_matmul dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_matmul(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = a[i] @ b[i] + a[i] * 2.0 - 0.5 * b[i]


# run mat44_det dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_det(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.determinant(a[i] + wp.identity(n=4, dtype=float) * 3.0)


# run mat44_inverse dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=8
@wp.kernel
def mat44_inverse(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = wp.inverse(a[i] + wp.identity(n=4, dtype=float) * 3.0)


# run mat44_transpose dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_transpose(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = wp.transpose(a[i])


# run mat44_trace dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_trace(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = wp.trace(a[i]) + wp.ddot(a[i], b[i])


# run mat44_cw dim=8 a=u(0.2,1)[8] b=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat44_cw(a: wp.array(dtype=wp.mat44), b: wp.array(dtype=wp.mat44), c: wp.array(dtype=wp.mat44)):
    i = wp.tid()
    c[i] = wp.cw_mul(a[i], b[i]) + wp.cw_div(a[i], b[i])


# run mat_vec dim=8 a=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat_vec(a: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    c[i] = a[i] * v[i] + v[i] * a[i] + a[i] @ v[i]


# run mat_diag dim=8 a=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8]
@wp.kernel
def mat_diag(a: wp.array(dtype=wp.mat33), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.diag(v[i]) + wp.diag(wp.get_diag(a[i]))


# run mat_index dim=8 a=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def mat_index(a: wp.array(dtype=wp.mat33), c: wp.array(dtype=float)):
    i = wp.tid()
    m = a[i]
    r = m[1]
    c[i] = m[0, 1] + m[2][0] + r[2] + wp.dot(m[0], m[2])


# run mat_assign dim=8 a=u(0.2,1)[8] c=z[8]
@wp.kernel
def mat_assign(a: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    m = a[i]
    m[0, 1] = m[1, 1] * 2.0
    m[1] = wp.vec3(1.0, m[0, 1], 3.0)
    m[2, 2] += m[0, 0]
    c[i] = m


# run mat_rows dim=8 v=u(0.2,1)[8] c=z[8]
@wp.kernel
def mat_rows(v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    c[i] = wp.matrix_from_rows(v[i], v[0], v[1]) + wp.matrix_from_cols(v[i], v[0], v[1])


# run mat_make dim=8 x=u(0.2,1)[8] c=z[8]
@wp.kernel
def mat_make(x: wp.array(dtype=float), c: wp.array(dtype=wp.mat22)):
    i = wp.tid()
    c[i] = wp.mat22(x[i], 1.0, 2.0, x[i] * x[i]) * wp.mat22(2.0)


# run sized_vec dim=8 a=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def sized_vec(a: wp.array(dtype=vec5), c: wp.array(dtype=float)):
    i = wp.tid()
    v = a[i]
    v[3] = v[4] * 2.0
    w = v * 0.5 + vec5(1.0)
    c[i] = wp.dot(v, w) + wp.length(w)


# run sized_mat dim=8 a=u(0.2,1)[8] v=u(0.2,1)[8] c=z[8] ulp=4
@wp.kernel
def sized_mat(a: wp.array(dtype=mat23), v: wp.array(dtype=wp.vec3), c: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    m = a[i]
    m[1, 2] = 0.5
    c[i] = m * v[i]


# run mat_loop dim=3 a=u(0.2,1)[4] c=z[3] n=4 ulp=4
@wp.kernel
def mat_loop(a: wp.array(dtype=wp.mat33), c: wp.array(dtype=wp.mat33), n: int):
    i = wp.tid()
    m = wp.identity(n=3, dtype=float)
    for k in range(n):
        m = m * a[k] * 0.5
    c[i] = m
