#include "wick/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "wick/formats/printable.h"

namespace wick {
namespace {

constexpr uint64_t kWidth = 30;
constexpr size_t kLongestRemark = 64;
constexpr std::chrono::milliseconds kInterval{100};

}  // namespace

// Tasks that are done before the first interval show nothing.
ProgressBar::ProgressBar(const Console& console, std::string label)
    : console_(console),
      label_(std::move(label)),
      enabled_(console.errors_are_terminal && !console.quiet),
      last_(std::chrono::steady_clock::now()) {}

ProgressBar::~ProgressBar() {
  if (shown_) console_.err << "\r\033[K" << std::flush;
}

void ProgressBar::update(uint64_t done, uint64_t total, const std::string& remark) {
  if (!enabled_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  shown_ = true;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto filled = static_cast<uint64_t>(share * kWidth);
  console_.err << fmt::format("\r\033[K{} [{}{}] {:3.0f} % {}", label_, std::string(filled, '#'), std::string(kWidth - filled, '.'),
                              share * 100, without_controls(remark.substr(0, kLongestRemark)))
               << std::flush;
}

}  // namespace wick
