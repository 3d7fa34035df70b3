// Builtins of vectors, matrices and quaternions, written in the language.
#include "causeway/lang/builtins/prelude_text.h"

namespace causeway::lang {

const std::string_view kVectorMath = R"(
def dot(a: vec[n,T], b: vec[n,T]):
    return total(i, n, a[i] * b[i])

def dot(a: quat[F], b: quat[F]):
    return total(i, 4, a[i] * b[i])

def ddot(a: mat[r,c,T], b: mat[r,c,T]):
    return total(i, r, total(j, c, a[i,j] * b[i,j]))

def cross(a: vec[3,T], b: vec[3,T]):
    return vec[3,T](a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])

def length_sq(v: vec[n,T]):
    return dot(v, v)

def length_sq(q: quat[F]):
    return dot(q, q)

def length(v: vec[n,F]):
    return sqrt(dot(v, v))

def length(q: quat[F]):
    return sqrt(dot(q, q))

def normalize(v: vec[n,F]):
    l = length(v)
    if l > 0.0:
        return v / l
    return vec[n,F]()

def normalize(q: quat[F]):
    l = length(q)
    if l > 0.0:
        return q * (1.0 / l)
    return quat[F](0.0, 0.0, 0.0, 1.0)

def outer(a: vec[n,T], b: vec[m,T]):
    return mat[n,m,T](unroll(i, n, unroll(j, m, a[i] * b[j])))

def skew(v: vec[3,T]):
    z = T(0)
    return mat[3,3,T](z, -v[2], v[1], v[2], z, -v[0], -v[1], v[0], z)

def cw_mul(a: vec[n,T], b: vec[n,T]):
    return vec[n,T](unroll(i, n, a[i] * b[i]))

def cw_mul(a: mat[r,c,T], b: mat[r,c,T]):
    return mat[r,c,T](unroll(i, r, unroll(j, c, a[i,j] * b[i,j])))

def cw_div(a: vec[n,T], b: vec[n,T]):
    return vec[n,T](unroll(i, n, a[i] / b[i]))

def cw_div(a: mat[r,c,T], b: mat[r,c,T]):
    return mat[r,c,T](unroll(i, r, unroll(j, c, a[i,j] / b[i,j])))

def argmin(v: vec[n,T]):
    best = uint32(0)
    least = v[0]
    for i in range(1, n):
        if v[i] < least:
            best = uint32(i)
            least = v[i]
    return best

def argmax(v: vec[n,T]):
    best = uint32(0)
    most = v[0]
    for i in range(1, n):
        if v[i] > most:
            best = uint32(i)
            most = v[i]
    return best

def norm_l1(v: vec[n,F]):
    return total(i, n, abs(v[i]))

def norm_l2(v: vec[n,F]):
    return length(v)

def norm_huber(v: vec[n,F], delta: F):
    a = dot(v, v)
    if a <= delta * delta:
        return 0.5 * a
    return delta * (sqrt(a) - 0.5 * delta)

def norm_pseudo_huber(v: vec[n,F], delta: F):
    return delta * sqrt(1.0 + dot(v, v) / (delta * delta))

def smooth_normalize(v: vec[n,F], delta: F):
    return v / norm_pseudo_huber(v, delta)

def mul(a: mat[r,k,T], b: mat[k,c,T]):
    return mat[r,c,T](unroll(i, r, unroll(j, c, total(l, k, a[i,l] * b[l,j]))))

def mul(a: mat[r,c,T], b: vec[c,T]):
    return vec[r,T](unroll(i, r, total(j, c, a[i,j] * b[j])))

def mul(a: vec[r,T], b: mat[r,c,T]):
    return vec[c,T](unroll(j, c, total(i, r, a[i] * b[i,j])))

def mul(a: quat[F], b: quat[F]):
    return quat[F](a[3] * b[0] + b[3] * a[0] + a[1] * b[2] - b[1] * a[2],
                   a[3] * b[1] + b[3] * a[1] + a[2] * b[0] - b[2] * a[0],
                   a[3] * b[2] + b[3] * a[2] + a[0] * b[1] - b[0] * a[1],
                   a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2])

def transpose(m: mat[r,c,T]):
    return mat[c,r,T](unroll(j, c, unroll(i, r, m[i,j])))

def trace(m: mat[n,n,T]):
    return total(i, n, m[i,i])

def diag(v: vec[n,T]):
    m = mat[n,n,T]()
    for i in range(n):
        m[i,i] = v[i]
    return m

def get_diag(m: mat[n,n,T]):
    return vec[n,T](unroll(i, n, m[i,i]))

def determinant(m: mat[2,2,F]):
    return m[0,0] * m[1,1] - m[0,1] * m[1,0]

def determinant(m: mat[3,3,F]):
    return dot(m[0], cross(m[1], m[2]))

def determinant(m: mat[4,4,F]):
    s0 = m[0,0] * m[1,1] - m[1,0] * m[0,1]
    s1 = m[0,0] * m[1,2] - m[1,0] * m[0,2]
    s2 = m[0,0] * m[1,3] - m[1,0] * m[0,3]
    s3 = m[0,1] * m[1,2] - m[1,1] * m[0,2]
    s4 = m[0,1] * m[1,3] - m[1,1] * m[0,3]
    s5 = m[0,2] * m[1,3] - m[1,2] * m[0,3]
    c5 = m[2,2] * m[3,3] - m[3,2] * m[2,3]
    c4 = m[2,1] * m[3,3] - m[3,1] * m[2,3]
    c3 = m[2,1] * m[3,2] - m[3,1] * m[2,2]
    c2 = m[2,0] * m[3,3] - m[3,0] * m[2,3]
    c1 = m[2,0] * m[3,2] - m[3,0] * m[2,2]
    c0 = m[2,0] * m[3,1] - m[3,0] * m[2,1]
    return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0

def inverse(m: mat[2,2,F]):
    d = determinant(m)
    if d != 0.0:
        return mat[2,2,F](m[1,1], -m[0,1], -m[1,0], m[0,0]) * (1.0 / d)
    return mat[2,2,F]()

def inverse(m: mat[3,3,F]):
    d = determinant(m)
    if d != 0.0:
        a = cross(m[1], m[2])
        b = cross(m[2], m[0])
        c = cross(m[0], m[1])
        return mat[3,3,F](a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2]) * (1.0 / d)
    return mat[3,3,F]()

def inverse(m: mat[4,4,F]):
    s0 = m[0,0] * m[1,1] - m[1,0] * m[0,1]
    s1 = m[0,0] * m[1,2] - m[1,0] * m[0,2]
    s2 = m[0,0] * m[1,3] - m[1,0] * m[0,3]
    s3 = m[0,1] * m[1,2] - m[1,1] * m[0,2]
    s4 = m[0,1] * m[1,3] - m[1,1] * m[0,3]
    s5 = m[0,2] * m[1,3] - m[1,2] * m[0,3]
    c5 = m[2,2] * m[3,3] - m[3,2] * m[2,3]
    c4 = m[2,1] * m[3,3] - m[3,1] * m[2,3]
    c3 = m[2,1] * m[3,2] - m[3,1] * m[2,2]
    c2 = m[2,0] * m[3,3] - m[3,0] * m[2,3]
    c1 = m[2,0] * m[3,2] - m[3,0] * m[2,2]
    c0 = m[2,0] * m[3,1] - m[3,0] * m[2,1]
    d = s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0
    if d == 0.0:
        return mat[4,4,F]()
    adjugate = mat[4,4,F](
        m[1,1] * c5 - m[1,2] * c4 + m[1,3] * c3, -m[0,1] * c5 + m[0,2] * c4 - m[0,3] * c3,
        m[3,1] * s5 - m[3,2] * s4 + m[3,3] * s3, -m[2,1] * s5 + m[2,2] * s4 - m[2,3] * s3,
        -m[1,0] * c5 + m[1,2] * c2 - m[1,3] * c1, m[0,0] * c5 - m[0,2] * c2 + m[0,3] * c1,
        -m[3,0] * s5 + m[3,2] * s2 - m[3,3] * s1, m[2,0] * s5 - m[2,2] * s2 + m[2,3] * s1,
        m[1,0] * c4 - m[1,1] * c2 + m[1,3] * c0, -m[0,0] * c4 + m[0,1] * c2 - m[0,3] * c0,
        m[3,0] * s4 - m[3,1] * s2 + m[3,3] * s0, -m[2,0] * s4 + m[2,1] * s2 - m[2,3] * s0,
        -m[1,0] * c3 + m[1,1] * c1 - m[1,2] * c0, m[0,0] * c3 - m[0,1] * c1 + m[0,2] * c0,
        -m[3,0] * s3 + m[3,1] * s1 - m[3,2] * s0, m[2,0] * s3 - m[2,1] * s1 + m[2,2] * s0)
    return adjugate * (1.0 / d)
)";

const std::string_view kQuaternionMath = R"(
def quat_inverse(q: quat[F]):
    return quat[F](-q[0], -q[1], -q[2], q[3])

def quat_rotate(q: quat[F], v: vec[3,F]):
    u = vec[3,F](q[0], q[1], q[2])
    return v * (2.0 * q[3] * q[3] - 1.0) + cross(u, v) * (q[3] * 2.0) + u * (dot(u, v) * 2.0)

def quat_rotate_inv(q: quat[F], v: vec[3,F]):
    u = vec[3,F](q[0], q[1], q[2])
    return v * (2.0 * q[3] * q[3] - 1.0) - cross(u, v) * (q[3] * 2.0) + u * (dot(u, v) * 2.0)

def quat_from_axis_angle(axis: vec[3,F], angle: F):
    half = angle * 0.5
    u = axis * sin(half)
    return quat[F](u[0], u[1], u[2], cos(half))

def quat_to_axis_angle(q: quat[F]):
    u = vec[3,F](q[0], q[1], q[2])
    axis = normalize(u)
    if q[3] < 0.0:
        axis = -axis
    return axis, 2.0 * atan2(length(u), abs(q[3]))

def quat_rpy(roll: F, pitch: F, yaw: F):
    cy = cos(yaw * 0.5)
    sy = sin(yaw * 0.5)
    cr = cos(roll * 0.5)
    sr = sin(roll * 0.5)
    cp = cos(pitch * 0.5)
    sp = sin(pitch * 0.5)
    return quat[F](cy * sr * cp - sy * cr * sp, cy * cr * sp + sy * sr * cp,
                   sy * cr * cp - cy * sr * sp, cy * cr * cp + sy * sr * sp)

def quat_to_rpy(q: quat[F]):
    roll = atan2(2.0 * (q[3] * q[0] + q[1] * q[2]), 1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]))
    pitch = asin(clamp(2.0 * (q[3] * q[1] - q[2] * q[0]), -1.0, F(1.0)))
    yaw = atan2(2.0 * (q[3] * q[2] + q[0] * q[1]), 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]))
    return vec[3,F](roll, pitch, yaw)

def quat_to_matrix(q: quat[F]):
    a = quat_rotate(q, vec[3,F](1.0, 0.0, 0.0))
    b = quat_rotate(q, vec[3,F](0.0, 1.0, 0.0))
    c = quat_rotate(q, vec[3,F](0.0, 0.0, 1.0))
    return mat[3,3,F](a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2])

def quat_from_matrix(m: mat[3,3,F]):
    t = m[0,0] + m[1,1] + m[2,2]
    x = F(0.0)
    y = F(0.0)
    z = F(0.0)
    w = F(0.0)
    if t >= 0.0:
        h = sqrt(t + 1.0)
        w = 0.5 * h
        h = 0.5 / h
        x = (m[2,1] - m[1,2]) * h
        y = (m[0,2] - m[2,0]) * h
        z = (m[1,0] - m[0,1]) * h
    elif m[0,0] >= m[1,1] and m[0,0] >= m[2,2]:
        h = sqrt((m[0,0] - (m[1,1] + m[2,2])) + 1.0)
        x = 0.5 * h
        h = 0.5 / h
        y = (m[0,1] + m[1,0]) * h
        z = (m[2,0] + m[0,2]) * h
        w = (m[2,1] - m[1,2]) * h
    elif m[1,1] >= m[2,2]:
        h = sqrt((m[1,1] - (m[2,2] + m[0,0])) + 1.0)
        y = 0.5 * h
        h = 0.5 / h
        z = (m[1,2] + m[2,1]) * h
        x = (m[0,1] + m[1,0]) * h
        w = (m[0,2] - m[2,0]) * h
    else:
        h = sqrt((m[2,2] - (m[0,0] + m[1,1])) + 1.0)
        z = 0.5 * h
        h = 0.5 / h
        x = (m[2,0] + m[0,2]) * h
        y = (m[1,2] + m[2,1]) * h
        w = (m[1,0] - m[0,1]) * h
    return normalize(quat[F](x, y, z, w))

def quat_slerp(a: quat[F], b: quat[F], t: F):
    axis, angle = quat_to_axis_angle(mul(quat_inverse(a), b))
    return mul(a, quat_from_axis_angle(axis, t * angle))

def quat_twist(axis: vec[3,F], q: quat[F]):
    u = axis * dot(vec[3,F](q[0], q[1], q[2]), axis)
    return normalize(quat[F](u[0], u[1], u[2], q[3]))

def quat_twist_angle(axis: vec[3,F], q: quat[F]):
    return 2.0 * acos(abs(quat_twist(axis, q)[3]))
)";

}  // namespace causeway::lang
