// The released models against logits, tokens and texts that others computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "unit/found_devices.h"
#include "unit/shared_data.h"
#include "wick/formats/safetensors.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/streaming_detokenizer.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {
namespace {

template <class T>
std::vector<T> values_of(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsTensor& tensor = file.get(name);
  std::vector<T> values(tensor.data.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

size_t largest_index(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// −log softmax(logits)[target], in double.
double negative_log_likelihood(std::span<const float> logits, int32_t target) {
  const double largest = logits[largest_index(logits)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[static_cast<size_t>(target)];
}

constexpr DeviceLocation kCpu{DeviceKind::cpu, 0};

// Where a model runs, and how.
struct Path {
  DeviceLocation location;
  bool precise;
};

std::string path_name(const ::testing::TestParamInfo<Path>& info) {
  std::string name = info.param.location.to_string();
  std::replace(name.begin(), name.end(), ':', '_');
  return name + (info.param.precise ? "_precise" : "_fast");
}

// Every device of this machine that runs kernels on its own; the interpreter takes minutes for a model of this size.
std::vector<DeviceLocation> accelerators() {
  std::vector<DeviceLocation> found = found_kernel_devices();
  std::erase_if(found, [](const DeviceLocation& device) { return device.kind == DeviceKind::reference; });
  return found;
}

std::vector<Path> paths() {
  std::vector<Path> all{{kCpu, true}, {kCpu, false}};
  for (const DeviceLocation& location : accelerators()) all.push_back({location, true});
  return all;
}

class NovelistTest : public ::testing::TestWithParam<Path> {
 protected:
  void SetUp() override {
    const auto path = shared_data("data/models/novelist-20m-q8_0.golden.safetensors");
    if (!path) GTEST_SKIP() << kSharedDataMissing;
    golden_ = SafetensorsFile::open(*path);
    file_ = GgufFile::open(source_file("models/novelist-20m-q8_0.gguf"));
    tokenizer_ = Tokenizer::from_gguf(*file_);
    model_ = load_language_model(*file_, Device::open(GetParam().location), {.precise = GetParam().precise, .progress = {}});
  }

  std::optional<SafetensorsFile> golden_;
  std::optional<GgufFile> file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<LanguageModel> model_;
};

TEST_P(NovelistTest, LogitsAreTheGoldenOnes) {
  double total = 0;
  size_t count = 0;
  for (int prompt = 0; prompt < 4; ++prompt) {
    const std::string name = "prompt" + std::to_string(prompt);
    const auto ids = values_of<int32_t>(*golden_, name + ".ids");
    EXPECT_EQ(tokenizer_->encode(golden_->metadata().at(name)), ids);
    const auto want = values_of<float>(*golden_, name + ".logits");
    const auto cache = model_->new_sequence(64);
    const auto got = model_->forward(ids, *cache, LogitRows::all).to_vector<float>();
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const double difference = std::fabs(got[i] - want[i]);
      if (GetParam().precise) {
        ASSERT_LT(difference, GetParam().location.kind == DeviceKind::cpu ? 2e-4 : 2e-3) << name << " element " << i;
      }
      total += difference;
      ++count;
    }
  }
  RecordProperty("mean_absolute_difference", std::to_string(total / static_cast<double>(count)));
  EXPECT_LT(total / static_cast<double>(count), 0.03);
}

TEST_P(NovelistTest, GreedyTokensAreTheGoldenOnes) {
  for (int prompt = 0; prompt < 4; ++prompt) {
    const std::string name = "prompt" + std::to_string(prompt);
    const auto ids = values_of<int32_t>(*golden_, name + ".greedy_ids");
    const auto margins = values_of<float>(*golden_, name + ".greedy_margins");
    const auto cache = model_->new_sequence(128);
    const size_t prompt_tokens = ids.size() - 64;
    Tensor logits = model_->forward(std::span(ids).first(prompt_tokens), *cache, LogitRows::last);
    // A driver that runs on the processor takes 0.3 s for a token.
    const size_t steps = prompt == 0 || GetParam().location == kCpu ? 64 : 8;
    for (size_t step = 0; step < steps; ++step) {
      const auto want = static_cast<size_t>(ids[prompt_tokens + step]);
      if (GetParam().precise || margins[step] >= 0.1F) {
        EXPECT_EQ(largest_index(logits.to_vector<float>()), want) << name << " step " << step;
      }
      logits = model_->forward(std::span(ids).subspan(prompt_tokens + step, 1), *cache, LogitRows::last);
    }
  }
}

// 4096 tokens with all their logits: where that takes no minutes.
class NovelistOnTheCpuTest : public NovelistTest {};
TEST_P(NovelistOnTheCpuTest, LikelihoodOfUnseenNovelsIsTheGoldenOne) {
  const auto path = shared_data("data/text/novels.val.txt");
  if (!path) GTEST_SKIP() << kSharedDataMissing;
  std::ifstream stream(*path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  const std::vector<TokenId> ids = tokenizer_->encode(std::string_view(text).substr(0, 40000), {.add_special = false});
  constexpr size_t kChunk = 512;
  ASSERT_GE(ids.size(), 8 * kChunk);
  double total = 0;
  const auto cache = model_->new_sequence(kChunk);
  for (size_t chunk = 0; chunk < 8; ++chunk) {
    std::vector<TokenId> input{*tokenizer_->bos()};
    input.insert(input.end(), ids.begin() + static_cast<std::ptrdiff_t>(chunk * kChunk),
                 ids.begin() + static_cast<std::ptrdiff_t>((chunk + 1) * kChunk - 1));
    cache->truncate(0);
    const std::vector<float> logits = model_->forward(input, *cache, LogitRows::all).to_vector<float>();
    const size_t vocab = logits.size() / kChunk;
    for (size_t i = 0; i < kChunk; ++i) {
      total += negative_log_likelihood(std::span(logits).subspan(i * vocab, vocab), ids[chunk * kChunk + i]);
    }
  }
  EXPECT_NEAR(total / (8 * kChunk), 3.978745, GetParam().precise ? 0.0005 : 0.01);
}

INSTANTIATE_TEST_SUITE_P(Paths, NovelistTest, ::testing::ValuesIn(paths()), path_name);
INSTANTIATE_TEST_SUITE_P(Paths, NovelistOnTheCpuTest, ::testing::Values(Path{kCpu, true}, Path{kCpu, false}), path_name);

TEST(Stories260k, GreedyTextIsTheKnownOne) {
  const auto path = shared_data("data/models/stories260k-f32.gguf");
  const auto expected = shared_data("data/models/stories260k.expected_greedy_200.txt");
  if (!path || !expected) GTEST_SKIP() << kSharedDataMissing;
  std::ifstream stream(*expected, std::ios::binary);
  const std::string want((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::vector<Device> devices{Device::cpu(), Device::open({DeviceKind::cpu, 0}, {.variant = "scalar"})};
  for (const DeviceLocation& location : accelerators()) devices.push_back(Device::open(location));
  for (const Device& device : devices) {
    const GgufFile file = GgufFile::open(*path);
    const auto tokenizer = Tokenizer::from_gguf(file);
    const auto model = load_language_model(file, device);
    const auto cache = model->new_sequence(256);
    StreamingDetokenizer detokenizer(tokenizer);
    std::string text;
    int32_t token = *tokenizer->bos();
    for (int i = 0; i < 200; ++i) {
      token = static_cast<int32_t>(largest_index(model->forward(std::span(&token, 1), *cache, LogitRows::last).to_vector<float>()));
      text += detokenizer.push(token);
    }
    EXPECT_EQ(text, want) << device.location().to_string() << ", " << device.caps().driver;
  }
}

}  // namespace
}  // namespace wick
