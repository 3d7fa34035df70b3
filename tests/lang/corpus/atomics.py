import warp as wp

# run atomic_add_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_add_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i])


# run atomic_sub_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_sub_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_sub(y, i % 3, x[i])


# run atomic_min_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_min_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i])


# run atomic_max_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_max_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i])


# run atomic_and_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_and_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_and(y, i % 3, x[i])


# run atomic_or_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_or_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_or(y, i % 3, x[i])


# run atomic_xor_uint32 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_xor_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    wp.atomic_xor(y, i % 3, x[i])


# run atomic_swap_uint32 dim=12 x=i(0,9)[12] y=i(0,9)[12] z=z[12] nograd
@wp.kernel
def atomic_swap_uint32(x: wp.array(dtype=wp.uint32), y: wp.array(dtype=wp.uint32), z: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    z[i] = wp.atomic_exch(y, i, x[i]) + wp.atomic_cas(y, i, x[i], wp.uint32(7))


# run atomic_add_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_add_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i])


# run atomic_sub_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_sub_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_sub(y, i % 3, x[i])


# run atomic_min_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_min_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i])


# run atomic_max_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_max_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i])


# run atomic_and_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_and_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_and(y, i % 3, x[i])


# run atomic_or_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_or_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_or(y, i % 3, x[i])


# run atomic_xor_int64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_xor_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_xor(y, i % 3, x[i])


# run atomic_swap_int64 dim=12 x=i(0,9)[12] y=i(0,9)[12] z=z[12] nograd
@wp.kernel
def atomic_swap_int64(x: wp.array(dtype=wp.int64), y: wp.array(dtype=wp.int64), z: wp.array(dtype=wp.int64)):
    i = wp.tid()
    z[i] = wp.atomic_exch(y, i, x[i]) + wp.atomic_cas(y, i, x[i], wp.int64(7))


# run atomic_add_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_add_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i])


# run atomic_sub_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_sub_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_sub(y, i % 3, x[i])


# run atomic_min_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_min_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i])


# run atomic_max_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3] nograd
@wp.kernel
def atomic_max_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i])


# run atomic_and_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_and_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_and(y, i % 3, x[i])


# run atomic_or_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_or_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_or(y, i % 3, x[i])


# run atomic_xor_uint64 dim=30 x=i(0,500)[30] y=i(20000,30000)[3]
@wp.kernel
def atomic_xor_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    wp.atomic_xor(y, i % 3, x[i])


# run atomic_swap_uint64 dim=12 x=i(0,9)[12] y=i(0,9)[12] z=z[12] nograd
@wp.kernel
def atomic_swap_uint64(x: wp.array(dtype=wp.uint64), y: wp.array(dtype=wp.uint64), z: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    z[i] = wp.atomic_exch(y, i, x[i]) + wp.atomic_cas(y, i, x[i], wp.uint64(7))


# run atomic_add_float64 dim=30 x=i(0,9)[30] y=i(20,30)[3]
@wp.kernel
def atomic_add_float64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_add(y, i % 3, x[i])


# run atomic_sub_float64 dim=30 x=i(0,9)[30] y=i(20,30)[3]
@wp.kernel
def atomic_sub_float64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_sub(y, i % 3, x[i])


# run atomic_min_float64 dim=30 x=i(0,9)[30] y=i(20,30)[3] nograd
@wp.kernel
def atomic_min_float64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_min(y, i % 3, x[i])


# run atomic_max_float64 dim=30 x=i(0,9)[30] y=i(20,30)[3] nograd
@wp.kernel
def atomic_max_float64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    wp.atomic_max(y, i % 3, x[i])


# run atomic_swap_float64 dim=12 x=i(0,9)[12] y=i(0,9)[12] z=z[12] nograd
@wp.kernel
def atomic_swap_float64(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64), z: wp.array(dtype=wp.float64)):
    i = wp.tid()
    z[i] = wp.atomic_exch(y, i, x[i]) + wp.atomic_cas(y, i, x[i], wp.float64(7))
