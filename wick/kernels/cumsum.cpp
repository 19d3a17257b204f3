#include "wick/kernels/cumsum.h"

#include <fmt/format.h>

#include <optional>

#include "wick/kernels/exact.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/math.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/strided.h"

namespace wick::kernels {

using namespace ir;

namespace {

// Elements that a lane adds up by itself.
constexpr uint32_t kRun = 4;

// A sum: its value and, of f32, what it was rounded by.
class Sums {
 public:
  Sums(KernelBuilder& k, Type type) : k_(k), type_(type), exact_(type == Type::f32) {}

  [[nodiscard]] Exact of(const Value& number) const { return {number, zero()}; }
  [[nodiscard]] Value zero() const { return k_.number_of(type_, 0, 0); }
  [[nodiscard]] Exact add(const Exact& a, const Exact& b) const { return exact_ ? sum(a, b) : Exact{a.value + b.value, a.error}; }
  [[nodiscard]] Exact choose(const Value& condition, const Exact& yes, const Exact& no) const {
    return {select(condition, yes.value, no.value), select(condition, yes.error, no.error)};
  }

  struct Place {
    Memory value;
    std::optional<Memory> error;
  };
  [[nodiscard]] Place shared(uint32_t count) const {
    const Element element = type_ == Type::i64   ? Element::i64
                            : type_ == Type::f64 ? Element::f64
                            : type_ == Type::f32 ? Element::f32
                            : type_ == Type::i32 ? Element::i32
                                                 : Element::u32;
    Place place{k_.shared(element, count), std::nullopt};
    if (exact_) place.error = k_.shared(element, count);
    return place;
  }
  void store(const Place& place, const Value& index, const Exact& number) const {
    place.value[index] = number.value;
    if (exact_) (*place.error)[index] = number.error;
  }
  [[nodiscard]] Exact load(const Place& place, const Value& index) const {
    return {place.value[index], exact_ ? Value((*place.error)[index]) : zero()};
  }

 private:
  KernelBuilder& k_;
  Type type_;
  bool exact_;
};

// The sum of this lane's and all lower lanes' numbers (Hillis & Steele 1986).
Exact scan(KernelBuilder& k, const Sums& sums, const Sums::Place& scratch, Exact number) {
  const Value t = k.local_id();
  for (uint32_t distance = 1; distance < k.kernel().group_size; distance *= 2) {
    k.barrier();
    sums.store(scratch, t, number);
    k.barrier();
    const Value has = t >= distance;
    number = sums.choose(has, sums.add(sums.load(scratch, select(has, t - distance, 0U)), number), number);
  }
  return number;
}

}  // namespace

ir::Kernel cumsum(DType dtype, uint32_t rank, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("cumsum_{}_r{}", to_string(dtype), rank), {.group_size = group_options(caps, 128).group_size});
  const Memory x = k.buffer("x", element_of(dtype)), y = k.output("y", element_of(dtype));
  StridedGrid grid(k, rank, k.group_id(1) * k.group_count(0) + k.group_id(0));
  const StridedGrid::View x_view = grid.view("x"), y_view = grid.view("y");
  const Value length = k.parameter("length", Type::u32), x_step = k.parameter("x_step", Type::u32),
              y_step = k.parameter("y_step", Type::u32);
  const Sums sums(k, compute_type(dtype));
  const uint32_t group = k.kernel().group_size;
  const Sums::Place scratch = sums.shared(group);
  const bool narrow = is_float(dtype) && info(dtype).block_bytes < 4;
  grid.run([&](const StridedGrid::Place& place) {
    const Value from = place(x_view), to = place(y_view), t = k.local_id();
    Variable value = k.variable(sums.zero()), error = k.variable(sums.zero());  // of what came before
    k.loop(0, length, group * kRun, [&](const Value& chunk) {
      const Value first = chunk + t * kRun;
      Exact run[kRun];
      for (uint32_t i = 0; i < kRun; ++i) {
        const Value at = first + i, inside = at < length;
        const Exact number = sums.of(select(inside, load_number(x, dtype, from + select(inside, at, 0U) * x_step), sums.zero()));
        run[i] = i == 0 ? number : sums.add(run[i - 1], number);
      }
      const Exact upto = scan(k, sums, scratch, run[kRun - 1]);
      k.barrier();
      sums.store(scratch, t, upto);
      k.barrier();
      const Exact lower = sums.choose(t > 0, sums.load(scratch, select(t > 0, t - 1U, 0U)), sums.of(sums.zero()));
      const Exact before = sums.add({value, error}, lower);
      for (uint32_t i = 0; i < kRun; ++i) {
        const Exact result = sums.add(before, run[i]);
        k.when(first + i < length,
               [&] { store_number(y, dtype, to + (first + i) * y_step, narrow ? rounded_to_odd(result) : result.value); });
      }
      const Exact all = sums.add({value, error}, sums.load(scratch, k.constant(group - 1)));
      value = all.value;
      if (compute_type(dtype) == Type::f32) error = all.error;
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
