// A KvStep takes one batch into a KvPool: part by part, and only as a whole.
#pragma once

#include <cstdint>
#include <vector>

#include "wick/model/kv/kv_pool.h"

namespace wick {

// Where rows of a batch stand, as the attention of a device reads it. All numbers are i32.
struct KvPlan {
  int64_t sequences = 0;
  std::vector<int32_t> positions;  // [rows]
  std::vector<int32_t> starts;     // [sequences + 1]: the first row of each, and behind the last
  std::vector<int32_t> lengths;    // [sequences]: positions of each, these rows included
  struct Group {
    std::vector<int32_t> slots;  // [rows]: where keys and values go
    std::vector<int32_t> table;  // [sequences, blocks]; any block where none is needed
    int64_t blocks = 0;
  };
  std::vector<Group> groups;
  std::vector<int32_t> state_from, state_to;  // [sequences]: the slabs that states are read from and written to; they may be one
};

// Used as
//   KvStep step = pool.begin(batch);
//   for (parts of the rows) { plan = step.plan(first, count); … the model's layers …; step.advance(); }
//   step.commit();
// Until commit() the sequences can go back to what they were, and do if there is none: by an error, or since somebody said stop.
class KvStep {
 public:
  KvStep(KvStep&& other) noexcept;
  KvStep& operator=(KvStep&&) = delete;
  ~KvStep();

  // Takes blocks for the next `count` rows, which begin at `first`. Errors: out_of_memory.
  [[nodiscard]] const KvPlan& plan(int64_t first, int64_t count);
  // The planned rows' keys, values and states have been written (or queued to be).
  void advance();
  // All rows are in.
  void commit();

 private:
  friend class KvPool;
  // A sequence of the batch as it was, and how far it has come.
  struct Part {
    SequenceSlice slice;
    uint32_t index = 0;                    // in the pool
    bool passing = false;                  // forgotten afterwards
    int64_t length = 0;                    // before
    std::vector<size_t> blocks = {};       // for each group: of its table, before
    std::vector<int32_t> replaced = {};    // for each group: the last block before, where a copy took its place
    int32_t slab = KvPool::kZeroSlab;      // before
    int32_t own_slab = KvPool::kZeroSlab;  // which this step writes, once it has one
    int64_t planned = 0;                   // rows of the plan that is under way
  };

  KvStep(KvPool& pool, const Batch& batch);
  void add_part(const SequenceSlice& slice);
  void check_positions(const Part& part) const;
  void require_blocks();
  void take_blocks(Part& part);
  void take_slab(Part& part);
  void add_to_plan(const Part& part, int64_t place);
  // Lets go of the blocks that no row to come attends to; with `own_alone` of those that were taken in this step.
  void release_passed(const Part& part, bool own_alone);
  void commit_part(Part& part);
  void roll_back(Part& part);
  void finish();
  [[nodiscard]] KvPool::Sequence& sequence(const Part& part) const { return pool_->sequences_[part.index]; }

  KvPool* pool_;
  std::vector<int32_t> tokens_, positions_;
  std::vector<Part> parts_;
  int64_t done_ = 0;     // rows that have been advanced over
  int64_t planned_ = 0;  // of the plan that is under way
  // For each group: blocks that nobody uses, beyond those that the rows need.
  std::vector<int64_t> spare_;
  KvPlan plan_;
};

}  // namespace wick
