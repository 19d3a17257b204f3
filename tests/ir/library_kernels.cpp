#include "ir/library_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>

#include "wick/kernels/attention.h"
#include "wick/kernels/causal_conv.h"
#include "wick/kernels/cumsum.h"
#include "wick/kernels/dequantize.h"
#include "wick/kernels/fill.h"
#include "wick/kernels/images.h"
#include "wick/kernels/indexing.h"
#include "wick/kernels/linear.h"
#include "wick/kernels/matmul.h"
#include "wick/kernels/normalize.h"
#include "wick/kernels/numbers.h"
#include "wick/kernels/quantize.h"
#include "wick/kernels/quantized_matvec.h"
#include "wick/kernels/random.h"
#include "wick/kernels/recurrent_step.h"
#include "wick/kernels/reduce.h"
#include "wick/kernels/rope.h"
#include "wick/kernels/sample.h"
#include "wick/kernels/sort.h"

namespace wick::ir {
namespace {

using kernels::RowAccess;
using kernels::RowLanes;

using Make = std::function<Kernel()>;
// All parameters of one function of kernels/.
using Family = std::vector<Make>;

constexpr DType kPlain[] = {DType::u8,   DType::u32, DType::i8,  DType::i16, DType::i32,   DType::i64,
                            DType::bf16, DType::f16, DType::f32, DType::f64, DType::f8e4m3};
constexpr uint32_t kRanks[] = {1, 2, 4};
constexpr uint32_t kElementBytes[] = {1, 2, 4, 8};
// The buffers of attention with everything that it can have: a device with fewer refuses such a kernel.
constexpr uint32_t kAllOfAttention = 10;
constexpr RowLanes kRowLanes[] = {RowLanes::one, RowLanes::group, RowLanes::widest};

class Families {
 public:
  explicit Families(const DeviceCaps& caps) : caps_(caps) {
    for (const DType dtype : kPlain) {
      const bool lacks = (dtype == DType::i64 && !caps.int64) || (dtype == DType::f64 && !caps.f64_arithmetic);
      if (lacks) continue;
      numbers_.push_back(dtype);
      if (is_float(dtype)) floats_.push_back(dtype);
    }
    for (int i = 0; i < kDTypeCount; ++i) {
      if (kernels::reads_blocks_of(static_cast<DType>(i))) quantized_.push_back(static_cast<DType>(i));
    }
    add_rows();
    add_order();
    add_indexing();
    add_images();
    add_products();
    add_rest();
  }

  [[nodiscard]] const std::vector<Family>& all() const noexcept { return all_; }

 private:
  void begin() { all_.emplace_back(); }
  void add(Make make) { all_.back().push_back(std::move(make)); }

  void add_rows() {
    begin();
    for (const DType dtype : floats_) {
      for (const RowLanes lanes : kRowLanes) {
        for (const bool log : {false, true}) add([=, this] { return kernels::softmax(dtype, log, lanes, caps_); });
      }
    }
    begin();
    for (const DType dtype : floats_) {
      for (const RowLanes lanes : kRowLanes) {
        add([=, this] { return kernels::rms_norm(dtype, dtype, lanes, caps_); });
        add([=, this] { return kernels::layer_norm(dtype, lanes, caps_); });
      }
    }
    begin();
    for (const RowLanes lanes : kRowLanes) add([=, this] { return kernels::rms_norm(DType::f32, DType::f16, lanes, caps_); });
    for (const DType result : {DType::f32, DType::f16}) {
      for (const uint32_t width : {1U, 4U})
        add([=, this] { return kernels::add_rms_norm(DType::f32, result, width, RowLanes::group, caps_); });
      add([=, this] { return kernels::add_rms_norm_held(result, 2, RowLanes::group, caps_); });
    }
    begin();
    for (const DType dtype : numbers_) {
      const DType sum = is_float(dtype) ? (dtype == DType::f64 ? DType::f64 : DType::f32) : dtype;
      for (const RowLanes lanes : kRowLanes) add([=, this] { return kernels::reduce_sum(dtype, sum, lanes, caps_); });
    }
    begin();
    for (const DType dtype : kPlain) {
      for (const RowLanes lanes : kRowLanes) {
        for (const bool value : {false, true}) {
          for (const bool chooses : {false, true})
            add([=, this] { return kernels::reduce_extreme({.dtype = dtype, .gives_value = value, .chooses = chooses}, lanes, caps_); });
        }
      }
    }
    begin();
    for (const DType dtype : numbers_) {
      for (const uint32_t rank : kRanks) add([=, this] { return kernels::cumsum(dtype, rank, caps_); });
    }
  }

  void add_order() {
    begin();
    for (const DType dtype : kPlain) {
      for (const uint32_t rank : kRanks) add([=, this] { return kernels::order_keys(dtype, rank, caps_); });
    }
    begin();
    for (const uint32_t words : {1U, 2U}) add([=, this] { return kernels::sort_runs(words, caps_); });
    begin();
    for (const uint32_t words : {1U, 2U}) add([=, this] { return kernels::merge_runs(words, caps_); });
  }

  void add_indexing() {
    begin();
    for (const DType ids : {DType::u8, DType::u32, DType::i64}) {
      for (const uint32_t rank : kRanks) add([=, this] { return kernels::check_ids(ids, rank, caps_); });
    }
    begin();
    for (const uint32_t bytes : kElementBytes) {
      for (const bool keeps : {false, true}) {
        for (const uint32_t rank : kRanks) add([=, this] { return kernels::take(bytes, keeps, rank, caps_); });
      }
    }
    for (const kernels::Repeated repeated : {kernels::Repeated::last, kernels::Repeated::sum}) {
      begin();
      for (const DType dtype : numbers_) {
        for (const uint32_t rank : kRanks) add([=, this] { return kernels::put(dtype, repeated, rank, caps_); });
      }
    }
    begin();
    for (const DType ids : {DType::u8, DType::u32, DType::i64}) {
      for (const uint32_t rank : kRanks) {
        for (const DType table : quantized_) add([=, this] { return kernels::embedding_of_blocks(table, ids, rank, caps_); });
        for (const DType table : floats_) add([=, this] { return kernels::embedding_of_numbers(table, ids, rank, caps_); });
      }
    }
  }

  void add_images() {
    for (const kernels::ConvDirection direction : {kernels::ConvDirection::forward, kernels::ConvDirection::transposed}) {
      begin();
      for (const DType dtype : numbers_) add([=, this] { return kernels::conv2d(dtype, direction, caps_); });
    }
    begin();
    for (const DType dtype : floats_) add([=, this] { return kernels::avg_pool2d(dtype, caps_); });
    begin();
    for (const DType dtype : kPlain) add([=, this] { return kernels::max_pool2d(dtype, caps_); });
    begin();
    for (const uint32_t bytes : kElementBytes) add([=, this] { return kernels::upsample_nearest(bytes, caps_); });
    begin();
    for (const DType dtype : floats_) add([=, this] { return kernels::upsample_bilinear(dtype, caps_); });
  }

  // Weights of every format, as vectors and as elements.
  void each_weight(const std::function<void(DType, RowAccess)>& f) const {
    for (const DType dtype : quantized_) f(dtype, RowAccess::blocks);
    for (const DType dtype : floats_) {
      f(dtype, RowAccess::elements);
      if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) f(dtype, RowAccess::vectors);
    }
  }

  void add_products() {
    begin();
    each_weight([&](DType dtype, RowAccess access) {
      for (uint32_t tokens = 1; tokens <= kernels::kMaxMatvecTokens; tokens *= 2) {
        add([=, this] { return kernels::matvec({.dtype = dtype, .access = access}, tokens, caps_); });
        add([=, this] {
          const kernels::LinearExtras extras{.norm = true, .bias = true};
          return kernels::matvec({.dtype = dtype, .access = access, .gate = GateKind::gelu, .extras = extras}, tokens, caps_);
        });
      }
      add([=, this] {
        return kernels::matvec({.dtype = dtype, .access = access, .gate = GateKind::swiglu_oai, .extras = {.bias = true}, .experts = true},
                               1, caps_);
      });
    });
    begin();
    each_weight([&](DType dtype, RowAccess access) {
      add([=, this] { return kernels::linear_blocks({.dtype = dtype, .access = access}, caps_); });
      add([=, this] {
        return kernels::linear_blocks({.dtype = dtype, .access = access, .extras = {.bias = true}, .experts = true}, caps_);
      });
    });
    begin();
    for (const DType dtype : floats_) {
      add([=, this] { return kernels::matmul_blocks(dtype, caps_); });
      for (const RowLanes lanes : {RowLanes::one, RowLanes::group})
        add([=, this] { return kernels::matmul_elements(dtype, lanes, caps_); });
    }
    begin();
    for (const auto& [dtype, access] : {std::pair(DType::f16, RowAccess::vectors), std::pair(DType::f16, RowAccess::elements),
                                        std::pair(DType::bf16, RowAccess::vectors), std::pair(DType::f32, RowAccess::vectors),
                                        std::pair(DType::f32, RowAccess::elements), std::pair(DType::q8_0, RowAccess::blocks)}) {
      for (const uint32_t rows : {1U, 2U, 4U}) {
        for (const bool splits : {false, true})
          add([=, this] {
            const kernels::AttentionForm form{
                .cache = dtype, .access = access, .rows = rows, .columns = 2, .splits = splits, .paged = splits};
            return kernels::attention(form, caps_);
          });
        if (caps_.max_storage_buffers < kAllOfAttention) continue;
        add([=, this] {
          const kernels::AttentionForm form{.cache = dtype,
                                            .access = access,
                                            .rows = rows,
                                            .columns = 1,
                                            .paged = true,
                                            .causal = false,
                                            .window = true,
                                            .chunk = true,
                                            .softcap = true,
                                            .slopes = true,
                                            .mask = true,
                                            .sinks = true,
                                            .logarithms = true};
          return kernels::attention(form, caps_);
        });
      }
    }
  }

  void add_rest() {
    begin();
    for (const uint32_t bytes : kElementBytes) {
      for (const uint32_t rank : kRanks) add([=, this] { return kernels::fill(bytes, rank, caps_); });
    }
    begin();
    for (const DType from : quantized_) {
      for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
        for (const uint32_t rank : kRanks) add([=, this] { return kernels::dequantize(from, to, rank, caps_); });
      }
    }
    begin();
    for (const uint32_t rank : kRanks) add([=, this] { return kernels::quantize_q8_0(rank, caps_); });
    begin();
    for (const DType dtype : floats_) {
      for (const kernels::RandomNumbers kind : {kernels::RandomNumbers::uniform, kernels::RandomNumbers::normal})
        add([=, this] { return kernels::random(kind, dtype, caps_); });
    }
    begin();
    for (const DType dtype : floats_) add([=, this] { return kernels::rope(dtype, caps_); });
    begin();
    for (const auto& row : kGateKinds) add([=, this] { return kernels::gate_pairs(row.kind, row.kind != GateKind::gelu, caps_); });
    for (const bool to_halves : {false, true}) add([=, this] { return kernels::gate_halves(GateKind::silu, to_halves, caps_); });
    add([this] { return kernels::group_by_expert(128, 64, caps_); });
    add([this] { return kernels::sample(caps_); });
    add([this] { return kernels::causal_conv({.silu = true}, 4, caps_); });
    for (const bool delta : {false, true}) {
      const kernels::RecurrentShape shape{.keys = 128, .columns = kernels::recurrent_columns(128, caps_), .decays_by_key = delta};
      add([=, this] { return kernels::recurrent_step({delta, delta}, shape, caps_); });
    }
    for (const DType result : {DType::f32, DType::f16}) {
      for (const bool ends : {false, true}) add([=, this] { return kernels::attention_join(result, ends, ends, caps_); });
    }
  }

  const DeviceCaps& caps_;
  std::vector<DType> numbers_, floats_, quantized_;
  std::vector<Family> all_;
};

}  // namespace

std::vector<Kernel> sampled_kernels(const DeviceCaps& caps, uint64_t seed, std::size_t each) {
  const Families families(caps);
  std::mt19937_64 random(seed);
  std::vector<Kernel> kernels;
  for (const Family& family : families.all()) {
    // The standard library's shuffles differ from one to the next; its generators do not.
    std::vector<std::size_t> order(family.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      std::swap(order[i], order[random() % (i + 1)]);
    }
    for (std::size_t i = 0; i < std::min(each, order.size()); ++i) kernels.push_back(family[order[i]]());
  }
  return kernels;
}

uint64_t text_seed() {
  const char* const seed = std::getenv("WICK_TEXT_SEED");
  return seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10);
}

}  // namespace wick::ir
