// Low-rank adapters: against logits that peft computed from merged weights, and, many in one batch, against a model in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "model/golden_models.h"
#include "model/tiny_adapter.h"
#include "unit/found_devices.h"
#include "unit/message_of.h"
#include "unit/temporary_folder.h"
#include "wick/convert/adapter_to_gguf.h"
#include "wick/convert/checkpoint_to_gguf.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/language_model.h"
#include "wick/model/lora/lora_adapter.h"

namespace wick {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

const Architecture& architecture_named(std::string_view name) { return *find_architecture(name); }

// --- peft's logits ---

Json golden_adapter(const std::string& name) { return Json::parse(std::ifstream(source_file("tests/data/adapters/" + name + ".json"))); }

void write_peft_folder(const Json& golden, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "adapter_config.json") << golden.at("adapter_config").dump(1);
  SafetensorsWriter writer;
  std::vector<std::vector<float>> kept;
  kept.reserve(golden.at("tensors").size());
  for (const auto& [tensor, shape] : golden.at("tensors").items()) {
    const auto extents = shape.get<std::vector<int64_t>>();
    std::string of = tensor;
    // The model's own weight, which peft stores beside an adapter of the head.
    if (const size_t at = of.find(".base_layer"); at != std::string::npos)
      of = of.erase(at, 11).substr(std::string("base_model.model.").size());
    kept.push_back(golden_weight(of, extents));
    writer.add_tensor(tensor, DType::f32, Shape(extents), std::as_bytes(std::span(kept.back())));
  }
  writer.write(folder / "adapter_model.safetensors");
}

class GoldenAdapters : public testing::TestWithParam<const char*> {
 protected:
  GoldenAdapters() : golden_(golden_adapter(GetParam())), base_(GoldenModel::read(golden_.at("base"))) {
    base_.write(folder_.path() / "base");
    write_peft_folder(golden_, folder_.path() / "adapter");
  }

  void expect_golden(const std::filesystem::path& model_path, const std::filesystem::path& adapter_path) {
    const Checkpoint checkpoint = Checkpoint::open(model_path);
    const auto model = load_language_model(checkpoint, Device::cpu(), {.precise = true});
    model->add_adapter("one", LoraAdapter::open(adapter_path, architecture_named(model->info().architecture)), 1);
    const std::vector<AdapterUse> adapters{{1, 1}};
    const std::vector<int32_t> ids = base_.input_ids(), greedy = golden_.at("greedy_ids").get<std::vector<int32_t>>();
    const auto pool = model->new_pool(64);
    const SequenceHandle sequence = pool->create();
    Batch batch;
    batch.add(sequence, 0, ids, Batch::Results::all, adapters);
    std::vector<float> logits = model->forward(batch, *pool).to_vector<float>();
    size_t at = 0;
    for (const auto& row : golden_.at("logits")) {
      for (const auto& want : row) ASSERT_NEAR(logits[at++], want.get<float>(), 1e-4) << model_path << " " << adapter_path << " " << at;
    }
    for (size_t next = ids.size(); next < greedy.size(); ++next) {
      const auto vocab = static_cast<std::ptrdiff_t>(base_.vocab());
      const auto token = static_cast<int32_t>(std::max_element(logits.end() - vocab, logits.end()) - (logits.end() - vocab));
      ASSERT_EQ(token, greedy[next]);
      Batch one;
      one.add(sequence, static_cast<int64_t>(next), std::span(&token, 1), Batch::Results::last, adapters);
      logits = model->forward(one, *pool).to_vector<float>();
    }
  }

  TemporaryFolder folder_;
  Json golden_;
  GoldenModel base_;
};

TEST_P(GoldenAdapters, ChangeTheModelAsMergedWeightsDo) {
  const std::filesystem::path base = folder_.path() / "base", base_gguf = folder_.path() / "base.gguf";
  const std::filesystem::path adapter = folder_.path() / "adapter", adapter_gguf = folder_.path() / "adapter.gguf";
  expect_golden(base, adapter);
  write_gguf(Checkpoint::open(base), base_gguf);
  expect_golden(base_gguf, adapter);
  write_adapter_gguf(adapter, Checkpoint::open(base), adapter_gguf);
  expect_golden(base, adapter_gguf);
  expect_golden(base_gguf, adapter_gguf);
  // The same file, whichever form of the model it was made for.
  write_adapter_gguf(adapter, Checkpoint::open(base_gguf), folder_.path() / "again.gguf");
  const Architecture& architecture = architecture_named(Checkpoint::open(base).get_string("general.architecture"));
  EXPECT_EQ(LoraAdapter::open(adapter_gguf, architecture)->identity(),
            LoraAdapter::open(folder_.path() / "again.gguf", architecture)->identity());
}

INSTANTIATE_TEST_SUITE_P(Lora, GoldenAdapters,
                         testing::Values("llama-all", "llama-queries", "qwen2-rslora", "gemma2", "phi3", "gptneox", "gpt2"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// --- Many in one batch ---

class TinyAdapters : public testing::Test {
 protected:
  TinyAdapters() {
    write_tiny_model(tiny_, folder_.path() / "tiny.gguf");
    file_ = GgufFile::open(folder_.path() / "tiny.gguf");
    first_.write(folder_.path() / "first.gguf");
    second_.write(folder_.path() / "second.gguf");
  }
  [[nodiscard]] std::shared_ptr<const LoraAdapter> open(const std::string& name) const {
    return LoraAdapter::open(folder_.path() / name, architecture_named("llama"));
  }
  [[nodiscard]] std::unique_ptr<LanguageModel> load(const Device& device) const {
    auto model = load_language_model(*file_, device, {.precise = true});
    model->add_adapter("first", open("first.gguf"), 1);
    model->add_adapter("second", open("second.gguf"), 1);
    return model;
  }
  // In double, from merged weights.
  [[nodiscard]] std::vector<std::vector<double>> truth(const std::vector<AdapterUse>& adapters, const std::vector<int32_t>& tokens) {
    NaiveLlama naive(*file_, tiny_);
    for (const AdapterUse& use : adapters) (use.adapter == 1 ? first_ : second_).merge_into(naive, use.scale);
    return naive.run(tokens);
  }

  TemporaryFolder folder_;
  TinyModel tiny_;
  TinyAdapter first_{tiny_, {"attn_q", "attn_v", "ffn_gate", "ffn_down"}, 5, 1};
  TinyAdapter second_{tiny_, {"attn_q", "attn_output"}, 2, 2};
  std::optional<GgufFile> file_;
};

TEST_F(TinyAdapters, RowsOfOneBatchGoThroughTheirOwn) {
  const std::vector<std::vector<AdapterUse>> all = {{}, {{1, 1}}, {{2, 1}, {1, -0.25F}}, {{2, 0.5F}}, {{1, 0}}, {{2, 1}}};
  for (const DeviceLocation& location : found_devices()) {
    const auto model = load(Device::open(location));
    // The interpreter takes its time.
    const bool interpreted = location.kind == DeviceKind::reference;
    const auto uses = std::span(all).first(interpreted ? 3 : all.size());
    const auto pool = model->new_pool(32, std::ssize(uses));
    std::mt19937 random(7);
    std::vector<std::vector<int32_t>> texts(uses.size());
    std::vector<SequenceHandle> sequences;
    Batch prompts, steps;
    for (size_t index = 0; index < uses.size(); ++index) {
      for (size_t count = 0; count < (interpreted ? 1 : 2 + index); ++count) texts[index].push_back(static_cast<int32_t>(random() % 101));
      sequences.push_back(pool->create());
      prompts.add(sequences.back(), 0, texts[index], Batch::Results::last, uses[index]);
    }
    const std::vector<float> read = model->forward(prompts, *pool).to_vector<float>();
    for (size_t index = 0; index < uses.size(); ++index) {
      const auto token = static_cast<int32_t>(random() % 101);
      steps.add(sequences[index], std::ssize(texts[index]), std::span(&token, 1), Batch::Results::all, uses[index]);
      texts[index].push_back(token);
    }
    const std::vector<float> decoded = model->forward(steps, *pool).to_vector<float>();
    for (size_t index = 0; index < uses.size(); ++index) {
      const auto want = truth(uses[index], texts[index]);
      for (size_t token = 0; token < 101; ++token) {
        ASSERT_NEAR(read[index * 101 + token], want[want.size() - 2][token], 2e-4)
            << model->device().location().to_string() << " " << index;
        ASSERT_NEAR(decoded[index * 101 + token], want.back()[token], 2e-4) << model->device().location().to_string() << " " << index;
      }
    }
  }
}

TEST_F(TinyAdapters, RowsWithoutOneAreWhatTheyWereBesideOthers) {
  const auto plain = load_language_model(*file_, Device::cpu(), {.precise = true, .deterministic = true});
  auto model = load_language_model(*file_, Device::cpu(), {.precise = true, .deterministic = true});
  model->add_adapter("first", open("first.gguf"), 1);
  const std::vector<int32_t> text{3, 1, 4, 1, 5};
  const std::vector<AdapterUse> use{{1, 1}};
  Batch alone, together;
  alone.add({}, 0, text, Batch::Results::all);
  together.add({}, 0, text, Batch::Results::none, use);
  together.add({}, 0, text, Batch::Results::all);
  const auto pool = plain->new_pool(64, 2), other = model->new_pool(64, 2);
  EXPECT_EQ(model->forward(together, *other).to_vector<float>(), plain->forward(alone, *pool).to_vector<float>());
}

TEST_F(TinyAdapters, ALongPromptIsTheSameInParts) {
  const auto model = load(Device::cpu());
  std::mt19937 random(3);
  std::vector<int32_t> text(550);  // more than a part of a batch has
  for (int32_t& token : text) token = static_cast<int32_t>(random() % 101);
  const std::vector<AdapterUse> use{{2, 1}};
  const auto pool = model->new_pool(600);
  Batch batch;
  batch.add(pool->create(), 0, text, Batch::Results::last, use);
  const std::vector<float> got = model->forward(batch, *pool).to_vector<float>();
  const auto want = truth(use, text);
  for (size_t token = 0; token < 101; ++token) EXPECT_NEAR(got[token], want.back()[token], 1e-3);
}

// --- What is refused ---

TEST_F(TinyAdapters, WhatCannotBeAddedIsNamedAndChangesNothing) {
  const std::filesystem::path path = folder_.path() / "bad.gguf";
  const auto model = load(Device::cpu());
  const std::vector<float> numbers(64 * 8, 0.5F);
  const auto bytes = [&](int64_t count) { return std::as_bytes(std::span(numbers)).first(static_cast<size_t>(count) * sizeof(float)); };
  const auto message = [&](const std::function<void(GgufWriter&)>& fill) {
    GgufWriter writer = first_.header();
    fill(writer);
    writer.write(path);
    return message_of([&] { model->add_adapter("bad", open("bad.gguf"), 1); });
  };
  const auto pair = [&](GgufWriter& writer, const std::string& weight, const Shape& a, const Shape& b) {
    writer.add_tensor(weight + ".lora_a", DType::f32, a, bytes(a.elements()));
    writer.add_tensor(weight + ".lora_b", DType::f32, b, bytes(b.elements()));
  };
  EXPECT_THAT(message([&](GgufWriter& writer) { pair(writer, "blk.0.attn_q.weight", {2, 63}, {64, 2}); }),
              AllOf(HasSubstr("[2, 63]"), HasSubstr("blk.0.attn_q.weight' [64, 64]"), HasSubstr("another model")));
  EXPECT_THAT(message([&](GgufWriter& writer) { pair(writer, "blk.9.attn_q.weight", {2, 64}, {64, 2}); }),
              AllOf(HasSubstr("blk.9.attn_q.weight.lora_a"), HasSubstr("no weight of")));
  EXPECT_THAT(message([&](GgufWriter& writer) { pair(writer, "blk.0.attn_q.weight", {2, 64}, {64, 3}); }),
              AllOf(HasSubstr("rank 2"), HasSubstr("rank 3")));
  EXPECT_THAT(message([&](GgufWriter& writer) { writer.add_tensor("blk.0.attn_q.weight.lora_a", DType::f32, {2, 64}, bytes(128)); }),
              HasSubstr("has no B beside it"));
  EXPECT_THAT(message([&](GgufWriter& writer) { writer.add_tensor("blk.0.attn_norm.weight", DType::f32, {64}, bytes(64)); }),
              HasSubstr("neither a .lora_a nor a .lora_b"));
  EXPECT_THAT(message([](GgufWriter&) {}), HasSubstr("no tensors of an adapter"));
  EXPECT_THAT(message_of([&] { model->add_adapter("first", open("second.gguf"), 1); }), HasSubstr("adapter 'first': there is one"));
  EXPECT_THAT(message_of([&] { (void)LoraAdapter::open(folder_.path() / "first.gguf", architecture_named("qwen2")); }),
              AllOf(HasSubstr("general.architecture = 'llama'"), HasSubstr("qwen2")));
  EXPECT_THAT(message_of([&] { (void)open("tiny.gguf"); }), HasSubstr("is no adapter"));
  EXPECT_EQ(model->adapters().size(), 2U);
  Batch batch;
  const std::vector<int32_t> text{1};
  const std::vector<AdapterUse> use{{3, 1}};
  batch.add({}, 0, text, Batch::Results::all, use);
  EXPECT_THAT(message_of([&] { (void)model->forward(batch, *model->new_pool(32)); }), HasSubstr("adapter 3"));
}

TEST(Lora, AConfigurationThatComputesMoreIsRefusedByName) {
  TemporaryFolder folder;
  const Json golden = golden_adapter("llama-queries");
  const auto message = [&](const char* key, const Json& value) {
    Json changed = golden;
    changed["adapter_config"][key] = value;
    write_peft_folder(changed, folder.path());
    return message_of([&] { (void)LoraAdapter::open(folder.path(), architecture_named("llama")); });
  };
  EXPECT_THAT(message("use_dora", true), AllOf(HasSubstr("adapter_config.json: use_dora = true"), HasSubstr("merge")));
  EXPECT_THAT(message("modules_to_save", Json::array({"lm_head"})), HasSubstr("modules_to_save = [\"lm_head\"]"));
  EXPECT_THAT(message("bias", "all"), HasSubstr("bias = \"all\""));
  EXPECT_THAT(message("peft_type", "LOHA"), HasSubstr("only LORA"));
  EXPECT_THAT(message("init_lora_weights", "pissa"), HasSubstr("init_lora_weights = \"pissa\""));
  EXPECT_THAT(message("r", 4), AllOf(HasSubstr("is 4"), HasSubstr("have 8")));
  EXPECT_THAT(message("r", 0), HasSubstr("r = 0: a number above 0"));
  EXPECT_THAT(message("lora_alpha", "x"), HasSubstr("lora_alpha = \"x\""));
  EXPECT_THAT(message("rank_pattern", Json{{"^q.*", 4}}), HasSubstr("regular expressions"));
  EXPECT_EQ(message("some_new_key", nullptr), "nothing was thrown");
  std::filesystem::remove(folder.path() / "adapter_model.safetensors");
  EXPECT_THAT(message_of([&] { (void)LoraAdapter::open(folder.path(), architecture_named("llama")); }),
              HasSubstr("adapter_model.safetensors"));
}

}  // namespace
}  // namespace wick
