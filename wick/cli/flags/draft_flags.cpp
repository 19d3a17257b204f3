#include "wick/cli/flags/draft_flags.h"

#include <algorithm>
#include <utility>

#include "wick/base/fail.h"
#include "wick/cli/hub/model_path.h"
#include "wick/formats/printable.h"

namespace wick {
namespace {

// The same number means the same text in both: a draft of other tokens would propose nonsense, which costs time and tells nobody.
void check_tokens(const LoadedModel& draft, const LoadedModel& target) {
  const std::string& name = draft.model->info().name;
  const Tokenizer& own = *draft.tokenizer;
  const Tokenizer& other = *target.tokenizer;
  const TokenId count = std::min(own.vocab_size(), other.vocab_size());
  for (TokenId id = 0; id < count; ++id) {
    if (own.token_text(id) == other.token_text(id)) continue;
    fail(ErrorCode::invalid_argument, "--draft-model {}: its token {} is {} and that of {} is {}; take a draft of the same vocabulary",
         name, id, printable(own.token_text(id)), target.model->info().name, printable(other.token_text(id)));
  }
}

}  // namespace

void add_draft(Flags& flags, DraftChoice& draft, const std::string& group) {
  flags
      .add_text("--draft-model,--model-draft", "FILE",
                "a small model of the same vocabulary that proposes tokens, which the model checks several at a time; the text is the same",
                draft.model)
      .group(group);
  flags
      .add_integer("--draft-tokens,--draft-max,--draft-n,--draft",
                   fmt::format("maximum number of tokens proposed at once; 0 = none ({})", draft.tokens), draft.tokens, 0, 256)
      .group(group);
}

std::shared_ptr<LanguageModel> load_draft(const Console& console, const DraftChoice& draft, const LoadedModel& target,
                                          const Precision& precision) {
  if (draft.model.empty()) return nullptr;
  Console quiet = console;  // the device has been named
  quiet.quiet = true;
  auto loaded = std::make_shared<LoadedModel>(load_model(quiet, resolve_model(console, draft.model), target.model->device(), precision));
  check_tokens(*loaded, target);
  console.note(fmt::format("draft model: {}", loaded->model->info().name));
  return {loaded, loaded->model.get()};
}

}  // namespace wick
