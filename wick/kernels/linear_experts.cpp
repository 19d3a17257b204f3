#include <fmt/format.h>

#include "wick/kernels/group_options.h"
#include "wick/kernels/linear.h"

namespace wick::kernels {

using namespace ir;

// One group: each lane counts the pairs of some experts, one lane adds the counts up, and each lane lists its experts' pairs.
ir::Kernel group_by_expert(uint32_t experts, uint32_t block, const DeviceCaps& caps) {
  KernelBuilder k(fmt::format("group_by_expert_{}_{}", experts, block), {.group_size = group_options(caps, 256).group_size});
  const Memory ids = k.buffer("ids", Element::i32), plan = k.output("plan", Element::u32);
  const Value ids_offset = k.parameter("ids_offset", Type::u32), pairs = k.parameter("pairs", Type::u32),
              tiles = k.parameter("tiles", Type::u32);
  const uint32_t groups = experts + 1, lanes = k.kernel().group_size;
  const Memory starts = k.shared(Element::u32, groups);
  const Value lane = k.local_id();
  const auto group_of = [&](const Value& pair) { return min(bitcast(Type::u32, ids.load(ids_offset + pair)), experts); };
  k.loop(lane, groups, lanes, [&](const Value& group) {
    Variable count = k.variable(k.constant(0U));
    k.loop(0, pairs, 1, [&](const Value& pair) { count = count + select(group_of(pair) == group, k.constant(1U), 0U); });
    starts[group] = count;
  });
  k.barrier();
  k.when(lane == 0U, [&] {
    Variable first = k.variable(k.constant(0U)), tile = k.variable(k.constant(0U));
    const auto store = [&](const Value& at, const Value& expert, const Value& begin, const Value& count) {
      plan[at * 3U] = expert;
      plan[at * 3U + 1U] = begin;
      plan[at * 3U + 2U] = count;
    };
    k.loop(0, groups, 1, [&](const Value& group) {
      const Value count = starts.load(group);
      starts[group] = Value(first);
      k.loop(0, count, block, [&](const Value& begin) {
        store(tile, group, first + begin, min(count - begin, block));
        tile = tile + 1U;
      });
      first = first + count;
    });
    const Value zero = k.constant(0U);
    k.loop(Value(tile), tiles, 1, [&](const Value& at) { store(at, zero, zero, zero); });
  });
  k.barrier();
  k.loop(lane, groups, lanes, [&](const Value& group) {
    Variable next = k.variable(starts.load(group));
    k.loop(0, pairs, 1, [&](const Value& pair) {
      k.when(group_of(pair) == group, [&] {
        plan[tiles * 3U + next] = pair;
        next = next + 1U;
      });
    });
  });
  return k.finish();
}

}  // namespace wick::kernels
