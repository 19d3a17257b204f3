#include "wick/model/kv/kv_step.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/fail_with.h"

namespace wick {

KvStep::KvStep(KvPool& pool, const Batch& batch) : pool_(&pool), tokens_(batch.tokens), positions_(batch.positions) {
  for (const SequenceSlice& slice : batch.sequences) {
    if (!slice.sequence.empty()) (void)std::as_const(pool).at("batch", slice.sequence);
  }
  pool.stepping_ = true;
  try {
    for (const SequenceSlice& slice : batch.sequences) add_part(slice);
    for (const Part& part : parts_) check_positions(part);
    require_blocks();
  } catch (...) {
    finish();
    throw;
  }
}

KvStep::KvStep(KvStep&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)),
      tokens_(std::move(other.tokens_)),
      positions_(std::move(other.positions_)),
      parts_(std::move(other.parts_)),
      done_(other.done_),
      planned_(other.planned_),
      spare_(std::move(other.spare_)),
      plan_(std::move(other.plan_)) {}

KvStep::~KvStep() {
  if (pool_ != nullptr) finish();
}

void KvStep::finish() {
  for (Part& part : parts_) {
    roll_back(part);
    if (part.passing) pool_->free_unchecked(part.index);
  }
  std::exchange(pool_, nullptr)->stepping_ = false;
}

void KvStep::add_part(const SequenceSlice& slice) {
  Part part{.slice = slice, .index = slice.sequence.index, .passing = slice.sequence.empty()};
  if (part.passing) part.index = pool_->create_unchecked().index;
  KvPool::Sequence& before = sequence(part);
  pool_->drop_rollback(before);
  part.length = before.length();
  part.slab = before.slab;
  for (const std::vector<int32_t>& table : before.tables) part.blocks.push_back(table.size());
  part.replaced.resize(before.tables.size(), KvPool::kNoBlock);
  parts_.push_back(std::move(part));
}

void KvStep::check_positions(const Part& part) const {
  const int64_t context = pool_->options_.context;
  if (part.slice.count > context - part.length) {
    fail(ErrorCode::context_full,
         "context full: {} tokens are in it and {} more are to come, but it holds {}; shorten the prompt or ask for a larger context",
         part.length, part.slice.count, context);
  }
  for (int64_t row = 0; row < part.slice.count; ++row) {
    const int32_t position = positions_[static_cast<size_t>(part.slice.first + row)];
    if (position == part.length + row) continue;
    fail(ErrorCode::invalid_argument, "batch: row {} is position {} of a sequence, and the next one there is {}", part.slice.first + row,
         position, part.length + row);
  }
}

namespace {

[[noreturn]] void fail_full(const KvPool& pool, const BlockAllocator& blocks, int64_t wanted) {
  fail_with({{"free a sequence"}, {"give the pool more memory"}}, ErrorCode::out_of_memory,
            "the pool is full: {} more blocks of {} positions are wanted, and {} of {} are there", wanted, pool.block_size(),
            blocks.available(), blocks.blocks());
}

}  // namespace

void KvStep::require_blocks() {
  const KvPoolOptions& options = pool_->options_;
  for (size_t index = 0; index < pool_->groups_.size(); ++index) {
    const KvPool::Group& group = pool_->groups_[index];
    const int64_t most = pool_->blocks_for(group.retention.most(options.context, options.step)) + 1;
    int64_t wanted = 0;
    for (const Part& part : parts_) {
      const std::vector<int32_t>& table = sequence(part).tables[index];
      wanted += std::min(pool_->blocks_for(part.length + part.slice.count) - static_cast<int64_t>(table.size()), most);
      const bool shared = part.length % options.block_size != 0 && group.blocks.references(table.back()) > 1;
      wanted += shared ? 1 : 0;
    }
    spare_.push_back(group.blocks.available() - wanted);
    // What a step lets go of, it can take again.
    if (spare_.back() < 0 && group.retention.kind == Retention::Kind::full) fail_full(*pool_, group.blocks, wanted);
  }
  const auto slabs = static_cast<int64_t>(parts_.size());
  if (!pool_->states_.empty() && slabs > pool_->slabs_.available()) {
    fail_with({{"free a sequence"}, {"ask for more sequences"}}, ErrorCode::out_of_memory,
              "the pool is full: {} more states are wanted, and {} are there", slabs, pool_->slabs_.available());
  }
}

const KvPlan& KvStep::plan(int64_t first, int64_t count) {
  if (pool_ == nullptr || planned_ != 0 || first != done_ || count < 1 || count > std::ssize(tokens_) - first) {
    fail(ErrorCode::invalid_argument, "KvStep: rows {} to {} of {}, of which {} are in: give the next ones", first, first + count,
         tokens_.size(), done_);
  }
  planned_ = count;
  plan_.sequences = 0;
  plan_.positions.assign(positions_.begin() + first, positions_.begin() + first + count);
  plan_.starts.assign(1, 0);
  plan_.lengths.clear();
  plan_.state_from.clear();
  plan_.state_to.clear();
  for (Part& part : parts_) {
    const int64_t begin = std::max(first, part.slice.first);
    const int64_t end = std::min(first + count, part.slice.first + part.slice.count);
    part.planned = std::max<int64_t>(0, end - begin);
    if (part.planned == 0) continue;
    take_blocks(part);
    if (!pool_->states_.empty()) take_slab(part);
    plan_.starts.push_back(static_cast<int32_t>(end - first));
    plan_.lengths.push_back(static_cast<int32_t>(sequence(part).length() + part.planned));
    ++plan_.sequences;
  }
  plan_.groups.resize(pool_->groups_.size());
  for (size_t index = 0; index < plan_.groups.size(); ++index) {
    KvPlan::Group& group = plan_.groups[index];
    group.slots.clear();
    group.blocks = 0;
    for (const int32_t length : plan_.lengths) group.blocks = std::max(group.blocks, pool_->blocks_for(length));
    group.table.assign(static_cast<size_t>(group.blocks * plan_.sequences), 0);
  }
  int64_t place = 0;
  for (const Part& part : parts_) {
    if (part.planned > 0) add_to_plan(part, place++);
  }
  return plan_;
}

void KvStep::add_to_plan(const Part& part, int64_t place) {
  const KvPool::Sequence& of = sequence(part);
  const int64_t size = pool_->options_.block_size;
  for (size_t index = 0; index < plan_.groups.size(); ++index) {
    KvPlan::Group& group = plan_.groups[index];
    const std::vector<int32_t>& table = of.tables[index];
    const auto row = group.table.begin() + place * group.blocks;
    std::transform(table.begin(), table.end(), row, [](int32_t block) { return std::max(block, 0); });
    for (int64_t position = of.length(); position < of.length() + part.planned; ++position) {
      group.slots.push_back(static_cast<int32_t>(table[static_cast<size_t>(position / size)] * size + position % size));
    }
  }
}

void KvStep::take_blocks(Part& part) {
  std::vector<std::vector<int32_t>>& tables = sequence(part).tables;
  const int64_t length = sequence(part).length();
  const auto wanted = static_cast<size_t>(pool_->blocks_for(length + part.planned));
  for (size_t index = 0; index < tables.size(); ++index) {
    KvPool::Group& group = pool_->groups_[index];
    std::vector<int32_t>& table = tables[index];
    const auto take = [&](int32_t after) {
      // Without room it takes what the sequence has passed, and cannot be given up without a trace any more.
      if (group.blocks.available() == 0) release_passed(part, false);
      if (group.blocks.available() == 0) fail_full(*pool_, group.blocks, 1);
      return group.blocks.take(after);
    };
    if (length % pool_->options_.block_size != 0) {
      int32_t& last = table.back();
      const bool is_shared = group.blocks.references(last) > 1;
      // Where it is kept with other positions than this sequence will have, they stay if there is room.
      const bool is_kept = !is_shared && spare_[index] > 0 && group.blocks.named_tokens(last) > length % pool_->options_.block_size;
      if (is_kept) --spare_[index];
      if (is_shared || is_kept) {
        const int32_t own = take(table.size() > 1 ? table[table.size() - 2] : KvPool::kNoBlock);
        pool_->copy_block(group, last, own);
        part.replaced[index] = std::exchange(last, own);
      } else {
        group.blocks.unname(last);
      }
    }
    while (table.size() < wanted) table.push_back(take(table.empty() ? KvPool::kNoBlock : table.back()));
  }
}

void KvStep::take_slab(Part& part) {
  plan_.state_from.push_back(sequence(part).slab);
  if (part.own_slab == KvPool::kZeroSlab) {
    if (pool_->slabs_.available() == 0) {
      fail_with({{"free a sequence"}}, ErrorCode::out_of_memory, "the pool is full: no state is left");
    }
    part.own_slab = pool_->slabs_.take(sequence(part).slab);
  } else {
    pool_->slabs_.unname(part.own_slab);
  }
  plan_.state_to.push_back(part.own_slab);
}

void KvStep::advance() {
  if (pool_ == nullptr || planned_ == 0) fail(ErrorCode::invalid_argument, "KvStep: nothing was planned");
  for (Part& part : parts_) {
    if (part.planned == 0) continue;
    KvPool::Sequence& of = sequence(part);
    const int64_t before = of.length();
    const auto from = tokens_.begin() + part.slice.first + (before - part.length);
    of.tokens.insert(of.tokens.end(), from, from + part.planned);
    if (part.own_slab != KvPool::kZeroSlab) of.slab = part.own_slab;
    if (!part.passing) pool_->name_blocks(of, before);
    // What a tentative step yields is kept once its rows are known to be right.
    if (!part.passing && !part.slice.is_tentative) pool_->name_state(of, part.planned == 1 || of.was_rolled_back);
    release_passed(part, true);
    part.planned = 0;
  }
  done_ += std::exchange(planned_, 0);
}

void KvStep::release_passed(const Part& part, bool own_alone) {
  KvPool::Sequence& of = sequence(part);
  for (size_t index = 0; index < of.tables.size(); ++index) {
    KvPool::Group& group = pool_->groups_[index];
    std::vector<int32_t>& table = of.tables[index];
    const int64_t passed = std::min(group.retention.first_needed(of.length()) / pool_->options_.block_size, std::ssize(table));
    const auto own = static_cast<int64_t>(part.blocks[index]);
    // From the last one down to those that were let go before.
    const auto release_down = [&](int64_t end, int64_t begin) {
      for (int64_t block = end - 1; block >= begin && table[static_cast<size_t>(block)] != KvPool::kNoBlock; --block) {
        group.blocks.release(std::exchange(table[static_cast<size_t>(block)], KvPool::kNoBlock));
      }
    };
    release_down(passed, own);
    // The step's own ones may all be let go, and others before them not yet.
    if (!own_alone) release_down(std::min(passed, own), 0);
  }
}

void KvStep::commit() {
  if (pool_ == nullptr || done_ != std::ssize(tokens_)) {
    fail(ErrorCode::invalid_argument, "KvStep: {} of {} rows are in; plan and advance over all of them", done_, tokens_.size());
  }
  for (Part& part : parts_) commit_part(part);
  finish();
}

void KvStep::commit_part(Part& part) {
  KvPool::Sequence& of = sequence(part);
  for (size_t index = 0; index < of.tables.size(); ++index) {
    if (part.replaced[index] != KvPool::kNoBlock) pool_->groups_[index].blocks.release(part.replaced[index]);
    part.replaced[index] = KvPool::kNoBlock;
  }
  of.was_rolled_back = false;
  if (part.own_slab != KvPool::kZeroSlab && part.slice.is_tentative) {
    // What its earlier length attends to stays with the state, too; the next step lets go of it.
    of.rollback = {part.length, part.slab};
  } else {
    if (part.own_slab != KvPool::kZeroSlab) pool_->release_slab(part.slab);
    release_passed(part, false);
  }
  // What the sequence is now is what it was.
  part.length = of.length();
  for (size_t index = 0; index < of.tables.size(); ++index) part.blocks[index] = of.tables[index].size();
  part.slab = of.slab;
  part.own_slab = KvPool::kZeroSlab;
}

void KvStep::roll_back(Part& part) {
  KvPool::Sequence& of = sequence(part);
  for (size_t index = 0; index < of.tables.size(); ++index) {
    KvPool::Group& group = pool_->groups_[index];
    std::vector<int32_t>& table = of.tables[index];
    pool_->release_from(group, table, part.blocks[index]);
    if (part.replaced[index] == KvPool::kNoBlock) continue;
    const int32_t copy = std::exchange(table.back(), part.replaced[index]);
    if (copy != KvPool::kNoBlock) group.blocks.release(copy);
  }
  of.tokens.resize(static_cast<size_t>(part.length));
  of.contents.resize(std::min(of.contents.size(), static_cast<size_t>(part.length / pool_->options_.block_size)));
  if (part.own_slab != KvPool::kZeroSlab) pool_->release_slab(part.own_slab);
  of.slab = part.slab;
  if (!pool_->holds_what_is_next(of)) pool_->restore_to(of, 0);
}

}  // namespace wick
