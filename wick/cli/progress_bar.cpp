#include "wick/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "wick/base/terminal_text.h"

namespace wick {
namespace {

constexpr uint64_t kWidth = 30;
constexpr size_t kLongestRemark = 64;
constexpr std::chrono::milliseconds kBarInterval{100};
// A log gets a line at each tenth of the way, but not more than two a second, and one every ten seconds at least.
constexpr std::chrono::milliseconds kLineInterval{500};
constexpr std::chrono::seconds kLongestSilence{10};
constexpr double kLineShare = 0.1;

// "12 s", "3 min 5 s"
std::string describe_seconds(double seconds) {
  const int64_t whole = std::llround(seconds);
  return whole < 60 ? fmt::format("{} s", whole) : fmt::format("{} min {} s", whole / 60, whole % 60);
}

}  // namespace

// Tasks that are done before the first interval show nothing.
ProgressBar::ProgressBar(const Console& console, std::string label)
    : console_(console),
      label_(std::move(label)),
      moves_(console.errors_are_terminal && !console.plain_terminal),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (shown_) console_.err << "\r\033[K" << std::flush;
  shown_ = false;
}

void ProgressBar::update(uint64_t done, uint64_t total, const std::string& remark) {
  if (console_.quiet || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string left = share > 0 && share < 1 ? fmt::format(", {} left", describe_seconds(seconds / share * (1 - share))) : "";
  const std::string more = remark.empty() ? "" : ", " + without_controls(remark.substr(0, kLongestRemark));
  if (!moves_) {
    const bool due = now - last_ >= kLongestSilence || (share - last_share_ >= kLineShare && now - last_ >= kLineInterval);
    if (!due) return;
    last_ = now;
    last_share_ = share;
    console_.note(fmt::format("{} {:.0f} %{}{}", label_, share * 100, left, more));
    return;
  }
  if (now - last_ < kBarInterval) return;
  last_ = now;
  shown_ = true;
  const auto filled = static_cast<uint64_t>(share * kWidth);
  console_.err << fmt::format("\r\033[K{} [{}{}] {:3.0f} %{}{}", label_, std::string(filled, '#'), std::string(kWidth - filled, '.'),
                              share * 100, left, more)
               << std::flush;
}

}  // namespace wick
