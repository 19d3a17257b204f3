// mnist: reads handwritten digits with a net from a file, or trains one.
#include <fmt/format.h>

#include <chrono>
#include <ostream>

#include "mnist/classify.h"
#include "mnist/images.h"
#include "mnist/nets.h"
#include "mnist/train.h"
#include "wick/base/fail.h"
#include "wick/cli/flags.h"
#include "wick/cli/load_model.h"
#include "wick/cli/progress_bar.h"
#include "wick/nn/tensor_files.h"

namespace wick::mnist {
namespace {

struct Options {
  std::filesystem::path data = "../shared/data/mnist";
  std::filesystem::path model;
  DeviceChoice device{.name = "cpu", .trace_file = {}};
  int threads = 0;
  int64_t batch = 200;
  int64_t limit = 10000;
  float at_least = 0;
  TrainOptions train{.save = "mnist-trained.safetensors", .plot = "mnist-loss.svg"};
};

void add_path(Flags& flags, const std::string& flag, const std::string& description, std::filesystem::path& target) {
  flags.add_value(flag, "PATH", description, [&target](const std::string& text) { target = text; });
}

void add_common_flags(Flags& flags, Options& options) {
  add_path(flags, "--data", "the folder of t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz (../shared/data/mnist)", options.data);
  flags.add_integer("--limit", "use the first N images only", options.limit, 10);
  flags.add_decimal("--at-least", "fail where fewer than X per cent are right", options.at_least, 0, 100);
  add_device(flags, options.device);
  add_threads(flags, options.threads);
}

void check_accuracy(const Result& result, const Options& options) {
  if (100 * result.accuracy() < static_cast<double>(options.at_least)) {
    fail(ErrorCode::invalid_argument, "--at-least {:g}: only {:.2f} % are right", options.at_least, 100 * result.accuracy());
  }
}

void print(const Console& console, const Result& result) {
  console.out << fmt::format("{} of {} images are right: {:.2f} %\n\n", result.right(), result.total(), 100 * result.accuracy())
              << result.table();
}

void run_classify(const Console& console, const Options& options) {
  const Device device = open_device(console, options.device, options.threads);
  Images images = load_test_images(options.data);
  images.keep(options.limit);
  const std::filesystem::path model = options.model.empty() ? options.data / "mnist.safetensors" : options.model;
  const nn::VarBuilder builder(open_tensor_source(model, device), DType::f32, device);
  const auto start = std::chrono::steady_clock::now();
  const auto run = [&](const nn::Module& net) {
    ProgressBar bar(console, "images");
    return classify(net, images, options.batch, device,
                    [&](int64_t done) { bar.update(static_cast<uint64_t>(done), static_cast<uint64_t>(images.size())); });
  };
  // The net that `mnist train` saves has no third convolution.
  const Result result = builder.contains_tensor("conv3.weight") ? run(PublishedNet(builder)) : run(SmallNet(builder));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  console.note(fmt::format("{:.0f} images a second", static_cast<double>(images.size()) / seconds));
  print(console, result);
  check_accuracy(result, options);
}

void run_train(const Console& console, const Options& options) {
  const Device device = open_device(console, options.device, options.threads);
  Images images = load_test_images(options.data);
  images.keep(options.limit);
  const Result result = train(console, images, options.train, device);
  print(console, result);
  check_accuracy(result, options);
}

void train_command(Console& console, const Arguments& arguments) {
  Options options;
  console.name += " train";
  Flags flags(
      "Trains a small convolutional net from nothing, on four of five images of the test set (the training set is not needed),\n"
      "and says how many of the others it knows.",
      console);
  flags.add_integer("--epochs", "how often each image is seen (20)", options.train.epochs, 1, 1000);
  flags.add_integer("--batch", "images of one step (64)", options.train.batch, 1, 10000);
  flags.add_value("--learning-rate", "X", "the highest of one cycle (0.006)",
                  [&](const std::string& text) { options.train.learning_rate = parse_decimal("--learning-rate", text, 0, 10); });
  flags.add_value("--seed", "N", "of weights, order, shifts and dropout (1)",
                  [&](const std::string& text) { options.train.seed = parse_seed("--seed", text); });
  flags.add_integer("--hold-out", "of N images, hold one out (5)", options.train.hold_out, 2, 100);
  add_path(flags, "--save", "where the net is written (mnist-trained.safetensors)", options.train.save);
  add_path(flags, "--plot", "where the plot of the losses is written (mnist-loss.svg)", options.train.plot);
  add_common_flags(flags, options);
  flags.footer(examples({"mnist train", "mnist train --epochs 10 --seed 7 --plot loss.svg"}));
  if (flags.parse(arguments)) run_train(console, options);
}

void classify_command(Console& console, const Arguments& arguments) {
  Options options;
  Flags flags(
      "Reads the 10,000 handwritten digits of MNIST's test set with a convolutional net from a file.\n"
      "\"mnist train\" trains one: see \"mnist train --help\".",
      console);
  add_path(flags, "--model", "the net: DATA/mnist.safetensors, or what \"mnist train\" saved", options.model);
  flags.add_integer("--batch", "images at once (200)", options.batch, 1, 10000);
  add_common_flags(flags, options);
  flags.footer(examples({"mnist --data FOLDER", "mnist --model mnist-trained.safetensors", "mnist train"}));
  if (flags.parse(arguments)) run_classify(console, options);
}

}  // namespace
}  // namespace wick::mnist

int main(int argument_count, char** argument_values) {
  wick::Console console = wick::standard_console("mnist");
  wick::Arguments arguments(argument_values + 1, argument_values + argument_count);
  return wick::run_guarded(console, [&] {
    if (!arguments.empty() && arguments.front() == "train") {
      wick::mnist::train_command(console, {arguments.begin() + 1, arguments.end()});
    } else {
      wick::mnist::classify_command(console, arguments);
    }
  });
}
