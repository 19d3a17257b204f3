#include "train.h"

#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "loss_plot.h"
#include "nets.h"

namespace mnist {

using namespace wick;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Split {
  Images training;
  Images held_out;
};

Split split(const Images& images, int64_t hold_out) {
  Split parts;
  for (int64_t i = 0; i < images.size(); ++i) (i % hold_out == hold_out - 1 ? parts.held_out : parts.training).add(images, i);
  if (parts.training.size() < 2 || parts.held_out.size() == 0) {
    throw Error(ErrorCode::invalid_argument, std::to_string(images.size()) + " images are too few to train on some and hold out others");
  }
  return parts;
}

// Everything that changes during a training.
class Training {
 public:
  Training(Split parts, const TrainOptions& options, const Device& device)
      : parts_(std::move(parts)),
        options_(options),
        device_(device),
        net_(nn::VarBuilder::from_var_map(vars_, DType::f32, device)),
        optimizer_(vars_.all_vars(), options.learning_rate),
        random_(options.seed),
        order_(static_cast<size_t>(parts_.training.size())) {
    std::iota(order_.begin(), order_.end(), 0);
    steps_ = options.epochs * ((parts_.training.size() + options.batch - 1) / options.batch);
    rate_ = nn::schedule::one_cycle(options.learning_rate, std::max<int64_t>(steps_, 2));
  }

  void run() {
    const Clock::time_point start = Clock::now();
    for (int epoch = 1; epoch <= options_.epochs; ++epoch) {
      const double loss = run_epoch();
      const Result result = classify(net_, parts_.held_out, 500, device_);
      held_out_.push_back({static_cast<int64_t>(losses_.size()), result.loss});
      std::printf("epoch %2d: loss %.4f; held-out images: loss %.4f, %.2f %% right; %.0f s\n", epoch, loss, result.loss,
                  100 * result.accuracy(), seconds_since(start));
      std::fflush(stdout);
    }
  }

  [[nodiscard]] const Images& held_out() const noexcept { return parts_.held_out; }
  void save() const { save_variables(vars_, options_.save); }
  void plot() const { write_loss_plot(options_.plot, losses_, held_out_); }

 private:
  // A whole number from 0 to limit - 1, the same ones everywhere for a seed.
  int64_t draw(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }

  // The mean loss of its steps.
  double run_epoch() {
    for (size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[static_cast<size_t>(draw(static_cast<int64_t>(i) + 1))]);
    const size_t first = losses_.size();
    for (size_t at = 0; at < order_.size(); at += static_cast<size_t>(options_.batch)) {
      const size_t count = std::min(static_cast<size_t>(options_.batch), order_.size() - at);
      losses_.push_back(step(std::span(order_).subspan(at, count)));
    }
    return std::accumulate(losses_.begin() + static_cast<std::ptrdiff_t>(first), losses_.end(), 0.0) /
           static_cast<double>(losses_.size() - first);
  }

  // Each image is moved by up to two pixels: the net is to know a digit wherever it stands.
  double step(std::span<const int64_t> indices) {
    std::vector<Shift> shifts;
    for (size_t i = 0; i < indices.size(); ++i) {
      const int right = static_cast<int>(draw(5)) - 2;
      shifts.push_back({right, static_cast<int>(draw(5)) - 2});
    }
    const Tensor images = batch_of(parts_.training, indices, shifts, device_);
    const Tensor loss = nn::cross_entropy(net_.forward_t(images, nn::Mode::train), labels_of(parts_.training, indices, device_));
    optimizer_.set_learning_rate(rate_(static_cast<int64_t>(losses_.size())));
    optimizer_.backward_step(loss);
    return loss.item();
  }

  Split parts_;
  const TrainOptions& options_;
  Device device_;
  nn::VarMap vars_;
  SmallNet net_;
  nn::AdamW optimizer_;
  std::mt19937_64 random_;
  std::vector<int64_t> order_;
  int64_t steps_ = 0;
  nn::Schedule rate_;
  std::vector<double> losses_;
  std::vector<HeldOutLoss> held_out_;
};

}  // namespace

Result train(const Images& images, const TrainOptions& options, const Device& device) {
  device.set_seed(options.seed);
  Training training(split(images, options.hold_out), options, device);
  std::printf("%ld test images: %ld to train on, %ld held out and never trained on\n", static_cast<long>(images.size()),
              static_cast<long>(images.size() - training.held_out().size()), static_cast<long>(training.held_out().size()));
  training.run();
  training.save();
  training.plot();
  std::printf("%s: the net; %s: the losses\n", options.save.string().c_str(), options.plot.string().c_str());
  const SmallNet net(nn::VarBuilder(open_tensor_source(options.save, device), DType::f32, device));
  return classify(net, training.held_out(), 500, device);
}

}  // namespace mnist
