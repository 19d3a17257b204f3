// An EngineCore runs the steps of an Engine: it decides with the Scheduler what runs, computes one batch, and tells what came of it.
// One thread at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "wick/base/error.h"
#include "wick/engine/drawn_step.h"
#include "wick/engine/embedding_queue.h"
#include "wick/engine/engine_metrics.h"
#include "wick/engine/engine_options.h"
#include "wick/engine/mask_threads.h"
#include "wick/engine/proposer.h"
#include "wick/engine/scheduler.h"
#include "wick/engine/sequence_memory.h"
#include "wick/model/language_model.h"
#include "wick/text/tokenizer/tokenizer.h"

namespace wick {

class EngineCore {
 public:
  static constexpr int64_t kDeviceStepRows = 1024;  // of devices with kernels, while somebody decodes

  EngineCore(std::shared_ptr<LanguageModel> model, std::shared_ptr<const Tokenizer> tokenizer, const EngineOptions& options,
             LanguageModel* draft);

  [[nodiscard]] const EngineInfo& info() const noexcept { return info_; }
  [[nodiscard]] const EngineMetrics& metrics() const noexcept { return metrics_; }
  // Requests that have not ended.
  [[nodiscard]] bool idle() const noexcept { return scheduler_.running().empty() && scheduler_.waiting().empty() && embeddings_.empty(); }
  // Choices that are computed, and requests that wait for that: as things stand in the middle of a step. Any thread may ask.
  [[nodiscard]] int64_t running() const noexcept { return running_; }
  [[nodiscard]] int64_t waiting() const noexcept { return waiting_; }
  // As many requests are about to be added. Any thread.
  void expect(int64_t requests) noexcept { waiting_ += requests; }
  // The error that lost the device, if it was lost.
  [[nodiscard]] const std::optional<Error>& lost() const noexcept { return lost_; }

  void add(std::shared_ptr<ActiveRequest> request);
  void step();
  // Ends all requests as if they had been cancelled; with an error.
  void cancel_all();
  void fail_all(const Error& error);
  // Publishes new events to streams.
  void publish();

  int64_t save_session(std::span<const TokenId> tokens, const std::filesystem::path& path);
  int64_t restore_session(const std::filesystem::path& path);
  void forget_prefixes() { memory_.forget_prefixes(); }
  void warm_up();
  void add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale);
  // The model's, also where it is not loaded.
  [[nodiscard]] std::span<const LoadedAdapter> adapters() const noexcept { return adapters_; }
  // Errors: invalid_argument for a model that cannot take over.
  static void check_swap(const EngineInfo& info, const LanguageModel& model);
  // Switches to another model, at once or when the running sequences have finished; then fulfils `done`.
  void swap_model(std::shared_ptr<LanguageModel> model, std::promise<void> done);
  [[nodiscard]] bool loaded() const noexcept { return model_ != nullptr; }
  // Lets go of the model. Whether it has: not while there are requests.
  bool unload();
  // Writes what host memory keeps to the folder.
  void flush_prefixes() { memory_.flush(); }

 private:
  // --- engine_core.cpp: the model, requests, and what runs ---
  // Makes the pool of a model, and what depends on it. Errors: out_of_memory; nothing has changed then.
  // `is_same`: the one that was there before, so that its prefixes in host memory and files are still good.
  void take(std::shared_ptr<LanguageModel> model, bool is_same);
  void ensure_loaded();
  // Swaps where one waits for that and nothing that has begun is left.
  void swap_if_due();
  [[nodiscard]] bool has_begun() const;
  void retire();
  void end(Sequence& sequence, StopReason reason);
  void fail(ActiveRequest& request, const Error& error);
  // Frees the memory of a sequence that has ended.
  void release(Sequence& sequence, bool keep);
  void admit();
  // Counts sequences that the Scheduler has preempted.
  void note_preempted(std::span<Sequence* const> sequences);

  // The most positions that the sequence may have.
  [[nodiscard]] int64_t context_of(const Sequence& sequence) const noexcept {
    const int64_t source = sequence.request().source;
    return source == 0 ? info_.context : std::min(info_.context, source + info_.target_tokens);
  }
  // Errors: unsupported for an encoder–decoder.
  void refuse_session() const;
  // The warm-up of an encoder–decoder.
  void warm_up_target();

  // --- engine_step.cpp: one batch, and what comes of it ---
  [[nodiscard]] std::vector<SequenceRows> plan();
  // Preempts until the batch has room.
  void fit(std::vector<SequenceRows>& works);
  void run(std::vector<SequenceRows>& works);
  // --- Masks of constrained texts, which other threads compute while the device does ---
  // Whether the sequence's next token can be chosen. Waits for its mask for a moment, of which a step has one.
  [[nodiscard]] bool knows_mask(const Sequence& sequence);
  // Keeps a sequence out of the steps until its mask is known; its next token is then chosen from these logits.
  static void wait_for_mask(Sequence& sequence, std::span<const float> logits);
  [[nodiscard]] bool waits_for_masks() const;
  // Chooses the tokens of those that have waited for their masks.
  void choose_waiting();
  [[nodiscard]] Tensor forward(std::vector<SequenceRows>& works, const Tensor& earlier);
  [[nodiscard]] bool is_unwanted(const Sequence& sequence) const;
  void take_results(SequenceRows& work, std::span<const float> logits);
  void take_prompt_logprobs(SequenceRows& work, std::span<const float> logits);
  void tell_prompt(Sequence& sequence);
  // How far the prompt is, where that was asked for.
  void tell_progress(Sequence& sequence);
  void fork_choices(Sequence& leader, std::span<const float> logits);
  void choose(SequenceRows& work, std::span<const float> logits);
  [[nodiscard]] std::optional<StopReason> choose_one(Sequence& sequence, std::span<const float> logits);
  // Counts a token that a sequence has just got.
  std::optional<StopReason> note_choice(Sequence& sequence, std::optional<StopReason> reason);
  // --- One step ahead ---
  // Queues the drawing of tokens and their way to the host; the step counts as computed.
  void draw(const std::vector<SequenceRows>& works, const Tensor& logits, EngineClock::time_point begin);
  // The step after `ahead_`; empty if its tokens must be known first.
  [[nodiscard]] std::vector<SequenceRows> plan_ahead();
  // Queues the next step if it can be, then reads the tokens of the one before. Whether that was the step to do.
  [[nodiscard]] bool run_ahead();
  void collect(DrawnStep& ahead, bool was_prepared);
  void take_drawn(Sequence& sequence, int64_t position, TokenId token);
  void remove_ended();

  void run_embeddings();
  // Counts what runs and waits, beside so many embeddings under way.
  void note_load(int64_t embedding = 0) noexcept;
  void update_gauges();

  std::shared_ptr<LanguageModel> model_;  // none where it is not loaded
  std::shared_ptr<const Tokenizer> tokenizer_;
  EngineOptions options_;
  EngineInfo info_;
  SequenceMemory memory_;
  struct AddedAdapter {
    std::string name;
    std::shared_ptr<const LoraAdapter> adapter;
    float scale;
  };
  std::vector<AddedAdapter> added_adapters_;
  std::vector<LoadedAdapter> adapters_;
  std::shared_ptr<LanguageModel> next_model_;  // that waits to take over
  std::promise<void> swapped_;
  Scheduler scheduler_;
  Proposer proposer_;
  // The last forward() took as long as later ones like it will: nothing was recorded for them.
  bool step_was_prepared_ = true;
  EmbeddingQueue embeddings_;
  std::vector<std::shared_ptr<ActiveRequest>> touched_;  // that have something to tell
  uint64_t private_identities_ = 0;
  bool may_go_ahead_ = false;
  std::unique_ptr<DrawnStep> ahead_;  // whose tokens the host has not read; none where it knows all
  bool ahead_was_prepared_ = true;    // step_was_prepared_ of that step
  EngineClock::time_point last_collected_;
  EngineMetrics metrics_;
  std::atomic<int64_t> running_ = 0, waiting_ = 0;
  double step_model_seconds_ = 0;
  MaskThreads mask_threads_;
  EngineClock::time_point masks_until_;  // so long this step waits for masks
  std::vector<float> host_logits_;       // of a device that is not the host
  std::optional<Error> lost_;
};

}  // namespace wick
