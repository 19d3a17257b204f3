// EngineOptions and EngineInfo: what an Engine is made with, and what it tells about itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "wick/base/error.h"
#include "wick/model/checkpoint/classifier.h"
#include "wick/model/checkpoint/pooling.h"
#include "wick/model/checkpoint/text_prompts.h"

namespace wick {

struct SpeculationOptions {
  // Looks the last tokens up in the text before them, and proposes what followed there. Costs next to nothing where there is no match.
  bool ngram = true;
  // The most tokens that are proposed at once. How many are, at most, is decided each step by what was accepted lately and by what a row
  // more costs; where none pays, none is proposed.
  int64_t most = 16;
  // Where false, as many are proposed as there are, whether it pays or not.
  bool adaptive = true;
};

class LanguageModel;

struct EngineOptions {
  // The most positions of one choice, prompt included. 0: the model's own, at most 4096.
  int64_t context = 0;
  // The most choices that run at once. 0: 32; on devices with kernels up to 256, as many as half of the memory has room for beside the
  // weights, or as kv_bytes has, each of 1,024 positions.
  int64_t sequences = 0;
  // Memory of the KV cache. 0: for `sequences` choices of 1,024 positions, or one whole context if that is more.
  int64_t kv_bytes = 0;
  // The dial between latency and throughput: the most rows of a step while somebody decodes. What decoding leaves of it reads prompts in
  // chunks; a larger number reads prompts faster and delays the others' tokens more. 0: on the host's processor 16, and up to 24 while many
  // prompts are read at once; on devices with kernels 1,024. Where nobody decodes, a step reads up to 512 rows, on those devices 1,024.
  int64_t step_rows = 0;
  // The most requests that wait; more are refused.
  int64_t queue = 256;
  // A waiting request's priority grows by one each time it has waited so long, so that none waits for ever.
  std::chrono::milliseconds aging = std::chrono::seconds(10);

  // How vectors of texts are made (Request::Task::embed); none: as the model's file says.
  std::optional<Pooling> pooling = {};
  // Task::embed gives the vector of each token instead of one of the text.
  bool embeds_each_token = false;

  // Prompts that begin as earlier ones share their blocks of the cache.
  bool prefix_cache = true;
  // Host memory that keeps sequences when they end, beyond what the KV cache has room for, and preempted ones. 0: none.
  int64_t cache_ram_bytes = 0;
  // A folder that keeps what host memory has no room for, and all of it when the engine ends: the next one finds it. Empty: none.
  std::filesystem::path cache_folder = {};
  int64_t cache_folder_bytes = int64_t{16} << 30;

  SpeculationOptions speculation = {};
  // Where the device draws the tokens itself (Sampler::device_settings), the next step is queued before the host has read them, so that the
  // host's work and the device's overlap. The tokens are the same.
  bool ahead = true;

  // After so long without a request the engine's thread lets go of the model and the KV cache; the next request waits until `reload` has
  // loaded the model again. What the prefix cache keeps in host memory and files is found then. Zero: never.
  std::chrono::milliseconds unload_after = std::chrono::milliseconds(0);
  // Loads the same model again; for unload_after and Engine::unload, of an engine that owns its model. Called on the engine's thread.
  std::function<std::shared_ptr<LanguageModel>()> reload = {};
};

struct EngineInfo {
  std::string model = {};         // general.name
  std::string architecture = {};  // "llama"
  std::string device = {};        // "cpu:0"
  int64_t context = 0;            // the most positions of a choice, prompt included
  int64_t model_context = 0;
  int64_t vocab_size = 0;
  int64_t width = 0;  // of vectors of texts
  int64_t layers = 0;
  int64_t parameters = 0;
  uint64_t file_bytes = 0;
  int64_t sequences = 0;     // the most choices at once
  int64_t queue = 0;         // the most requests that wait
  int64_t step_rows = 0;     // of a step while somebody decodes
  int64_t embed_tokens = 0;  // the most of a prompt for Task::embed
  bool encoder = false;      // it has Task::embed alone
  // Limits of an encoder–decoder, which has Task::generate alone: tokens of a prompt, its source, and of an answer, its target; and the
  // tokens that each target begins with. 0: the model is none.
  int64_t source_tokens = 0, target_tokens = 0;
  std::vector<int32_t> target_start = {};
  Pooling pooling = Pooling::mean;  // of Task::embed; rank: scores of `classifier` in the place of a vector
  bool embeds_each_token = false;   // EngineOptions::embeds_each_token
  std::optional<Classifier> classifier = {};
  TextPrompts prompts = {};  // of Task::embed, for whoever makes requests: the engine adds none
  int64_t kv_bytes = 0;
  int64_t kv_positions = 0;  // what the KV cache has room for, of all choices together
};

// Thrown by Engine::submit where another time may be better. Its code is out_of_memory.
class EngineBusy : public Error {
 public:
  enum class Reason {
    queue_full,
    draining,  // the engine takes no more requests
    failed,    // the device was lost
  };
  EngineBusy(Reason reason, std::chrono::seconds retry_after, const std::string& message)
      : Error(ErrorCode::out_of_memory, message), reason_(reason), retry_after_(retry_after) {}

  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  // When to come back, as the rate of requests that end suggests; zero: never to this engine.
  [[nodiscard]] std::chrono::seconds retry_after() const noexcept { return retry_after_; }

 private:
  Reason reason_;
  std::chrono::seconds retry_after_;
};

}  // namespace wick
