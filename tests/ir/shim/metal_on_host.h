// The Metal Shading Language as C++ for the host: enough of it to run the printed kernels.
#pragma once

#include "fibers.h"

#define kernel
#define device
#define constant const
#define threadgroup

using uint = std::uint32_t;
using ushort = std::uint16_t;
using uchar = std::uint8_t;
using half = _Float16;
struct half2 {
  half x, y;
  half2(half first, half second) : x(first), y(second) {}
};

#define SHIM_VECTORS(T)                                  \
  struct T##2 {                                          \
    T x, y;                                              \
    T##2() = default;                                    \
    T##2(T a, T b) : x(a), y(b) {}                       \
  };                                                     \
  struct T##4 {                                          \
    T x, y, z, w;                                        \
    T##4() = default;                                    \
    T##4(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {} \
  };
SHIM_VECTORS(float)
SHIM_VECTORS(int)
SHIM_VECTORS(uint)
#undef SHIM_VECTORS
struct uint3 {
  uint x, y, z;
};
struct atomic_uint;
struct atomic_int;
struct atomic_float;

template <class To, class From>
To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

namespace metal {
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
inline mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(int(a) | int(b)); }
inline void threadgroup_barrier(mem_flags) { shim::wait(); }

template <class T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T max(T a, T b) {
  return a < b ? b : a;
}
template <class T>
T abs(T a) {
  return a < T(0) ? -a : a;
}
inline float trunc(float a) { return std::trunc(a); }
inline half trunc(half a) { return half(std::trunc(float(a))); }
inline float fma(float a, float b, float c) { return std::fma(a, b, c); }
inline half fma(half a, half b, half c) { return half(std::fma(float(a), float(b), float(c))); }
inline half exp2(half a) { return half(std::exp2(float(a))); }
inline half log2(half a) { return half(std::log2(float(a))); }
inline half sin(half a) { return half(std::sin(float(a))); }
inline half sqrt(half a) { return half(std::sqrt(float(a))); }
namespace precise {
inline float exp2(float a) { return std::exp2(a); }
inline float log2(float a) { return std::log2(a); }
inline float sin(float a) { return std::sin(a); }
inline float sqrt(float a) { return std::sqrt(a); }
}  // namespace precise

template <class T>
T simd_shuffle_xor(T v, ushort mask) {
  return shim::from_lane(v, shim::current % shim::subgroup_size ^ mask);
}
template <class T>
T simd_broadcast(T v, ushort lane) {
  return shim::from_lane(v, lane);
}
template <class T>
T simd_sum(T v) {
  return shim::reduce(v, [](T a, T b) { return T(a + b); });
}
template <class T>
T simd_min(T v) {
  return shim::reduce(v, [](T a, T b) { return b < a ? b : a; });
}
template <class T>
T simd_max(T v) {
  return shim::reduce(v, [](T a, T b) { return a < b ? b : a; });
}

enum memory_order { memory_order_relaxed };
template <class A>
struct AtomicValue;
template <>
struct AtomicValue<atomic_uint> {
  using type = uint;
};
template <>
struct AtomicValue<atomic_int> {
  using type = int;
};
template <>
struct AtomicValue<atomic_float> {
  using type = float;
};
template <class A>
using AtomicOf = typename AtomicValue<A>::type;
// One thread runs all lanes: nothing is divided.
template <class A, class F>
AtomicOf<A> shim_update(A* at, F f) {
  auto* value = reinterpret_cast<AtomicOf<A>*>(at);
  const AtomicOf<A> before = *value;
  *value = f(before);
  return before;
}
#define SHIM_ATOMIC(name, result)                                                                \
  template <class A>                                                                             \
  AtomicOf<A> name(A* at, AtomicOf<A> v, memory_order) {                                         \
    return shim_update(at, [&]([[maybe_unused]] AtomicOf<A> x) { return AtomicOf<A>(result); }); \
  }
SHIM_ATOMIC(atomic_fetch_add_explicit, x + v)
SHIM_ATOMIC(atomic_fetch_min_explicit, v < x ? v : x)
SHIM_ATOMIC(atomic_fetch_max_explicit, x < v ? v : x)
SHIM_ATOMIC(atomic_fetch_and_explicit, x& v)
SHIM_ATOMIC(atomic_fetch_or_explicit, x | v)
SHIM_ATOMIC(atomic_exchange_explicit, v)
#undef SHIM_ATOMIC

template <class T, unsigned columns, unsigned rows>
struct simdgroup_matrix : shim::Tile<T, rows, columns> {
  simdgroup_matrix& thread_elements() { return *this; }
  simdgroup_matrix& operator*=(const simdgroup_matrix& factors) {
    for (unsigned r = 0; r < rows; ++r) {
      for (unsigned c = 0; c < columns; ++c) this->at[r][c] *= factors.at[r][c];
    }
    return *this;
  }
};
template <class T, unsigned columns, unsigned rows>
simdgroup_matrix<T, columns, rows> make_filled_simdgroup_matrix(T v) {
  simdgroup_matrix<T, columns, rows> m;
  m.fill(v);
  return m;
}
template <class M, class T>
void simdgroup_load(M& m, const T* from, unsigned stride) {
  m.load(from, stride);
}
template <class M, class T>
void simdgroup_store(const M& m, T* to, unsigned stride) {
  m.store(to, stride);
}
template <class D, class A, class B>
void simdgroup_multiply_accumulate(D& d, const A& a, const B& b, const D&) {
  shim::multiply(d, a, b);
}
}  // namespace metal

// An argument of a kernel: a buffer, the parameters, two uint3 (group, groups), then lane of the group, lane and number of the subgroup.
struct ShimArguments : shim::Arguments {
  unsigned triples = 0, words = 0;
  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, uint3>) {
      const shim::Index& i = triples++ == 0 ? shim::group : shim::groups;
      return {i.x, i.y, i.z};
    } else if constexpr (std::is_same_v<T, uint>) {
      const uint number = words++;
      return number == 0 ? shim::current : number == 1 ? shim::current % shim::subgroup_size : shim::current / shim::subgroup_size;
    } else {
      return shim::Arguments::get<T>();
    }
  }
};

template <class... A>
void shim_run(void (*entry)(A...), const unsigned* grid, unsigned lanes, unsigned subgroup, void* const* buffers, const void* parameters) {
  shim::run(grid, lanes, subgroup, [=] {
    ShimArguments arguments{{buffers, parameters}};
    std::tuple<A...> values{arguments.template get<A>()...};
    std::apply(entry, values);
  });
}
