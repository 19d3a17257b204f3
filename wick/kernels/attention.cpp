#include "wick/kernels/attention.h"

#include <fmt/format.h>

#include "wick/kernels/attention_arguments.h"
#include "wick/kernels/group_options.h"
#include "wick/kernels/group_reduce.h"
#include "wick/kernels/math.h"

namespace wick::kernels {

using ir::Element;
using ir::Kernel;
using ir::KernelBuilder;
using ir::Memory;
using ir::Reduce;
using ir::Type;
using ir::Value;
using ir::Variable;

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
    const Value weight = select(exists, exp_of_negative(score - new_largest), 0.0F), correction = exp_of_negative(largest - new_largest);
    sum = fma(sum, correction, weight);
    for (Variable& column : columns) column = column * correction;
    largest = new_largest;
    return weight;
  }
};

// The kernel in its making.
class Attention {
 public:
  Attention(const AttentionForm& form, const DeviceCaps& caps)
      : form_(form),
        options_(options_of(caps)),
        k_(fmt::format("attention_{}{}_r{}c{}{}{}", to_string(form.cache), form.access == RowAccess::elements ? "_strided" : "", form.rows,
                       form.columns, form.splits ? "_splits" : "", subgroup_suffix(options_)),
           options_),
        q_(k_.buffer("q", Element::f32)),
        key_units_(k_, form.cache, form.access, "k"),
        value_units_(k_, key_units_, "v"),
        out_(k_.output("out", Element::f32)),
        a_(k_),
        lanes_(options_.group_size),
        group_(k_) {
    if (form.splits) stats_ = k_.output("stats", Element::f32);
  }

  Kernel make() {
    query_.emplace(k_.shared(Element::f32, form_.rows * row_stride()));
    weights_.emplace(k_.shared(Element::f32, form_.rows * lanes_));
    const Value tile = k_.group_id(0), first_row = tile * form_.rows, kv_head = k_.group_id(1);
    load_queries(first_row, kv_head);
    std::vector<Running> running;
    for (uint32_t r = 0; r < form_.rows; ++r) running.emplace_back(k_, form_.columns);
    const auto [begin, end] = a_.positions(k_, first_row, form_.rows);
    k_.loop(begin, end, lanes_, [&, &end = end](const Value& first) { add_positions(running, first, end, first_row, kv_head); });
    for (uint32_t r = 0; r < form_.rows; ++r) store_row(running[r], first_row + r, kv_head);
    return k_.finish();
  }

 private:
  [[nodiscard]] uint32_t row_stride() const { return form_.columns * lanes_; }

  // The tile's queries, scaled; rows beyond the last repeat it.
  void load_queries(const Value& first_row, const Value& kv_head) {
    for (uint32_t r = 0; r < form_.rows; ++r) {
      const Value first = a_.q_offset + a_.output_row(min(first_row + r, a_.rows - 1U), kv_head) * a_.width;
      k_.loop(k_.local_id(), row_stride(), lanes_, [&](const Value& c) {
        (*query_)[c + r * row_stride()] = q_.load_if(c < a_.width, first + min(c, a_.width - 1U), 0.0F) * a_.scale;
      });
    }
    k_.barrier();
  }

  // A lane's scores of its position for every row.
  void score(std::vector<Variable>& scores, const Value& place) {
    const uint32_t unit = key_units_.unit();
    k_.loop(0, a_.width / unit, 1, [&](const Value& at) {
      const WeightUnit key = key_units_.read(place + at * key_units_.step());
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
    });
  }

  void add_positions(std::vector<Running>& running, const Value& first, const Value& end, const Value& first_row, const Value& kv_head) {
    const Value position = first + k_.local_id();
    std::vector<Variable> scores;
    for (uint32_t r = 0; r < form_.rows; ++r) scores.push_back(k_.variable(0.0F));
    // Lanes beyond the end read the last position again, and give it no weight.
    score(scores, a_.keys.place(kv_head, min(position, end - 1U)));
    for (uint32_t r = 0; r < form_.rows; ++r) {
      const Value exists = (position < end) & (position <= a_.past + (first_row + r) / a_.group);
      const Value masked = select(exists, scores[r], k_.lowest());
      const Value largest_here = group_(Reduce::maximum, masked);  // behind its barriers, what is running is read
      const Value largest = max(running[r].largest, largest_here);
      (*weights_)[k_.local_id() + r * lanes_] = running[r].add(largest, masked, exists);
    }
    k_.barrier();
    add_values(running, first, min(end - first, lanes_), kv_head);
    k_.barrier();
  }

  // Lane c adds up columns c, c + lanes … of the values of `count` positions.
  void add_values(std::vector<Running>& running, const Value& first, const Value& count, const Value& kv_head) {
    for (uint32_t c = 0; c < form_.columns; ++c) {
      const Value column = k_.local_id() + c * lanes_;
      k_.when(column < a_.width, [&] {
        k_.loop(0, count, 1, [&](const Value& p) {
          const Value value = value_units_.read_one(a_.values.place(kv_head, first + p), column);
          for (uint32_t r = 0; r < form_.rows; ++r) running[r].columns[c] = fma((*weights_)[p + r * lanes_], value, running[r].columns[c]);
        });
      });
    }
  }

  void store_row(const Running& running, const Value& row, const Value& kv_head) {
    const Value total = group_(Reduce::add, running.sum), exists = row < a_.rows;
    const Value at = a_.written_row(k_, form_.splits, row, kv_head);
    for (uint32_t c = 0; c < form_.columns; ++c) {
      const Value column = k_.local_id() + c * lanes_;
      const Value result = form_.splits ? Value(running.columns[c]) : running.columns[c] / total;
      out_.store_if(exists & (column < a_.width), a_.out_offset + at * a_.width + column, result);
    }
    if (!stats_) return;
    k_.when(exists & (k_.local_id() == 0U), [&] {
      (*stats_)[at * 2U] = running.largest;
      (*stats_)[at * 2U + 1U] = total;
    });
  }

  AttentionForm form_;
  ir::KernelOptions options_;
  KernelBuilder k_;
  Memory q_;
  UnitReader key_units_, value_units_;
  Memory out_;
  AttentionArguments a_;
  uint32_t lanes_;
  GroupReduce group_;
  std::optional<Memory> stats_, query_, weights_;
};

}  // namespace

uint32_t attention_lanes(const DeviceCaps& caps) { return options_of(caps).group_size; }

Kernel attention(const AttentionForm& form, const DeviceCaps& caps) { return Attention(form, caps).make(); }

Kernel attention_join(const DeviceCaps& caps) {
  const ir::KernelOptions options{.group_size = options_of(caps).group_size};
  KernelBuilder k("attention_join", options);
  const Memory parts = k.buffer("parts", Element::f32), stats = k.buffer("stats", Element::f32), out = k.output("out", Element::f32);
  const Value width = k.parameter("width", Type::u32), splits = k.parameter("splits", Type::u32);
  const Value out_offset = k.parameter("out_offset", Type::u32);
  const Value row = k.group_id(), first = row * splits;
  Variable largest = k.variable(k.lowest()), sum = k.variable(0.0F);
  k.loop(0, splits, 1, [&](const Value& i) { largest = max(largest, stats[(first + i) * 2U]); });
  k.loop(0, splits, 1,
         [&](const Value& i) { sum = fma(exp_of_negative(stats[(first + i) * 2U] - largest), stats[(first + i) * 2U + 1U], sum); });
  k.loop(k.local_id(), width, options.group_size, [&](const Value& column) {
    Variable total = k.variable(0.0F);
    k.loop(0, splits, 1, [&](const Value& i) {
      total = fma(exp_of_negative(stats[(first + i) * 2U] - largest), parts[(first + i) * width + column], total);
    });
    out[out_offset + row * width + column] = total / sum;
  });
  return k.finish();
}

}  // namespace wick::kernels
