// Arguments common to all attention kernels, and what follows from them for a group: its sequence, rows and positions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wick/ir/builder.h"
#include "wick/kernels/attention.h"

namespace wick::kernels {

// Keys, or values: where a slot's numbers are.
struct CacheView {
  ir::Value offset, head_stride, slot_stride;

  CacheView(ir::KernelBuilder& k, std::string_view name);
  [[nodiscard]] ir::Value place(const ir::Value& head, const ir::Value& slot) const {
    return offset + head * head_stride + slot * slot_stride;
  }
};

// Declares the buffers behind the values and the parameters; kernels::attention says what each is.
class AttentionArguments {
 public:
  AttentionArguments(ir::KernelBuilder& k, const AttentionForm& form);

  ir::Value width, value_width, q_offset;
  CacheView keys, values;
  ir::Value group, heads, scale, out_offset, stats_offset;

  // Those of the block's sequence with `block_rows` rows of queries, and of a split in whole `step`s: called once, before all others.
  void find_block(const ir::Value& block, uint32_t block_rows, uint32_t step);
  // The first row of the block, among the rows of its sequence, and how many there are; not more than the first where the block is none.
  ir::Value first_row, rows;
  // The positions that the block works on: those of its split that any of its rows sees.
  ir::Value begin, end;

  // The token and head in [tokens, heads]; rows beyond the last are the last of all.
  [[nodiscard]] ir::Value output_row(const ir::Value& row) const;
  // The row in what the block writes: with splits, each split has one of its own.
  [[nodiscard]] ir::Value written_row(const ir::Value& row) const;
  // The slot of a position below `end`. Where splits are fixed, they may begin with positions that no row sees: those have the first one's.
  [[nodiscard]] ir::Value slot(const ir::Value& position) const;
  // The positions of the block that a row attends to.
  struct Seen {
    ir::Value begin, end;
    [[nodiscard]] ir::Value holds(const ir::Value& position) const { return (position >= begin) & (position < end); }
  };
  [[nodiscard]] Seen seen_by(const ir::Value& row) const;
  // The score after scale, softcap, ALiBi and mask; scores and results are in units of 1 / `unit`.
  [[nodiscard]] ir::Value adjusted(const ir::Value& score, const ir::Value& row, const ir::Value& position, float unit) const;
  [[nodiscard]] ir::Value kv_head() const { return k_.group_id(1); }
  [[nodiscard]] ir::Value head_of(const ir::Value& row) const { return kv_head() * group + row % group; }

 private:
  [[nodiscard]] ir::Value token_of(const ir::Value& row) const;  // in the batch
  [[nodiscard]] ir::Value position_of(const ir::Value& row) const { return past_ + row / group; }
  [[nodiscard]] ir::Value first_seen(const ir::Value& position) const;

  ir::KernelBuilder& k_;
  AttentionForm form_;
  ir::Memory bounds_, table_;
  std::optional<ir::Memory> slopes_, mask_;
  ir::Value tokens_, sequences_, search_steps_, starts_offset_, lengths_offset_, table_offset_, block_slots_;
  ir::Value table_row_, block_size_, window_, chunk_, softcap_, slopes_offset_, mask_offset_, mask_head_, mask_token_, mask_position_;
  // Values of the block's sequence.
  ir::Value first_token_, past_, length_, first_entry_;
  ir::Value first_seen_;  // by any row of the block, if splits are fixed
};

// The form in a kernel's name: (f)ull, (w)indow, (c)hunk, (t)anh of a softcap, (a)libi, (m)ask, (s)inks, (l)ogarithms, (h)alves.
[[nodiscard]] std::string attention_suffix(const AttentionForm& form);

// The end of a row: adds the sink's share to the sum, divides by it, and writes the logarithm.
class RowEnd {
 public:
  // Declares what the form needs: buffers sinks and logarithms, and their parameters.
  RowEnd(ir::KernelBuilder& k, bool sinks, bool logarithms);

  // Factors for Σ e^(score - largest): multiplier and divisor of the row's columns.
  struct Shares {
    ir::Value factor, total;
    [[nodiscard]] ir::Value of(const ir::Value& column) const;
  };
  [[nodiscard]] Shares shares(const ir::Value& largest, const ir::Value& sum, const ir::Value& head);
  // At row `row` of the results, where the gate is true.
  void store_logarithm(const ir::Value& gate, const ir::Value& row) const;

 private:
  std::optional<ir::Memory> sinks_, logarithms_;
  ir::Value sinks_offset_, logarithms_offset_, logarithm_;
};

}  // namespace wick::kernels
