// Llama against plain double loops, on small random models: no shared data is needed.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/tiny_model.h"
#include "unit/temporary_folder.h"
#include "wick/base/error.h"
#include "wick/device/registry.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

std::vector<int32_t> some_tokens(int64_t count, int64_t vocab) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>((i * 7919 + 13) % vocab));
  return tokens;
}

// The CPU by each instruction set that this machine runs.
std::vector<Device> code_paths() {
  std::vector<Device> devices;
  for (const Backend* backend : linked_backends()) {
    if (backend->kind != DeviceKind::cpu || backend->variants == nullptr) continue;
    for (const VariantInfo& variant : backend->variants()) {
      if (variant.usable) devices.push_back(Device::open({backend->kind, 0}, {2, variant.name}));
    }
  }
  return devices;
}

double largest_difference(const Tensor& logits, const std::vector<std::vector<double>>& expected) {
  const std::vector<float> values = logits.to_vector<float>();
  double largest = 0;
  for (size_t row = 0; row < expected.size(); ++row) {
    for (size_t i = 0; i < expected[row].size(); ++i) {
      largest = std::max(largest, std::fabs(values[row * expected[row].size() + i] - expected[row][i]));
    }
  }
  return largest;
}

class LlamaTest : public ::testing::Test {
 protected:
  // The opened file and model of a freshly written tiny model.
  struct Opened {
    GgufFile file;
    std::unique_ptr<LanguageModel> model;
  };

  [[nodiscard]] Opened open(const TinyModel& tiny, bool precise, std::optional<DType> kv_type = {}) {
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny, path);
    GgufFile file = GgufFile::open(path);
    std::unique_ptr<LanguageModel> model = load_language_model(file, Device::cpu(), {.precise = precise, .kv_type = kv_type});
    return {std::move(file), std::move(model)};
  }

  // What is wrong with the model's file.
  [[nodiscard]] std::string message_of(const TinyModel& tiny) {
    try {
      (void)open(tiny, true);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  void expect_naive_logits(const TinyModel& tiny, int64_t tokens, double tolerance) {
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny, path);
    const GgufFile plain = GgufFile::open(path);
    const std::vector<int32_t> ids = some_tokens(tokens, tiny.vocab);
    const std::vector<std::vector<double>> expected = NaiveLlama(plain, tiny).run(ids);
    const Opened opened = open(tiny, true);
    const auto cache = opened.model->new_sequence(tiny.context);
    EXPECT_LT(largest_difference(opened.model->forward(ids, *cache, LogitRows::all), expected), tolerance);
  }

  TemporaryFolder folder_;
};

TEST_F(LlamaTest, PreciseLogitsAreThoseOfPlainLoops) { expect_naive_logits({}, 40, 1e-4); }

TEST_F(LlamaTest, TiedHeadReadsTheEmbedding) {
  TinyModel tiny;
  tiny.tied = true;
  expect_naive_logits(tiny, 12, 1e-4);
}

TEST_F(LlamaTest, EveryHeadMayHaveItsOwnKeys) {
  TinyModel tiny;
  tiny.kv_heads = 4;
  expect_naive_logits(tiny, 12, 1e-4);
}

TEST_F(LlamaTest, AWindowHidesOlderPositions) {
  for (const int64_t window : {1, 7, 16, 33}) {
    TinyModel tiny;
    tiny.window = window;
    tiny.numbers["attention.sliding_window"] = static_cast<float>(window);
    SCOPED_TRACE(window);
    expect_naive_logits(tiny, 90, 1e-4);
  }
}

TEST_F(LlamaTest, TheFilesScaleOfScoresCounts) {
  TinyModel tiny;
  tiny.attention_scale = 0.5;
  tiny.numbers["attention.scale"] = 0.5F;
  expect_naive_logits(tiny, 20, 1e-4);
}

TEST_F(LlamaTest, OddSizesWork) {
  TinyModel tiny;
  tiny.width = 36;
  tiny.feed_forward = 50;
  tiny.heads = 3;
  tiny.kv_heads = 1;
  tiny.head_dim = 10;
  tiny.vocab = 67;
  expect_naive_logits(tiny, 21, 1e-4);
}

TEST_F(LlamaTest, QuantizedWeightsAreReadAsTheirFormatSays) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_0}) {
    TinyModel tiny;
    tiny.dtype = dtype;
    SCOPED_TRACE(to_string(dtype));
    expect_naive_logits(tiny, 9, 2e-4);
  }
}

TEST_F(LlamaTest, SuperBlocksWorkToo) {
  for (const DType dtype : {DType::q4_k, DType::q5_k, DType::q6_k}) {
    TinyModel tiny;
    tiny.dtype = dtype;
    tiny.width = 256;
    tiny.heads = 16;
    tiny.feed_forward = 256;
    tiny.layers = 1;
    SCOPED_TRACE(to_string(dtype));
    expect_naive_logits(tiny, 5, 2e-4);
  }
}

TEST_F(LlamaTest, FastPathStaysCloseToThePreciseOne) {
  for (const DType dtype : {DType::q8_0, DType::q4_0, DType::q4_k, DType::q5_k, DType::q6_k}) {
    TinyModel tiny;
    tiny.dtype = dtype;
    tiny.width = 256;
    tiny.heads = 16;
    tiny.feed_forward = 512;
    tiny.vocab = 100;  // not a multiple of 16: the last rows of the head stay plain
    SCOPED_TRACE(to_string(dtype));
    const std::vector<int32_t> ids = some_tokens(37, tiny.vocab);
    const Opened precise = open(tiny, true);
    const Opened fast = open(tiny, false);
    const auto precise_cache = precise.model->new_sequence(64);
    const auto fast_cache = fast.model->new_sequence(64);
    const std::vector<float> want = precise.model->forward(ids, *precise_cache, LogitRows::all).to_vector<float>();
    const std::vector<float> got = fast.model->forward(ids, *fast_cache, LogitRows::all).to_vector<float>();
    double total = 0;
    for (size_t i = 0; i < want.size(); ++i) total += std::fabs(want[i] - got[i]);
    EXPECT_LT(total / static_cast<double>(want.size()), 0.02);
  }
}

// Σ (got - expected)² / Σ expected².
double normalized_error(const Tensor& logits, const std::vector<std::vector<double>>& expected) {
  const std::vector<float> values = logits.to_vector<float>();
  double error = 0;
  double power = 0;
  for (size_t at = 0; at < values.size(); ++at) {
    const std::vector<double>& row = expected[at / expected[0].size()];
    const double due = row[at % row.size()];
    error += std::pow(values[at] - due, 2);
    power += due * due;
  }
  return error / power;
}

// bf16 keeps 8: its logits are 1e-4 and more away. With `fast` they may be.
TEST_F(LlamaTest, F16WeightsKeepTheirElevenBits) {
  TinyModel whole;  // rows of whole blocks of 32 columns, and a head whose last rows fill no tile
  whole.width = 256;
  whole.heads = 16;
  whole.feed_forward = 544;
  whole.vocab = 100;
  TinyModel odd;
  odd.width = 36;
  odd.feed_forward = 50;
  odd.heads = 3;
  odd.kv_heads = 1;
  odd.head_dim = 10;
  for (TinyModel tiny : {whole, odd}) {
    tiny.dtype = DType::f16;
    tiny.layers = 4;
    const std::filesystem::path path = folder_.path() / "tiny.gguf";
    write_tiny_model(tiny, path);
    const GgufFile plain = GgufFile::open(path);
    const std::vector<int32_t> ids = some_tokens(40, tiny.vocab);
    const std::vector<std::vector<double>> expected = NaiveLlama(plain, tiny).run(ids);
    for (const Device& device : code_paths()) {
      const GgufFile file = GgufFile::open(path);
      const auto model = load_language_model(file, device, {});
      const auto fast = load_language_model(file, device, {.fast = true});
      device.runtime().finish_preparing();
      for (const size_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 40}) {
        SCOPED_TRACE(testing::Message() << device.caps().driver << " width " << tiny.width << " tokens " << tokens);
        const std::vector<std::vector<double>> first(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(tokens));
        const auto logits = [&](const LanguageModel& one) {
          const auto cache = one.new_sequence(64);
          return one.forward(std::span(ids).first(tokens), *cache, LogitRows::all);
        };
        EXPECT_LT(normalized_error(logits(*model), first), 1e-6);
        EXPECT_LT(normalized_error(logits(*fast), first), 1e-3);
      }
    }
  }
}

// Both graphs that run BitNet files: llama.cpp's with SiLU, and the published models' with squared ReLU.
TEST_F(LlamaTest, BitNetNormalizesTwiceMoreAndSquaresItsGate) {
  for (const char* architecture : {"bitnet", "bitnet-25", "bitnet-b1.58"}) {
    for (const DType dtype : {DType::f32, DType::tq2_0, DType::i2_s}) {
      TinyModel tiny;
      tiny.architecture = architecture;
      tiny.dtype = dtype;
      tiny.table_dtype = DType::f16;
      tiny.tied = true;
      tiny.width = 256;
      tiny.heads = 16;
      tiny.feed_forward = 512;
      SCOPED_TRACE(std::string(architecture) + " " + std::string(to_string(dtype)));
      expect_naive_logits(tiny, 11, 3e-4);
    }
  }
}

// Rows that are no multiple of 256 become Q2_0; a table of I2_S becomes blocks too; scales beside the matrices count as well.
TEST_F(LlamaTest, EveryScaleOfATernaryFileCounts) {
  for (const bool tied : {false, true}) {
    TinyModel tiny;
    tiny.architecture = "bitnet-b1.58";
    tiny.dtype = DType::i2_s;
    tiny.tied = tied;
    tiny.width = 128;
    tiny.heads = 8;
    tiny.feed_forward = 384;
    tiny.scales = true;
    expect_naive_logits(tiny, 9, 3e-4);
  }
  TinyModel plain;
  plain.dtype = DType::q8_0;
  plain.scales = true;
  expect_naive_logits(plain, 9, 3e-4);
}

// A file of alignment 8: no matrix begins where a vector register would like it to.
TEST_F(LlamaTest, TensorsMayLieAtAnyMultipleOfEight) {
  for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
    TinyModel tiny;
    tiny.dtype = dtype;
    const Opened aligned = open(tiny, false);
    GgufWriter writer;
    writer.add_uint("general.alignment", 8);
    for (const auto& [key, value] : aligned.file.metadata()) writer.add(key, value);
    constexpr float kOdd[] = {1, 2};
    writer.add_tensor("blk.0.attn_rot_embd.weight", DType::f32, {2}, std::as_bytes(std::span(kOdd)));
    for (const GgufTensor& tensor : aligned.file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
    writer.write(folder_.path() / "odd.gguf");
    const GgufFile file = GgufFile::open(folder_.path() / "odd.gguf");
    const auto model = load_language_model(file, Device::cpu());
    const std::vector<int32_t> ids = some_tokens(20, tiny.vocab);
    const auto cache = model->new_sequence(32);
    const auto other = aligned.model->new_sequence(32);
    EXPECT_EQ(model->forward(ids, *cache, LogitRows::all).to_vector<float>(),
              aligned.model->forward(ids, *other, LogitRows::all).to_vector<float>())
        << to_string(dtype);
  }
}

TEST_F(LlamaTest, ABadScaleIsRefusedByName) {
  const std::filesystem::path path = folder_.path() / "scale.gguf";
  TinyModel tiny;
  write_tiny_model(tiny, path);
  const GgufFile source = GgufFile::open(path);
  GgufWriter writer;
  for (const auto& [key, value] : source.metadata()) writer.add(key, value);
  for (const GgufTensor& tensor : source.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
  constexpr float kTwo[] = {1, 2};
  writer.add_tensor("blk.1.ffn_up.scale", DType::f32, {2}, std::as_bytes(std::span(kTwo)));
  writer.write(folder_.path() / "bad.gguf");
  try {
    (void)load_language_model(GgufFile::open(folder_.path() / "bad.gguf"), Device::cpu());
    FAIL() << "two scales for one matrix";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::shape_mismatch);
    EXPECT_NE(std::string(error.what()).find("'blk.1.ffn_up.scale' has shape [2]"), std::string::npos) << error.what();
  }
}

TEST_F(LlamaTest, LogitsHardlyDependOnWhatTheCacheHolds) {
  TinyModel tiny;
  tiny.head_dim = 32;
  const std::vector<int32_t> ids = some_tokens(60, tiny.vocab);
  const auto logits = [&](DType kv_type) {
    const Opened opened = open(tiny, true, kv_type);
    const auto cache = opened.model->new_sequence(64);
    EXPECT_EQ(cache->pool().keys(0).dtype(), kv_type);
    (void)opened.model->forward(std::span(ids).first(50), *cache, LogitRows::last);
    std::vector<float> all;
    for (size_t at = 50; at < ids.size(); ++at) {
      const std::vector<float> row = opened.model->forward(std::span(ids).subspan(at, 1), *cache, LogitRows::last).to_vector<float>();
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  const std::vector<float> want = logits(DType::f32);
  const std::pair<DType, double> allowed[] = {{DType::f16, 2e-3}, {DType::bf16, 2e-2}, {DType::q8_0, 2e-2}};
  for (const auto& [dtype, most] : allowed) {
    const std::vector<float> got = logits(dtype);
    double largest = 0;
    for (size_t i = 0; i < want.size(); ++i) largest = std::max(largest, std::fabs(static_cast<double>(want[i]) - got[i]));
    EXPECT_LT(largest, most) << to_string(dtype);
    EXPECT_GT(largest, 0) << to_string(dtype);
  }
}

TEST_F(LlamaTest, ACacheOfBlocksNeedsHeadsOfBlocks) {
  TinyModel tiny;
  tiny.head_dim = 20;
  try {
    (void)open(tiny, false, DType::q8_0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("head_dim 20 is not a multiple of the block of 32; take kv_dtype=f16"), std::string::npos);
  }
}

// The device prepares weights between any two ops: no number changes, whichever have been.
TEST_F(LlamaTest, PreparingWeightsChangesNoLogit) {
  for (const DType dtype : {DType::q4_0, DType::q4_k, DType::bf16, DType::f16, DType::tq2_0}) {
    for (const bool tied : {false, true}) {
      TinyModel tiny;
      tiny.dtype = dtype;
      tiny.tied = tied;
      tiny.width = 256;
      tiny.heads = 16;
      tiny.feed_forward = 512;
      tiny.vocab = 100;
      SCOPED_TRACE(std::string(to_string(dtype)) + (tied ? ", tied" : ""));
      const Opened opened = open(tiny, false);
      const std::vector<int32_t> ids = some_tokens(30, tiny.vocab);
      const auto logits = [&] {
        const auto cache = opened.model->new_sequence(32);
        std::vector<float> values = opened.model->forward(std::span(ids).first(29), *cache, LogitRows::all).to_vector<float>();
        const std::vector<float> last = opened.model->forward(std::span(ids).last(1), *cache, LogitRows::last).to_vector<float>();
        values.insert(values.end(), last.begin(), last.end());
        return values;
      };
      const std::vector<float> want = logits();
      opened.model->device().runtime().finish_preparing();
      EXPECT_EQ(logits(), want);
    }
  }
}

// LESSONS: decode steps once passed position 1, 2, 3 instead of prompt_len + i.
TEST_F(LlamaTest, PrefillThenDecodeEqualsPrefillOfAll) {
  for (const int run : {0, 1, 2, 3}) {
    const bool precise = run % 2 == 0;
    TinyModel tiny;
    tiny.dtype = DType::q8_0;
    if (run >= 2) {
      tiny.architecture = "bitnet-b1.58";
      tiny.dtype = DType::i2_s;
      tiny.width = tiny.feed_forward = 256;
      tiny.heads = 16;
    }
    const Opened opened = open(tiny, precise);
    const std::vector<int32_t> ids = some_tokens(70, tiny.vocab);
    const auto whole = opened.model->new_sequence(tiny.context);
    const std::vector<float> want = opened.model->forward(ids, *whole, LogitRows::last).to_vector<float>();
    const auto parts = opened.model->new_sequence(tiny.context);
    (void)opened.model->forward(std::span(ids).first(33), *parts, LogitRows::last);
    std::vector<float> got;
    for (size_t i = 33; i < ids.size(); ++i)
      got = opened.model->forward(std::span(ids).subspan(i, 1), *parts, LogitRows::last).to_vector<float>();
    EXPECT_EQ(parts->length(), 70);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(want[i], got[i], precise ? 1e-4 : 5e-2);
  }
}

TEST_F(LlamaTest, PromptsLongerThanABatchAreOneText) {
  const TinyModel tiny;
  const Opened opened = open(tiny, true);
  const std::vector<int32_t> ids = some_tokens(530, tiny.vocab);
  const auto cache = opened.model->new_sequence(tiny.context);
  const Tensor all = opened.model->forward(ids, *cache, LogitRows::all);
  EXPECT_EQ(all.shape(), (Shape{530, tiny.vocab}));
  const auto again = opened.model->new_sequence(tiny.context);
  const std::vector<float> last = opened.model->forward(ids, *again, LogitRows::last).to_vector<float>();
  const std::vector<float> row = all.narrow(0, 529, 1).to_vector<float>();
  for (size_t i = 0; i < last.size(); ++i) EXPECT_NEAR(last[i], row[i], 1e-4);
}

TEST_F(LlamaTest, APromptThatIsGivenUpLeavesTheCacheAsItWas) {
  const TinyModel tiny;
  const Opened opened = open(tiny, true);
  const std::vector<int32_t> ids = some_tokens(530, tiny.vocab);
  const auto cache = opened.model->new_sequence(tiny.context);
  (void)opened.model->forward(std::span(ids).first(3), *cache, LogitRows::last);
  const auto rest = std::span(ids).subspan(3);
  int questions = 0;
  const auto until = [&](int last) { return [&questions, last] { return ++questions > last; }; };
  const std::vector<float> whole = opened.model->forward(rest, *cache, LogitRows::last, until(1 << 20)).to_vector<float>();
  const int all = questions;
  EXPECT_GE(all, 2 * 2);  // two parts, of some layers each
  // In the first part, in the second one, and at the very end.
  for (const int last : {0, 1, all / 2, all - 1}) {
    cache->truncate(3);
    questions = 0;
    EXPECT_FALSE(opened.model->forward(rest, *cache, LogitRows::last, until(last)).defined()) << last;
    EXPECT_EQ(questions, last + 1);
    EXPECT_EQ(cache->length(), 3);
  }
  EXPECT_EQ(opened.model->forward(rest, *cache, LogitRows::last).to_vector<float>(), whole);
}

TEST_F(LlamaTest, ATruncatedCacheForgets) {
  const TinyModel tiny;
  const Opened opened = open(tiny, true);
  const std::vector<int32_t> ids = some_tokens(20, tiny.vocab);
  const auto cache = opened.model->new_sequence(32);
  const std::vector<float> first = opened.model->forward(ids, *cache, LogitRows::last).to_vector<float>();
  cache->truncate(0);
  EXPECT_EQ(opened.model->forward(ids, *cache, LogitRows::last).to_vector<float>(), first);
}

TEST_F(LlamaTest, TheNumberOfThreadsChangesNothingBeyondRounding) {
  TinyModel tiny;
  tiny.dtype = DType::q8_0;
  const std::filesystem::path path = folder_.path() / "tiny.gguf";
  write_tiny_model(tiny, path);
  const GgufFile file = GgufFile::open(path);
  // Of a prompt, and of tokens one by one behind it.
  const auto logits = [&](int threads) {
    const auto model = load_language_model(file, Device::open({DeviceKind::cpu, 0}, {.threads = threads, .variant = {}}));
    const auto cache = model->new_sequence(64);
    std::vector<float> values = model->forward(some_tokens(40, tiny.vocab), *cache, LogitRows::all).to_vector<float>();
    for (const int32_t token : some_tokens(5, tiny.vocab)) {
      const std::vector<float> next = model->forward(std::span(&token, 1), *cache, LogitRows::last).to_vector<float>();
      values.insert(values.end(), next.begin(), next.end());
    }
    return values;
  };
  const std::vector<float> alone = logits(1);
  for (const int threads : {1, 2, 3, 5}) {
    const std::vector<float> first = logits(threads);
    EXPECT_EQ(logits(threads), first) << threads << " threads: from run to run";
    for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(first[i], alone[i], 1e-5) << threads << " threads";
  }
}

TEST_F(LlamaTest, AFullContextIsRefusedAndNothingIsLost) {
  const TinyModel tiny;
  const Opened opened = open(tiny, true);
  const auto cache = opened.model->new_sequence(8);
  (void)opened.model->forward(some_tokens(6, tiny.vocab), *cache, LogitRows::last);
  try {
    (void)opened.model->forward(some_tokens(3, tiny.vocab), *cache, LogitRows::last);
    FAIL() << "9 tokens went into a context of 8";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::context_full);
    EXPECT_NE(std::string(error.what()).find("6 tokens are in it and 3 more"), std::string::npos) << error.what();
  }
  EXPECT_EQ(cache->length(), 6);
  EXPECT_THROW((void)opened.model->new_sequence(tiny.context + 1), Error);
}

TEST_F(LlamaTest, TokensOutsideTheVocabularyAreRefused) {
  const Opened opened = open({}, true);
  const auto cache = opened.model->new_sequence(8);
  for (const int32_t bad : {-1, 101}) {
    EXPECT_THROW((void)opened.model->forward(std::span(&bad, 1), *cache, LogitRows::last), Error);
  }
  EXPECT_THROW((void)opened.model->forward({}, *cache, LogitRows::last), Error);
}

TEST_F(LlamaTest, BadMetadataNamesFileAndKey) {
  TinyModel unknown;
  unknown.architecture = "rwkv6";
  EXPECT_NE(message_of(unknown).find("general.architecture = 'rwkv6' is not supported"), std::string::npos) << message_of(unknown);
  TinyModel heads;
  heads.kv_heads = 3;
  EXPECT_NE(message_of(heads).find("llama.attention.head_count_kv = 3"), std::string::npos) << message_of(heads);
  TinyModel scaling;
  scaling.strings["rope.scaling.type"] = "longrope";
  EXPECT_NE(message_of(scaling).find("llama.rope.scaling.type = 'longrope'"), std::string::npos) << message_of(scaling);
  TinyModel factor;
  factor.strings["rope.scaling.type"] = "linear";
  factor.numbers["rope.scaling.factor"] = -2;
  EXPECT_NE(message_of(factor).find("llama.rope.scaling.factor = -2"), std::string::npos) << message_of(factor);
}

TEST_F(LlamaTest, BiasesOfEveryMatrixAndOfTheHeadCount) {
  for (const char* architecture : {"llama", "qwen2"}) {
    TinyModel tiny;
    tiny.architecture = architecture;
    tiny.biases = true;
    SCOPED_TRACE(architecture);
    expect_naive_logits(tiny, 12, 2e-4);
  }
}

TEST_F(LlamaTest, AFactorOfZeroSaysNothingAndOneWithoutATypeIsLinear) {
  TinyModel zero;
  zero.strings["rope.scaling.type"] = "linear";
  zero.numbers["rope.scaling.factor"] = 0;
  expect_naive_logits(zero, 12, 1e-4);
  for (const char* key : {"rope.scaling.factor", "rope.scale_linear"}) {
    TinyModel linear;
    linear.numbers[key] = 4;
    linear.rope_stretch = 4;
    SCOPED_TRACE(key);
    expect_naive_logits(linear, 12, 1e-4);
  }
  TinyModel none;
  none.strings["rope.scaling.type"] = "none";
  none.numbers["rope.scaling.factor"] = 4;
  expect_naive_logits(none, 12, 1e-4);
}

TEST_F(LlamaTest, ATensorThatTheModelDoesNotReadIsRefusedByName) {
  for (const char* name : {"blk.0.attn_q_norm.weight", "blk.1.attn_norm.bias", "blk.2.attn_norm.weight", "output_norm.bias", "anything"}) {
    TinyModel tiny;
    tiny.extras = {name};
    SCOPED_TRACE(name);
    EXPECT_NE(message_of(tiny).find(std::string("'") + name + "'"), std::string::npos) << message_of(tiny);
  }
  TinyModel tables;
  tables.extras = {"blk.0.attn_rot_embd.weight"};
  EXPECT_EQ(message_of(tables), "no error");
}

TEST_F(LlamaTest, MetadataThatChangesTheComputationIsRefusedAndItsNeutralValuesRun) {
  const std::vector<std::pair<std::string, float>> refused = {{"attention.clamp_kqv", 8},
                                                              {"attention.sliding_window", 0.5F},
                                                              {"attention.scale", -1},
                                                              {"attention.max_alibi_bias", 8},
                                                              {"attention.not_known_yet", 1},
                                                              {"rope.not_known_yet", 0},
                                                              {"rope.scaling.yarn_ext_factor", 0.5F},
                                                              {"rope.scaling.yarn_log_multiplier", 0.1F},
                                                              {"logit_scale", 2},
                                                              {"residual_scale", 0.5F},
                                                              {"embedding_scale", 8},
                                                              {"attn_logit_softcapping", 20},
                                                              {"final_logit_softcapping", 20}};
  for (const auto& [key, value] : refused) {
    TinyModel tiny;
    tiny.numbers[key] = value;
    EXPECT_NE(message_of(tiny).find("llama." + key), std::string::npos) << key << ": " << message_of(tiny);
  }
  // An encoder, but for layers that see a part of the positions.
  TinyModel windowed;
  windowed.flags["attention.causal"] = false;
  EXPECT_EQ(message_of(windowed), "no error");
  windowed.numbers["attention.sliding_window"] = 4;
  EXPECT_NE(message_of(windowed).find("llama.attention.causal = false"), std::string::npos) << message_of(windowed);

  // As llama.cpp saves a model that uses none of them.
  TinyModel saved;
  saved.flags = {{"attention.causal", true}, {"use_parallel_residual", false}, {"swin_norm", false}, {"rope.scaling.finetuned", false}};
  saved.numbers = {{"attention.scale", 0},
                   {"attention.clamp_kqv", 0},
                   {"attention.sliding_window", 0},
                   {"attention.max_alibi_bias", 0},
                   {"logit_scale", 0},
                   {"residual_scale", 0},
                   {"embedding_scale", 0},
                   {"attn_logit_softcapping", 50},
                   {"final_logit_softcapping", 30},
                   {"expert_weights_scale", 0},
                   {"rope.scaling.attn_factor", 1},
                   {"rope.scaling.yarn_log_multiplier", 0},
                   {"pooling_type", 0},
                   {"wkv.head_size", 0},
                   {"not_known_yet", 1}};
  EXPECT_EQ(message_of(saved), "no error");
}

TEST_F(LlamaTest, ACacheOfAnotherModelIsRefused) {
  const Opened opened = open({}, true);
  Batch batch;
  batch.add({}, 0, some_tokens(3, 101), Batch::Results::last);
  const auto pool_of = [](KvLayout layout) {
    KvPoolOptions options{.context = 16};
    options.bytes = KvPool::bytes_for(layout, options, 1);
    return std::make_unique<KvPool>(Device::cpu(), std::move(layout), options);
  };
  KvLayout layout = opened.model->cache_layout();
  EXPECT_EQ(opened.model->forward(batch, *pool_of(layout)).dim(1), 101);
  KvLayout fewer = layout;
  fewer.layers.pop_back();
  EXPECT_THROW((void)opened.model->forward(batch, *pool_of(fewer)), Error);
  KvLayout narrower = layout;
  narrower.layers[0].key_dim = 8;
  EXPECT_THROW((void)opened.model->forward(batch, *pool_of(narrower)), Error);
  layout.model = "another";
  try {
    (void)opened.model->forward(batch, *pool_of(layout));
    FAIL() << "a pool of another model of the same shape";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("the pool is one for another, not for tiny.gguf"), std::string::npos) << error.what();
  }
}

TEST_F(LlamaTest, PlanningOnTheNullDeviceTakesNoMemory) {
  const TinyModel tiny;
  const std::filesystem::path path = folder_.path() / "tiny.gguf";
  write_tiny_model(tiny, path);
  const GgufFile file = GgufFile::open(path);
  const Device null = Device::null();
  const auto model = load_language_model(file, null);
  const auto cache = model->new_sequence(tiny.context);
  EXPECT_EQ(static_cast<int64_t>(null.runtime().allocated_bytes()), cache->pool().bytes());
  EXPECT_EQ(model->forward(some_tokens(7, tiny.vocab), *cache, LogitRows::all).shape(), (Shape{7, tiny.vocab}));
  EXPECT_GT(null.runtime().peak_allocated_bytes(), null.runtime().allocated_bytes());
}

}  // namespace
}  // namespace wick
