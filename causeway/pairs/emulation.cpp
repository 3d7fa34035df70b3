#include "causeway/pairs/emulation.h"

namespace causeway::pairs {

std::string_view emulation_preamble() {
  return R"(
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <pthread.h>
#include <thread>
#include <vector>
#define __global__
#define __device__ static
#define __shared__ static
struct uint3 { unsigned x, y, z; };
static uint3 blockIdx, blockDim, gridDim;
static thread_local uint3 threadIdx;
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static pthread_barrier_t block_barrier;
static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;
static void __syncthreads() { pthread_barrier_wait(&block_barrier); }
template <class To, class From> static To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}
static float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static float __int_as_float(int x) { return same_bits<float>(x); }
static unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static double __longlong_as_double(long long x) { return same_bits<double>(x); }
static long long __double_as_longlong(double x) { return same_bits<long long>(x); }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }
template <class T, class F> static T exchanged(T* address, F f) {
  pthread_mutex_lock(&atomic_lock);
  const T old = *address;
  *address = f(old);
  pthread_mutex_unlock(&atomic_lock);
  return old;
}
template <class T> struct Same { using type = T; };
#define ATOMIC(name, expression) \
  template <class T> static T name(T* address, typename Same<T>::type value) { \
    return exchanged(address, [=](T old) { return T(expression); }); \
  }
ATOMIC(atomicAdd, old + value)
ATOMIC(atomicSub, old - value)
ATOMIC(atomicMin, value < old ? value : old)
ATOMIC(atomicMax, old < value ? value : old)
ATOMIC(atomicAnd, old & value)
ATOMIC(atomicOr, old | value)
ATOMIC(atomicXor, old ^ value)
ATOMIC(atomicExch, value)
template <class T>
static T atomicCAS(T* address, typename Same<T>::type compare, typename Same<T>::type value) {
  return exchanged(address, [=](T old) { return old == compare ? value : old; });
}
using Call = void (*)(void**);
struct Extent { unsigned size[3]; };
static void run_block(Call call, void** arguments, bool barriers) {
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  const auto run = [=](unsigned thread) {
    threadIdx = {thread % blockDim.x, thread / blockDim.x % blockDim.y, thread / blockDim.x / blockDim.y};
    call(arguments);
  };
  if (!barriers) {
    for (unsigned thread = 0; thread < n; ++thread) run(thread);
    return;
  }
  pthread_barrier_init(&block_barrier, nullptr, n);
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < n; ++thread) threads.emplace_back(run, thread);
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&block_barrier);
}
)";
}

lang::Emitted emulation_launcher() {
  lang::Emitted launcher;
  launcher.entry = "run_grid";
  launcher.text = R"(
static void run_grid(Call call, void** arguments, Extent grid, Extent block, bool barriers) {
  gridDim = {grid.size[0], grid.size[1], grid.size[2]};
  blockDim = {block.size[0], block.size[1], block.size[2]};
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) run_block(call, arguments, barriers);
}
)";
  for (const char* type : {"Call", "void**", "Extent", "Extent", "bool"}) {
    lang::EmittedParam param;
    param.type = type;
    launcher.params.push_back(param);
  }
  return launcher;
}

}  // namespace causeway::pairs
