#include "wick/kernels/attention.h"

#include <fmt/format.h>

#include "wick/kernels/attention_arguments.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"
#include "wick/kernels/numbers.h"

namespace wick::kernels {

using namespace ir;

namespace {

ir::KernelOptions options_of(const DeviceCaps& caps) { return group_options(caps, 128); }

// The softmax of one row as far as it has come: the largest score, the same in all lanes; the lane's own sum and its columns of the output.
struct Running {
  Variable largest, sum;
  std::vector<Variable> columns;

  Running(KernelBuilder& k, uint32_t count) : largest(k.variable(k.lowest())), sum(k.variable(0.0F)) {
    for (uint32_t i = 0; i < count; ++i) columns.push_back(k.variable(0.0F));
  }
  // Online softmax: when the maximum moves, what was summed so far is scaled (Milakov & Gimelshein 2018). Gives the position's weight.
  Value add(const Value& new_largest, const Value& score, const Value& exists) {
    const Value weight = select(exists, detail::exp_of_negative(score - new_largest), 0.0F),
                correction = detail::exp_of_negative(largest - new_largest);
    sum = fma(sum, correction, weight);
    for (Variable& column : columns) column = column * correction;
    largest = new_largest;
    return weight;
  }
};

constexpr uint32_t kUnitsTogether = 4;  // of a key, that a lane reads before it uses them
// How many values a lane reads before it uses them: a device of few units is a processor, which waits for none of them, and compiles less
// text in less time.
uint32_t values_together(const DeviceCaps& caps, uint32_t lanes) {
  constexpr int kManyUnits = 16;
  constexpr uint32_t kTogether = 16;
  return caps.compute_units >= kManyUnits && lanes % kTogether == 0 ? kTogether : 1;
}

// The kernel in its making.
class Attention {
 public:
  Attention(const AttentionForm& form, const DeviceCaps& caps)
      : form_(form),
        options_(options_of(caps)),
        k_(fmt::format("attention_{}{}_r{}c{}{}{}", to_string(form.cache), form.access == RowAccess::elements ? "_strided" : "", form.rows,
                       form.columns, attention_suffix(form), subgroup_suffix(options_)),
           options_),
        q_(k_.buffer("q", Element::f32)),
        key_units_(k_, form.cache, form.access, "k"),
        value_units_(k_, key_units_, "v"),
        a_(k_, form),
        out_(k_.output("out", Element::f32)),
        row_end_(k_, form.sinks && !form.splits, form.logarithms && !form.splits),
        lanes_(options_.group_size),
        together_(values_together(caps, lanes_)),
        group_(k_) {}

  Kernel make() {
    query_.emplace(k_.shared(Element::f32, form_.rows * row_stride()));
    weights_.emplace(k_.shared(Element::f32, form_.rows * lanes_));
    if (form_.paged) slots_.emplace(k_.shared(Element::u32, lanes_));
    a_.find_block(k_.group_id(0), form_.rows, lanes_);
    load_queries();
    std::vector<Running> running;
    for (uint32_t r = 0; r < form_.rows; ++r) running.emplace_back(k_, form_.columns);
    k_.loop(a_.begin, a_.end, lanes_, [&](const Value& first) { add_positions(running, first); });
    std::vector<Value> sums;
    for (const Running& row : running) sums.push_back(row.sum);
    const std::vector<Value> totals = group_(Reduce::add, sums);
    for (uint32_t r = 0; r < form_.rows; ++r) store_row(running[r], totals[r], a_.first_row + r);
    return k_.finish();
  }

 private:
  [[nodiscard]] uint32_t row_stride() const { return form_.columns * lanes_; }

  // The block's queries, scaled.
  void load_queries() {
    k_.loop(k_.local_id(), row_stride(), lanes_, [&](const Value& c) {
      std::vector<Value> queries;
      for (uint32_t r = 0; r < form_.rows; ++r) {
        const Value first = a_.q_offset + a_.output_row(a_.first_row + r) * a_.width;
        queries.push_back(q_.load_if(c < a_.width, first + min(c, a_.width - 1U), 0.0F));
      }
      for (uint32_t r = 0; r < form_.rows; ++r) (*query_)[c + r * row_stride()] = queries[r] * a_.scale;
    });
    k_.barrier();
  }

  // A lane's scores of its position for every row.
  void score(std::vector<Variable>& scores, const Value& place) {
    const Value units = a_.width / key_units_.unit();
    // Units behind the last are the last one again, and meet queries that are 0 there.
    const uint32_t together = together_ > 1 && lanes_ % (kUnitsTogether * key_units_.unit()) == 0 ? kUnitsTogether : 1;
    k_.loop(0, units, together, [&](const Value& at) {
      std::vector<WeightUnit> keys;
      for (uint32_t i = 0; i < together; ++i) {
        const Value unit = together == 1 ? at : min(at + i, units - 1U);
        keys.push_back(key_units_.read(place + unit * key_units_.step()));
      }
      for (uint32_t i = 0; i < together; ++i) add_products(scores, keys[i], at + i);
    });
  }

  // The products of one unit of a key with every row.
  void add_products(std::vector<Variable>& scores, const WeightUnit& key, const Value& at) {
    const uint32_t unit = key_units_.unit();
    for (uint32_t r = 0; r < form_.rows; ++r) {
      Value sum = scores[r];
      for (uint32_t i = 0; i < unit; i += 4) {
        if (unit == 1) {
          sum = fma(key.element(0), (*query_)[at + r * row_stride()], sum);
          break;
        }
        const ir::Vector four = query_->load4(at * unit + (i + r * row_stride()));
        for (uint32_t j = 0; j < 4; ++j) sum = fma(key.element(i + j), four[j], sum);
      }
      scores[r] = sum;
    }
  }

  void add_positions(std::vector<Running>& running, const Value& first) {
    const Value position = first + k_.local_id();
    std::vector<Variable> scores;
    for (uint32_t r = 0; r < form_.rows; ++r) scores.push_back(k_.variable(0.0F));
    // Lanes beyond the end read the last position again, and give it no weight.
    const Value slot = a_.slot(min(position, a_.end - 1U));
    if (form_.paged) (*slots_)[k_.local_id()] = slot;
    score(scores, a_.keys.place(a_.kv_head(), slot));
    std::vector<Value> exist, masked;
    for (uint32_t r = 0; r < form_.rows; ++r) {
      const Value row = a_.first_row + r;
      exist.push_back(a_.seen_by(row).holds(position));
      masked.push_back(select(exist[r], a_.adjusted(scores[r], row, min(position, a_.end - 1U), 1), k_.lowest()));
    }
    const std::vector<Value> largest_here = group_(Reduce::maximum, masked);  // behind its barriers, what is running is read
    for (uint32_t r = 0; r < form_.rows; ++r) {
      const Value largest = max(running[r].largest, largest_here[r]);
      (*weights_)[k_.local_id() + r * lanes_] = running[r].add(largest, masked[r], exist[r]);
    }
    k_.barrier();
    add_values(running, first, min(a_.end - first, lanes_));
    k_.barrier();
  }

  // Lane c adds up columns c, c + lanes … of the values of `count` positions. Several are on their way at a time: a lane that waited for
  // each would wait most of the time. Those behind the last position are the last one's again, with weights of 0.
  void add_values(std::vector<Running>& running, const Value& first, const Value& count) {
    for (uint32_t c = 0; c < form_.columns; ++c) {
      const Value column = k_.local_id() + c * lanes_;
      k_.when(column < a_.value_width, [&] {
        k_.loop(0, count, together_, [&](const Value& p) {
          std::vector<Value> values;
          for (uint32_t i = 0; i < together_; ++i) {
            const Value position = first + (p + i);
            const Value slot = form_.paged ? Value((*slots_)[p + i]) : a_.slot(together_ == 1 ? position : min(position, a_.end - 1U));
            values.push_back(value_units_.read_one(a_.values.place(a_.kv_head(), slot), column));
          }
          for (uint32_t i = 0; i < together_; ++i) {
            for (uint32_t r = 0; r < form_.rows; ++r)
              running[r].columns[c] = fma((*weights_)[p + (i + r * lanes_)], values[i], running[r].columns[c]);
          }
        });
      });
    }
  }

  void store_row(const Running& running, const Value& total, const Value& row) {
    const Value exists = row < a_.rows;
    const Value at = a_.written_row(row);
    std::optional<RowEnd::Shares> shares;
    if (!form_.splits) shares = row_end_.shares(running.largest, total, a_.head_of(row));
    for (uint32_t c = 0; c < form_.columns; ++c) {
      const Value column = k_.local_id() + c * lanes_;
      const Value result = shares ? shares->of(running.columns[c]) : Value(running.columns[c]);
      out_.store_if(exists & (column < a_.value_width), a_.out_offset + at * a_.value_width + column, result);
    }
    row_end_.store_logarithm(exists & (k_.local_id() == 0U), at);
    if (!form_.splits) return;
    k_.when(exists & (k_.local_id() == 0U), [&] {
      out_[a_.stats_offset + at * 2U] = running.largest;
      out_[a_.stats_offset + at * 2U + 1U] = total;
    });
  }

  AttentionForm form_;
  ir::KernelOptions options_;
  KernelBuilder k_;
  Memory q_;
  UnitReader key_units_, value_units_;
  AttentionArguments a_;
  Memory out_;
  RowEnd row_end_;
  uint32_t lanes_, together_;
  GroupReduce group_;
  std::optional<Memory> query_, weights_, slots_;
};

}  // namespace

uint32_t attention_lanes(const DeviceCaps& caps) { return options_of(caps).group_size; }

Kernel attention(const AttentionForm& form, const DeviceCaps& caps) { return Attention(form, caps).make(); }

uint32_t AttentionForm::variant() const {
  uint32_t bits = 0;
  for (const bool is : {splits, fixed, paged, causal, window, chunk, softcap, slopes, mask, sinks, logarithms, halves})
    bits = 2 * bits + (is ? 1U : 0U);
  return bits;
}

std::string attention_suffix(const AttentionForm& form) {
  std::string letters;
  const auto add = [&](bool is, char letter) {
    if (is) letters += letter;
  };
  add(!form.causal, 'f');
  add(form.window, 'w');
  add(form.chunk, 'c');
  add(form.softcap, 't');
  add(form.slopes, 'a');
  add(form.mask, 'm');
  add(form.sinks && !form.splits, 's');
  add(form.logarithms && !form.splits, 'l');
  add(form.halves && !form.splits, 'h');
  return fmt::format("{}{}{}{}{}", form.splits ? "_splits" : "", form.fixed ? "_fixed" : "", form.paged ? "_paged" : "",
                     letters.empty() ? "" : "_", letters);
}

Kernel attention_join(DType result, bool sinks, bool logarithms, const DeviceCaps& caps) {
  const ir::KernelOptions options{.group_size = options_of(caps).group_size};
  KernelBuilder k(fmt::format("attention_join{}{}{}", sinks ? "_sinks" : "", logarithms ? "_logarithms" : "",
                              result == DType::f32 ? "" : fmt::format("_{}", to_string(result))),
                  options);
  const Memory parts = k.buffer("parts", Element::f32), out = k.output("out", element_of(result));
  const auto parameter = [&](const char* name) { return k.parameter(name, Type::u32); };
  const Value width = parameter("width"), splits = parameter("splits"), heads = parameter("heads"),
              stats_offset = parameter("stats_offset"), out_offset = parameter("out_offset");
  RowEnd row_end(k, sinks, logarithms);
  const Value row = k.group_id(), first = row * splits;
  // Several parts per iteration, so that their loads overlap. Indices past the last part load the last one again, with weight 0.
  constexpr uint32_t kTogether = 4;
  const auto part = [&](const Value& i) { return first + min(i, splits - 1U); };
  const auto stat = [&](const Value& i, uint32_t which) -> Value { return parts[stats_offset + part(i) * 2U + which]; };
  Variable largest = k.variable(k.lowest()), sum = k.variable(0.0F);
  k.loop(0, splits, kTogether, [&](const Value& i) {
    Value most = largest;
    for (uint32_t j = 0; j < kTogether; ++j) most = max(most, stat(i + j, 0));
    largest = most;
  });
  const auto factor = [&](const Value& i) { return select(i < splits, detail::exp_of_negative(stat(i, 0) - largest), 0.0F); };
  k.loop(0, splits, kTogether, [&](const Value& i) {
    Value total = sum;
    for (uint32_t j = 0; j < kTogether; ++j) total = fma(factor(i + j), stat(i + j, 1), total);
    sum = total;
  });
  const RowEnd::Shares shares = row_end.shares(largest, sum, row % heads);
  k.loop(k.local_id(), width, options.group_size, [&](const Value& column) {
    Variable total = k.variable(0.0F);
    k.loop(0, splits, kTogether, [&](const Value& i) {
      Value added = total;
      for (uint32_t j = 0; j < kTogether; ++j) added = fma(factor(i + j), parts[part(i + j) * width + column], added);
      total = added;
    });
    store_number(out, result, out_offset + row * width + column, shares.of(total));
  });
  row_end.store_logarithm(k.local_id() == 0U, row);
  return k.finish();
}

}  // namespace wick::kernels
