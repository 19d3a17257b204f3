#include "mnist/loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "wick/base/atomic_file.h"

namespace wick::mnist {
namespace {

constexpr double kWidth = 800;
constexpr double kHeight = 420;
constexpr double kLeft = 60;
constexpr double kRight = 780;
constexpr double kTop = 40;
constexpr double kBottom = 370;

// From steps and losses to places in the picture. Losses run over whole powers of ten.
struct Scale {
  double steps;
  int lowest;
  int highest;

  [[nodiscard]] double x(double step) const { return kLeft + (kRight - kLeft) * step / std::max(steps, 1.0); }
  [[nodiscard]] double y(double loss) const {
    const double share = (std::log10(std::max(loss, 1e-12)) - lowest) / (highest - lowest);
    return kBottom - (kBottom - kTop) * std::clamp(share, 0.0, 1.0);
  }
};

Scale scale_of(std::span<const double> losses, std::span<const HeldOutLoss> held_out) {
  double low = 1;
  double high = 1e-3;
  const auto take = [&](double loss) {
    if (loss > 0 && std::isfinite(loss)) low = std::min(low, loss), high = std::max(high, loss);
  };
  for (const double loss : losses) take(loss);
  for (const HeldOutLoss& point : held_out) take(point.loss);
  const int lowest = std::max(static_cast<int>(std::floor(std::log10(low))), -4);
  return {static_cast<double>(losses.size()), lowest, std::max(static_cast<int>(std::ceil(std::log10(high))), lowest + 1)};
}

// Exponential, corrected for its start at 0.
std::vector<double> running_mean(std::span<const double> losses) {
  constexpr double kKept = 0.97;
  std::vector<double> means;
  double sum = 0;
  double weight = 0;
  for (const double loss : losses) {
    sum = kKept * sum + (1 - kKept) * loss;
    weight = kKept * weight + (1 - kKept);
    means.push_back(sum / weight);
  }
  return means;
}

void add_curve(std::string& svg, const Scale& scale, std::span<const double> losses, const char* style) {
  svg += "<polyline fill=\"none\" points=\"";
  for (size_t step = 0; step < losses.size(); ++step)
    fmt::format_to(std::back_inserter(svg), "{:.1f},{:.1f} ", scale.x(static_cast<double>(step)), scale.y(losses[step]));
  fmt::format_to(std::back_inserter(svg), "\" {}/>\n", style);
}

void add_axes(std::string& svg, const Scale& scale) {
  const auto out = std::back_inserter(svg);
  for (int power = scale.lowest; power <= scale.highest; ++power) {
    const double y = scale.y(std::pow(10, power));
    fmt::format_to(out, "<line x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ddd\"/>\n", kLeft, kRight, y, y);
    fmt::format_to(out, "<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", kLeft - 8, y + 4, std::pow(10, power));
  }
  constexpr int kMarks = 5;
  for (int mark = 0; mark <= kMarks; ++mark) {
    const double step = scale.steps * mark / kMarks;
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n", scale.x(step), kBottom + 20, step);
  }
  fmt::format_to(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">step</text>\n", (kLeft + kRight) / 2, kBottom + 40);
}

}  // namespace

void write_loss_plot(const std::filesystem::path& path, std::span<const double> losses, std::span<const HeldOutLoss> held_out) {
  const Scale scale = scale_of(losses, held_out);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"24\" font-size=\"14\">Cross entropy: <tspan fill=\"#9bb8d9\">each step</tspan>, "
      "<tspan fill=\"#1f5fa8\">running mean</tspan>, <tspan fill=\"#c8541b\">held-out images</tspan></text>\n",
      kWidth, kHeight, kLeft);
  add_axes(svg, scale);
  add_curve(svg, scale, losses, "stroke=\"#c6d7ea\" stroke-width=\"1\"");
  add_curve(svg, scale, running_mean(losses), "stroke=\"#1f5fa8\" stroke-width=\"2\"");
  for (const HeldOutLoss& point : held_out) {
    fmt::format_to(std::back_inserter(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#c8541b\"/>\n",
                   scale.x(static_cast<double>(point.step)), scale.y(point.loss));
  }
  svg += "</svg>\n";
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(svg)));
  file.commit();
}

}  // namespace wick::mnist
