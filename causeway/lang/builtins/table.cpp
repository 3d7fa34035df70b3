// The table of builtins, by group.
#include "causeway/lang/builtins/table.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

namespace causeway::lang {

namespace {

using enum BuiltinForm;

constexpr Builtin kBuiltins[] = {
    {"sqrt", "Scalar math", "sqrt(x: F) -> F", float_unary, Op::sqrt},
    {"cbrt", "Scalar math", "cbrt(x: F) -> F", float_unary, Op::cbrt},
    {"exp", "Scalar math", "exp(x: F) -> F", float_unary, Op::exp},
    {"log", "Scalar math", "log(x: F) -> F", float_unary, Op::log},
    {"log2", "Scalar math", "log2(x: F) -> F", float_unary, Op::log2},
    {"log10", "Scalar math", "log10(x: F) -> F", float_unary, Op::log10},
    {"sin", "Scalar math", "sin(x: F) -> F", float_unary, Op::sin},
    {"cos", "Scalar math", "cos(x: F) -> F", float_unary, Op::cos},
    {"tan", "Scalar math", "tan(x: F) -> F", float_unary, Op::tan},
    {"asin", "Scalar math", "asin(x: F) -> F", float_unary, Op::asin},
    {"acos", "Scalar math", "acos(x: F) -> F", float_unary, Op::acos},
    {"atan", "Scalar math", "atan(x: F) -> F", float_unary, Op::atan},
    {"sinh", "Scalar math", "sinh(x: F) -> F", float_unary, Op::sinh},
    {"cosh", "Scalar math", "cosh(x: F) -> F", float_unary, Op::cosh},
    {"tanh", "Scalar math", "tanh(x: F) -> F", float_unary, Op::tanh},
    {"floor", "Scalar math", "floor(x: F) -> F", float_unary, Op::floor},
    {"ceil", "Scalar math", "ceil(x: F) -> F", float_unary, Op::ceil},
    {"trunc", "Scalar math", "trunc(x: F) -> F", float_unary, Op::trunc},
    {"round", "Scalar math", "round(x: F) -> F", float_unary, Op::round},
    {"rint", "Scalar math", "rint(x: F) -> F", float_unary, Op::rint},
    {"erf", "Scalar math", "erf(x: F) -> F", float_unary, Op::erf},
    {"erfc", "Scalar math", "erfc(x: F) -> F", float_unary, Op::erfc},
    {"erfinv", "Scalar math", "erfinv(x: F) -> F", float_unary, Op::erfinv},
    {"erfcinv", "Scalar math", "erfcinv(x: F) -> F", float_unary, Op::erfcinv},
    {"abs", "Scalar math", "abs(x: T) -> T; abs(v: vec[n,T]) -> vec[n,T]", number_unary, Op::abs},
    {"sign", "Scalar math", "sign(x: T) -> T; sign(v: vec[n,T]) -> vec[n,T]", number_unary, Op::sign},
    {"min", "Scalar math", "min(a: T, b: T) -> T; min(a: vec[n,T], b: vec[n,T]) -> vec[n,T]; min(v: vec[n,T]) -> T", number_binary, Op::min},
    {"max", "Scalar math", "max(a: T, b: T) -> T; max(a: vec[n,T], b: vec[n,T]) -> vec[n,T]; max(v: vec[n,T]) -> T", number_binary, Op::max},
    {"pow", "Scalar math", "pow(x: F, y: F) -> F", float_binary, Op::pow},
    {"atan2", "Scalar math", "atan2(y: F, x: F) -> F", float_binary, Op::atan2},
    {"copysign", "Scalar math", "copysign(x: F, y: F) -> F", float_binary, Op::copysign},
    {"isnan", "Scalar math", "isnan(x: F) -> bool; isnan(v: vec[n,F]) -> bool; isnan(m: mat[r,c,F]) -> bool", float_test, Op::isnan},
    {"isinf", "Scalar math", "isinf(x: F) -> bool; isinf(v: vec[n,F]) -> bool; isinf(m: mat[r,c,F]) -> bool", float_test, Op::isinf},
    {"isfinite", "Scalar math", "isfinite(x: F) -> bool; isfinite(v: vec[n,F]) -> bool; isfinite(m: mat[r,c,F]) -> bool", float_test, Op::isfinite},
    {"bit_count", "Scalar math", "bit_count(x: I) -> int32", int_unary, Op::bit_count},
    {"floor_div", "Scalar math", "a // b of integers, rounded down", prelude, Op::constant},
    {"clamp", "Scalar math", "clamp(x: T, low: T, high: T) -> T", prelude, Op::constant},
    {"step", "Scalar math", "step(x: T) -> T", prelude, Op::constant},
    {"nonzero", "Scalar math", "nonzero(x: T) -> T", prelude, Op::constant},
    {"frac", "Scalar math", "frac(x: F) -> F", prelude, Op::constant},
    {"radians", "Scalar math", "radians(x: F) -> F", prelude, Op::constant},
    {"degrees", "Scalar math", "degrees(x: F) -> F", prelude, Op::constant},
    {"lerp", "Scalar math", "lerp(a, b, t: F)", prelude, Op::constant},
    {"smoothstep", "Scalar math", "smoothstep(a: F, b: F, x: F) -> F", prelude, Op::constant},
    {"div_approx", "Scalar math", "div_approx(a: F, b: F) -> F", prelude, Op::constant},
    {"dot", "Vector math", "dot(a: vec[n,T], b: vec[n,T]) -> T", prelude, Op::constant},
    {"ddot", "Vector math", "ddot(a: mat[r,c,T], b: mat[r,c,T]) -> T", prelude, Op::constant},
    {"cross", "Vector math", "cross(a: vec[3,T], b: vec[3,T]) -> vec[3,T]", prelude, Op::constant},
    {"length", "Vector math", "length(v: vec[n,F]) -> F; length(q: quat[F]) -> F", prelude, Op::constant},
    {"length_sq", "Vector math", "length_sq(v: vec[n,T]) -> T; length_sq(q: quat[F]) -> F", prelude, Op::constant},
    {"normalize", "Vector math", "normalize(v: vec[n,F]) -> vec[n,F]; normalize(q: quat[F]) -> quat[F]", prelude, Op::constant},
    {"outer", "Vector math", "outer(a: vec[n,T], b: vec[m,T]) -> mat[n,m,T]", prelude, Op::constant},
    {"skew", "Vector math", "skew(v: vec[3,T]) -> mat[3,3,T]", prelude, Op::constant},
    {"cw_mul", "Vector math", "cw_mul(a, b): component-wise product of vectors or matrices", prelude, Op::constant},
    {"cw_div", "Vector math", "cw_div(a, b): component-wise quotient of vectors or matrices", prelude, Op::constant},
    {"argmin", "Vector math", "argmin(v: vec[n,T]) -> uint32", prelude, Op::constant},
    {"argmax", "Vector math", "argmax(v: vec[n,T]) -> uint32", prelude, Op::constant},
    {"norm_l1", "Vector math", "norm_l1(v: vec[n,F]) -> F", prelude, Op::constant},
    {"norm_l2", "Vector math", "norm_l2(v: vec[n,F]) -> F", prelude, Op::constant},
    {"norm_huber", "Vector math", "norm_huber(v: vec[n,F], delta: F) -> F", prelude, Op::constant},
    {"norm_pseudo_huber", "Vector math", "norm_pseudo_huber(v: vec[n,F], delta: F) -> F", prelude, Op::constant},
    {"smooth_normalize", "Vector math", "smooth_normalize(v: vec[n,F], delta: F) -> vec[n,F]", prelude, Op::constant},
    {"vector", "Vector math", "vector(x, …, dtype=T) -> vec[n,T]", special, Op::constant},
    {"mul", "Matrix math", "a * b, a @ b: products of matrices, vectors and quaternions", prelude, Op::constant},
    {"transpose", "Matrix math", "transpose(m: mat[r,c,T]) -> mat[c,r,T]", prelude, Op::constant},
    {"determinant", "Matrix math", "determinant(m: mat[n,n,F]) -> F, n from 2 to 4", prelude, Op::constant},
    {"inverse", "Matrix math", "inverse(m: mat[n,n,F]) -> mat[n,n,F], n from 2 to 4", prelude, Op::constant},
    {"trace", "Matrix math", "trace(m: mat[n,n,T]) -> T", prelude, Op::constant},
    {"diag", "Matrix math", "diag(v: vec[n,T]) -> mat[n,n,T]", prelude, Op::constant},
    {"get_diag", "Matrix math", "get_diag(m: mat[n,n,T]) -> vec[n,T]", prelude, Op::constant},
    {"matrix", "Matrix math", "matrix(x, …, shape=(r, c), dtype=T) -> mat[r,c,T]", special, Op::constant},
    {"identity", "Matrix math", "identity(n, dtype) -> mat[n,n,T]", special, Op::constant},
    {"matrix_from_cols", "Matrix math", "matrix_from_cols(v: vec[n,T], …) -> mat[n,m,T]", special, Op::constant},
    {"matrix_from_rows", "Matrix math", "matrix_from_rows(v: vec[n,T], …) -> mat[m,n,T]", special, Op::constant},
    {"quaternion", "Quaternion math", "quaternion(x, y, z, w) -> quat[F]", special, Op::constant},
    {"quat_identity", "Quaternion math", "quat_identity(dtype=float32) -> quat[F]", special, Op::constant},
    {"quat_inverse", "Quaternion math", "quat_inverse(q: quat[F]) -> quat[F]", prelude, Op::constant},
    {"quat_rotate", "Quaternion math", "quat_rotate(q: quat[F], v: vec[3,F]) -> vec[3,F]", prelude, Op::constant},
    {"quat_rotate_inv", "Quaternion math", "quat_rotate_inv(q: quat[F], v: vec[3,F]) -> vec[3,F]", prelude, Op::constant},
    {"quat_from_axis_angle", "Quaternion math", "quat_from_axis_angle(axis: vec[3,F], angle: F) -> quat[F]", prelude, Op::constant},
    {"quat_to_axis_angle", "Quaternion math", "quat_to_axis_angle(q: quat[F]) -> (vec[3,F], F)", prelude, Op::constant},
    {"quat_rpy", "Quaternion math", "quat_rpy(roll: F, pitch: F, yaw: F) -> quat[F]", prelude, Op::constant},
    {"quat_from_matrix", "Quaternion math", "quat_from_matrix(m: mat[3,3,F]) -> quat[F]", prelude, Op::constant},
    {"quat_to_matrix", "Quaternion math", "quat_to_matrix(q: quat[F]) -> mat[3,3,F]", prelude, Op::constant},
    {"quat_slerp", "Quaternion math", "quat_slerp(a: quat[F], b: quat[F], t: F) -> quat[F]", prelude, Op::constant},
    {"quat_twist", "Quaternion math", "quat_twist(axis: vec[3,F], q: quat[F]) -> quat[F]", prelude, Op::constant},
    {"quat_twist_angle", "Quaternion math", "quat_twist_angle(axis: vec[3,F], q: quat[F]) -> F", prelude, Op::constant},
    {"quat_to_rpy", "Quaternion math", "quat_to_rpy(q: quat[F]) -> vec[3,F]", prelude, Op::constant},
    {"rand_init", "Random and noise", "rand_init(seed: int32) -> uint32; rand_init(seed: int32, offset: int32) -> uint32", prelude, Op::constant},
    {"randi", "Random and noise", "randi(state) -> int32; randi(state, low: int32, high: int32) -> int32", prelude, Op::constant, true},
    {"randu", "Random and noise", "randu(state) -> uint32; randu(state, low: uint32, high: uint32) -> uint32", prelude, Op::constant, true},
    {"randf", "Random and noise", "randf(state) -> float32; randf(state, low: float32, high: float32) -> float32", prelude, Op::constant, true},
    {"randn", "Random and noise", "randn(state) -> float32; randn(state, mean: float32, std: float32) -> float32", prelude, Op::constant, true},
    {"poisson", "Random and noise", "poisson(state, lam: float32) -> uint32", prelude, Op::constant, true},
    {"sample_triangle", "Random and noise", "sample_triangle(state) -> vec2", prelude, Op::constant, true},
    {"sample_unit_ring", "Random and noise", "sample_unit_ring(state) -> vec2", prelude, Op::constant, true},
    {"sample_unit_disk", "Random and noise", "sample_unit_disk(state) -> vec2", prelude, Op::constant, true},
    {"sample_unit_sphere_surface", "Random and noise", "sample_unit_sphere_surface(state) -> vec3", prelude, Op::constant, true},
    {"sample_unit_sphere", "Random and noise", "sample_unit_sphere(state) -> vec3", prelude, Op::constant, true},
    {"sample_unit_hemisphere_surface", "Random and noise", "sample_unit_hemisphere_surface(state) -> vec3", prelude, Op::constant, true},
    {"sample_unit_hemisphere", "Random and noise", "sample_unit_hemisphere(state) -> vec3", prelude, Op::constant, true},
    {"sample_unit_square", "Random and noise", "sample_unit_square(state) -> vec2", prelude, Op::constant, true},
    {"sample_unit_cube", "Random and noise", "sample_unit_cube(state) -> vec3", prelude, Op::constant, true},
    {"sample_cdf", "Random and noise", "sample_cdf(state, cdf: array[1,float32]) -> int32", prelude, Op::constant, true},
    {"noise", "Random and noise", "noise(state, x: float32); noise(state, p: vec2 | vec3 | vec4) -> float32", prelude, Op::constant},
    {"pnoise", "Random and noise", "pnoise(state, x: float32, px: int32); pnoise(state, p: vec2 | vec3 | vec4, px: int32, …) -> float32", prelude, Op::constant},
    {"tid", "Threads and arrays", "tid() -> int32; i, j = tid() in launches of 2 to 4 dimensions", special, Op::constant},
    {"len", "Threads and arrays", "len(a) -> int32: first dimension of an array, length of a vector, rows of a matrix", special, Op::constant},
    {"where", "Threads and arrays", "where(cond, value_if_true: A, value_if_false: A) -> A", special, Op::constant},
    {"select", "Threads and arrays", "removed from the language; see where", special, Op::constant},
    {"static", "Threads and arrays", "static(expr): a constant", special, Op::constant},
    {"constant", "Threads and arrays", "constant(expr): a constant", special, Op::constant},
    {"print", "Threads and arrays", "print(x)", special, Op::constant},
    {"printf", "Threads and arrays", "printf(format, x, …)", special, Op::constant},
    {"range", "Threads and arrays", "range(stop), range(start, stop), range(start, stop, step): for loops", special, Op::constant},
    {"cast", "Threads and arrays", "not supported; see the scalar types", special, Op::constant},
    {"lower_bound", "Threads and arrays", "lower_bound(a: array[1,T], value: T) -> int32; lower_bound(a: array[1,T], begin: int32, end: int32, value: T) -> int32", prelude, Op::constant},
    {"atomic_add", "Atomics", "atomic_add(a: array, i, …, value) -> the value before", atomic, Op::atomic_add},
    {"atomic_sub", "Atomics", "atomic_sub(a: array, i, …, value) -> the value before", atomic, Op::atomic_sub},
    {"atomic_min", "Atomics", "atomic_min(a: array, i, …, value) -> the value before", atomic, Op::atomic_min},
    {"atomic_max", "Atomics", "atomic_max(a: array, i, …, value) -> the value before", atomic, Op::atomic_max},
    {"atomic_and", "Atomics", "atomic_and(a: array, i, …, value) -> the value before", atomic, Op::atomic_and},
    {"atomic_or", "Atomics", "atomic_or(a: array, i, …, value) -> the value before", atomic, Op::atomic_or},
    {"atomic_xor", "Atomics", "atomic_xor(a: array, i, …, value) -> the value before", atomic, Op::atomic_xor},
    {"atomic_exch", "Atomics", "atomic_exch(a: array, i, …, value) -> the value before", atomic, Op::atomic_exch},
    {"atomic_cas", "Atomics", "atomic_cas(a: array, i, …, compare, value) -> the value before", atomic, Op::atomic_cas},
    {"block_sum", "Block reductions", "block_sum(x: T) -> T over the threads of a block", block, Op::block_sum},
    {"block_min", "Block reductions", "block_min(x: T) -> T over the threads of a block", block, Op::block_min},
    {"block_max", "Block reductions", "block_max(x: T) -> T over the threads of a block", block, Op::block_max},
};

}  // namespace

std::span<const Builtin> builtins() { return kBuiltins; }

const Builtin* find_builtin(std::string_view name) {
  static const auto* const index = [] {
    auto* map = new std::unordered_map<std::string_view, const Builtin*>();
    for (const Builtin& builtin : kBuiltins) map->emplace(builtin.name, &builtin);
    return map;
  }();
  const auto found = index->find(name);
  return found == index->end() ? nullptr : found->second;
}

}  // namespace causeway::lang
