import warp as wp

# run rand_int dim=40 a=z[40] b=z[40]
@wp.kernel
def rand_int(a: wp.array(dtype=int), b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    b[i] = s
    a[i] = wp.randi(s) ^ wp.randi(s, -10, 50)


# run rand_init1 dim=40 b=z[40]
@wp.kernel
def rand_init1(b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    b[i] = wp.rand_init(i)


# run rand_uint dim=40 b=z[40]
@wp.kernel
def rand_uint(b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    s = wp.rand_init(7, i)
    b[i] = wp.randu(s) + wp.randu(s, wp.uint32(5), wp.uint32(100))


# run rand_float dim=40 a=z[40] b=z[40] ulp=4
@wp.kernel
def rand_float(a: wp.array(dtype=float), b: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.randf(s)
    b[i] = wp.randf(s, -2.0, 3.0)


# run rand_normal dim=40 a=z[40] ulp=16
@wp.kernel
def rand_normal(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.randn(s)


# run sample_triangle dim=40 a=z[40] ulp=4
@wp.kernel
def sample_triangle(a: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_triangle(s)


# run sample_unit_ring dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_ring(a: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_ring(s)


# run sample_unit_disk dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_disk(a: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_disk(s)


# run sample_unit_sphere_surface dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_sphere_surface(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_sphere_surface(s)


# run sample_unit_sphere dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_sphere(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_sphere(s)


# run sample_unit_hemisphere_surface dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_hemisphere_surface(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_hemisphere_surface(s)


# run sample_unit_hemisphere dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_hemisphere(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_hemisphere(s)


# run sample_unit_square dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_square(a: wp.array(dtype=wp.vec2)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_square(s)


# run sample_unit_cube dim=40 a=z[40] ulp=4
@wp.kernel
def sample_unit_cube(a: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    a[i] = wp.sample_unit_cube(s)


# run poisson_small dim=40 b=z[40]
@wp.kernel
def poisson_small(b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    b[i] = wp.poisson(s, 3.5)


# run poisson_large dim=40 b=z[40]
@wp.kernel
def poisson_large(b: wp.array(dtype=wp.uint32)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    b[i] = wp.poisson(s, 33.0)


# run sample_cdf_ dim=40 cdf=v(0.5)[4] b=z[40]
@wp.kernel
def sample_cdf_(cdf: wp.array(dtype=float), b: wp.array(dtype=int)):
    i = wp.tid()
    s = wp.rand_init(42, i)
    b[i] = wp.sample_cdf(s, cdf)


# run noise1 dim=40 a=z[40] ulp=4
@wp.kernel
def noise1(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.noise(s, float(i) * 0.37 - 3.0)


# run noise2 dim=40 a=z[40] ulp=4
@wp.kernel
def noise2(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.noise(s, wp.vec2(float(i) * 0.37, 0.6 * float(i)))


# run noise3 dim=40 a=z[40] ulp=4
@wp.kernel
def noise3(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.noise(s, wp.vec3(float(i) * 0.37, 0.6 * float(i), 0.4))


# run pnoise1 dim=40 a=z[40] ulp=4
@wp.kernel
def pnoise1(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.pnoise(s, float(i) * 0.37, 3)


# run pnoise2 dim=40 a=z[40] ulp=4
@wp.kernel
def pnoise2(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.pnoise(s, wp.vec2(float(i) * 0.37, 0.6 * float(i)), 3, 4)


# run pnoise3 dim=40 a=z[40] ulp=4
@wp.kernel
def pnoise3(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.pnoise(s, wp.vec3(float(i) * 0.37, 0.6 * float(i), 0.4), 3, 4, 5)


# run noise4 dim=40 a=z[40] ulp=4
@wp.kernel
def noise4(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.noise(s, wp.vec4(float(i) * 0.37, 0.6 * float(i), 0.4, float(i) * 0.2 - 1.0))


# run pnoise4 dim=40 a=z[40] ulp=4
@wp.kernel
def pnoise4(a: wp.array(dtype=float)):
    i = wp.tid()
    s = wp.rand_init(42)
    a[i] = wp.pnoise(s, wp.vec4(float(i) * 0.37, 0.6 * float(i), 0.4, float(i) * 0.2), 3, 4, 5, 2)
