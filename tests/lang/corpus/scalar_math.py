import warp as wp

# run k_sqrt dim=33 x=u(0.1,4)[33] y=z[33] ulp=4
@wp.kernel
def k_sqrt(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sqrt(x[i])


# run k_cbrt dim=33 x=u(0.1,4)[33] y=z[33] ulp=4
@wp.kernel
def k_cbrt(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.cbrt(x[i])


# run k_exp dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_exp(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.exp(x[i])


# run k_log dim=33 x=u(0.1,4)[33] y=z[33] ulp=4
@wp.kernel
def k_log(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.log(x[i])


# run k_log2 dim=33 x=u(0.1,4)[33] y=z[33] ulp=4
@wp.kernel
def k_log2(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.log2(x[i])


# run k_log10 dim=33 x=u(0.1,4)[33] y=z[33] ulp=4
@wp.kernel
def k_log10(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.log10(x[i])


# run k_sin dim=33 x=u(-3,3)[33] y=z[33] ulp=4
@wp.kernel
def k_sin(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i])


# run k_cos dim=33 x=u(-3,3)[33] y=z[33] ulp=4
@wp.kernel
def k_cos(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.cos(x[i])


# run k_tan dim=33 x=u(-1,1)[33] y=z[33] ulp=4
@wp.kernel
def k_tan(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.tan(x[i])


# run k_asin dim=33 x=u(-0.9,0.9)[33] y=z[33] ulp=4
@wp.kernel
def k_asin(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.asin(x[i])


# run k_acos dim=33 x=u(-0.9,0.9)[33] y=z[33] ulp=4
@wp.kernel
def k_acos(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.acos(x[i])


# run k_atan dim=33 x=u(-3,3)[33] y=z[33] ulp=4
@wp.kernel
def k_atan(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.atan(x[i])


# run k_sinh dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_sinh(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sinh(x[i])


# run k_cosh dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_cosh(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.cosh(x[i])


# run k_tanh dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_tanh(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.tanh(x[i])


# run k_erf dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_erf(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.erf(x[i])


# run k_erfc dim=33 x=u(-2,2)[33] y=z[33] ulp=4
@wp.kernel
def k_erfc(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.erfc(x[i])


# run k_erfinv dim=33 x=u(-0.9,0.9)[33] y=z[33] ulp=4
@wp.kernel
def k_erfinv(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.erfinv(x[i])


# run k_erfcinv dim=33 x=u(0.1,1.9)[33] y=z[33] ulp=4
@wp.kernel
def k_erfcinv(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.erfcinv(x[i])


# run k_radians dim=33 x=u(-180,180)[33] y=z[33] ulp=4
@wp.kernel
def k_radians(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.radians(x[i])


# run k_degrees dim=33 x=u(-3,3)[33] y=z[33] ulp=4
@wp.kernel
def k_degrees(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.degrees(x[i])


# run k_floor dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_floor(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.floor(x[i]) + x[i]


# run k_ceil dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_ceil(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.ceil(x[i]) + x[i]


# run k_trunc dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_trunc(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.trunc(x[i]) + x[i]


# run k_round dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_round(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.round(x[i]) + x[i]


# run k_rint dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_rint(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.rint(x[i]) + x[i]


# run k_frac dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_frac(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.frac(x[i]) + x[i]


# run k_sign dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_sign(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sign(x[i]) + x[i]


# run k_step dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_step(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.step(x[i]) + x[i]


# run k_nonzero dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_nonzero(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.nonzero(x[i]) + x[i]


# run k_abs dim=33 x=u(-3,3)[33] y=z[33]
@wp.kernel
def k_abs(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.abs(x[i]) + x[i]


# run k_pow dim=17 x=u(0.2,3)[17] y=u(-2,2)[17] z=z[17] ulp=4
@wp.kernel
def k_pow(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.pow(x[i], y[i])


# run k_atan2 dim=17 x=u(-2,2)[17] y=u(0.2,2)[17] z=z[17] ulp=4
@wp.kernel
def k_atan2(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.atan2(x[i], y[i])


# run k_min dim=17 x=u(-2,2)[17] y=u(-2,2)[17] z=z[17]
@wp.kernel
def k_min(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.min(x[i], y[i])


# run k_max dim=17 x=u(-2,2)[17] y=u(-2,2)[17] z=z[17]
@wp.kernel
def k_max(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.max(x[i], y[i])


# run k_copysign dim=17 x=u(-2,2)[17] y=u(-2,2)[17] z=z[17]
@wp.kernel
def k_copysign(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.copysign(x[i], y[i])


# run k_clamp dim=20 x=u(-2,2)[20] y=z[20]
@wp.kernel
def k_clamp(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.clamp(x[i], -0.5, 0.75)


# run k_lerp dim=20 x=u(-2,2)[20] y=u(-2,2)[20] z=z[20] ulp=4
@wp.kernel
def k_lerp(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    z[i] = wp.lerp(x[i], y[i], 0.25)


# run k_smoothstep dim=20 x=u(-2,2)[20] y=z[20] ulp=4
@wp.kernel
def k_smoothstep(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.smoothstep(-1.0, 1.5, x[i])


# run k_tests dim=20 x=i(-2,2)[20] y=z[20]
@wp.kernel
def k_tests(x: wp.array(dtype=float), y: wp.array(dtype=int)):
    i = wp.tid()
    v = 1.0 / x[i]
    r = int(0)
    if wp.isinf(v):
        r += 1
    if wp.isnan(x[i] * v):
        r += 2
    if wp.isfinite(v):
        r += 4
    y[i] = r
