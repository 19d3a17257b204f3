#include "wick/kernels/attention_arguments.h"

#include <fmt/format.h>

#include "wick/kernels/math.h"
#include "wick/kernels/math_detail.h"

namespace wick::kernels {

using namespace ir;

CacheView::CacheView(KernelBuilder& k, std::string_view name)
    : offset(k.parameter(fmt::format("{}_offset", name), Type::u32)),
      head_stride(k.parameter(fmt::format("{}_head", name), Type::u32)),
      slot_stride(k.parameter(fmt::format("{}_slot", name), Type::u32)) {}

AttentionArguments::AttentionArguments(KernelBuilder& k, const AttentionForm& form)
    : width(k.parameter("width", Type::u32)),
      value_width(k.parameter("value_width", Type::u32)),
      q_offset(k.parameter("q_offset", Type::u32)),
      keys(k, "k"),
      values(k, "v"),
      group(k.parameter("group", Type::u32)),
      heads(k.parameter("heads", Type::u32)),
      scale(k.parameter("scale", Type::f32)),
      out_offset(k.parameter("out_offset", Type::u32)),
      k_(k),
      form_(form),
      bounds_(k.buffer("bounds", Element::u32)),
      table_(k.buffer("table", Element::u32)),
      tokens_(k.parameter("tokens", Type::u32)),
      sequences_(k.parameter("sequences", Type::u32)),
      search_steps_(k.parameter("search_steps", Type::u32)),
      starts_offset_(k.parameter("starts_offset", Type::u32)),
      lengths_offset_(k.parameter("lengths_offset", Type::u32)),
      table_offset_(k.parameter("table_offset", Type::u32)),
      block_slots_(k.parameter("block_slots", Type::u32)) {
  const auto number = [&](const char* name) { return k.parameter(name, Type::u32); };
  if (form.splits) stats_offset = number("stats_offset");
  if (form.paged) {
    table_row_ = number("table_row");
    block_size_ = number("block_size");
  }
  if (form.window) window_ = number("window");
  if (form.chunk) chunk_ = number("chunk");
  if (form.softcap) softcap_ = k.parameter("softcap", Type::f32);
  if (form.slopes) {
    slopes_ = k.buffer("slopes", Element::f32);
    slopes_offset_ = number("slopes_offset");
  }
  if (!form.mask) return;
  mask_ = k.buffer("mask", Element::f32);
  mask_offset_ = number("mask_offset");
  mask_head_ = number("mask_head");
  mask_token_ = number("mask_token");
  mask_position_ = number("mask_position");
}

void AttentionArguments::find_block(const Value& block, uint32_t block_rows, uint32_t step) {
  // Sequence s has its blocks from number ⌊rows before it / block_rows⌋ + s on: room enough, and growing with s.
  const auto first_block = [&](const Value& s) { return bounds_[starts_offset_ + s] * group / block_rows + s; };
  Variable found = k_.variable(k_.constant(0U));
  k_.loop(0, search_steps_, 1, [&](const Value& i) {
    const Value candidate = found + (k_.constant(1U) << (search_steps_ - 1U - i));
    const Value fits = (candidate < sequences_) & (first_block(min(candidate, sequences_)) <= block);
    found = select(fits, candidate, found);
  });
  const Value sequence = found;
  first_token_ = bounds_[starts_offset_ + sequence];
  const Value count = bounds_[starts_offset_ + sequence + 1U] - first_token_;
  length_ = bounds_[lengths_offset_ + sequence];
  past_ = length_ - count;
  first_entry_ = table_offset_ + (form_.paged ? sequence * table_row_ : sequence);
  rows = count * group;
  first_row = (block - first_block(sequence)) * block_rows;
  const Value last_row = min(first_row + block_rows, rows) - 1U;
  const Value seen_end = form_.causal ? position_of(last_row) + 1U : length_;
  const Value visible = select(first_row < rows, seen_end, 0U), first = min(first_seen(position_of(first_row)), visible);
  if (form_.fixed) {
    // Rows take the positions in the same steps as they do in other blocks.
    first_seen_ = first;
    const Value split = form_.splits ? k_.group_id(2) * attention_fixed_length(step) : k_.constant(0U);
    begin = min(max(split, first - first % step), visible);
    end = form_.splits ? min(visible, split + attention_fixed_length(step)) : visible;
    return;
  }
  if (!form_.splits) {
    begin = first;
    end = visible;
    return;
  }
  const Value splits = k_.group_count(2), share = (visible - first + splits - 1U) / splits;
  const Value length = max((share + (step - 1)) / step * step, attention_fixed_length(step));
  begin = min(first + k_.group_id(2) * length, visible);
  end = min(visible, begin + length);
}

Value AttentionArguments::token_of(const Value& row) const { return min(first_token_ + row / group, tokens_ - 1U); }

Value AttentionArguments::output_row(const Value& row) const { return token_of(row) * heads + head_of(row); }

Value AttentionArguments::written_row(const Value& row) const {
  const Value place = output_row(row);
  return form_.splits ? place * k_.group_count(2) + k_.group_id(2) : place;
}

Value AttentionArguments::slot(const Value& any) const {
  const Value position = form_.fixed ? max(any, first_seen_) : any;
  if (!form_.paged) return table_[first_entry_] * block_slots_ + position;
  return table_[first_entry_ + position / block_size_] * block_slots_ + position % block_size_;
}

Value AttentionArguments::first_seen(const Value& position) const {
  Value first = k_.constant(0U);
  if (form_.window) first = select(position >= window_, position - window_ + 1U, 0U);
  if (form_.chunk) first = max(first, position - position % chunk_);
  return first;
}

AttentionArguments::Seen AttentionArguments::seen_by(const Value& row) const {
  const Value position = position_of(row);
  return {max(begin, first_seen(position)), form_.causal ? min(end, position + 1U) : end};
}

Value AttentionArguments::adjusted(const Value& score, const Value& row, const Value& position, float unit) const {
  Value result = score;
  if (form_.softcap) result = softcap_ * unit * tanh(result / (softcap_ * unit));
  if (form_.slopes) {
    const Value distance = cast(Type::f32, position) - cast(Type::f32, position_of(row));
    result = result + (*slopes_)[slopes_offset_ + head_of(row)] * distance * unit;
  }
  if (form_.mask) {
    const Value at = mask_offset_ + head_of(row) * mask_head_ + token_of(row) * mask_token_ + position * mask_position_;
    result = result + (*mask_)[at] * unit;
  }
  return result;
}

RowEnd::RowEnd(KernelBuilder& k, bool sinks, bool logarithms) {
  if (sinks) {
    sinks_ = k.buffer("sinks", Element::f32);
    sinks_offset_ = k.parameter("sinks_offset", Type::u32);
  }
  if (!logarithms) return;
  logarithms_ = k.output("logarithms", Element::f32);
  logarithms_offset_ = k.parameter("logarithms_offset", Type::u32);
}

RowEnd::Shares RowEnd::shares(const Value& largest, const Value& sum, const Value& head) {
  Shares shares{Value(), sum};
  Value highest = largest;
  if (sinks_) {
    const Value sink = (*sinks_)[sinks_offset_ + head];
    highest = max(largest, sink);
    shares.factor = detail::exp_of_negative(largest - highest);
    shares.total = fma(sum, shares.factor, detail::exp_of_negative(sink - highest));
  }
  if (logarithms_) logarithm_ = highest + log(shares.total);
  return shares;
}

// Of a row that sees nothing, 0.
Value RowEnd::Shares::of(const Value& column) const {
  const Value share = factor.builder() == nullptr ? column : column * factor;
  return select(total == 0, 0.0F, share / total);
}

void RowEnd::store_logarithm(const Value& gate, const Value& row) const {
  if (logarithms_) logarithms_->store_if(gate, logarithms_offset_ + row, logarithm_);
}

}  // namespace wick::kernels
