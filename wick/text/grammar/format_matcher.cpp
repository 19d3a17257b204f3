#include "wick/text/grammar/format_matcher.h"

#include <utility>

#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/parse_stack.h"

namespace wick {

struct FormatMatcher::State {
  static std::optional<TokenId> no_token(std::string_view /*text*/) { return std::nullopt; }
  explicit State(const OutputFormat& format) : automaton(compile_format(format, no_token, no_token, 0)) {}

  Automaton automaton;
  FrameArena arena;
  Configurations now;
};

FormatMatcher::FormatMatcher(const OutputFormat& format) : state_(std::make_unique<State>(format)) { reset(); }
FormatMatcher::~FormatMatcher() = default;

void FormatMatcher::reset() {
  state_->arena = FrameArena();
  state_->now = Stepper(state_->automaton, state_->arena).enter({state_->automaton.start(), FrameArena::kBottom});
  state_->now.bottom = state_->now.bottom || state_->automaton.accepts_empty();
}

bool FormatMatcher::accept(uint8_t byte) {
  Configurations next = Stepper(state_->automaton, state_->arena).step(state_->now, byte);
  if (next.dead()) return false;
  state_->now = std::move(next);
  return true;
}

bool FormatMatcher::can_end() const { return state_->now.bottom; }

std::vector<std::string> FormatMatcher::next_bytes() const {
  const Automaton& automaton = state_->automaton;
  std::vector<std::string> classes(automaton.class_count());
  for (const Configuration& item : state_->now.items) {
    for (const ByteEdge& edge : automaton.bytes(automaton.node(item.node))) {
      if (!is_open(automaton, state_->arena, {edge.target, item.frame})) continue;
      for (unsigned byte = edge.first; byte <= edge.last; ++byte) {
        std::string& letters = classes[automaton.byte_class(static_cast<uint8_t>(byte))];
        if (letters.find(static_cast<char>(byte)) == std::string::npos) letters += static_cast<char>(byte);
      }
    }
  }
  std::erase_if(classes, [](const std::string& letters) { return letters.empty(); });
  return classes;
}

std::optional<size_t> FormatMatcher::mismatch(std::string_view text) {
  reset();
  for (size_t index = 0; index < text.size(); ++index) {
    if (!accept(static_cast<uint8_t>(text[index]))) return index;
  }
  return can_end() ? std::nullopt : std::optional(text.size());
}

std::optional<std::string> FormatMatcher::sample(std::mt19937_64& random, size_t longest) {
  reset();
  std::string text;
  for (;;) {
    const std::vector<std::string> classes = next_bytes();
    const size_t choice = random() % (classes.size() + (can_end() ? 1 : 0));
    if (choice == classes.size()) return text;
    if (text.size() == longest) return std::nullopt;
    const std::string& letters = classes[choice];
    text += letters[random() % letters.size()];
    accept(static_cast<uint8_t>(text.back()));
  }
}

}  // namespace wick
