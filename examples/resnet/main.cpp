// resnet: trains a small residual network on images of digits, and tests it on images that it never saw.
#include <wick/wick.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace wick;

namespace {

constexpr const char* kUsage =
    "usage: resnet FOLDER [--steps N] [--seed N] [--learning-rate X] [--initial FILE] [--save FILE] [--at-least X]\n"
    "  FOLDER     MNIST's test images, or others in its form: t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz\n"
    "  --initial  starts with the weights of a safetensors file; --save writes them after the last step\n"
    "  --at-least exits with 1 if less than this percentage of the held-out images is right\n";

struct Options {
  std::string folder, initial, save;
  int64_t steps = 300, seed = 1;
  double learning_rate = 2e-3, at_least = 0;
};

constexpr int64_t kBatch = 32;
constexpr int64_t kHeldOut = 1000;  // the last images

nn::Conv2d conv(int64_t in, int64_t out, int64_t kernel, int64_t stride) {
  return {in, out, kernel, {.padding = kernel / 2, .stride = stride}, {.bias = false}};
}

// relu(x + norm(conv(relu(norm(conv(x)))))) (He et al. 2016); where the size changes, x goes through a convolution of one pixel.
class Block final : public nn::Module {
 public:
  Block(int64_t in, int64_t out, int64_t stride)
      : conv1_(conv(in, out, 3, stride)), norm1_(out), conv2_(conv(out, out, 3, 1)), norm2_(out) {
    if (in == out && stride == 1) return;
    shortcut_.emplace(conv(in, out, 1, stride));
    norm3_.emplace(out);
  }

  [[nodiscard]] Tensor forward(const Tensor& x) const override { return forward_t(x, nn::Mode::evaluate); }
  [[nodiscard]] Tensor forward_t(const Tensor& x, nn::Mode mode) const override {
    const Tensor inner = norm1_.forward_t(conv1_.forward(x), mode).relu();
    const Tensor straight = shortcut_ ? norm3_->forward_t(shortcut_->forward(x), mode) : x;
    return (straight + norm2_.forward_t(conv2_.forward(inner), mode)).relu();
  }
  void visit_tensors(const nn::TensorVisitor& visit) const override {
    nn::visit_inner(visit, "conv1", conv1_);
    nn::visit_inner(visit, "norm1", norm1_);
    nn::visit_inner(visit, "conv2", conv2_);
    nn::visit_inner(visit, "norm2", norm2_);
    if (!shortcut_) return;
    nn::visit_inner(visit, "shortcut", *shortcut_);
    nn::visit_inner(visit, "norm3", *norm3_);
  }

 private:
  nn::Conv2d conv1_;
  nn::BatchNorm norm1_;
  nn::Conv2d conv2_;
  nn::BatchNorm norm2_;
  std::optional<nn::Conv2d> shortcut_;
  std::optional<nn::BatchNorm> norm3_;
};

class Net final : public nn::Module {
 public:
  Net() : conv_(conv(1, 16, 3, 1)), norm_(16), head_(64, 10) { blocks_.add(Block(16, 16, 1)).add(Block(16, 32, 2)).add(Block(32, 64, 2)); }

  [[nodiscard]] Tensor forward(const Tensor& x) const override { return forward_t(x, nn::Mode::evaluate); }
  // [batch, 1, h, w] to [batch, 10].
  [[nodiscard]] Tensor forward_t(const Tensor& x, nn::Mode mode) const override {
    const Tensor first = norm_.forward_t(conv_.forward(x), mode).relu();
    return head_.forward(blocks_.forward_t(first, mode).mean({2, 3}));
  }
  void visit_tensors(const nn::TensorVisitor& visit) const override {
    nn::visit_inner(visit, "conv", conv_);
    nn::visit_inner(visit, "norm", norm_);
    nn::visit_inner(visit, "blocks", blocks_);
    nn::visit_inner(visit, "head", head_);
  }

 private:
  nn::Conv2d conv_;
  nn::BatchNorm norm_;
  nn::Sequential blocks_;
  nn::Linear head_;
};

// The percentage of images from `first` on that the net gets right.
double accuracy(const Net& net, const nn::Dataset& data, int64_t first) {
  const NoGradScope no_grad;
  double right = 0;
  const int64_t count = data.inputs().dim(0) - first;
  for (int64_t at = 0; at < count; at += 250) {
    const int64_t n = std::min<int64_t>(250, count - at);
    const Tensor found = net.forward(data.inputs().narrow(0, first + at, n)).argmax(1);
    right += found.eq(data.targets().narrow(0, first + at, n)).to_dtype(DType::f32).sum_all().item();
  }
  return 100 * right / static_cast<double>(count);
}

int run(const Options& options) {
  const nn::Dataset data = load_mnist(options.folder, MnistPart::test);
  const int64_t training = data.inputs().dim(0) - kHeldOut;
  if (training < kBatch)
    throw std::runtime_error(options.folder + ": too few images; " + std::to_string(kHeldOut + kBatch) + " are needed");
  manual_seed(static_cast<uint64_t>(options.seed));
  const Net net;
  if (!options.initial.empty()) net.load_state_dict(load_safetensors(options.initial));
  nn::AdamW optimizer(net.parameters(), options.learning_rate);

  double last = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    const int64_t first = step * kBatch % (training - kBatch + 1);
    const Tensor logits = net.forward_t(data.inputs().narrow(0, first, kBatch), nn::Mode::train);
    const Tensor loss = nn::cross_entropy(logits, data.targets().narrow(0, first, kBatch));
    optimizer.set_learning_rate(options.learning_rate * (1 - static_cast<double>(step) / static_cast<double>(options.steps)));
    optimizer.backward_step(loss);
    if (step >= options.steps - 10) last += loss.item() / static_cast<double>(std::min<int64_t>(options.steps, 10));
    if (step % 50 == 0) std::printf("step %4ld: loss %.4f\n", static_cast<long>(step), loss.item()), std::fflush(stdout);
  }
  std::printf("mean loss of the last ten steps: %.5f\n", last);
  if (!options.save.empty()) save_safetensors(net.state_dict(), options.save);
  const double right = accuracy(net, data, training);
  std::printf("%.2f %% of %ld held-out images are right\n", right, static_cast<long>(kHeldOut));
  return right >= options.at_least ? 0 : 1;
}

Options read(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name.substr(0, 2) != "--" && options.folder.empty()) {
      options.folder = name;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(name));
    const char* const value = argv[++i];
    if (name == "--steps")
      options.steps = std::stol(value);
    else if (name == "--seed")
      options.seed = std::stol(value);
    else if (name == "--learning-rate")
      options.learning_rate = std::stod(value);
    else if (name == "--at-least")
      options.at_least = std::stod(value);
    else if (name == "--initial")
      options.initial = value;
    else if (name == "--save")
      options.save = value;
    else
      throw std::invalid_argument(std::string(name));
  }
  if (options.folder.empty()) throw std::invalid_argument("FOLDER");
  return options;
}

}  // namespace

int main(int argc, char** argv) try { return run(read(argc, argv)); } catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "%s: missing, unknown or without its value\n%s", error.what(), kUsage);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
