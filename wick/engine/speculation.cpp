#include "wick/engine/speculation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <queue>

#include "wick/base/hash.h"

namespace wick {
namespace {

// Other in each process, so that no text can be made to collide.
uint64_t hash_of(std::span<const TokenId> tokens) {
  uint64_t hash = process_hash_key().first;
  for (const TokenId token : tokens) hash = split_mix(hash + kSplitMixStep + static_cast<uint64_t>(token));
  return hash;
}

// Steps count half as much after so many more: as soon as the text changes its nature.
constexpr double kAcceptanceDecay = 0.9;
constexpr double kFade = 0.98;
constexpr double kCostDecay = 0.97;
// Without steps of different sizes a row is taken for this share of a step of one row: what a batch of few rows costs on a CPU.
constexpr double kAssumedRowShare = 0.2;

}  // namespace

std::vector<TokenId> NgramIndex::propose(std::span<const TokenId> text, int64_t most) {
  if (text.size() < kTokens || most < 1) return {};
  // The last place is the one that is looked up: it is added afterwards.
  for (size_t end = std::max(indexed_ + 1, kTokens); end < text.size(); ++end) {
    follows_[hash_of(text.subspan(end - kTokens, kTokens))] = end;
    indexed_ = end;
  }
  const auto last = text.last(kTokens);
  const auto found = follows_.find(hash_of(last));
  if (found == follows_.end()) return {};
  const auto there = text.subspan(found->second - kTokens, kTokens);
  if (!std::equal(there.begin(), there.end(), last.begin())) return {};
  std::vector<TokenId> proposal;
  for (size_t at = found->second; std::ssize(proposal) < most; ++at) {
    proposal.push_back(at < text.size() ? text[at] : proposal[at - text.size()]);
  }
  return proposal;
}

void Acceptance::add(int64_t proposed, int64_t accepted) noexcept {
  // The first wrong one was tried too; those behind it were not.
  const int64_t tried = std::min(proposed, accepted + 1);
  right_ = right_ * kAcceptanceDecay + static_cast<double>(accepted);
  tried_ = tried_ * kAcceptanceDecay + static_cast<double>(tried);
}

void Acceptance::fade() noexcept {
  right_ *= kFade;
  tried_ *= kFade;
}

void StepCost::add(int64_t rows, double seconds) noexcept {
  if (!known()) *this = {};
  // A step that was disturbed must not count for many.
  if (weight_ > 2) seconds = std::min(seconds, 3 * this->seconds(rows));
  const auto x = static_cast<double>(rows);
  age(kCostDecay);
  weight_ += 1;
  rows_ += x;
  rows_squared_ += x * x;
  seconds_ += seconds;
  product_ += x * seconds;
}

void StepCost::fade() noexcept { age(kFade); }

void StepCost::age(double factor) noexcept {
  for (double* sum : {&weight_, &rows_, &rows_squared_, &seconds_, &product_}) *sum *= factor;
}

double StepCost::row_seconds() const noexcept {
  if (!known()) return 0;
  const double mean_rows = rows_ / weight_;
  const double mean = seconds_ / weight_;
  const double assumed = mean / (1 / kAssumedRowShare + mean_rows - 1);
  const double variance = std::max(0.0, rows_squared_ / weight_ - mean_rows * mean_rows);
  const double covariance = product_ / weight_ - mean_rows * mean;
  // The assumption weighs like a step one row beside the mean.
  const double slope = (covariance + assumed / weight_) / (variance + 1 / weight_);
  return std::clamp(slope, 0.01 * mean / std::max(1.0, mean_rows), mean / std::max(1.0, mean_rows));
}

double StepCost::seconds(int64_t rows) const noexcept {
  if (!known()) return 0;
  return std::max(0.0, seconds_ / weight_ + (static_cast<double>(rows) - rows_ / weight_) * row_seconds());
}

bool ProposedStep::proposes() const noexcept {
  return std::any_of(lengths.begin(), lengths.end(), [](int64_t length) { return length > 0; });
}

ProposedStep choose_lengths(std::span<const Proposal> proposals, const StepCost& cost, const PlainStep& plain, double proposing_seconds) {
  ProposedStep step{std::vector<int64_t>(proposals.size(), 0), static_cast<double>(plain.tokens), cost.seconds(plain.rows)};
  if (!cost.known()) return step;
  const double row_seconds = cost.row_seconds() + proposing_seconds;
  const bool recorded = plain.rows <= plain.recorded;
  int64_t rows = plain.rows;
  int64_t most = recorded ? plain.recorded : std::numeric_limits<int64_t>::max();
  bool fills = false;
  // The next proposed token of a sequence: the chance that it is right, which takes all before it, and the seconds that it costs beside
  // its row where it may be the first wrong one.
  struct Next {
    double chance, again;
    size_t index;
    double rate;  // tokens a second
    bool operator<(const Next& other) const noexcept { return rate < other.rate; }
  };
  std::priority_queue<Next> next;
  const auto push = [&](size_t index, double before) {
    const Proposal& proposal = proposals[index];
    if (step.lengths[index] == proposal.most) return;
    const double chance = before * proposal.probability;
    const auto rows_again = static_cast<double>(proposal.taken_back == 0 ? 0 : proposal.taken_back + step.lengths[index]);
    const double again = (before - chance) * rows_again * cost.row_seconds();
    next.push({chance, again, index, chance / (row_seconds + again)});
  };
  for (size_t index = 0; index < proposals.size(); ++index) push(index, 1);
  while (!next.empty() && rows < most) {
    const auto [chance, again, index, rate] = next.top();
    if (!fills && rate * step.seconds <= step.tokens) {
      if (!recorded || rows == plain.rows) break;
      fills = true;
      most = std::min(most, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))));
      continue;
    }
    next.pop();
    ++step.lengths[index];
    ++rows;
    step.tokens += chance;
    step.seconds += (fills ? proposing_seconds : row_seconds) + again;
    push(index, chance);
  }
  return step;
}

bool pays(const ProposedStep& step, const StepCost& ahead, int64_t rows) noexcept {
  return step.proposes() && (!ahead.known() || step.tokens * ahead.seconds(rows) > static_cast<double>(rows) * step.seconds);
}

}  // namespace wick
