import warp as wp

# run tid2 dim=3,4 x=u(-1,1)[3,4] y=z[3,4]
@wp.kernel
def tid2(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = x[i, j] * 2.0 + x[j % 3, i]


# run tid3 dim=2,3,4 x=u(-1,1)[2,3,4] y=z[2,3,4]
@wp.kernel
def tid3(x: wp.array3d(dtype=float), y: wp.array(dtype=float, ndim=3)):
    i, j, k = wp.tid()
    y[i, j, k] = x[i, j, k] * x[i, j, 0] + float(i * 100 + j * 10 + k)


# run tid4 dim=2,2,3,2 x=u(-1,1)[2,2,3,2] y=z[2,2,3,2]
@wp.kernel
def tid4(x: wp.array4d(dtype=float), y: wp.array4d(dtype=float)):
    i, j, k, l = wp.tid()
    y[i, j, k, l] = x[i, j, k, l] * x[i, 0, k, 0]


# run shapes dim=3 x=u(-1,1)[4,5] y=z[3]
@wp.kernel
def shapes(x: wp.array2d(dtype=float), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = x.shape[0] * 100 + x.shape[1] * 10 + len(y)


# run array_view dim=4 x=u(-1,1)[4,5] y=z[4]
@wp.kernel
def array_view(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    row = x[i]
    s = float(0.0)
    for j in range(row.shape[0]):
        s += row[j] * row[0]
    y[i] = s


# run matmul dim=3,4 a=u(-1,1)[3,5] b=u(-1,1)[5,4] c=z[3,4] ulp=4
@wp.kernel
def matmul(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float), c: wp.array2d(dtype=float)):
    i, j = wp.tid()
    s = float(0.0)
    for k in range(a.shape[1]):
        s += a[i, k] * b[k, j]
    c[i, j] = s


# run stencil dim=30 x=u(0.2,1)[30] y=z[30] n=30 ulp=2
@wp.kernel
def stencil(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    l = wp.max(i - 1, 0)
    r = wp.min(i + 1, n - 1)
    y[i] = (x[l] + 2.0 * x[i] + x[r]) * 0.25


# run gather dim=30 x=u(-1,1)[30] idx=i(0,30)[30] y=z[30]
@wp.kernel
def gather(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[idx[i]] * x[i]


# run scatter_add dim=30 x=i(-4,5)[30] idx=i(0,5)[30] y=z[5]
@wp.kernel
def scatter_add(x: wp.array(dtype=float), idx: wp.array(dtype=int), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, idx[i], x[i] * x[i])


# run aug_add dim=30 x=i(-4,5)[30] y=i(0,5)[30]
@wp.kernel
def aug_add(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] += x[i] * 2.0
    y[i] -= x[i] * x[i]


# run aug_bits dim=30 x=i(0,500)[30] y=i(0,500)[30]
@wp.kernel
def aug_bits(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] |= x[i]
    y[i] ^= 3
    y[i] &= 255
    y[i] *= 2
    y[i] //= 3
    y[i] %= 100


# run atomic_add_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_add_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i])


# run atomic_sub_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_sub_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_sub(y, i % 3, x[i])


# run atomic_min_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_min_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i])


# run atomic_max_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_max_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i])


# run atomic_and_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_and_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_and(y, i % 3, x[i])


# run atomic_or_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_or_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_or(y, i % 3, x[i])


# run atomic_xor_int dim=30 x=i(0,500)[30] y=i(100,300)[3]
@wp.kernel
def atomic_xor_int(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    wp.atomic_xor(y, i % 3, x[i])


# run atomic_min_float dim=30 x=u(-1,1)[30] y=u(3,4)[3]
@wp.kernel
def atomic_min_float(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i] * 2.0)


# run atomic_max_float dim=30 x=u(-1,1)[30] y=u(-4,-3)[3]
@wp.kernel
def atomic_max_float(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i] * 2.0)


# run atomic_vec dim=10 x=i(-4,5)[10] y=z[2]
@wp.kernel
def atomic_vec(x: wp.array(dtype=wp.vec3), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    wp.atomic_add(y, i % 2, x[i] * 2.0)
    wp.atomic_sub(y, 0, x[i])


# run atomic_2d dim=12 x=i(-4,5)[12] y=z[2,3]
@wp.kernel
def atomic_2d(x: wp.array(dtype=float), y: wp.array2d(dtype=float)):
    i = wp.tid()
    wp.atomic_add(y, i % 2, i % 3, x[i])


# run atomic_exch_cas dim=12 x=i(0,9)[12] y=i(0,9)[12] z=z[12]
@wp.kernel
def atomic_exch_cas(x: wp.array(dtype=int), y: wp.array(dtype=int), z: wp.array(dtype=int)):
    i = wp.tid()
    z[i] = wp.atomic_exch(y, i, x[i]) + wp.atomic_cas(y, i, x[i], 7)


# run atomic_old dim=12 y=i(0,9)[12] z=z[12]
@wp.kernel
def atomic_old(y: wp.array(dtype=int), z: wp.array(dtype=int)):
    i = wp.tid()
    z[i] = wp.atomic_add(y, i, 5) * 10


# run histogram dim=100 x=u(0,1)[100] h=z[8]
@wp.kernel
def histogram(x: wp.array(dtype=float), h: wp.array(dtype=int)):
    i = wp.tid()
    b = wp.clamp(int(x[i] * 8.0), 0, 7)
    wp.atomic_add(h, b, 1)


# run lower_bound_ dim=10 x=v(0.1)[4] v=u(0,1)[10] y=z[10]
@wp.kernel
def lower_bound_(x: wp.array(dtype=float), v: wp.array(dtype=float), y: wp.array(dtype=int)):
    i = wp.tid()
    y[i] = wp.lower_bound(x, v[i]) * 100 + wp.lower_bound(x, 1, 3, v[i])
