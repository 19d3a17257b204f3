#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "wick/base/fail.h"
#include "wick/text/grammar/format_cache.h"
#include "wick/text/grammar/format_grammar.h"
#include "wick/text/grammar/token_constraint.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

// Of one token that a text takes: configurations reached. It is on the caller's thread, an engine's, unlike most of a mask's work.
constexpr uint64_t kMaxAcceptWork = 400'000;
// Of the stacks of one text.
constexpr size_t kMaxStackBytes = size_t{16} << 20;

class AutomatonConstraint final : public TokenConstraint {
 public:
  explicit AutomatonConstraint(std::shared_ptr<CompiledFormat> format) : format_(std::move(format)) { reset(); }

  int32_t vocab_size() const noexcept override { return format_->tokens().vocab_size(); }

  void fill_mask(std::span<uint64_t> mask) override {
    const size_t words = mask_words(vocab_size());
    if (mask.size() < words) fail(ErrorCode::invalid_argument, "fill_mask: {} words; {} tokens need {}", mask.size(), vocab_size(), words);
    std::fill(mask.begin(), mask.end(), 0);
    const auto allow = [&](TokenId token) { mask[static_cast<size_t>(token) / 64] |= uint64_t{1} << (token % 64); };
    if (!ended_) {
      format_->add_masks(state_.items, arena_, mask.first(words));
      const Automaton& automaton = format_->automaton();
      for (const Configuration& item : state_.items) {
        for (const TokenEdge& edge : automaton.tokens(automaton.node(item.node))) {
          if (is_open(automaton, arena_, {edge.target, item.frame})) allow(edge.token);
        }
      }
    }
    if (can_end()) {
      for (const TokenId token : format_->tokens().end_tokens()) allow(token);
    }
    if (!can_end() && std::all_of(mask.begin(), mask.end(), [](uint64_t word) { return word == 0; })) {
      fail(ErrorCode::invalid_argument, "no token of the vocabulary can go on with the text as the format wants it");
    }
  }

  void accept(TokenId token) override {
    const TokenTable& tokens = format_->tokens();
    if (token < 0 || token >= vocab_size()) refuse(token);
    if (tokens.is_end(token) && can_end()) {
      ended_ = true;
      return;
    }
    if (ended_) refuse(token);
    WorkLimit limit(kMaxAcceptWork);
    Stepper stepper(format_->automaton(), arena_);
    stepper.set_limit(&limit);
    Configurations next = stepper.step_token(state_, token);
    // A token that is a mark here is no text as well.
    const bool is_mark = !next.dead() && tokens.is_added(token);
    if (const std::string& bytes = tokens.bytes(token); !bytes.empty() && !is_mark) {
      Configurations read = state_;
      for (size_t index = 0; index < bytes.size() && !read.dead(); ++index) read = stepper.step(read, static_cast<uint8_t>(bytes[index]));
      merge(next, read);
    }
    if (next.dead()) refuse(token);
    drop_old_frames(next);
    state_ = std::move(next);
  }

  bool can_end() const override { return ended_ || state_.bottom; }
  bool must_end() override { return ended_ || state_.items.empty(); }
  std::unique_ptr<TokenConstraint> clone() const override { return std::make_unique<AutomatonConstraint>(*this); }

  void reset() override {
    arena_ = FrameArena();
    ended_ = false;
    state_ = Stepper(format_->automaton(), arena_).enter({format_->automaton().start(), FrameArena::kBottom});
    state_.bottom = state_.bottom || format_->automaton().accepts_empty();
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

  // Copies the stacks that the next state uses, once there are many others. Errors: fail_ambiguous's; nothing has changed then.
  void drop_old_frames(Configurations& next) {
    if (arena_.size() < frames_to_drop_at_) return;
    FrameArena kept;
    std::unordered_map<uint32_t, uint32_t> moved = {{FrameArena::kBottom, FrameArena::kBottom}};
    std::vector<uint32_t> stack;
    std::vector<Configuration> items = next.items;
    for (Configuration& item : items) {
      for (uint32_t frame = item.frame; !moved.contains(frame); frame = arena_.at(frame).parent) stack.push_back(frame);
      for (; !stack.empty(); stack.pop_back()) {
        Frame frame = arena_.at(stack.back());
        frame.parent = moved.at(frame.parent);
        moved[stack.back()] = kept.push(frame);
      }
      item.frame = moved.at(item.frame);
    }
    if (kept.bytes() > kMaxStackBytes) {
      fail_ambiguous(format_->automaton(), arena_, next.items, fmt::format("its stacks take more than {} MiB", kMaxStackBytes >> 20));
    }
    std::sort(items.begin(), items.end());
    next.items = std::move(items);
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

ConstraintCompiler::ConstraintCompiler(std::shared_ptr<const Tokenizer> tokenizer)
    : formats_(std::make_shared<FormatCache>(kMaxCachedBytes)), tokenizer_(std::move(tokenizer)) {
  if (tokenizer_ == nullptr) fail(ErrorCode::invalid_argument, "ConstraintCompiler: no tokenizer; load one first");
}

ConstraintCompiler::~ConstraintCompiler() = default;

size_t ConstraintCompiler::cached_bytes() const { return formats_->bytes(); }

std::unique_ptr<TokenConstraint> ConstraintCompiler::compile(const OutputFormat& format) {
  const auto find_token = [this](std::string_view text) { return tokenizer_->find_token(text); };
  const auto find_mark = [this](std::string_view text) {
    const std::optional<TokenId> token = tokenizer_->find_token(text);
    return token && tokenizer_->is_added(*token) ? token : std::nullopt;
  };
  return std::make_unique<AutomatonConstraint>(formats_->get(
      format, [&] { return compile_format(format, find_token, find_mark, tokenizer_->vocab_size()); },
      [this] { return std::make_shared<const TokenTable>(*tokenizer_); }));
}

}  // namespace wick
