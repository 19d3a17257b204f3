#include "wick/engine/proposer.h"

#include <algorithm>
#include <utility>

namespace wick {

void Proposer::take(const LanguageModel& model, int64_t context) {
  context_ = context;
  has_states_ = !model.cache_layout().states.empty();
  enabled_ = options_.most > 0 && model.info().source_length == 0 && (options_.ngram || draft_ != nullptr);
}

void Proposer::add_cost(int64_t rows, double seconds) noexcept {
  if (rows <= kMaxCostRows) cost_.add(rows, seconds);
}

void Proposer::add_ahead_cost(int64_t rows, double seconds) noexcept {
  if (rows <= kMaxCostRows) ahead_cost_.add(rows, seconds);
}

void Proposer::release(Sequence& sequence) {
  if (draft_ != nullptr) draft_->release(sequence);
}

int64_t Proposer::most_proposed(const SequenceRows& rows, int64_t under_way) const {
  const Sequence& sequence = *rows.sequence;
  const int64_t length = sequence.length() + under_way, generated = sequence.generated() + under_way;
  // A token that is checked is followed by a chosen one.
  // Tokens that are computed again add to what the next refusal takes back: they must not grow without bound.
  const int64_t most = has_states_ ? options_.most + 1 - rows.count : options_.most;
  return std::min({most, rows.max_proposed, sequence.request().request.params.max_tokens - generated - 1, context_ - length});
}

double Proposer::propose(std::vector<SequenceRows>& step, int64_t recorded_rows) {
  if (!enabled_) return 0;
  std::vector<Proposal> proposals(step.size());
  std::vector<std::vector<TokenId>> found(step.size());
  int64_t rows = 0;
  int64_t tokens = 0;
  for (size_t index = 0; index < step.size(); ++index) {
    Sequence& sequence = *step[index].sequence;
    rows += step[index].count;
    if (!sequence.decodes() || step[index].count < sequence.remaining()) continue;
    ++tokens;
    const int64_t most = most_proposed(step[index], 0);
    if (most < 1) continue;
    if (options_.ngram) found[index] = sequence.ngrams.propose(sequence.tokens(), most);
    const bool drafts = draft_ != nullptr && found[index].empty();
    proposals[index] = {sequence.acceptance.probability(), drafts ? most : std::ssize(found[index]), taken_back(step[index])};
  }
  if (tokens == 0) return 0;
  const double drafting = draft_ == nullptr ? 0 : draft_->seconds_per_token();
  std::vector<int64_t> lengths;
  if (options_.adaptive) {
    lengths = choose_lengths(proposals, proposing_cost(), {rows, tokens, recorded_rows}, drafting).lengths;
  } else {
    for (const Proposal& proposal : proposals) lengths.push_back(proposal.most);
  }
  std::vector<Sequence*> drafted;
  std::vector<int64_t> drafted_lengths;
  std::vector<size_t> places;
  for (size_t index = 0; index < step.size(); ++index) {
    Sequence& sequence = *step[index].sequence;
    if (lengths[index] == 0) {
      if (sequence.decodes()) sequence.acceptance.fade();
    } else if (!found[index].empty()) {
      found[index].resize(static_cast<size_t>(lengths[index]));
      step[index].proposed = std::move(found[index]);
    } else {
      drafted.push_back(&sequence);
      drafted_lengths.push_back(lengths[index]);
      places.push_back(index);
    }
  }
  if (drafted.empty()) return 0;
  const EngineClock::time_point begin = EngineClock::now();
  std::vector<std::vector<TokenId>> texts = draft_->propose(drafted, drafted_lengths);
  for (size_t place = 0; place < places.size(); ++place) step[places[place]].proposed = std::move(texts[place]);
  return seconds_between(begin, EngineClock::now());
}

bool Proposer::would_propose(const std::vector<SequenceRows>& step, int64_t recorded_rows) {
  if (!enabled_) return false;
  if (draft_ != nullptr) return true;
  std::vector<Proposal> proposals;
  bool any = false;
  for (const SequenceRows& one : step) {
    Sequence& sequence = *one.sequence;
    const int64_t most = most_proposed(one, 1);
    const std::vector<TokenId> found =
        most < 1 || !options_.ngram ? std::vector<TokenId>{} : sequence.ngrams.propose(sequence.tokens(), most);
    any = any || !found.empty();
    proposals.push_back({sequence.acceptance.probability(), std::ssize(found), taken_back(one)});
  }
  if (!any) return false;
  if (!options_.adaptive) return true;
  const auto rows = std::ssize(step);
  if (pays(choose_lengths(proposals, proposing_cost(), {rows, rows, recorded_rows}, 0), ahead_cost_, rows)) return true;
  cost_.fade();
  for (const SequenceRows& one : step) one.sequence->acceptance.fade();
  return false;
}

}  // namespace wick
