import warp as wp

# run int_add dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_add(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] + b[i]


# run int_sub dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_sub(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] - b[i]


# run int_mul dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_mul(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] * b[i]


# run int_div dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_div(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] / b[i]


# run int_floordiv dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_floordiv(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] // b[i]


# run int_mod dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_mod(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] % b[i]


# run int_bitand dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_bitand(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] & b[i]


# run int_bitor dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_bitor(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] | b[i]


# run int_bitxor dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_bitxor(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = a[i] ^ b[i]


# run int_neg dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_neg(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = -a[i] + ~b[i]


# run int_shift dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_shift(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = (a[i] << 3) + (a[i] >> 2) + (b[i] << (a[i] & 7))


# run int_imin dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_imin(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = wp.min(a[i], b[i]) * 100 + wp.max(a[i], b[i])


# run int_iabs dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_iabs(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = wp.abs(a[i]) - abs(b[i])


# run int_isign dim=25 a=i(-50,50)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def int_isign(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = wp.sign(a[i]) * b[i]


# run mix_int8 dim=25 a=i(-100,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_int8(a: wp.array(dtype=wp.int8), b: wp.array(dtype=wp.int8), c: wp.array(dtype=wp.int8)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.int8(2))


# run cast_int8 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_int8(a: wp.array(dtype=float), b: wp.array(dtype=wp.int8), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.int8(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.int8(7))


# run mix_int16 dim=25 a=i(-100,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_int16(a: wp.array(dtype=wp.int16), b: wp.array(dtype=wp.int16), c: wp.array(dtype=wp.int16)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.int16(2))


# run cast_int16 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_int16(a: wp.array(dtype=float), b: wp.array(dtype=wp.int16), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.int16(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.int16(7))


# run mix_int64 dim=25 a=i(-100,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_int64(a: wp.array(dtype=wp.int64), b: wp.array(dtype=wp.int64), c: wp.array(dtype=wp.int64)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.int64(2))


# run cast_int64 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_int64(a: wp.array(dtype=float), b: wp.array(dtype=wp.int64), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.int64(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.int64(7))


# run mix_uint8 dim=25 a=i(0,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_uint8(a: wp.array(dtype=wp.uint8), b: wp.array(dtype=wp.uint8), c: wp.array(dtype=wp.uint8)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.uint8(2))


# run cast_uint8 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_uint8(a: wp.array(dtype=float), b: wp.array(dtype=wp.uint8), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.uint8(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.uint8(7))


# run mix_uint16 dim=25 a=i(0,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_uint16(a: wp.array(dtype=wp.uint16), b: wp.array(dtype=wp.uint16), c: wp.array(dtype=wp.uint16)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.uint16(2))


# run cast_uint16 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_uint16(a: wp.array(dtype=float), b: wp.array(dtype=wp.uint16), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.uint16(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.uint16(7))


# run mix_uint32 dim=25 a=i(0,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_uint32(a: wp.array(dtype=wp.uint32), b: wp.array(dtype=wp.uint32), c: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.uint32(2))


# run cast_uint32 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_uint32(a: wp.array(dtype=float), b: wp.array(dtype=wp.uint32), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.uint32(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.uint32(7))


# run mix_uint64 dim=25 a=i(0,100)[25] b=i(1,9)[25] c=z[25]
@wp.kernel
def mix_uint64(a: wp.array(dtype=wp.uint64), b: wp.array(dtype=wp.uint64), c: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x * y + x / y - x % y) ^ (x & y) | (y << wp.uint64(2))


# run cast_uint64 dim=25 a=u(0,100)[25] b=z[25] c=z[25] nograd
@wp.kernel
def cast_uint64(a: wp.array(dtype=float), b: wp.array(dtype=wp.uint64), c: wp.array(dtype=float)):
    i = wp.tid()
    b[i] = wp.uint64(a[i])
    c[i] = float(b[i]) * 0.5 + float(wp.uint64(7))


# run arith_float16 dim=25 a=u(0.5,3)[25] b=u(1,4)[25] c=z[25]
@wp.kernel
def arith_float16(a: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.float16), c: wp.array(dtype=wp.float16)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x + y) * (x - y) / (y + wp.float16(2.0)) - x % y


# run math_float16 dim=25 a=u(0.5,3)[25] c=z[25] ulp=4
@wp.kernel
def math_float16(a: wp.array(dtype=wp.float16), c: wp.array(dtype=wp.float16)):
    i = wp.tid()
    x = a[i]
    c[i] = wp.sin(x) + wp.sqrt(x) * wp.exp(-x)


# run arith_float32 dim=25 a=u(0.5,3)[25] b=u(1,4)[25] c=z[25]
@wp.kernel
def arith_float32(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x + y) * (x - y) / (y + wp.float32(2.0)) - x % y


# run math_float32 dim=25 a=u(0.5,3)[25] c=z[25] ulp=4
@wp.kernel
def math_float32(a: wp.array(dtype=wp.float32), c: wp.array(dtype=wp.float32)):
    i = wp.tid()
    x = a[i]
    c[i] = wp.sin(x) + wp.sqrt(x) * wp.exp(-x)


# run arith_float64 dim=25 a=u(0.5,3)[25] b=u(1,4)[25] c=z[25]
@wp.kernel
def arith_float64(a: wp.array(dtype=wp.float64), b: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x = a[i]
    y = b[i]
    c[i] = (x + y) * (x - y) / (y + wp.float64(2.0)) - x % y


# run math_float64 dim=25 a=u(0.5,3)[25] c=z[25] ulp=4
@wp.kernel
def math_float64(a: wp.array(dtype=wp.float64), c: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x = a[i]
    c[i] = wp.sin(x) + wp.sqrt(x) * wp.exp(-x)


# run float_floordiv dim=25 a=u(-9,9)[25] b=u(1,4)[25] c=z[25]
@wp.kernel
def float_floordiv(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = a[i] // b[i] + a[i] % b[i]


# run float_pow dim=25 a=u(0.1,4)[25] c=z[25] ulp=4
@wp.kernel
def float_pow(a: wp.array(dtype=float), c: wp.array(dtype=float)):
    i = wp.tid()
    c[i] = a[i] ** 2.5


# run bool_ops dim=25 a=i(0,10)[25] b=i(0,10)[25] c=z[25]
@wp.kernel
def bool_ops(a: wp.array(dtype=int), b: wp.array(dtype=int), c: wp.array(dtype=int)):
    i = wp.tid()
    p = a[i] > 3
    q = b[i] < 5
    r = int(0)
    if p and q:
        r += 1
    if p or q:
        r += 2
    if not p:
        r += 4
    if p == q:
        r += 8
    if 2 < a[i] < 7:
        r += 16
    c[i] = r + int(p) * 32


# run compare_mixed dim=25 a=u(-1,1)[25] b=i(0,6)[25] c=i(0,5)[25] d=z[25]
@wp.kernel
def compare_mixed(a: wp.array(dtype=float), b: wp.array(dtype=wp.int64), c: wp.array(dtype=wp.uint8), d: wp.array(dtype=int)):
    i = wp.tid()
    r = int(0)
    if a[i] > 0:
        r += 1
    if b[i] == 3:
        r += 2
    if c[i] >= 2:
        r += 4
    d[i] = r


# run bool_array dim=12 a=i(0,2)[12] b=z[12] c=z[12]
@wp.kernel
def bool_array(a: wp.array(dtype=bool), b: wp.array(dtype=bool), c: wp.array(dtype=int)):
    i = wp.tid()
    b[i] = not a[i]
    c[i] = int(a[i])


# run bits dim=25 a=i(-100,100)[25] b=i(0,100000)[25] c=z[25]
@wp.kernel
def bits(a: wp.array(dtype=int), b: wp.array(dtype=wp.uint64), c: wp.array(dtype=int)):
    i = wp.tid()
    c[i] = int(wp.bit_count(a[i])) * 100 + int(wp.bit_count(b[i]))
