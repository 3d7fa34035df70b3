import warp as wp

CONST_A = wp.constant(2.5)
COUNT = 3


@wp.func
def square(x: float):
    return x * x


@wp.func
def mix(a: float, b: float, t: float):
    if t < 0.0:
        return a
    if t > 1.0:
        return b
    return a + (b - a) * t


@wp.func
def polar(x: float, y: float):
    r = wp.sqrt(x * x + y * y)
    return r, wp.atan2(y, x)


@wp.func
def scale(x: float):
    return x * CONST_A


@wp.func
def scale(x: wp.vec3):
    return x * CONST_A


@wp.func
def row_sum(m: wp.array2d(dtype=float), i: int, n: int):
    s = float(0.0)
    for j in range(n):
        s += m[i, j] * m[i, j]
    return s


@wp.func
def power_sum(x: float, n: int):
    p = float(1.0)
    s = float(0.0)
    for i in range(n):
        p = p * x
        if p > 3.0:
            break
        s += p
    return s


@wp.func
def write_twice(out: wp.array(dtype=float), i: int, v: float):
    out[i] = out[i] * v + v


@wp.struct
class Body:
    position: wp.vec3
    velocity: wp.vec3
    mass: float


@wp.struct
class Field:
    values: wp.array(dtype=float)
    gain: float


@wp.func
def energy(b: Body):
    return 0.5 * b.mass * wp.dot(b.velocity, b.velocity)


@wp.func
def moved(b: Body, dt: float):
    b.position = b.position + b.velocity * dt
    return b


# run call_square dim=20 x=u(-1,1)[20] y=z[20]
@wp.kernel
def call_square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = square(x[i]) + square(square(x[i]))


# run call_mix dim=20 x=u(-1,1)[20] y=z[20]
@wp.kernel
def call_mix(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = mix(x[i], x[0], x[i] * 2.0)


# run call_polar dim=20 x=u(0.2,1)[21] y=z[20] ulp=4
@wp.kernel
def call_polar(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    r, phi = polar(x[i], x[i + 1])
    y[i] = r * 2.0 + phi


# run call_overload dim=20 x=u(-1,1)[20] v=u(0.5,1)[20] y=z[20] ulp=4
@wp.kernel
def call_overload(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = scale(x[i]) + wp.length(scale(v[i]))


# run call_array dim=6 m=u(-1,1)[6,5] y=z[6] n=5
@wp.kernel
def call_array(m: wp.array2d(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    y[i] = row_sum(m, i, n)


# run call_loop dim=20 x=u(0.2,1.6)[20] y=z[20]
@wp.kernel
def call_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = power_sum(x[i], 6)


# run call_writes dim=10 x=u(0.2,1)[10] y=u(0.2,1)[10]
@wp.kernel
def call_writes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    write_twice(y, i, x[i])
    write_twice(y, i, x[i] * 0.5)


# run constants dim=4 y=z[4]
@wp.kernel
def constants(y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(COUNT):
        s += CONST_A * float(j)
    y[i] = s + wp.pi + wp.static(2.0 * 3.0)


# run struct_local dim=10 x=u(0.2,1)[10] y=z[10] ulp=4
@wp.kernel
def struct_local(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    b = Body()
    b.mass = x[i]
    b.velocity = wp.vec3(x[i], 1.0, 2.0)
    b.position = wp.vec3(0.0, x[i], 0.0)
    b = moved(b, 0.5)
    y[i] = energy(b) + b.position[0] + b.position.y


# run struct_param dim=10 b=v(1,2,3,0.5,0.25,1,2) y=z[10]
@wp.kernel
def struct_param(b: Body, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = energy(b) * float(i) + b.position.x


# run struct_array dim=7 b=u(0.2,1)[7] y=z[7]
@wp.kernel
def struct_array(b: wp.array(dtype=Body), y: wp.array(dtype=float)):
    i = wp.tid()
    s = b[i]
    y[i] = energy(s) + s.position[1]
    b[i].mass = 3.0
    b[i] = moved(b[i], 2.0)


# run struct_field dim=7 f.values=u(0.2,1)[7] f.gain=1.5 y=z[7]
@wp.kernel
def struct_field(f: Field, y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = f.values[i] * f.gain
