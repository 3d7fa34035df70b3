// Random numbers and noise, written in the language: the PCG hash, and distributions of it.
#include "causeway/lang/builtins/prelude_text.h"

namespace causeway::lang {

const std::string_view kRandom = R"(
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

const std::string_view kNoise = R"(
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

}  // namespace causeway::lang
