// mnist: reads handwritten digits with a net from a file, or trains one.
#include <wick/wick.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "classify.h"
#include "images.h"
#include "nets.h"
#include "train.h"

namespace mnist {
namespace {

using Options = std::map<std::string, std::string>;

constexpr const char* kUsage =
    "usage: mnist [FLAGS]         reads the 10,000 digits of MNIST's test set with a net from a file\n"
    "       mnist train [FLAGS]   trains one on four of five of these images, tests it on the others\n"
    "\n"
    "  --data FOLDER       of t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz (../shared/data/mnist)\n"
    "  --limit N           use the first N images only (10000)\n"
    "  --batch N           images at once (200; train: 64)\n"
    "  --at-least X        fail where fewer than X per cent are right (0)\n"
    "  --device NAME       cpu, vulkan:0, ... (cpu)\n"
    "  --threads N         of the CPU; 0: all (0)\n"
    "  --model FILE        the net (FOLDER/mnist.safetensors)\n"
    "  --dtype NAME        of the net while it reads: f32, bf16, f16; auto: bf16 where the device computes with it, else f32 (auto)\n"
    "train:\n"
    "  --epochs N          how often each image is seen (20)\n"
    "  --learning-rate X   the highest of one cycle (0.006)\n"
    "  --seed N            of weights, order, shifts and dropout (1)\n"
    "  --hold-out N        of N images, hold one out (5)\n"
    "  --save FILE         the net (mnist-trained.safetensors)\n"
    "  --plot FILE         the losses (mnist-loss.svg)\n";

Result run_train(Options& options, const Images& images, const wick::Device& device) {
  TrainOptions train_options;
  const auto set = [&](const char* flag, auto&& convert) {
    if (const std::string& text = options[flag]; !text.empty()) convert(text);
  };
  set("--batch", [&](const std::string& text) { train_options.batch = std::stoll(text); });
  set("--epochs", [&](const std::string& text) { train_options.epochs = std::stoi(text); });
  set("--learning-rate", [&](const std::string& text) { train_options.learning_rate = std::stod(text); });
  set("--seed", [&](const std::string& text) { train_options.seed = std::stoull(text); });
  set("--hold-out", [&](const std::string& text) { train_options.hold_out = std::stoll(text); });
  set("--save", [&](const std::string& text) { train_options.save = text; });
  set("--plot", [&](const std::string& text) { train_options.plot = text; });
  if (train_options.batch < 1 || train_options.epochs < 1 || train_options.hold_out < 2) {
    throw wick::Error(wick::ErrorCode::invalid_argument, "--batch and --epochs must be at least 1, --hold-out at least 2");
  }
  return train(images, train_options, device);
}

// The device tells what it can do: its kind says nothing of that.
wick::DType dtype_for(const std::string& name, const wick::Device& device) {
  if (name == "auto") return device.supports_bf16() ? wick::DType::bf16 : wick::DType::f32;
  const std::optional<wick::DType> dtype = wick::parse_dtype(name);
  if (!dtype || !wick::is_float(*dtype)) {
    throw wick::Error(wick::ErrorCode::invalid_argument, "--dtype " + name + ": must be auto, f32, bf16 or f16");
  }
  return *dtype;
}

Result run_classify(Options& options, const Images& images, const wick::Device& device) {
  const std::string model = options["--model"].empty() ? options["--data"] + "/mnist.safetensors" : options["--model"];
  const wick::DType dtype = dtype_for(options["--dtype"], device);
  const nn::VarBuilder builder(wick::open_tensor_source(model, device), dtype, device);
  const int64_t batch = options["--batch"].empty() ? 200 : std::stoll(options["--batch"]);
  if (batch < 1) throw wick::Error(wick::ErrorCode::invalid_argument, "--batch must be at least 1");
  const auto start = std::chrono::steady_clock::now();
  const auto run = [&](const nn::Module& net) { return classify(net, images, batch, device, dtype); };
  // The net that `mnist train` saves has no third convolution.
  const Result result = builder.contains_tensor("conv3.weight") ? run(PublishedNet(builder)) : run(SmallNet(builder));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::fprintf(stderr, "%.0f images per second in %s\n", static_cast<double>(images.size()) / seconds,
               std::string(wick::to_string(dtype)).c_str());
  return result;
}

// The flags of the command line over their defaults; false where there is one that does not exist, or one without a value.
bool parse(Options& options, int argc, char** argv, int first) {
  for (int i = first; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) return false;
    option->second = argv[i + 1];
  }
  return true;
}

int run(int argc, char** argv) {
  const bool train = argc > 1 && std::string(argv[1]) == "train";
  Options options = {{"--data", "../shared/data/mnist"},
                     {"--limit", "10000"},
                     {"--batch", ""},
                     {"--at-least", "0"},
                     {"--device", "cpu"},
                     {"--threads", "0"},
                     {"--model", ""}};
  if (!train) options.insert({"--dtype", "auto"});
  if (train)
    options.insert({{"--epochs", ""}, {"--learning-rate", ""}, {"--seed", ""}, {"--hold-out", ""}, {"--save", ""}, {"--plot", ""}});
  if (argc > 1 && std::string(argv[argc - 1]) == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (!parse(options, argc, argv, train ? 2 : 1)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const wick::Device device = wick::Device::parse(options["--device"], {.threads = std::stoi(options["--threads"])});
  Images images = load_test_images(options["--data"]);
  images.keep(std::stoll(options["--limit"]));
  const Result result = train ? run_train(options, images, device) : run_classify(options, images, device);
  result.print();
  return 100 * result.accuracy() < std::stod(options["--at-least"]) ? 1 : 0;
}

}  // namespace
}  // namespace mnist

int main(int argc, char** argv) try { return mnist::run(argc, argv); } catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 2;
}
