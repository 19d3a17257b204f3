#include "wick/engine/draft_model.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "wick/base/fail.h"
#include "wick/engine/host_rows.h"
#include "wick/engine/prefix_store.h"
#include "wick/engine/sequence.h"

namespace wick {

DraftModel::DraftModel(LanguageModel& model, const ModelInfo& target, int64_t context, int64_t sequences)
    : model_(model), vocab_size_(std::min(model.info().vocab_size, target.vocab_size)), has_states_(!model.cache_layout().states.empty()) {
  constexpr int64_t kMaxPadding = 1024;
  constexpr int64_t kDefaultPositions = 1024;
  const ModelInfo& info = model.info();
  if (std::abs(info.vocab_size - target.vocab_size) > kMaxPadding) {
    fail(ErrorCode::invalid_argument, "draft model {}: it has {} tokens and {} has {}; take a draft of the same vocabulary", info.name,
         info.vocab_size, target.name, target.vocab_size);
  }
  if (info.source_length > 0 || info.encoder) {
    fail(ErrorCode::unsupported, "draft model {}: it is no decoder ({}); take one", info.name, info.architecture);
  }
  if (info.context_length < context) {
    fail(ErrorCode::invalid_argument, "draft model {}: it was made for {} positions and the engine has {}; give a context up to that",
         info.name, info.context_length, context);
  }
  const int64_t positions = std::max(context, sequences * std::min(context, kDefaultPositions));
  // Where states are kept, each sequence and its fork have their own.
  pool_ = model.new_pool(context, (positions + context - 1) / context, false, has_states_ ? 2 * sequences : 0);
}

void DraftModel::release(Sequence& sequence) {
  if (!sequence.draft.empty()) pool_->free(sequence.draft);
  sequence.draft = {};
}

bool DraftModel::catch_up(Sequence& sequence) {
  if (sequence.draft.empty()) sequence.draft = pool_->create();
  const std::span<const TokenId> tokens = sequence.tokens();
  const int64_t same = common_length(pool_->tokens(sequence.draft), tokens.first(tokens.size() - 1));
  const auto length = static_cast<size_t>(pool_->truncate(sequence.draft, same));
  const auto has = [&](TokenId token) { return token < vocab_size_; };
  if (!std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(length), tokens.end(), has)) return false;
  if (length + 1 >= tokens.size()) return true;
  Batch batch;
  batch.add(sequence.draft, static_cast<int64_t>(length), tokens.subspan(length, tokens.size() - 1 - length), Batch::Results::none);
  try {
    (void)model_.forward(batch, *pool_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    release(sequence);
    return false;
  }
  return true;
}

SequenceHandle DraftModel::handle_for(const Sequence& sequence) { return has_states_ ? pool_->fork(sequence.draft) : sequence.draft; }

bool DraftModel::propose_next(std::span<Sequence* const> sequences, std::span<const SequenceHandle> handles, std::span<const size_t> going,
                              std::vector<std::vector<int32_t>>& proposed) {
  Batch batch;
  for (const size_t index : going) {
    const int32_t last = proposed[index].empty() ? sequences[index]->tokens().back() : proposed[index].back();
    batch.add(handles[index], pool_->length(handles[index]), std::span(&last, 1), Batch::Results::last);
  }
  Tensor logits;
  try {
    logits = model_.forward(batch, *pool_);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
  const std::span<const float> host = host_rows(logits, logits_);
  const size_t width = host.size() / going.size();
  for (size_t row = 0; row < going.size(); ++row) {
    const auto of = host.subspan(row * width, static_cast<size_t>(vocab_size_));
    proposed[going[row]].push_back(static_cast<int32_t>(std::max_element(of.begin(), of.end()) - of.begin()));
  }
  return true;
}

std::vector<std::vector<int32_t>> DraftModel::propose(std::span<Sequence* const> sequences, std::span<const int64_t> lengths) {
  std::vector<std::vector<int32_t>> proposed(sequences.size());
  std::vector<SequenceHandle> handles(sequences.size());
  std::vector<size_t> going;
  for (size_t index = 0; index < sequences.size(); ++index) {
    if (lengths[index] == 0 || !catch_up(*sequences[index])) continue;
    handles[index] = handle_for(*sequences[index]);
    going.push_back(index);
  }
  const std::vector<size_t> begun = going;
  int64_t rows = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (!going.empty() && propose_next(sequences, handles, going, proposed)) {
    rows += std::ssize(going);
    std::erase_if(going, [&](size_t index) {
      const bool full = pool_->length(handles[index]) >= pool_->options().context;
      return full || std::ssize(proposed[index]) >= lengths[index];
    });
  }
  for (const size_t index : begun) {
    if (has_states_) pool_->free(handles[index]);
  }
  if (rows > 0) {
    const double now = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / static_cast<double>(rows);
    seconds_per_token_ = seconds_per_token_ == 0 ? now : seconds_per_token_ * 0.9 + now * 0.1;
  }
  return proposed;
}

}  // namespace wick
