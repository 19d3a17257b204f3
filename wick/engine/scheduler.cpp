#include "wick/engine/scheduler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "wick/base/fail.h"

namespace wick {
namespace {

// Rows of a prompt in a step that gives the logits of each, for their logprobs.
constexpr int64_t kMaxPromptLogprobRows = 64;

const Request& asked(const Sequence& sequence) { return sequence.request().request; }

// Takes a sequence out of its list.
std::unique_ptr<Sequence> extract(std::vector<std::unique_ptr<Sequence>>& list, const Sequence& sequence) {
  const auto place = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.get() == &sequence; });
  WICK_ASSERT(place != list.end());
  std::unique_ptr<Sequence> found = std::move(*place);
  list.erase(place);
  return found;
}

}  // namespace

int64_t Scheduler::free_slots() const noexcept {
  int64_t taken = 0;
  for (const auto& sequence : running_) taken += sequence->slots();
  return limits_.sequences - taken;
}

void Scheduler::queue(std::unique_ptr<Sequence> sequence) {
  int64_t fewest = 0;
  for (auto user = served_.begin(); user != served_.end(); ++user) {
    fewest = user == served_.begin() ? user->second : std::min(fewest, user->second);
  }
  served_.emplace(asked(*sequence).user, fewest);
  waiting_.push_back(std::move(sequence));
}

void Scheduler::start(const Sequence& sequence) {
  served_[asked(sequence).user] += sequence.slots();
  running_.push_back(extract(waiting_, sequence));
}

void Scheduler::preempt(const Sequence& sequence, EngineClock::time_point now) {
  served_[asked(sequence).user] -= sequence.slots();
  waiting_.push_back(extract(running_, sequence));
  waiting_.back()->waiting_since = now;
}

void Scheduler::preempt(Sequence& sequence, SequenceMemory& memory) {
  ++sequence.preemptions;
  sequence.waiting_logits = {};
  memory.release(sequence, true);
  preempt(sequence, EngineClock::now());
}

void Scheduler::remove_ended() {
  size_t removed = 0;
  for (auto* list : {&waiting_, &running_}) removed += std::erase_if(*list, [](const auto& sequence) { return sequence->ended; });
  if (removed == 0) return;
  const auto is_here = [](const auto& list, const std::string& user) {
    return std::any_of(list.begin(), list.end(), [&](const auto& sequence) { return asked(*sequence).user == user; });
  };
  std::erase_if(served_, [&](const auto& user) { return !is_here(waiting_, user.first) && !is_here(running_, user.first); });
}

std::vector<Sequence*> Scheduler::turns(EngineClock::time_point now) const {
  struct Turn {
    int64_t priority, turn;
    uint64_t order;
    Sequence* sequence;
    [[nodiscard]] auto key() const { return std::tuple(-priority, turn, order, sequence->choice()); }
  };
  std::vector<Turn> turns;
  for (const auto& sequence : waiting_) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(now - sequence->waiting_since);
    const int64_t gained = limits_.aging.count() > 0 ? waited / limits_.aging : 0;
    turns.push_back({asked(*sequence).priority + gained, 0, sequence->request().order, sequence.get()});
  }
  std::map<std::string, int64_t, std::less<>> taken = served_;
  std::sort(turns.begin(), turns.end(), [](const Turn& left, const Turn& right) { return left.key() < right.key(); });
  for (Turn& turn : turns) turn.turn = taken[asked(*turn.sequence).user]++;
  std::sort(turns.begin(), turns.end(), [](const Turn& left, const Turn& right) { return left.key() < right.key(); });
  std::vector<Sequence*> order;
  for (const Turn& turn : turns) order.push_back(turn.sequence);
  return order;
}

Sequence* Scheduler::victim() const {
  Sequence* found = nullptr;
  const auto key = [](const Sequence& one) {
    return std::tuple(asked(one).priority, -static_cast<int64_t>(one.request().order), -one.choice());
  };
  for (const auto& one : running_) {
    if (one->ended) continue;
    if (found == nullptr || key(*one) < key(*found)) found = one.get();
  }
  return found;
}

// A short step keeps the time between tokens even. Its price, a step's own time for fewer rows, is paid where many prompts are read at
// once: under a load that is more than the machine can do, and long steps are all that anybody gets. So they grow by the square.
int64_t Scheduler::prompt_rows(int64_t prompts, int64_t decoding) const noexcept {
  if (decoding == 0) return limits_.idle_rows;
  const int64_t crowd = std::min(limits_.max_rows_while_decoding - decoding, prompts * prompts / 4);
  return std::max({kMinPromptRows, limits_.step_rows - decoding, crowd});
}

std::vector<int64_t> Scheduler::share_rows() const {
  std::vector<int64_t> rows(running_.size(), 0);
  std::vector<size_t> prompts;
  for (size_t index = 0; index < running_.size(); ++index) {
    if (!running_[index]->waiting_logits.empty()) continue;
    if (running_[index]->decodes()) {
      rows[index] = running_[index]->remaining();
    } else if (running_[index]->remaining() > 0) {
      prompts.push_back(index);
    }
  }
  int64_t left = prompt_rows(std::ssize(prompts), std::ssize(rows) - std::ssize(prompts));
  const auto give = [&](size_t index, int64_t most) {
    const int64_t wanted = running_[index]->remaining() - rows[index];
    const int64_t given = running_[index]->is_whole() && most > 0 ? wanted : std::min(wanted, std::max<int64_t>(most, 0));
    rows[index] += given;
    left -= given;
  };
  const auto priority = [&](size_t index) { return asked(*running_[index]).priority; };
  const auto key = [&](size_t index) {
    const Sequence& one = *running_[index];
    return std::tuple(-priority(index), one.remaining(), one.request().order, one.choice());
  };
  std::sort(prompts.begin(), prompts.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  for (auto first = prompts.begin(); first != prompts.end();) {
    const auto end = std::find_if(first, prompts.end(), [&](size_t index) { return priority(index) != priority(*first); });
    const auto order = [&](size_t index) { return std::tuple(running_[index]->request().order, running_[index]->choice()); };
    give(*std::min_element(first, end, [&](size_t a, size_t b) { return order(a) < order(b); }), (left + 3) / 4);
    for (; first != end; ++first) give(*first, left);
  }
  return rows;
}

// --- Admission ---

Admission Scheduler::admit(SequenceMemory& memory, bool only_begun) {
  Admission admission;
  for (Sequence* sequence : turns(EngineClock::now())) {
    if (only_begun && sequence->generated() == 0) continue;
    if (!make_slots(*sequence, memory, admission)) break;
    if (waits_for_shared_prompt(*sequence, memory)) continue;
    if (!try_start(*sequence, memory, admission)) break;
  }
  return admission;
}

bool Scheduler::may_admit() const {
  if (waiting_.empty()) return false;
  if (free_slots() > 0) return true;
  const Sequence* const last = victim();
  return last != nullptr &&
         std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& one) { return asked(*one).priority > asked(*last).priority; });
}

bool Scheduler::make_slots(const Sequence& sequence, SequenceMemory& memory, Admission& admission) {
  while (sequence.slots() > free_slots()) {
    Sequence* const last = victim();
    if (last == nullptr || asked(*last).priority >= asked(sequence).priority) return false;
    preempt(*last, memory);
    admission.preempted.push_back(last);
  }
  return true;
}

bool Scheduler::waits_for_shared_prompt(const Sequence& sequence, SequenceMemory& memory) const {
  if (!memory.keeps_prefixes() || !asked(sequence).cache_prompt || asked(sequence).prompt_logprobs) return false;
  // The last token is computed for its logits.
  const auto tokens = sequence.tokens().first(static_cast<size_t>(sequence.length() - 1));
  for (const auto& other : running_) {
    if (other->generated() > 0 || other->request().cache_identity != sequence.request().cache_identity) continue;
    const int64_t common = common_length(tokens, other->tokens());
    const int64_t shared = common / memory.pool().block_size() * memory.pool().block_size();
    // What is still to come of it, and not there by somebody else.
    if (shared <= std::max(other->computed, sequence.expected_prefix)) continue;
    memory.pool().want_state(other->handle, shared);
    return true;
  }
  return false;
}

bool Scheduler::try_start(Sequence& sequence, SequenceMemory& memory, Admission& admission) {
  const bool alone = running_.empty();
  const int64_t wanted = memory.blocks_of(sequence.length()) + sequence.slots();
  const int64_t promised = promised_blocks(memory);
  const auto has_room = [&](int64_t there) { return alone || wanted - memory.blocks_of(there) + promised <= memory.available_blocks(); };
  if (!has_room(sequence.expected_prefix)) return false;
  try {
    admission.restored_tokens += memory.start(sequence);
  } catch (const Error&) {
    admission.failed.emplace_back(&sequence, std::current_exception());
    return true;
  }
  if (!has_room(sequence.computed)) {
    memory.release(sequence, false);
    return false;
  }
  admission.started.push_back({&sequence, sequence.computed});
  start(sequence);
  return true;
}

int64_t Scheduler::promised_blocks(const SequenceMemory& memory) const {
  int64_t blocks = 0;
  for (const auto& one : running_) blocks += memory.blocks_of(one->length()) - memory.blocks_of(one->computed) + one->slots();
  return blocks;
}

// --- The rows of the next step ---

std::vector<SequenceRows> Scheduler::plan(const SequenceMemory& memory) const {
  const std::vector<int64_t> rows = share_rows();
  std::vector<SequenceRows> step;
  for (size_t index = 0; index < rows.size(); ++index) {
    if (rows[index] == 0) continue;
    Sequence& sequence = *running_[index];
    const int64_t count = sequence.request().wants_prompt_logprobs() ? std::min(rows[index], kMaxPromptLogprobRows) : rows[index];
    step.push_back({.sequence = &sequence, .count = count});
    if (!asked(sequence).cache_prompt) continue;
    if (count > 1) step.back().count = memory.pool().rows_to_state(sequence.handle, count, sequence.length());
    step.back().max_proposed = memory.pool().proposals_to_state(sequence.handle, step.back().count);
  }
  return step;
}

bool Scheduler::fits(const std::vector<SequenceRows>& step, const SequenceMemory& memory) {
  int64_t blocks = 0;
  for (const SequenceRows& one : step) {
    const Sequence& sequence = *one.sequence;
    blocks += memory.blocks_of(sequence.computed + one.rows()) - memory.blocks_of(sequence.computed);
    blocks += memory.pool().shares_last_block(sequence.handle) ? 1 : 0;
  }
  return blocks <= memory.available_blocks();
}

Fit Scheduler::fit(std::vector<SequenceRows>& step, SequenceMemory& memory) {
  Fit changes;
  if (fits(step, memory)) return changes;
  for (SequenceRows& one : step) one.proposed.clear();
  while (!fits(step, memory)) {
    Sequence* const last = victim();
    std::erase_if(step, [&](const SequenceRows& one) { return one.sequence == last; });
    if (running_.size() > 1) {
      preempt(*last, memory);
      changes.preempted.push_back(last);
    } else {
      changes.failed = last;
    }
  }
  return changes;
}

}  // namespace wick
