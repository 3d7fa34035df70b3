// Builtins written in the language. A call makes an instance for its types, which is interpreted,
// emitted and differentiated as any function.
#include "causeway/lang/builtins/table.h"

#include "causeway/lang/parser.h"

#include <unordered_map>
#include <vector>

namespace causeway::lang {

namespace {

constexpr std::string_view kScalarMath = R"(
def floor_div(a: I, b: I):
    q = a / b
    return where(a % b != 0 and (a < 0) != (b < 0), q - 1, q)

def clamp(x: T, low: T, high: T):
    return min(max(low, x), high)

def step(x: T):
    return where(x < 0, 1, T(0))

def nonzero(x: T):
    return where(x == 0, 0, T(1))

def frac(x: F):
    return x - trunc(x)

def radians(x: F):
    return x * 0.017453292519943295

def degrees(x: F):
    return x * 57.29577951308232

def div_approx(a: F, b: F):
    return a / b

def lerp(a: F, b: F, t: F):
    return a * (1.0 - t) + b * t

def lerp(a: vec[n,F], b: vec[n,F], t: F):
    return a * (1.0 - t) + b * t

def lerp(a: mat[r,c,F], b: mat[r,c,F], t: F):
    return a * (1.0 - t) + b * t

def smoothstep(a: F, b: F, x: F):
    t = clamp((x - a) / (b - a), 0.0, F(1.0))
    return t * t * (3.0 - 2.0 * t)

def abs(v: vec[n,T]):
    return vec[n,T](unroll(i, n, abs(v[i])))

def sign(v: vec[n,T]):
    return vec[n,T](unroll(i, n, sign(v[i])))

def min(a: vec[n,T], b: vec[n,T]):
    return vec[n,T](unroll(i, n, min(a[i], b[i])))

def max(a: vec[n,T], b: vec[n,T]):
    return vec[n,T](unroll(i, n, max(a[i], b[i])))

def min(v: vec[n,T]):
    least = v[0]
    for i in range(1, n):
        least = min(least, v[i])
    return least

def max(v: vec[n,T]):
    most = v[0]
    for i in range(1, n):
        most = max(most, v[i])
    return most

def isnan(v: vec[n,F]):
    found = bool(False)
    for i in range(n):
        found = found or isnan(v[i])
    return found

def isinf(v: vec[n,F]):
    found = bool(False)
    for i in range(n):
        found = found or isinf(v[i])
    return found

def isfinite(v: vec[n,F]):
    finite = bool(True)
    for i in range(n):
        finite = finite and isfinite(v[i])
    return finite

def isnan(m: mat[r,c,F]):
    found = bool(False)
    for i in range(r):
        found = found or isnan(m[i])
    return found

def isinf(m: mat[r,c,F]):
    found = bool(False)
    for i in range(r):
        found = found or isinf(m[i])
    return found

def isfinite(m: mat[r,c,F]):
    finite = bool(True)
    for i in range(r):
        finite = finite and isfinite(m[i])
    return finite
)";

constexpr std::string_view kVectorMath = R"(
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

constexpr std::string_view kQuaternionMath = R"(
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

constexpr std::string_view kRandom = R"(
def rand_pcg(state: uint32):
    b = state * uint32(747796405) + uint32(2891336453)
    c = ((b >> ((b >> uint32(28)) + uint32(4))) ^ b) * uint32(277803737)
    return (c >> uint32(22)) ^ c

def rand_init(seed: int32):
    return rand_pcg(uint32(seed))

def rand_init(seed: int32, offset: int32):
    return rand_pcg(uint32(seed) + rand_pcg(uint32(offset)))

def randi(state: uint32):
    s = rand_pcg(state)
    return int32(s), s

def randi(state: uint32, low: int32, high: int32):
    s = rand_pcg(state)
    return int32(s % uint32(high - low) + uint32(low)), s

def randu(state: uint32):
    s = rand_pcg(state)
    return s, s

def randu(state: uint32, low: uint32, high: uint32):
    s = rand_pcg(state)
    return s % (high - low) + low, s

def randf(state: uint32):
    s = rand_pcg(state)
    return float32(s >> uint32(8)) * 5.9604644775390625e-08, s

def randf(state: uint32, low: float32, high: float32):
    s = rand_pcg(state)
    return (high - low) * (float32(s >> uint32(8)) * 5.9604644775390625e-08) + low, s

def randn(state: uint32):
    u = randf(state)
    v = randf(state)
    return sqrt(-2.0 * log(u + 1.0e-15)) * cos(6.283185307179586 * v), state

def randn(state: uint32, mean: float32, std: float32):
    z = randn(state)
    return z * std + mean, state

def sample_triangle(state: uint32):
    r = sqrt(randf(state))
    u = 1.0 - r
    v = randf(state) * r
    return vec2(u, v), state

def sample_unit_ring(state: uint32):
    theta = randf(state, 0.0, 6.283185307179586)
    return vec2(cos(theta), sin(theta)), state

def sample_unit_disk(state: uint32):
    r = sqrt(randf(state))
    theta = randf(state, 0.0, 6.283185307179586)
    return vec2(r * cos(theta), r * sin(theta)), state

def sample_unit_sphere_surface(state: uint32):
    phi = acos(1.0 - 2.0 * randf(state))
    theta = randf(state, 0.0, 6.283185307179586)
    return vec3(cos(theta) * sin(phi), sin(theta) * sin(phi), cos(phi)), state

def sample_unit_sphere(state: uint32):
    phi = acos(1.0 - 2.0 * randf(state))
    theta = randf(state, 0.0, 6.283185307179586)
    r = pow(randf(state), 0.3333333333333333)
    return vec3(r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi)), state

def sample_unit_hemisphere_surface(state: uint32):
    phi = acos(1.0 - randf(state))
    theta = randf(state, 0.0, 6.283185307179586)
    return vec3(cos(theta) * sin(phi), sin(theta) * sin(phi), cos(phi)), state

def sample_unit_hemisphere(state: uint32):
    phi = acos(1.0 - randf(state))
    theta = randf(state, 0.0, 6.283185307179586)
    r = pow(randf(state), 0.3333333333333333)
    return vec3(r * cos(theta) * sin(phi), r * sin(theta) * sin(phi), r * cos(phi)), state

def sample_unit_square(state: uint32):
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    return vec2(x, y), state

def sample_unit_cube(state: uint32):
    x = randf(state) - 0.5
    y = randf(state) - 0.5
    z = randf(state) - 0.5
    return vec3(x, y, z), state

def lower_bound(a: array[1,T], begin: int32, end: int32, value: T):
    low = begin
    high = end - 1
    while low < high:
        middle = (low + high) / 2
        if a[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low

def lower_bound(a: array[1,T], value: T):
    return lower_bound(a, 0, len(a), value)

def sample_cdf(state: uint32, cdf: array[1,float32]):
    u = randf(state)
    return lower_bound(cdf, u), state

def log_gamma(x: float32):
    y = x
    correction = float32(0.0)
    while y < 7.0:
        correction -= log(y)
        y += 1.0
    z = 1.0 / (y * y)
    series = ((0.0007936507936507937 * z - 0.002777777777777778) * z + 0.08333333333333333) / y
    return (y - 0.5) * log(y) - y + 0.9189385332046727 + series + correction

def poisson(state: uint32, lam: float32):
    count = uint32(0)
    if lam < 10.0:
        limit = exp(-lam)
        product = randf(state)
        while product > limit:
            count += uint32(1)
            product *= randf(state)
        return count, state
    root = sqrt(lam)
    log_lam = log(lam)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    done = bool(False)
    while not done:
        u = randf(state) - 0.5
        v = randf(state)
        us = 0.5 - abs(u)
        k = floor((2.0 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= v_r:
            count = uint32(k)
            done = True
        elif k >= 0.0 and not (us < 0.013 and v > us):
            if log(v) + log(inverse_alpha) - log(a / (us * us) + b) <= -lam + k * log_lam - log_gamma(k + 1.0):
                count = uint32(k)
                done = True
    return count, state
)";

constexpr std::string_view kNoise = R"(
def smootherstep(t: float32):
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)

def blend(a: float32, b: float32, t: float32):
    return (b - a) * smootherstep(t) + a

def lattice(state: uint32, x: int32, fx: float32):
    g = uint32(x) * uint32(73856093) + state
    slope = randf(g, -1.0, 1.0)
    return slope * fx

def lattice(state: uint32, x: int32, y: int32, fx: float32, fy: float32):
    g = (uint32(x) * uint32(73856093)) ^ (uint32(y) * uint32(19349663) + state)
    gx = randf(g, -1.0, 1.0)
    gy = randf(g, -1.0, 1.0)
    return dot(normalize(vec2(gx, gy)), vec2(fx, fy))

def lattice(state: uint32, x: int32, y: int32, z: int32, f: vec3):
    g = (uint32(x) * uint32(73856093)) ^ (uint32(y) * uint32(19349663)) ^ (uint32(z) * uint32(53471161) + state)
    gx = randf(g, -1.0, 1.0)
    gy = randf(g, -1.0, 1.0)
    gz = randf(g, -1.0, 1.0)
    return dot(normalize(vec3(gx, gy, gz)), f)

def lattice(state: uint32, x: int32, y: int32, z: int32, t: int32, f: vec4):
    g = (uint32(x) * uint32(73856093)) ^ (uint32(y) * uint32(19349663)) ^ (uint32(z) * uint32(53471161)) ^ (uint32(t) * uint32(10000019) + state)
    gx = randf(g, -1.0, 1.0)
    gy = randf(g, -1.0, 1.0)
    gz = randf(g, -1.0, 1.0)
    gt = randf(g, -1.0, 1.0)
    return dot(normalize(vec4(gx, gy, gz, gt)), f)

def noise(state: uint32, x: float32):
    x0 = int32(floor(x))
    dx = x - float32(x0)
    return blend(lattice(state, x0, dx), lattice(state, x0 + 1, dx - 1.0), dx)

def pnoise(state: uint32, x: float32, px: int32):
    x0 = int32(floor(x))
    dx = x - float32(x0)
    return blend(lattice(state, x0 % px, dx), lattice(state, (x0 + 1) % px, dx - 1.0), dx)

def noise_between(state: uint32, dx: float32, dy: float32, x0: int32, y0: int32, x1: int32, y1: int32):
    a = blend(lattice(state, x0, y0, dx, dy), lattice(state, x1, y0, dx - 1.0, dy), dx)
    b = blend(lattice(state, x0, y1, dx, dy - 1.0), lattice(state, x1, y1, dx - 1.0, dy - 1.0), dx)
    return blend(a, b, dy)

def noise(state: uint32, p: vec[2,float32]):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    return noise_between(state, p[0] - float32(x0), p[1] - float32(y0), x0, y0, x0 + 1, y0 + 1)

def pnoise(state: uint32, p: vec[2,float32], px: int32, py: int32):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    return noise_between(state, p[0] - float32(x0), p[1] - float32(y0), x0 % px, y0 % py, (x0 + 1) % px, (y0 + 1) % py)

def noise_layer(state: uint32, dx: float32, dy: float32, dz: float32, x0: int32, y0: int32, x1: int32, y1: int32, z: int32):
    a = blend(lattice(state, x0, y0, z, vec3(dx, dy, dz)), lattice(state, x1, y0, z, vec3(dx - 1.0, dy, dz)), dx)
    b = blend(lattice(state, x0, y1, z, vec3(dx, dy - 1.0, dz)), lattice(state, x1, y1, z, vec3(dx - 1.0, dy - 1.0, dz)), dx)
    return blend(a, b, dy)

def noise(state: uint32, p: vec[3,float32]):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    z0 = int32(floor(p[2]))
    dx = p[0] - float32(x0)
    dy = p[1] - float32(y0)
    dz = p[2] - float32(z0)
    a = noise_layer(state, dx, dy, dz, x0, y0, x0 + 1, y0 + 1, z0)
    b = noise_layer(state, dx, dy, dz - 1.0, x0, y0, x0 + 1, y0 + 1, z0 + 1)
    return blend(a, b, dz)

def pnoise(state: uint32, p: vec[3,float32], px: int32, py: int32, pz: int32):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    z0 = int32(floor(p[2]))
    dx = p[0] - float32(x0)
    dy = p[1] - float32(y0)
    dz = p[2] - float32(z0)
    a = noise_layer(state, dx, dy, dz, x0 % px, y0 % py, (x0 + 1) % px, (y0 + 1) % py, z0 % pz)
    b = noise_layer(state, dx, dy, dz - 1.0, x0 % px, y0 % py, (x0 + 1) % px, (y0 + 1) % py, (z0 + 1) % pz)
    return blend(a, b, dz)

def noise_slab(state: uint32, d: vec4, x0: int32, y0: int32, z0: int32, x1: int32, y1: int32, z1: int32, t: int32):
    ex = vec4(1.0, 0.0, 0.0, 0.0)
    ey = vec4(0.0, 1.0, 0.0, 0.0)
    ez = vec4(0.0, 0.0, 1.0, 0.0)
    a = blend(lattice(state, x0, y0, z0, t, d), lattice(state, x1, y0, z0, t, d - ex), d[0])
    b = blend(lattice(state, x0, y1, z0, t, d - ey), lattice(state, x1, y1, z0, t, d - ex - ey), d[0])
    c = blend(lattice(state, x0, y0, z1, t, d - ez), lattice(state, x1, y0, z1, t, d - ex - ez), d[0])
    e = blend(lattice(state, x0, y1, z1, t, d - ey - ez), lattice(state, x1, y1, z1, t, d - ex - ey - ez), d[0])
    return blend(blend(a, b, d[1]), blend(c, e, d[1]), d[2])

def noise(state: uint32, p: vec[4,float32]):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    z0 = int32(floor(p[2]))
    t0 = int32(floor(p[3]))
    d = p - vec4(float32(x0), float32(y0), float32(z0), float32(t0))
    a = noise_slab(state, d, x0, y0, z0, x0 + 1, y0 + 1, z0 + 1, t0)
    b = noise_slab(state, d - vec4(0.0, 0.0, 0.0, 1.0), x0, y0, z0, x0 + 1, y0 + 1, z0 + 1, t0 + 1)
    return blend(a, b, d[3])

def pnoise(state: uint32, p: vec[4,float32], px: int32, py: int32, pz: int32, pt: int32):
    x0 = int32(floor(p[0]))
    y0 = int32(floor(p[1]))
    z0 = int32(floor(p[2]))
    t0 = int32(floor(p[3]))
    d = p - vec4(float32(x0), float32(y0), float32(z0), float32(t0))
    x1 = (x0 + 1) % px
    y1 = (y0 + 1) % py
    z1 = (z0 + 1) % pz
    a = noise_slab(state, d, x0 % px, y0 % py, z0 % pz, x1, y1, z1, t0 % pt)
    b = noise_slab(state, d - vec4(0.0, 0.0, 0.0, 1.0), x0 % px, y0 % py, z0 % pz, x1, y1, z1, (t0 + 1) % pt)
    return blend(a, b, d[3])
)";

struct Prelude {
  Source source;
  Tree tree;
  std::unordered_map<std::string_view, std::vector<const FunctionNode*>> by_name;

  Prelude()
      : source("prelude", std::string(kScalarMath) + std::string(kVectorMath) +
                              std::string(kQuaternionMath) + std::string(kRandom) +
                              std::string(kNoise)),
        tree(parse(source, true)) {
    for (const FunctionNode& node : tree.functions) by_name[node.name].push_back(&node);
  }
};

const Prelude& prelude() {
  static const auto* const instance = new Prelude();
  return *instance;
}

}  // namespace

const Source& prelude_source() { return prelude().source; }
const Tree& prelude_tree() { return prelude().tree; }

std::span<const FunctionNode* const> prelude_functions(std::string_view name) {
  const auto found = prelude().by_name.find(name);
  if (found == prelude().by_name.end()) return {};
  return found->second;
}

}  // namespace causeway::lang
