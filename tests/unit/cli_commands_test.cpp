// The subcommands of wick, on a small model with random weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "forwarding_runtime.h"
#include "unit/shared_data.h"
#include "unit/temporary_folder.h"
#include "wick/cli/commands/wick_command.h"
#include "wick/convert/synthetic.h"
#include "wick/formats/gguf_writer.h"
#include "wick/formats/npy.h"
#include "wick/formats/safetensors_writer.h"

namespace wick {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Ended {
  int code;
  std::string out;
  std::string err;
};

Ended wick(const Arguments& arguments, const std::string& input = "", bool terminal = false) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err, .output_is_terminal = terminal};
  const int code = run_wick(console, arguments);
  return {code, out.str(), err.str()};
}

class Commands : public testing::Test {
 protected:
  Commands() : model((folder / "model.gguf").string()) {
    write_synthetic_model(model, {.shape = parse_synthetic_shape("2,64,96,4,2,400"), .type = "f32", .seed = 3});
  }

  TemporaryFolder folder;
  std::string model;
};

// Numbers of each dtype that GGUF files hold and models have no weights of.
template <class Number>
std::vector<std::byte> bytes_of_numbers(const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

TEST_F(Commands, DumpPrintsTheNumbersOfEveryPlainType) {
  const std::vector<std::tuple<DType, std::vector<std::byte>, std::string>> tensors = {
      {DType::f64, bytes_of_numbers<double>({1e300, 0.1, -3}), "1e+300 0.1 -3\n"},
      {DType::i64, bytes_of_numbers<int64_t>({9007199254740993, -1, 0}), "9007199254740993 -1 0\n"},
      {DType::i32, bytes_of_numbers<int32_t>({16777217, -1, 0}), "16777217 -1 0\n"},
      {DType::i16, bytes_of_numbers<int16_t>({-32768, 7, 0}), "-32768 7 0\n"},
      {DType::i8, bytes_of_numbers<int8_t>({-128, 7, 0}), "-128 7 0\n"},
      {DType::f32, bytes_of_numbers<float>({0.1F, 7, 0}), "0.1 7 0\n"}};
  GgufWriter writer;
  for (const auto& [dtype, bytes, text] : tensors) writer.add_tensor(to_string(dtype), dtype, {3}, bytes);
  const std::string path = (folder / "numbers.gguf").string();
  writer.write(path);
  for (const auto& [dtype, bytes, text] : tensors) {
    const Ended dump = wick({"gguf", "dump", path, std::string(to_string(dtype))});
    EXPECT_EQ(dump.code, 0) << dump.err;
    EXPECT_EQ(dump.out, text);
  }
}

TEST_F(Commands, ValidateCountsTheNumbersOfEveryPlainType) {
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  const auto wide = bytes_of_numbers<double>({1e100, -1e100, 0, 3});
  const auto whole = bytes_of_numbers<int64_t>({1, -1, 7, 1});
  writer.add_tensor("wide", DType::f64, {4}, wide);
  writer.add_tensor("whole", DType::i64, {2, 2}, whole);
  const std::string path = (folder / "numbers.gguf").string();
  writer.write(path);
  const Ended found = wick({"validate", path, "--json"});
  ASSERT_EQ(found.code, 0) << found.err;
  const json tensors = json::parse(found.out)["tensors"];
  EXPECT_EQ(tensors[0]["type"], "F64");
  EXPECT_EQ(tensors[0]["max"], 1e100);
  EXPECT_EQ(tensors[0]["zeros"], 0.25);
  EXPECT_EQ(tensors[1]["type"], "I64");
  EXPECT_EQ(tensors[1]["mean"], 2);
  EXPECT_EQ(tensors[1]["max"], 7);
}

TEST_F(Commands, TokenizeAndDetokenizeAreInverse) {
  const std::string text = "the quick brown fox, größer 東京\n";
  const Ended ids = wick({"tokenize", "--model", model, "--text", text, "--json"});
  ASSERT_EQ(ids.code, 0) << ids.err;
  EXPECT_EQ(json::parse(ids.out).front(), 398);  // BOS is asked for by the file
  EXPECT_EQ(wick({"detokenize", "--model", model}, ids.out).out, text);
  const json without = json::parse(wick({"tokenize", "--model", model, "--text", text, "--json", "--no-special"}).out);
  EXPECT_EQ(without.size() + 1, json::parse(ids.out).size());
  EXPECT_EQ(wick({"tokenize", "--model", model, "--text", "a\n", "--no-special"}).out, "97\ta\n10\tĊ\n");
}

TEST_F(Commands, TokenizeParsesSpecialTokensOnlyIfAsked) {
  const Arguments arguments = {"tokenize", "--model", model, "--no-special", "--json", "--text", "<|end_of_text|>"};
  EXPECT_GT(json::parse(wick(arguments).out).size(), 1U);
  Arguments parsing = arguments;
  parsing.emplace_back("--parse-special");
  EXPECT_EQ(wick(parsing).out, "[399]\n");
}

TEST_F(Commands, RunStreamsTheContinuationAlone) {
  const Arguments arguments = {"run", "--model", model, "--max-tokens", "5", "--seed", "1", "--ignore-eos"};
  const Ended piped = wick(arguments, "some text\n");
  ASSERT_EQ(piped.code, 0) << piped.err;
  EXPECT_FALSE(piped.out.empty());
  EXPECT_THAT(piped.err, testing::AllOf(HasSubstr("running on cpu ("), HasSubstr("seed 1"), HasSubstr("tokens/s"),
                                        testing::Not(HasSubstr("requested="))));
  Arguments verbose = arguments;
  verbose.emplace_back("-v");
  EXPECT_THAT(wick(verbose, "some text").err, testing::AllOf(HasSubstr("requested=auto"), HasSubstr("peak memory")));
  Arguments named = arguments;
  named.insert(named.end(), {"--prompt", "some text", "--quiet"});
  const Ended quiet = wick(named);
  EXPECT_EQ(quiet.out, piped.out);
  EXPECT_EQ(quiet.err, "");
}

// A device that lacks every op: a runtime before the CPU's that is taken for an OpenCL device.
TEST_F(Commands, RunLetsTheCpuRunTheOpsThatADeviceLacksIfAsked) {
  const Arguments arguments = {"run", "-m", model, "-n", "4", "-p", "some text", "--temp", "0", "--ignore-eos", "--device", "cpu"};
  const auto run = [&](bool fallback) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    Console console{.name = "wick", .executable = {}, .in = in, .out = out, .err = err};
    console.decorate_device = [&](const Device& device) {
      return open_lacking(device.location(), {.threads = 1}, [](OpId, DType) { return true; }, fallback, {DeviceKind::opencl, 0});
    };
    const int code = run_wick(console, arguments);
    return Ended{code, out.str(), err.str()};
  };
  const Ended alone = run(false);
  EXPECT_EQ(alone.code, 2) << alone.err;
  EXPECT_THAT(alone.err, HasSubstr("which opencl:0 cannot read yet"));
  const Ended mixed = run(true);
  ASSERT_EQ(mixed.code, 0) << mixed.err;
  EXPECT_EQ(mixed.out, wick(arguments).out);
  EXPECT_THAT(mixed.err, testing::AllOf(HasSubstr("fallback op=attention device=opencl:0 ran_on=cpu calls="),
                                        HasSubstr("fallback op=linear device=opencl:0 ran_on=cpu calls=")));
}

TEST_F(Commands, RunTellsTheSeedThatRepeatsIt) {
  const Ended first = wick({"run", "--model", model, "--max-tokens", "20", "--temperature", "2", "--top-k", "0", "--prompt", "x"});
  const size_t at = first.err.find("--seed ");
  ASSERT_NE(at, std::string::npos) << first.err;
  const std::string seed = first.err.substr(at + 7, first.err.find(' ', at + 7) - at - 7);
  EXPECT_EQ(
      wick({"run", "--model", model, "--max-tokens", "20", "--temperature", "2", "--top-k", "0", "--prompt", "x", "--seed", seed}).out,
      first.out);
}

TEST_F(Commands, RunAsJsonTellsTextTokensReasonTimingsAndLogprobs) {
  const Arguments plain = {"run", "-m", model, "-n", "4", "-p", "some text", "--temp", "0", "--ignore-eos", "-q"};
  Arguments arguments = plain;
  arguments.insert(arguments.end(), {"--json", "--logprobs", "3"});
  const Ended ended = wick(arguments);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["text"], wick(plain).out);
  EXPECT_EQ(result["finish_reason"], "length");
  EXPECT_EQ(result["stop_reason"], "MAX_TOKENS");
  EXPECT_EQ(result["tokens"].size(), 4U);
  EXPECT_EQ(result["usage"]["completion_tokens"], 4);
  EXPECT_GT(result["timings"]["prefill_seconds"].get<double>(), 0);
  ASSERT_EQ(result["logprobs"].size(), 4U);
  for (size_t step = 0; step < 4; ++step) {
    const json& entry = result["logprobs"][step];
    EXPECT_EQ(entry["id"], result["tokens"][step]);
    ASSERT_EQ(entry["top"].size(), 3U);
    EXPECT_EQ(entry["top"][0]["logprob"], entry["logprob"]);  // greedy
    EXPECT_LE(entry["top"][1]["logprob"], entry["top"][0]["logprob"]);
    EXPECT_LT(entry["logprob"].get<double>(), 0);
  }
}

// The log-probability is ln softmax of the row of logits that wick logits writes.
TEST_F(Commands, LogprobsAreThoseOfTheLogits) {
  const std::string out = (folder / "logits.npy").string();
  ASSERT_EQ(wick({"logits", "--model", model, "--tokens", "398,97", "--out", out, "--precise"}).code, 0);
  const NpyArray logits = read_npy_array(out);
  std::vector<float> values(logits.data.size() / sizeof(float));
  std::memcpy(values.data(), logits.data.data(), logits.data.size());
  const json result = json::parse(wick({"run", "-m", model, "-p", "a", "-n", "1", "--temp", "0", "--precise", "--json", "-q"}).out);
  double sum = 0;
  for (size_t id = 0; id < 400; ++id) sum += std::exp(static_cast<double>(values[400 + id]));
  const auto chosen = result["tokens"][0].get<size_t>();
  EXPECT_NEAR(result["logprobs"][0]["logprob"].get<double>(), values[400 + chosen] - std::log(sum), 1e-5);
  EXPECT_TRUE(result["timings"]["decode_tokens_per_second"].is_null());  // no token was decoded
}

TEST_F(Commands, RunReadsPromptsFromFilesAndRefusesEmptyOnes) {
  const std::string prompt = (folder / "prompt.txt").string();
  std::ofstream(prompt) << "some text\n";
  const Arguments arguments = {"run", "-m", model, "-n", "4", "--temp", "0", "--ignore-eos"};
  const auto with = [&](const Arguments& more, const std::string& input = "") {
    Arguments all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return wick(all, input);
  };
  const std::string text = with({"-p", "some text"}).out;
  EXPECT_EQ(with({"-f", prompt}).out, text);
  EXPECT_EQ(with({"-f", "-"}, "some text\n").out, text);
  EXPECT_EQ(with({"-p", ""}).code, 0) << "an empty prompt that is given begins at BOS";
  for (const Arguments& more : {Arguments{"-f", "-"}, Arguments{}}) {
    const Ended ended = with(more);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("the prompt is empty; give --prompt TEXT"));
  }
  EXPECT_THAT(with({"-p", "x", "-f", prompt}).err, HasSubstr("--file excludes --prompt"));
  EXPECT_THAT(with({"-p", "some text", "-q"}, "more").err, HasSubstr("warning: standard input is not read, since --prompt is given"));
  EXPECT_EQ(with({"-p", "some text", "-q"}).err, "");
}

TEST_F(Commands, RunSaysThatTheContextIsFull) {
  const Ended ended = wick({"run", "-m", model, "-p", "abc", "-c", "6", "-n", "50", "--ignore-eos", "-q"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("warning: the text ends early: the context of 6 tokens is full"));
}

TEST_F(Commands, LogitsHaveOneRowForEachToken) {
  const std::string out = (folder / "logits.npy").string();
  ASSERT_EQ(wick({"logits", "--model", model, "--tokens", "398,97,98", "--out", out, "--precise"}).code, 0);
  const NpyArray exact = read_npy_array(out);
  EXPECT_EQ(exact.shape, Shape({3, 400}));
  EXPECT_EQ(exact.dtype, DType::f32);
  // The text gets its BOS: the same tokens.
  ASSERT_EQ(wick({"logits", "--model", model, "--text", "a", "--out", out, "--precise"}).code, 0);
  const NpyArray text = read_npy_array(out);
  EXPECT_EQ(text.shape, Shape({2, 400}));
  EXPECT_TRUE(std::equal(text.data.begin(), text.data.end(), exact.data.begin()));
}

TEST_F(Commands, PerplexityOfRandomWeightsIsTheVocabulary) {
  const std::string text = (folder / "text.txt").string();
  std::ofstream(text) << std::string(3000, '7') << std::string(3000, '!');
  const Ended ended = wick({"perplexity", "--model", model, "--file", text, "--ctx", "100", "--chunks", "3", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["tokens"], 300);
  EXPECT_NEAR(result["nll"].get<double>(), std::log(400.0), 0.7);
  EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(result["nll"].get<double>()), 1e-6);
  EXPECT_THAT(wick({"perplexity", "--model", model, "--file", text, "--ctx", "100", "--chunks", "61"}).err,
              HasSubstr("has 60 chunks of 100"));
}

// As llama-perplexity counts: of a chunk of 8 tokens, BOS in the first place, tokens 5, 6 and 7 are predicted from those before them.
TEST_F(Commands, PerplexityOfSecondHalvesScoresWhatTheLogitsSay) {
  const std::string text = (folder / "text.txt").string();
  std::ofstream(text) << std::string(100, '7');
  const std::string out = (folder / "logits.npy").string();
  ASSERT_EQ(wick({"logits", "--model", model, "--tokens", "398,55,55,55,55,55,55", "--out", out, "--precise"}).code, 0);
  const NpyArray logits = read_npy_array(out);
  std::vector<float> values(logits.data.size() / sizeof(float));
  std::memcpy(values.data(), logits.data.data(), logits.data.size());
  double loss = 0;
  for (size_t row = 4; row < 7; ++row) {
    double sum = 0;
    for (size_t id = 0; id < 400; ++id) sum += std::exp(static_cast<double>(values[row * 400 + id]));
    loss += (std::log(sum) - values[row * 400 + 55]) / 3;
  }
  const Ended ended =
      wick({"perplexity", "--model", model, "--file", text, "--ctx", "8", "--chunks", "2", "--second-half", "--precise", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["tokens"], 6);
  EXPECT_NEAR(json::parse(ended.out)["nll"].get<double>(), loss, 1e-5);
  EXPECT_THAT(wick({"perplexity", "--model", model, "--file", text, "--ctx", "3", "--second-half"}).err, HasSubstr("give at least 4"));
}

TEST_F(Commands, BenchGivesMediansBetweenMinimumAndMaximum) {
  const Ended ended = wick({"bench", "--model", model, "--prompt-tokens", "8", "--gen-tokens", "4", "--reps", "3", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json result = json::parse(ended.out);
  for (const std::string name : {"prefill_tokens_per_second", "decode_tokens_per_second"}) {
    EXPECT_GT(result[name + "_min"].get<double>(), 0);
    EXPECT_LE(result[name + "_min"].get<double>(), result[name].get<double>());
    EXPECT_LE(result[name].get<double>(), result[name + "_max"].get<double>());
  }
  EXPECT_EQ(result["model_bytes"], std::filesystem::file_size(model));
  EXPECT_GT(result["load_seconds"].get<double>(), 0);
  EXPECT_GT(result["peak_rss_bytes"].get<uint64_t>(), 0U);
}

TEST_F(Commands, BenchMeasuresManySequencesBesideAsManyRows) {
  const Ended ended = wick({"bench", "--model", model, "--sequences", "2,3", "--max-tokens", "4", "--reps", "2", "-d", "5", "-o", "jsonl"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::istringstream lines(ended.out);
  std::vector<std::string> tests;
  for (std::string line; std::getline(lines, line);) {
    const json row = json::parse(line);
    tests.push_back(row["test"]);
    EXPECT_EQ(row["sequences"], row["gen_tokens"] == 0 ? 1 : row["test"] == "tg4 x2 @ d5" ? 2 : 3);
    EXPECT_EQ(row["all_logits"], row["gen_tokens"] == 0);
    EXPECT_GT(row["median"].get<double>(), 0);
  }
  EXPECT_THAT(tests, testing::ElementsAre("pp2 all logits @ d5", "pp3 all logits @ d5", "tg4 x2 @ d5", "tg4 x3 @ d5"));
  EXPECT_EQ(wick({"bench", "--model", model, "--sequences", "2", "--prompt-tokens", "8"}).code, 2);
  EXPECT_EQ(wick({"bench", "--model", model, "--sequences", "0"}).code, 2);
  EXPECT_EQ(wick({"bench", "--suite", "cpu", "--sequences", "2"}).code, 2);
}

TEST_F(Commands, BenchMeasuresBehindTokensThatAreInTheCache) {
  const Ended ended =
      wick({"bench", "--model", model, "--prompt-tokens", "8", "--gen-tokens", "4", "--reps", "1", "--depth", "100", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(json::parse(ended.out)["depth"], 100);
  EXPECT_THAT(wick({"bench", "--model", model, "--depth", "8192", "-p", "1", "-n", "1"}).err,
              HasSubstr("--depth 8192: that many tokens and 1 more do not fit the context of "));
}

TEST_F(Commands, TheSuiteComparesEachTypeWithTheMachinesLimits) {
  const std::string shape = "2,256,256,4,2,400";
  const Arguments arguments = {"bench", "--suite",         "cpu", "--shape",      shape, "--types",  "q8_0 tq2_0",           "--reps",
                               "1",     "--prompt-tokens", "16",  "--gen-tokens", "4",   "--folder", folder.path().string(), "--threads",
                               "1"};
  Arguments as_json = arguments;
  as_json.emplace_back("--json");
  const Ended ended = wick(as_json);
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json result = json::parse(ended.out);
  ASSERT_EQ(result["types"].size(), 2U);
  EXPECT_EQ(result["types"][1]["type"], "tq2_0");
  // Per layer 256 · (256 + 2 · 128 + 256 + 3 · 256) multiplications, and as many additions.
  EXPECT_EQ(result["types"][0]["operations_per_token"], 2 * 2 * 256 * (256 + 2 * 128 + 256 + 3 * 256));
  for (const json& type : result["types"]) {
    EXPECT_GT(type["prefill_share_of_peak"].get<double>(), 0);
    EXPECT_GT(type["decode_share_of_bandwidth"].get<double>(), 0);
  }
  EXPECT_THAT(wick(arguments).out, testing::AllOf(HasSubstr("prefill 16"), HasSubstr("\ntq2_0")));
  EXPECT_THAT(wick({"bench", "--suite", "gpu"}).err, HasSubstr("--suite 'gpu': there is cpu"));
  EXPECT_THAT(wick({"bench", "--suite", "cpu", "--types", "q9"}).err, HasSubstr("type 'q9'"));
  // The models are gone.
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(Commands, TheCacheMayHoldOtherTypes) {
  const std::string text = (folder / "text.txt").string();
  std::ofstream(text) << std::string(2000, '7');
  const auto perplexity = [&](const std::string& type) {
    return json::parse(wick({"perplexity", "--model", model, "--file", text, "--ctx", "100", "--kv-type", type, "--json"}).out);
  };
  EXPECT_EQ(perplexity("bf16")["kv_type"], "bf16");
  EXPECT_NEAR(perplexity("bf16")["nll"].get<double>(), perplexity("f32")["nll"].get<double>(), 1e-2);
  EXPECT_THAT(wick({"run", "--model", model, "--prompt", "x", "--kv-type", "q8_0"}).err,
              HasSubstr("head_dim 16 is not a multiple of the block of 32; take --kv-type f16"));
  const std::string latent = (folder / "latent.gguf").string();
  ASSERT_EQ(wick({"synth", "--arch", "deepseek-v2-lite", "--shape", "1,64,64,4,4,300", "--out", latent}).code, 0);
  const Ended refused = wick({"run", "--model", latent, "--prompt", "x", "--kv-type", "q8_0"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("latent attention are parts of its keys, which are not stored so; take --kv-type f16"));
  EXPECT_EQ(wick({"run", "--model", latent, "--prompt", "x", "--max-tokens", "1", "--kv-type", "bf16"}).code, 0);
  EXPECT_THAT(wick({"run", "--model", model, "--prompt", "x", "--kv-type", "q4_0"}).err,
              HasSubstr("--kv-type 'q4_0': it must be f32, f16, bf16 or q8_0"));
}

TEST_F(Commands, InspectTellsMetadataAndTensors) {
  const Ended ended = wick({"inspect", model, "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json result = json::parse(ended.out);
  EXPECT_EQ(result["version"], 3);
  EXPECT_EQ(result["metadata"]["llama.block_count"], 2);
  EXPECT_EQ(result["metadata"]["tokenizer.ggml.tokens"]["length"], 400);
  const json& embedding = result["tensors"][0];
  EXPECT_EQ(embedding["name"], "token_embd.weight");
  EXPECT_EQ(embedding["type"], "F32");
  EXPECT_EQ(embedding["shape"], json({400, 64}));
  EXPECT_EQ(embedding["bytes"], 400 * 64 * 4);
  EXPECT_EQ(embedding["offset"].get<int>() % 32, 0);
  EXPECT_THAT(wick({"inspect", model}).out,
              testing::AllOf(HasSubstr("token_embd.weight"), HasSubstr("[400, 64]"), HasSubstr("llama.block_count")));
}

TEST_F(Commands, InspectTellsTheTensorsOfEveryFormat) {
  const std::filesystem::path files = source_file("tests/data/formats");
  const auto inspect = [&](const std::filesystem::path& path) {
    const Ended ended = wick({"inspect", path.string(), "--json"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(wick({"inspect", path.string()}).out, HasSubstr(path.string() + ": "));
    return json::parse(ended.out);
  };
  EXPECT_EQ(inspect(files / "npy/fortran.npy")["tensors"][0]["shape"], json({2, 3, 4}));
  const json arrays = inspect(files / "npz/deflated.npz");
  EXPECT_EQ(arrays["format"], "npz");
  EXPECT_EQ(arrays["tensors"][1]["name"], "layer.weight");
  EXPECT_EQ(arrays["tensors"][1]["bytes"], 1200);
  for (const std::string name : {"checkpoint", "checkpoint_legacy"}) {
    const json checkpoint = inspect(files / "pytorch" / (name + ".pt"));
    EXPECT_EQ(checkpoint["format"], name == "checkpoint" ? "PyTorch (zip)" : "PyTorch (legacy)");
    EXPECT_EQ(checkpoint["tensor_count"], 4);
    EXPECT_EQ(checkpoint["tensors"][0]["name"], "state_dict.layer.weight");
    EXPECT_THAT(checkpoint["opaque"].dump(), HasSubstr("argparse.Namespace"));
  }
  EXPECT_THAT(inspect(files / "pytorch/refused.pt")["refused"].dump(), HasSubstr("dtype complex64"));
  EXPECT_THAT(wick({"inspect", (files / "pytorch/state_dict.pt").string()}).out, HasSubstr("strides [1,6]"));

  SafetensorsWriter writer;
  const std::vector<std::byte> bytes(8);
  writer.add_tensor("a", DType::u8, {8}, bytes);
  writer.add_tensor("b", DType::f32, {2}, bytes);
  const json sharded = inspect(writer.write_sharded(folder.path(), 8));
  EXPECT_EQ(sharded["format"], "safetensors in 2 shards");
  EXPECT_EQ(sharded["tensors"][1]["file"], "model-00002-of-00002.safetensors");
  EXPECT_EQ(inspect(folder / "model-00001-of-00002.safetensors")["tensors"][0]["type"], "u8");
  const Ended refused = wick({"inspect", (files / "pytorch/tar.pt").string()});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("a tar file of PyTorch before 0.1.10"));
}

TEST_F(Commands, InspectShowsNothingThatATerminalWouldObey) {
  const std::string evil =
      "\x1b]0;owned\x07\xc2\x9b"
      "31m";
  const float one = 1;
  const std::vector<uint64_t> large = {std::numeric_limits<uint64_t>::max(), uint64_t{1} << 63};
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_string(evil, evil + std::string(200'000, 'x'));
  writer.add_strings("list", std::vector<std::string>{evil});
  writer.add_array<uint64_t>("large", large);
  writer.add_tensor(evil, DType::f32, {1}, std::as_bytes(std::span(&one, 1)));
  writer.write(folder / "evil.gguf");
  SafetensorsWriter tensors;
  tensors.add_metadata(evil, evil);
  tensors.add_tensor(evil, DType::f32, {1}, std::as_bytes(std::span(&one, 1)));
  tensors.write(folder / "evil.safetensors");
  for (const char* name : {"evil.gguf", "evil.safetensors"}) {
    for (const bool as_json : {false, true}) {
      Arguments arguments = {"inspect", (folder / name).string()};
      if (as_json) arguments.emplace_back("--json");
      const Ended ended = wick(arguments);
      ASSERT_EQ(ended.code, 0) << ended.err;
      for (const char* part : {"\x1b", "\x07", "\xc2\x9b"}) EXPECT_EQ(ended.out.find(part), std::string::npos) << name << as_json;
      if (as_json) {
        EXPECT_EQ(json::parse(ended.out)["tensors"][0]["name"], evil);
      }
      if (as_json && std::string(name) == "evil.gguf") {
        EXPECT_EQ(json::parse(ended.out)["metadata"]["large"][0], large[0]);
      }
    }
  }
  const Ended run = wick({"run", "--model", (folder / "evil.gguf").string(), "--prompt", "x"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.err.find('\x1b'), std::string::npos);
}

TEST_F(Commands, InspectRefusesArraysThatAreCutOff) {
  const std::vector<float> values(4);
  write_npy(folder / "whole.npy", {4}, values);
  ASSERT_EQ(wick({"inspect", (folder / "whole.npy").string()}).code, 0);
  std::filesystem::resize_file(folder / "whole.npy", std::filesystem::file_size(folder / "whole.npy") - 4);
  EXPECT_EQ(wick({"inspect", (folder / "whole.npy").string()}).code, 2);
}

// The tokenizer knows more tokens than the embedding has rows: every command that has both says so.
TEST_F(Commands, AVocabularyThatIsLargerThanTheEmbeddingIsRefused) {
  const GgufFile file = GgufFile::open(model);
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) {
    if (key == "tokenizer.ggml.tokens") {
      std::vector<std::string> tokens(std::get<GgufArray>(value.value).strings.begin(), std::get<GgufArray>(value.value).strings.end());
      tokens.emplace_back("beyond");
      writer.add_strings(key, tokens);
    } else if (key == "tokenizer.ggml.token_type") {
      std::vector<int32_t> kinds = std::get<GgufArray>(value.value).to_vector<int32_t>();
      kinds.push_back(1);
      writer.add_array<int32_t>(key, kinds);
    } else {
      writer.add(key, value);
    }
  }
  for (const GgufTensor& tensor : file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
  const std::string larger = (folder / "larger.gguf").string();
  writer.write(larger);
  std::ofstream(folder / "text.txt") << "beyond beyond beyond beyond";
  const std::string text = (folder / "text.txt").string();
  const std::string out = (folder / "out").string();
  for (const Arguments& arguments :
       {Arguments{"perplexity", "--model", larger, "--file", text, "--ctx", "1"}, Arguments{"run", "--model", larger, "--prompt", "x"},
        Arguments{"logits", "--model", larger, "--text", "x", "--out", out},
        Arguments{"imatrix", "--model", larger, "--file", text, "--out", out, "--ctx", "2"}}) {
    const Ended ended = wick(arguments);
    EXPECT_EQ(ended.code, 2) << arguments[0];
    EXPECT_THAT(ended.err, HasSubstr("401 tokens and the model's embedding 400 rows")) << arguments[0];
  }
  // Ids need no vocabulary.
  EXPECT_EQ(wick({"logits", "--model", larger, "--tokens", "0,1", "--out", out}).code, 0);
}

TEST_F(Commands, LogitsOfIdsNeedNoVocabulary) {
  const GgufFile file = GgufFile::open(model);
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) {
    if (!key.starts_with("tokenizer.")) writer.add(key, value);
  }
  writer.add_string("tokenizer.ggml.model", "no_vocab");
  for (const GgufTensor& tensor : file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.shape, tensor.data);
  const std::string bare = (folder / "bare.gguf").string();
  writer.write(bare);
  EXPECT_EQ(wick({"logits", "--model", bare, "--tokens", "1,2", "--out", (folder / "a.npy").string()}).code, 0);
  EXPECT_EQ(wick({"logits", "--model", bare, "--text", "x", "--out", (folder / "a.npy").string()}).code, 2);
}

// F16 weights keep their 11 bits unless --fast allows less.
TEST_F(Commands, F16WeightsKeepTheirBitsByDefault) {
  const std::string halves = (folder / "f16.gguf").string();
  write_synthetic_model(halves, {.shape = parse_synthetic_shape("2,256,512,4,2,400"), .type = "f16", .seed = 3});
  std::string ids = "1";
  for (int id = 2; id < 64; ++id) ids += "," + std::to_string(id);
  const auto logits = [&](const Arguments& flags) {
    Arguments arguments = {"logits", "--model", halves, "--tokens", ids, "--kv-type", "f32", "--out", (folder / "l.npy").string()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    EXPECT_EQ(wick(arguments).code, 0);
    const NpyArray array = read_npy_array(folder / "l.npy");
    std::vector<float> values(array.data.size() / sizeof(float));
    std::memcpy(values.data(), array.data.data(), array.data.size());
    return values;
  };
  const std::vector<float> exact = logits({"--precise"});
  const auto error = [&](const std::vector<float>& values) {
    double squares = 0, power = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      squares += std::pow(values[i] - exact[i], 2);
      power += std::pow(exact[i], 2);
    }
    return squares / power;
  };
  EXPECT_LT(error(logits({})), 1e-7);
  EXPECT_LT(error(logits({"--fast"})), 1e-2);
  EXPECT_EQ(wick({"logits", "--model", halves, "--tokens", "1", "--fast", "--precise", "--out", (folder / "l.npy").string()}).code, 2);
}

TEST_F(Commands, NumbersAtTheLimitsAreTheUsersMistakes) {
  EXPECT_EQ(wick({"bench", "--model", model, "--depth", "9223372036854775807"}).code, 2);
  EXPECT_EQ(wick({"bench", "--model", model, "--prompt-tokens", "9223372036854775807"}).code, 2);
  GgufWriter writer;
  writer.add_string("general.architecture", "llama");
  writer.add_tensor("empty.weight", DType::f32, {0, int64_t{1} << 62}, std::span<const std::byte>());
  writer.write(folder / "empty.gguf");
  const Ended ended = wick({"quantize", (folder / "empty.gguf").string(), (folder / "q.gguf").string(), "Q8_0"});
  EXPECT_NE(ended.code, 1) << ended.err;
  EXPECT_EQ(wick({"quantize", model, "/dev/null", "Q8_0"}).code, 0);
  EXPECT_EQ(wick({"perplexity", "--model", model, "--file", folder.path().string()}).code, 2);
  EXPECT_EQ(wick({"run", "--model", model, "--prompt", "x", "--trace", (folder / "t.json").string(), "--device", "cpu"}).code, 2);
}

TEST_F(Commands, ControlCharactersOfAModelDoNotReachATerminal) {
  const Arguments arguments = {"detokenize", "--model", model, "--tokens", "97,27,91,10,9,98"};
  EXPECT_EQ(wick(arguments, "", true).out, "a\\x1b[\n\tb\n");
  EXPECT_EQ(wick(arguments).out, "a\x1b[\n\tb") << "a file or pipe gets the text as it is";
  const Ended answer = wick(
      {"run", "--model", model, "--prompt", "x", "--max-tokens", "200", "--ignore-eos", "--temperature", "2", "--top-k", "0", "--top-p",
       "1",   "--min-p", "0",   "--seed",   "1", "--device",     "cpu"},
      "", true);
  ASSERT_EQ(answer.code, 0) << answer.err;
  for (const char byte : answer.out) EXPECT_TRUE(static_cast<unsigned char>(byte) >= 0x20 || byte == '\n' || byte == '\t');
  EXPECT_THAT(answer.out, HasSubstr("\\x")) << "random weights write control characters";
  const auto file = shared_data("data/findings/f8_esc.gguf");
  if (!file) GTEST_SKIP() << kSharedDataMissing;
  for (const char* flag : {"--quiet", "--json"}) {
    EXPECT_EQ(wick({"compat-check", file->string(), flag}).out.find('\x1b'), std::string::npos) << flag;
  }
}

TEST_F(Commands, CompatCheckRefusesATokenizerLargerThanTheEmbedding) {
  const auto file = shared_data("data/findings/f1_leak.gguf");
  if (!file) GTEST_SKIP() << kSharedDataMissing;
  const Ended ended = wick({"compat-check", file->string(), "--device", "cpu"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.out, HasSubstr("vocabulary     FAIL"));
  EXPECT_THAT(ended.err, HasSubstr("the tokenizer has 259 tokens and the model's embedding 8 rows"));
  EXPECT_EQ(wick({"compat-check", model, "--device", "cpu"}).code, 0);
}

TEST_F(Commands, MoreThreadsThanCoresAreNamed) {
  const Ended ended = wick({"run", "--model", model, "--prompt", "x", "--max-tokens", "1", "--threads", "300", "--device", "cpu"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("--threads 300: this process may use"));
}

TEST_F(Commands, DevicesAndCoverageAreJsonToo) {
  EXPECT_EQ(json::parse(wick({"devices", "--json"}).out)[0]["device"], "cpu");
  const json rows = json::parse(wick({"coverage", "--json"}).out);
  EXPECT_GT(rows.size(), 10U);
  EXPECT_TRUE(rows[0].contains("op") && rows[0].contains("dtype") && rows[0].contains("device") && rows[0].contains("support"));
}

TEST_F(Commands, DevicesMeasureWhatMemoryAndCoresGive) {
  const json device = json::parse(wick({"devices", "--measure", "--threads", "1", "--json"}).out)[0];
  EXPECT_EQ(device["threads"], 1);
  EXPECT_GT(device["read_bytes_per_second"].get<double>(), 1e8);
  EXPECT_GT(device["f32_operations_per_second"].get<double>(), 1e8);
  EXPECT_THAT(wick({"devices", "--measure"}).out, HasSubstr("measured, threads"));
}

TEST_F(Commands, SynthIsWhatTheModelRoomWrites) {
  const std::string out = (folder / "again.gguf").string();
  ASSERT_EQ(wick({"synth", "--shape", "2,64,96,4,2,400", "--type", "f32", "--seed", "3", "--out", out}).code, 0);
  EXPECT_EQ(read_bytes(out), read_bytes(model));
}

}  // namespace
}  // namespace wick
