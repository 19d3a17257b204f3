// Runs the lanes of a group as fibers of one thread: what a barrier and an exchange between lanes need to run GPU code on the host.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

namespace shim {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

// A fiber takes one lane after another: making it is two calls of the system, and going on with it none.
struct Fiber {
  ucontext_t context;
  jmp_buf place;  // where it goes on, once it has begun
  std::vector<char> stack;
  bool has_begun = false, done = false;
};

inline jmp_buf scheduler;
inline std::vector<Fiber> fibers;
inline std::function<void()> body;
inline unsigned current = 0, subgroup_size = 1;
inline Index group, groups;
// Of each lane, for this exchange and the one before: nobody can be two behind.
inline std::vector<std::uint64_t> slots[2];
inline std::vector<unsigned> exchanges;

// Goes on when every other lane has come as far.
[[gnu::noinline]] inline void wait() {
  if (_setjmp(fibers[current].place) == 0) _longjmp(scheduler, 1);
}

inline void enter() {
  for (;;) {
    body();
    fibers[current].done = true;
    wait();
  }
}

// Until the fiber waits.
[[gnu::noinline]] inline void resume(Fiber& fiber) {
  if (_setjmp(scheduler) != 0) return;
  if (fiber.has_begun) _longjmp(fiber.place, 1);
  fiber.has_begun = true;
  fiber.stack.resize(1 << 17);
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.data();
  fiber.context.uc_stack.ss_size = fiber.stack.size();
  makecontext(&fiber.context, enter, 0);
  setcontext(&fiber.context);
}

// The values of all lanes of the group.
template <class T>
const std::uint64_t* exchange(T value) {
  std::vector<std::uint64_t>& slot = slots[exchanges[current]++ % 2];
  std::memcpy(&slot[current], &value, sizeof value);
  wait();
  return slot.data();
}

template <class T>
T from_lane(T value, unsigned lane) {
  T result;
  std::memcpy(&result, exchange(value) + current / subgroup_size * subgroup_size + lane, sizeof result);
  return result;
}

template <class T, class F>
T reduce(T value, F combine) {
  const std::uint64_t* all = exchange(value) + current / subgroup_size * subgroup_size;
  T result, next;
  std::memcpy(&result, all, sizeof result);
  for (unsigned i = 1; i < subgroup_size; ++i) {
    std::memcpy(&next, all + i, sizeof next);
    result = combine(result, next);
  }
  return result;
}

inline void run_group(unsigned lanes) {
  if (fibers.size() < lanes) fibers.resize(lanes);
  exchanges.assign(lanes, 0);
  for (auto& slot : slots) slot.assign(lanes, 0);
  for (Fiber& fiber : fibers) fiber.done = false;
  for (bool any = true; any;) {
    any = false;
    for (unsigned i = 0; i < lanes; ++i) {
      if (fibers[i].done) continue;
      current = i;
      resume(fibers[i]);
      any = true;
    }
  }
}

inline void run(const unsigned* grid, unsigned lanes, unsigned subgroup, std::function<void()> kernel) {
  body = std::move(kernel);
  subgroup_size = subgroup > 0 ? subgroup : 1;
  groups = {grid[0], grid[1], grid[2]};
  for (group.z = 0; group.z < groups.z; ++group.z) {
    for (group.y = 0; group.y < groups.y; ++group.y) {
      for (group.x = 0; group.x < groups.x; ++group.x) run_group(lanes);
    }
  }
}

// A matrix tile of which every lane has a whole copy.
template <class T, unsigned rows, unsigned columns>
struct Tile {
  T at[rows][columns];
  void fill(T value) {
    for (auto& row : at) {
      for (T& element : row) element = value;
    }
  }
  void load(const T* from, unsigned stride) {
    for (unsigned r = 0; r < rows; ++r) std::memcpy(at[r], from + r * stride, sizeof at[r]);
  }
  void store(T* to, unsigned stride) const {
    for (unsigned r = 0; r < rows; ++r) std::memcpy(to + r * stride, at[r], sizeof at[r]);
  }
};
template <class T, class U, unsigned m, unsigned n, unsigned k>
void multiply(Tile<T, m, n>& sum, const Tile<U, m, k>& left, const Tile<U, k, n>& right) {
  for (unsigned i = 0; i < m; ++i) {
    for (unsigned j = 0; j < n; ++j) {
      for (unsigned l = 0; l < k; ++l) sum.at[i][j] += T(left.at[i][l]) * T(right.at[l][j]);
    }
  }
}

// An argument of a kernel: the next buffer, or the parameters.
struct Arguments {
  void* const* buffers;
  const void* parameters;
  unsigned next = 0;
  template <class T>
  T get() {
    if constexpr (std::is_pointer_v<T>) {
      return static_cast<T>(buffers[next++]);
    } else {
      return *static_cast<const std::remove_cvref_t<T>*>(parameters);
    }
  }
};

}  // namespace shim
