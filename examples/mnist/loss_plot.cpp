#include "loss_plot.h"

#include <wick/base/error.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <vector>

namespace mnist {
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

void add_curve(std::ostream& svg, const Scale& scale, std::span<const double> losses, const char* style) {
  svg << "<polyline fill=\"none\" points=\"";
  for (size_t step = 0; step < losses.size(); ++step) svg << scale.x(static_cast<double>(step)) << "," << scale.y(losses[step]) << " ";
  svg << "\" " << style << "/>\n";
}

void add_text(std::ostream& svg, double x, double y, const char* anchor, double number) {
  svg << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << std::defaultfloat << std::setprecision(6)
      << number << std::fixed << std::setprecision(1) << "</text>\n";
}

void add_axes(std::ostream& svg, const Scale& scale) {
  for (int power = scale.lowest; power <= scale.highest; ++power) {
    const double y = scale.y(std::pow(10, power));
    svg << "<line x1=\"" << kLeft << "\" x2=\"" << kRight << "\" y1=\"" << y << "\" y2=\"" << y << "\" stroke=\"#ddd\"/>\n";
    add_text(svg, kLeft - 8, y + 4, "end", std::pow(10, power));
  }
  constexpr int kMarks = 5;
  for (int mark = 0; mark <= kMarks; ++mark) {
    const double step = std::round(scale.steps * mark / kMarks);
    add_text(svg, scale.x(step), kBottom + 20, "middle", step);
  }
  svg << "<text x=\"" << (kLeft + kRight) / 2 << "\" y=\"" << kBottom + 40 << "\" text-anchor=\"middle\">step</text>\n";
}

}  // namespace

void write_loss_plot(const std::filesystem::path& path, std::span<const double> losses, std::span<const HeldOutLoss> held_out) {
  const Scale scale = scale_of(losses, held_out);
  std::ofstream svg(path);
  svg << std::fixed << std::setprecision(1) << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << " " << kHeight
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"" << kWidth << "\" height=\"" << kHeight
      << "\" fill=\"white\"/>\n<text x=\"" << kLeft << "\" y=\"24\" font-size=\"14\">Cross entropy: "
      << "<tspan fill=\"#9bb8d9\">each step</tspan>, <tspan fill=\"#1f5fa8\">running mean</tspan>, "
      << "<tspan fill=\"#c8541b\">held-out images</tspan></text>\n";
  add_axes(svg, scale);
  add_curve(svg, scale, losses, "stroke=\"#c6d7ea\" stroke-width=\"1\"");
  add_curve(svg, scale, running_mean(losses), "stroke=\"#1f5fa8\" stroke-width=\"2\"");
  for (const HeldOutLoss& point : held_out) {
    svg << "<circle cx=\"" << scale.x(static_cast<double>(point.step)) << "\" cy=\"" << scale.y(point.loss)
        << "\" r=\"4\" fill=\"#c8541b\"/>\n";
  }
  svg << "</svg>\n";
  if (!svg.flush()) throw wick::Error(wick::ErrorCode::io, path.string() + ": cannot be written");
}

}  // namespace mnist
