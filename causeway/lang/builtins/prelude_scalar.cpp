// Builtins of numbers, written in the language.
#include "causeway/lang/builtins/prelude_text.h"

namespace causeway::lang {

const std::string_view kScalarMath = R"(
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

}  // namespace causeway::lang
