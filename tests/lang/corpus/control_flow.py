import warp as wp

# run saxpy dim=100 a=2.5 x=u(-1,1)[100] y=u(-1,1)[100]
@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


# run if_else dim=40 x=u(-1,1)[40] y=z[40]
@wp.kernel
def if_else(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    if v > 0.5:
        y[i] = v * 2.0
    elif v > 0.0:
        y[i] = v * v
    else:
        y[i] = -v


# run conditional dim=40 x=u(-1,1)[40] y=z[40]
@wp.kernel
def conditional(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 2.0 if x[i] > 0.0 else x[i] * x[i]


# run conditional_load dim=40 x=u(-1,1)[40] y=z[40] n=40
@wp.kernel
def conditional_load(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    y[i] = x[i + 1] * x[i] if i + 1 < n else x[0] * 3.0


# run where_ dim=40 x=u(-1,1)[40] y=z[40] ulp=4
@wp.kernel
def where_(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.where(x[i] > 0.0, x[i] * 3.0, wp.sin(x[i]))


# run sum_loop dim=12 x=u(-1,1)[12] y=z[12] n=12
@wp.kernel
def sum_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for j in range(n):
        s += x[j] * x[i]
    y[i] = s


# run prod_loop dim=3 x=u(1,2)[5] y=z[3] n=5
@wp.kernel
def prod_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    p = float(1.0)
    for j in range(n):
        p *= x[j]
    y[i] = p


# run weighted_mean dim=2 x=u(-1,1)[6] w=u(0.5,1)[6] y=z[2] n=6
@wp.kernel
def weighted_mean(x: wp.array(dtype=float), w: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    total = float(0.0)
    weight = float(0.0)
    for j in range(n):
        total += x[j] * w[j]
        weight += w[j]
    y[i] = total / weight


# run static_loop dim=4 x=u(-1,1)[8] y=z[4]
@wp.kernel
def static_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = 0.0
    for j in range(8):
        s += x[j] * float(j)
    y[i] = s


# run step_loop dim=4 x=u(-1,1)[12] y=z[4]
@wp.kernel
def step_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(1.0)
    for j in range(10, 1, -3):
        s = s * 0.5 + x[j]
    for j in range(1, 11, 4):
        s = s * s * 0.25 + x[j]
    y[i] = s


# run dynamic_step dim=4 x=u(0.5,1)[12] y=z[4] start=11 stop=2 by=-4
@wp.kernel
def dynamic_step(x: wp.array(dtype=float), y: wp.array(dtype=float), start: int, stop: int, by: int):
    i = wp.tid()
    s = float(1.0)
    for j in range(start, stop, by):
        s = s * x[j] + 0.5
    y[i] = s


# run while_loop dim=20 x=u(0.1,3)[20] y=z[20]
@wp.kernel
def while_loop(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    n = int(0)
    while v < 10.0:
        v = v * v + 1.0
        n += 1
    y[i] = v + float(n)


# run break_loop dim=15 x=u(-1,1)[15] y=z[15] n=15
@wp.kernel
def break_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.1)
    for j in range(n):
        if x[j] < -0.8:
            break
        if x[j] < 0.0:
            continue
        s = s + x[j] * s + x[i]
    y[i] = s


# run while_true dim=20 x=u(0.1,3)[20] y=z[20]
@wp.kernel
def while_true(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i] + 0.5
    k = int(0)
    while True:
        v = v * 1.5
        k += 1
        if v > 4.0:
            break
        if k > 3:
            break
    y[i] = v


# run nested_loops dim=3 x=u(-1,1)[5] y=z[3] n=5 m=4
@wp.kernel
def nested_loops(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int, m: int):
    i = wp.tid()
    s = float(1.0)
    for j in range(n):
        t = float(0.5)
        for k in range(m):
            t = t * x[k] + x[j]
        s = s * 0.5 + t * t
    y[i] = s


# run nested_break dim=6 x=u(-1,1)[6] y=z[6] n=6
@wp.kernel
def nested_break(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(1.0)
    for j in range(n):
        k = int(0)
        while k < n:
            s = s * 0.9 + x[k] * x[j]
            if s > 1.2:
                break
            k += 1
        if s < -1.0:
            continue
        s += x[i] * s
    y[i] = s


# run early_return dim=40 x=u(-1,1)[40] y=z[40] n=30
@wp.kernel
def early_return(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i >= n:
        return
    v = x[i]
    if v < 0.0:
        y[i] = v * v
        return
    y[i] = wp.sqrt(v)


# run return_in_loop dim=20 x=u(-1,1)[20] y=z[20] n=20
@wp.kernel
def return_in_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for j in range(n):
        s += x[j] * x[i]
        if s > 0.6:
            y[i] = s * s
            return
    y[i] = s


# run in_place dim=20 x=u(0.5,1)[20] y=u(0.5,1)[20]
@wp.kernel
def in_place(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    x[i] *= y[i]
    x[i] = x[i] * x[i]
    x[i] /= y[i]
    x[i] = x[i] + y[i]


# run in_place_loop dim=5 x=u(0.5,1)[5] y=u(0.2,0.6)[9] n=4
@wp.kernel
def in_place_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        x[i] = x[i] * x[i] * 0.5 + y[j]
    y[i + n] = x[i]


# run tuple_assign dim=20 x=u(-1,1)[20] y=z[20]
@wp.kernel
def tuple_assign(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a, b = x[i], x[0]
    c = float(1.0)
    d = float(2.0)
    c, d = d * a, c + b
    y[i] = a * c + b * d


# run reassign_param dim=4 a=1.5 n=3 y=z[4]
@wp.kernel
def reassign_param(a: float, n: int, y: wp.array(dtype=float)):
    i = wp.tid()
    a = a * 2.0
    a += 1.0
    n = n + 1
    y[i] = a * float(n)


# run branch_variable dim=20 x=u(-1,1)[20] y=z[20]
@wp.kernel
def branch_variable(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        v = x[i] * 2.0
        k = 3.0
    else:
        v = x[i] * x[i]
        k = 4.0
    y[i] = v * k


# run loop_branch dim=20 x=u(0.1,0.9)[20] y=z[20] n=6
@wp.kernel
def loop_branch(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    lo = float(0.0)
    hi = float(1.0)
    for j in range(n):
        mid = (lo + hi) * 0.5
        if mid * mid < x[i]:
            lo = mid
        else:
            hi = mid
    y[i] = (lo + hi) * x[i]


# run fibonacci dim=20 y=z[20]
@wp.kernel
def fibonacci(y: wp.array(dtype=int)):
    i = wp.tid()
    a = int(0)
    b = int(1)
    for j in range(i):
        a, b = b, a + b
    y[i] = a


# run collatz dim=40 y=z[40]
@wp.kernel
def collatz(y: wp.array(dtype=int)):
    i = wp.tid()
    n = i + 1
    steps = int(0)
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    y[i] = steps


# run short_circuit dim=30 x=u(-1,1)[30] y=z[30] n=30
@wp.kernel
def short_circuit(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i + 1 < n and x[i + 1] > x[i]:
        y[i] = x[i + 1]
    elif i == 0 or x[i - 1] > 0.0:
        y[i] = 2.0 * x[i]


# run asserted dim=10 x=u(0.5,1)[10] y=z[10] ulp=4
@wp.kernel
def asserted(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    assert x[i] > 0.0, "positive"
    y[i] = wp.log(x[i])


# run passes dim=10 x=u(-1,1)[10] y=z[10]
@wp.kernel
def passes(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] > 0.0:
        pass
    else:
        y[i] = x[i]


# run polynomial dim=50 x=u(-2,2)[50] y=z[50]
@wp.kernel
def polynomial(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    y[i] = ((2.0 * v - 1.0) * v + 0.5) * v - v / (1.0 + v * v)

# run store_twice dim=10 x=u(0.2,1)[10] y=z[10]
@wp.kernel
def store_twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * 3.0
    y[i] = x[i] * x[i]


# run store_in_loop dim=5 x=u(0.2,1)[5] y=z[5] n=4
@wp.kernel
def store_in_loop(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    for j in range(n):
        y[i] = x[j] * x[i]
