// Needles in 131,072 tokens: a model whose weights are chosen so that its answer is known, with a layer that sees a window and one that
// sees everything, as EXAONE 4 has them.
//
// Layer 0 sees 512 positions and attends to all of them alike, so it writes down which key was read in its window. Layer 1 looks for the
// positions that have written down the same key as the last one, and takes the value that was read at one of them. So the answer to a key
// is the value that stood at most 511 positions after it, wherever that was in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "unit/temporary_folder.h"
#include "wick/formats/gguf_writer.h"
#include "wick/model/checkpoint/checkpoint.h"
#include "wick/model/language_model.h"

namespace wick {
namespace {

constexpr int64_t kLongContext = 131072, kNeedleWindow = 512;
constexpr int64_t kNeedleNames = 16;  // keys, and values; also the size of a head
constexpr int64_t kFillerTokens = 200;
constexpr int64_t kTokensOfNeedles = 2 * kNeedleNames + kFillerTokens;
// Of the residual stream: which key a token is, which value, what layer 0 has written down, the answer, and noise.
constexpr int64_t kKeyPart = 0, kValuePart = 16, kNotedPart = 32, kAnswerPart = 48, kNoisePart = 64, kHiddenOfNeedles = 96;
constexpr float kNeedleAmplitude = 10;

int32_t key_token(int64_t name) { return static_cast<int32_t>(name); }
int32_t value_token(int64_t name) { return static_cast<int32_t>(kNeedleNames + name); }

class NeedleWeights {
 public:
  explicit NeedleWeights(GgufWriter& writer) : writer_(writer) {}

  std::vector<float>& add(const std::string& name, Shape shape, float value = 0) {
    tensors_.push_back(std::make_unique<std::vector<float>>(static_cast<size_t>(shape.elements()), value));
    writer_.add_tensor(name, DType::f32, shape, std::as_bytes(std::span(*tensors_.back())));
    return *tensors_.back();
  }
  // [kNeedleNames, kHiddenOfNeedles] that reads a part of the residual stream, or its transpose, which writes it.
  void add_reader(const std::string& name, int64_t part, bool is_zero = false) {
    std::vector<float>& values = add(name, {kNeedleNames, kHiddenOfNeedles});
    for (int64_t row = 0; row < kNeedleNames && !is_zero; ++row) values[static_cast<size_t>(row * kHiddenOfNeedles + part + row)] = 1;
  }
  void add_writer(const std::string& name, int64_t part) {
    std::vector<float>& values = add(name, {kHiddenOfNeedles, kNeedleNames});
    for (int64_t row = 0; row < kNeedleNames; ++row) values[static_cast<size_t>((part + row) * kNeedleNames + row)] = 1;
  }

 private:
  GgufWriter& writer_;
  std::vector<std::unique_ptr<std::vector<float>>> tensors_;  // until the file is written
};

void write_needle_model(const std::filesystem::path& path) {
  constexpr int64_t kFeedForward = 32;
  GgufWriter writer;
  writer.add_string("general.architecture", "exaone4");
  const std::vector<std::pair<std::string, int64_t>> sizes = {{"block_count", 2},
                                                              {"embedding_length", kHiddenOfNeedles},
                                                              {"feed_forward_length", kFeedForward},
                                                              {"attention.head_count", 1},
                                                              {"attention.head_count_kv", 1},
                                                              {"attention.key_length", kNeedleNames},
                                                              {"attention.value_length", kNeedleNames},
                                                              {"attention.sliding_window", kNeedleWindow},
                                                              {"rope.dimension_count", kNeedleNames},
                                                              {"context_length", kLongContext}};
  for (const auto& [key, value] : sizes) writer.add_uint("exaone4." + key, static_cast<uint32_t>(value));
  writer.add_float("exaone4.rope.freq_base", 1e6F);
  writer.add_float("exaone4.attention.layer_norm_rms_epsilon", 1e-9F);
  const std::vector<int32_t> windowed = {1, 0};
  writer.add_array<int32_t>("exaone4.attention.sliding_window_pattern", windowed);

  NeedleWeights weights(writer);
  std::vector<float>& table = weights.add("token_embd.weight", {kTokensOfNeedles, kHiddenOfNeedles});
  std::mt19937 random(5);
  for (int64_t token = 0; token < kTokensOfNeedles; ++token) {
    float* const row = table.data() + token * kHiddenOfNeedles;
    if (token < kNeedleNames) {
      row[kKeyPart + token] = kNeedleAmplitude;
    } else if (token < 2 * kNeedleNames) {
      row[kValuePart + token - kNeedleNames] = kNeedleAmplitude;
    } else {
      for (int64_t index = kNoisePart; index < kHiddenOfNeedles; ++index) row[index] = static_cast<float>(random() % 1000) / 500 - 1;
    }
  }
  std::vector<float>& head = weights.add("output.weight", {kTokensOfNeedles, kHiddenOfNeedles});
  for (int64_t name = 0; name < kNeedleNames; ++name)
    head[static_cast<size_t>(value_token(name) * kHiddenOfNeedles + kAnswerPart + name)] = 1;
  weights.add("output_norm.weight", {kHiddenOfNeedles}, 1);
  for (int layer = 0; layer < 2; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    // Layer 0's queries and keys are zero: all positions of the window count alike. A match of layer 1 scores 4 · 8 more than none.
    weights.add_reader(block + "attn_q.weight", kNotedPart, layer == 0);
    weights.add_reader(block + "attn_k.weight", kNotedPart, layer == 0);
    weights.add(block + "attn_q_norm.weight", {kNeedleNames}, 8);
    weights.add(block + "attn_k_norm.weight", {kNeedleNames}, 1);
    weights.add_reader(block + "attn_v.weight", layer == 0 ? kKeyPart : kValuePart);
    weights.add_writer(block + "attn_output.weight", layer == 0 ? kNotedPart : kAnswerPart);
    weights.add(block + "post_attention_norm.weight", {kHiddenOfNeedles}, 1);
    for (const char* name : {"ffn_gate.weight", "ffn_up.weight"}) weights.add(block + name, {kFeedForward, kHiddenOfNeedles});
    weights.add(block + "ffn_down.weight", {kHiddenOfNeedles, kFeedForward});
    weights.add(block + "post_ffw_norm.weight", {kHiddenOfNeedles}, 1);
  }
  writer.write(path);
}

struct Needle {
  int64_t position = 0;
  int64_t distance = 0;  // from the key to the value
  [[nodiscard]] bool is_seen() const { return distance < kNeedleWindow; }
};

TEST(LongContext, NeedlesAreFoundIn131072TokensByAModelWithWindows) {
  // At the beginning, at the end, between, and one whose value comes where the window has just passed the key.
  const std::vector<Needle> needles = {{0, 1},        {1000, 511},    {20'000, 300}, {65'000, 511},  {65'530, 511},
                                       {66'100, 512}, {100'000, 512}, {124'999, 1},  {129'000, 511}, {130'000, 2}};
  const TemporaryFolder folder;
  write_needle_model(folder.path() / "needle.gguf");
  const Checkpoint file = Checkpoint::open(folder.path() / "needle.gguf");
  const auto model = load_language_model(file, Device::cpu(), {});
  std::mt19937 random(11);
  std::vector<int32_t> text(static_cast<size_t>(kLongContext - 1));
  for (int32_t& token : text) token = static_cast<int32_t>(2 * kNeedleNames + static_cast<int64_t>(random() % kFillerTokens));
  for (size_t name = 0; name < needles.size(); ++name) {
    text[static_cast<size_t>(needles[name].position)] = key_token(static_cast<int64_t>(name));
    text[static_cast<size_t>(needles[name].position + needles[name].distance)] = value_token(static_cast<int64_t>(name));
  }
  const auto pool = model->new_pool(kLongContext, 2);
  const SequenceHandle sequence = pool->create();
  constexpr int64_t kStep = 512;
  for (int64_t first = 0; first < std::ssize(text); first += kStep) {
    Batch batch;
    const auto count = static_cast<size_t>(std::min<int64_t>(kStep, std::ssize(text) - first));
    batch.add(sequence, first, std::span(text).subspan(static_cast<size_t>(first), count), Batch::Results::none);
    (void)model->forward(batch, *pool);
  }
  // The layer with the window keeps no more than it needs.
  EXPECT_LE(pool->usage(pool->group_of(0)).used * pool->block_size(), kNeedleWindow + kStep + 2 * pool->block_size());
  EXPECT_GE(pool->usage(pool->group_of(1)).used * pool->block_size(), kLongContext - 1);
  for (size_t name = 0; name < needles.size(); ++name) {
    const SequenceHandle question = pool->fork(sequence);
    const int32_t key = key_token(static_cast<int64_t>(name));
    Batch batch;
    batch.add(question, kLongContext - 1, std::span(&key, 1), Batch::Results::last);
    const std::vector<float> logits = model->forward(batch, *pool).to_vector<float>();
    pool->free(question);
    const auto best = std::max_element(logits.begin(), logits.end());
    if (needles[name].is_seen()) {
      EXPECT_EQ(best - logits.begin(), value_token(static_cast<int64_t>(name))) << "the needle at " << needles[name].position;
      EXPECT_GT(*best, 1) << "the needle at " << needles[name].position;
    } else {
      EXPECT_LT(*best, 0.01) << "a value outside the window of its key, at " << needles[name].position;
    }
  }
}

}  // namespace
}  // namespace wick
