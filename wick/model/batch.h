// A Batch is what a model is given at once: tokens of one or many sequences, and which of them want a result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wick {

// Names a sequence of one KvPool, until it is freed. The empty handle names none.
struct SequenceHandle {
  uint32_t pool = 0, index = 0, generation = 0;
  [[nodiscard]] bool empty() const noexcept { return pool == 0; }
  friend bool operator==(const SequenceHandle&, const SequenceHandle&) = default;
};

// An adapter of the model (LanguageModel::add_adapter), by its number from 1, and what its part of each product is multiplied by.
struct AdapterUse {
  int32_t adapter = 0;
  float scale = 1;
};

// Consecutive rows of a batch that belong to one sequence.
struct SequenceSlice {
  int64_t first = 0, count = 0;
  SequenceHandle sequence = {};               // empty: what is computed for it is forgotten afterwards
  std::span<const AdapterUse> adapters = {};  // that its rows go through beside the model; the caller keeps them alive
  int64_t second = 0;                         // rows from this one of the slice on are of the second text of a pair; 0: there is one text
  // Length of an encoder–decoder's source, which is the first tokens of the sequence. All of them come in one step.
  int64_t source = 0;
  // Some of its rows may be wrong, such as proposed tokens: a state before them is kept, so that KvPool::truncate() can go back to it.
  bool is_tentative = false;
};

struct Batch {
  // A negative number refers to a token that is on the device only so far: earlier_token(i), number i of ForwardOptions::earlier.
  std::vector<int32_t> tokens = {};
  std::vector<int32_t> positions = {};        // of each token in its sequence, from 0
  std::vector<SequenceSlice> sequences = {};  // one behind another, all tokens in all
  std::vector<int32_t> logit_rows = {};       // the rows that want a result, in the order that they want it

  [[nodiscard]] int64_t rows() const noexcept { return static_cast<int64_t>(tokens.size()); }
  [[nodiscard]] static int32_t earlier_token(int64_t index) noexcept { return static_cast<int32_t>(-1 - index); }
  // Appends tokens of a sequence, which has `position` positions.
  enum class Results { none, last, all };
  void add(SequenceHandle sequence, int64_t position, std::span<const int32_t> more, Results results,
           std::span<const AdapterUse> adapters = {});

  // Checks that need no pool. Errors: invalid_argument for a batch without a sequence, slices that are not contiguous or
  // have no tokens, other than one position a token, and a sequence twice; index_out_of_range for a logit row.
  void check() const;
};

}  // namespace wick
