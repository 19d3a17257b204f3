#include "wick/text/grammar/parse_stack.h"

#include <algorithm>
#include <bit>

#include "wick/base/fail.h"

namespace wick {
namespace {

constexpr size_t kMostConfigurations = 20'000;
// Up to so many, a search through the list is quicker than a map.
constexpr size_t kFew = 24;

uint64_t key_of(const Configuration& configuration) { return uint64_t{configuration.node} << 32 | configuration.frame; }

}  // namespace

uint32_t FrameArena::push(const Frame& frame) {
  const auto [entry, added] = numbers_.try_emplace(frame, static_cast<uint32_t>(frames_.size()));
  if (added) frames_.push_back(frame);
  return entry->second;
}

Configurations Stepper::enter(Configuration first) {
  reach(first);
  return take();
}

Configurations Stepper::leave(const Frame& frame) {
  return_from(arena_.push(frame));
  return take();
}

Configurations Stepper::step(const Configurations& from, uint8_t byte) {
  for (const Configuration& item : from.items) {
    for (const ByteEdge& edge : automaton_.bytes(automaton_.node(item.node))) {
      if (edge.first <= byte && byte <= edge.last) reach({edge.target, item.frame});
    }
  }
  return take();
}

Configurations Stepper::step_token(const Configurations& from, int32_t token) {
  for (const Configuration& item : from.items) {
    for (const TokenEdge& edge : automaton_.tokens(automaton_.node(item.node))) {
      if (edge.token == token) reach({edge.target, item.frame});
    }
  }
  return take();
}

void Stepper::reach(Configuration next) {
  if (reached_.size() < kFew) {
    if (std::find(reached_.begin(), reached_.end(), next) != reached_.end()) return;
  } else {
    if (known_.empty()) {
      for (const Configuration& item : reached_) known_.emplace(key_of(item), true);
    }
    if (!known_.emplace(key_of(next), true).second) return;
  }
  if (reached_.size() >= kMostConfigurations) {
    fail(ErrorCode::unsupported, "the grammar is too ambiguous: the text can be read in more than {} ways; let its rules differ sooner",
         kMostConfigurations);
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
  reached_.clear();
  known_.clear();
  bottom_ = false;
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
    case AutomatonCall::Kind::group: next_member(index, {.call = index, .parent = frame}); return;
  }
}

// Begins another member of the group that the frame has begun so far.
void Stepper::next_member(uint32_t call_index, const Frame& frame) {
  const AutomatonGroup& group = automaton_.group(automaton_.call(call_index).group);
  if (frame.count >= group.largest) return;
  const auto begin = [&](const AutomatonGroup::Member& member, uint64_t seen) {
    const uint32_t start = frame.count == 0 ? member.first : member.next;
    if (start == AutomatonGroup::kNoStart) return;
    // Beyond what limits it the count says nothing.
    const uint32_t count = group.largest == kUnlimited ? 1 : frame.count + 1;
    reach({start, arena_.push({.call = call_index, .parent = frame.parent, .count = count, .seen = frame.seen | seen})});
  };
  for (size_t index = 0; index < group.members.size(); ++index) {
    if ((frame.seen >> index & 1) == 0) begin(group.members[index], uint64_t{1} << index);
  }
  begin(group.other, kSeenOther);
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
      next_member(frame.call, frame);
      return;
    }
  }
}

}  // namespace wick
