#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/mask_cache.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// A format compiled for a vocabulary; what it has cached is shared by all texts of that format.
struct CompiledFormat {
  CompiledFormat(Automaton compiled, std::shared_ptr<const TokenTable> table)
      : automaton(std::move(compiled)), tokens(std::move(table)), masks(automaton, *tokens) {}

  Automaton automaton;
  std::shared_ptr<const TokenTable> tokens;
  std::mutex guard;  // of masks
  MaskCache masks;
};

class AutomatonConstraint final : public TokenConstraint {
 public:
  explicit AutomatonConstraint(std::shared_ptr<CompiledFormat> format) : format_(std::move(format)) { reset(); }

  int32_t vocab_size() const noexcept override { return format_->tokens->vocab_size(); }

  void fill_mask(std::span<uint64_t> mask) override {
    const size_t words = mask_words(vocab_size());
    if (mask.size() < words) fail(ErrorCode::invalid_argument, "fill_mask: {} words; {} tokens need {}", mask.size(), vocab_size(), words);
    std::fill(mask.begin(), mask.end(), 0);
    const auto allow = [&](TokenId token) { mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64); };
    if (!ended_) {
      const std::lock_guard lock(format_->guard);
      for (const Configuration& item : state_.items) {
        format_->masks.add_mask(item, arena_, mask.first(words));
        for (const TokenEdge& edge : format_->automaton.tokens(format_->automaton.node(item.node))) allow(edge.token);
      }
    }
    if (can_end()) {
      for (const TokenId token : format_->tokens->end_tokens()) allow(token);
    }
    if (!can_end() && std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; })) {
      fail(ErrorCode::invalid_argument, "no token of the vocabulary can go on with the text as the format wants it");
    }
  }

  void accept(TokenId token) override {
    const TokenTable& tokens = *format_->tokens;
    if (token < 0 || token >= vocab_size()) refuse(token);
    if (tokens.is_end(token) && can_end()) {
      ended_ = true;
      return;
    }
    if (ended_) refuse(token);
    Stepper stepper(format_->automaton, arena_);
    Configurations next = stepper.step_token(state_, token);
    if (const std::string& bytes = tokens.bytes(token); !bytes.empty()) {
      Configurations read = state_;
      for (size_t index = 0; index < bytes.size() && !read.dead(); ++index) read = stepper.step(read, static_cast<uint8_t>(bytes[index]));
      merge(next, read);
    }
    if (next.dead()) refuse(token);
    state_ = std::move(next);
    drop_old_frames();
  }

  bool can_end() const override { return ended_ || state_.bottom; }
  bool must_end() override { return ended_ || state_.items.empty(); }
  std::unique_ptr<TokenConstraint> clone() const override { return std::make_unique<AutomatonConstraint>(*this); }

  void reset() override {
    arena_ = FrameArena();
    ended_ = false;
    state_ = Stepper(format_->automaton, arena_).enter({format_->automaton.start(), FrameArena::kBottom});
    state_.bottom = state_.bottom || format_->automaton.accepts_empty();
  }

 private:
  [[noreturn]] void refuse(TokenId token) const {
    fail(ErrorCode::invalid_argument, "token {} does not fit the format here; take one that the mask allows", token);
  }

  static void merge(Configurations& into, const Configurations& from) {
    into.bottom = into.bottom || from.bottom;
    into.items.insert(into.items.end(), from.items.begin(), from.items.end());
    std::sort(into.items.begin(), into.items.end());
    into.items.erase(std::unique(into.items.begin(), into.items.end()), into.items.end());
  }

  // Copies the stacks that are still in use, once there are many others.
  void drop_old_frames() {
    if (arena_.size() < frames_to_drop_at_) return;
    FrameArena kept;
    std::unordered_map<uint32_t, uint32_t> moved = {{FrameArena::kBottom, FrameArena::kBottom}};
    std::vector<uint32_t> stack;
    for (Configuration& item : state_.items) {
      for (uint32_t frame = item.frame; !moved.contains(frame); frame = arena_.at(frame).parent) stack.push_back(frame);
      for (; !stack.empty(); stack.pop_back()) {
        Frame frame = arena_.at(stack.back());
        frame.parent = moved.at(frame.parent);
        moved[stack.back()] = kept.push(frame);
      }
      item.frame = moved.at(item.frame);
    }
    std::sort(state_.items.begin(), state_.items.end());
    arena_ = std::move(kept);
    frames_to_drop_at_ = std::max<size_t>(1024, 2 * arena_.size());
  }

  std::shared_ptr<CompiledFormat> format_;
  FrameArena arena_;
  Configurations state_;
  bool ended_ = false;
  size_t frames_to_drop_at_ = 1024;
};

}  // namespace

struct ConstraintCompiler::State {
  // Formats that were used last are kept.
  static constexpr size_t kMostFormats = 64;

  std::shared_ptr<const Tokenizer> tokenizer;
  std::mutex guard;
  std::shared_ptr<const TokenTable> tokens;
  std::list<std::pair<OutputFormat, std::shared_ptr<CompiledFormat>>> formats;  // the last used first
};

ConstraintCompiler::ConstraintCompiler(std::shared_ptr<const Tokenizer> tokenizer) : state_(std::make_shared<State>()) {
  if (tokenizer == nullptr) fail(ErrorCode::invalid_argument, "ConstraintCompiler: no tokenizer; load one first");
  state_->tokenizer = std::move(tokenizer);
}

ConstraintCompiler::~ConstraintCompiler() = default;

std::unique_ptr<TokenConstraint> ConstraintCompiler::compile(const OutputFormat& format) {
  const std::lock_guard lock(state_->guard);
  auto& formats = state_->formats;
  const auto known = std::find_if(formats.begin(), formats.end(), [&](const auto& entry) { return entry.first == format; });
  if (known != formats.end()) {
    formats.splice(formats.begin(), formats, known);
    return std::make_unique<AutomatonConstraint>(formats.front().second);
  }
  const Tokenizer& tokenizer = *state_->tokenizer;
  Automaton automaton = compile_format(format, [&](std::string_view text) { return tokenizer.find_token(text); }, tokenizer.vocab_size());
  if (state_->tokens == nullptr) state_->tokens = std::make_shared<const TokenTable>(tokenizer);
  formats.emplace_front(format, std::make_shared<CompiledFormat>(std::move(automaton), state_->tokens));
  if (formats.size() > State::kMostFormats) formats.pop_back();
  return std::make_unique<AutomatonConstraint>(formats.front().second);
}

}  // namespace wick
