#include "wick/text/grammar/parse_stack.h"

#include <algorithm>
#include <bit>
#include <map>

#include "wick/base/fail.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr size_t kMaxConfigurations = 20'000;
// Up to so many, a search through the list is quicker than a table.
constexpr size_t kFew = 24;
constexpr size_t kSmallestTable = 64;

size_t hash_of(const Configuration& configuration) {
  const uint64_t hash = (uint64_t{configuration.node} << 32 | configuration.frame) * 0x9E3779B97F4A7C15U;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

}  // namespace

uint32_t FrameArena::push(const Frame& frame) {
  if (2 * frames_.size() > slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = FrameHash()(frame) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    if (frames_[slots_[slot]] == frame) return slots_[slot];
  }
  slots_[slot] = static_cast<uint32_t>(frames_.size());
  frames_.push_back(frame);
  return slots_[slot];
}

void FrameArena::grow() {
  slots_.assign(std::max(kSmallestTable, 2 * slots_.size()), 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t index = 1; index < frames_.size(); ++index) {
    size_t slot = FrameHash()(frames_[index]) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = index;
  }
}

void fail_ambiguous(const Automaton& automaton, const FrameArena& arena, std::span<const Configuration> configurations,
                    std::string_view what) {
  constexpr int kFrames = 8;  // of each stack, from the top
  std::map<std::string_view, size_t> uses;
  for (const Configuration& item : configurations) {
    ++uses[automaton.rule_of(item.node)];
    uint32_t frame = item.frame;
    for (int depth = 0; depth < kFrames && frame != FrameArena::kBottom; ++depth, frame = arena.at(frame).parent)
      ++uses[automaton.rule_of(automaton.call(arena.at(frame).call).target)];
  }
  const auto most = std::max_element(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  fail(ErrorCode::invalid_argument, "the format is too ambiguous in rule {}: {}; let its alternatives differ in their first characters",
       printable(most == uses.end() ? "root" : most->first), what);
}

void Stepper::begin() {
  // What an error has left.
  reached_.clear();
  slots_.clear();
  bottom_ = false;
}

Configurations Stepper::enter(Configuration first) {
  begin();
  reach(first);
  return take();
}

Configurations Stepper::leave(const Frame& frame) {
  begin();
  return_from(arena_.push(frame));
  return take();
}

Configurations Stepper::step(const Configurations& from, uint8_t byte) {
  begin();
  for (const Configuration& item : from.items) {
    for (const ByteEdge& edge : automaton_.bytes(automaton_.node(item.node))) {
      if (edge.first <= byte && byte <= edge.last) reach({edge.target, item.frame});
    }
  }
  return take();
}

Configurations Stepper::step_token(const Configurations& from, int32_t token) {
  begin();
  for (const Configuration& item : from.items) {
    for (const TokenEdge& edge : automaton_.tokens(automaton_.node(item.node))) {
      if (edge.token == token) reach({edge.target, item.frame});
    }
  }
  return take();
}

bool Stepper::note(const Configuration& next) {
  if (reached_.size() < kFew) return std::find(reached_.begin(), reached_.end(), next) == reached_.end();
  const auto place_of = [&](const Configuration& item) {
    const size_t mask = slots_.size() - 1;
    size_t slot = hash_of(item) & mask;
    while (slots_[slot] != 0 && reached_[slots_[slot] - 1] != item) slot = (slot + 1) & mask;
    return slot;
  };
  if (2 * (reached_.size() + 1) > slots_.size()) {
    slots_.assign(std::max(kSmallestTable, 2 * slots_.size()), 0);
    for (uint32_t index = 0; index < reached_.size(); ++index) slots_[place_of(reached_[index])] = index + 1;
  }
  const size_t slot = place_of(next);
  if (slots_[slot] != 0) return false;
  slots_[slot] = static_cast<uint32_t>(reached_.size() + 1);
  return true;
}

void Stepper::reach(Configuration next) {
  if (limit_ != nullptr && !limit_->spend(1)) fail_ambiguous(automaton_, arena_, reached_, "reading the text takes too long");
  if (!is_open(automaton_, arena_, next) || !note(next)) return;
  if (reached_.size() >= kMaxConfigurations) {
    fail_ambiguous(automaton_, arena_, reached_, fmt::format("the text can be read in more than {} ways", kMaxConfigurations));
  }
  reached_.push_back(next);
}

Configurations Stepper::take() {
  for (size_t index = 0; index < reached_.size(); ++index) expand(Configuration(reached_[index]));
  Configurations result;
  result.bottom = bottom_;
  for (const Configuration& item : reached_) {
    if (automaton_.node(item.node).reads()) result.items.push_back(item);
  }
  std::sort(result.items.begin(), result.items.end());
  return result;
}

void Stepper::expand(const Configuration& current) {
  const AutomatonNode& node = automaton_.node(current.node);
  if (node.final) return_from(current.frame);
  for (uint32_t index = node.calls_begin; index < node.calls_end; ++index) call(index, current.frame);
}

void Stepper::call(uint32_t index, uint32_t frame) {
  const AutomatonCall& call = automaton_.call(index);
  switch (call.kind) {
    case AutomatonCall::Kind::rule: reach({call.start, call.tail ? frame : arena_.push({.call = index, .parent = frame})}); return;
    case AutomatonCall::Kind::repeat: reach({call.start, arena_.push({.call = index, .parent = frame, .count = 1})}); return;
    case AutomatonCall::Kind::group: next_member({.call = index, .parent = frame}); return;
    case AutomatonCall::Kind::member: {
      const uint64_t bit = uint64_t{1} << call.group;
      if ((arena_.at(frame).seen & bit) == 0) begin_member(call.start, arena_.at(frame), bit);
      return;
    }
  }
}

// Begins another member of the group whose frame it is: reads the names of all, or what `other` writes.
void Stepper::next_member(const Frame& frame) {
  const AutomatonGroup& group = automaton_.group(automaton_.call(frame.call).group);
  if (frame.count >= group.largest) return;
  const auto start_of = [&](const AutomatonGroup::Start& start) { return frame.count == 0 ? start.first : start.next; };
  if (const uint32_t names = start_of(group.names); names != AutomatonGroup::kNoStart) reach({names, arena_.push(frame)});
  if (const uint32_t other = start_of(group.other); other != AutomatonGroup::kNoStart) begin_member(other, frame, kSeenOther);
}

void Stepper::begin_member(uint32_t start, Frame frame, uint64_t seen) {
  const AutomatonGroup& group = automaton_.group(automaton_.call(frame.call).group);
  // Beyond what limits it the count says nothing.
  frame.count = group.largest == kUnlimited ? 1 : frame.count + 1;
  frame.seen |= seen;
  reach({start, arena_.push(frame)});
}

void Stepper::return_from(uint32_t frame_index) {
  if (frame_index == FrameArena::kBottom) {
    bottom_ = true;
    return;
  }
  const Frame frame = arena_.at(frame_index);
  const AutomatonCall& call = automaton_.call(frame.call);
  switch (call.kind) {
    case AutomatonCall::Kind::rule: reach({call.target, frame.parent}); return;
    case AutomatonCall::Kind::repeat: {
      if (frame.count >= call.smallest) reach({call.target, frame.parent});
      if (frame.count >= call.largest) return;
      const uint32_t most = call.largest == kUnlimited ? call.smallest : call.largest;
      reach({call.start, arena_.push({.call = frame.call, .parent = frame.parent, .count = std::min(frame.count + 1, most)})});
      return;
    }
    case AutomatonCall::Kind::group: {
      const AutomatonGroup& group = automaton_.group(call.group);
      const bool complete = (frame.seen & group.required) == group.required;
      if (complete && std::popcount(frame.seen) >= static_cast<int>(group.smallest)) reach({call.target, frame.parent});
      next_member(frame);
      return;
    }
    case AutomatonCall::Kind::member: return;  // has no frame of its own
  }
}

}  // namespace wick
