// Which model an EngineCore computes with: its pool, its adapters, one that takes over, and none while it is idle.
#include <algorithm>
#include <exception>
#include <utility>

#include "wick/base/fail.h"
#include "wick/engine/engine_core.h"
#include "wick/formats/printable.h"

namespace wick {

void EngineCore::take(std::shared_ptr<LanguageModel> model, bool is_same) {
  for (const AddedAdapter& added : added_adapters_) {
    const auto there = model->adapters();
    const bool is_there = std::any_of(there.begin(), there.end(), [&](const LoadedAdapter& one) { return one.name == added.name; });
    if (!is_there) model->add_adapter(added.name, added.adapter, added.scale);
  }
  const auto names = model->adapters();
  const bool same = std::equal(adapters_.begin(), adapters_.end(), names.begin(), names.begin() + std::min(names.size(), adapters_.size()),
                               [](const LoadedAdapter& left, const LoadedAdapter& right) { return left.name == right.name; });
  // Requests that wait know them by their places.
  if (!same) ::wick::fail(ErrorCode::invalid_argument, "{}: its adapters are not those of the model before it", model->info().name);
  memory_.take(*model, info_, options_, std::max(SchedulerLimits{}.idle_rows, info_.step_rows), is_same);
  ahead_.reset();
  model_ = std::move(model);
  adapters_.assign(names.begin(), names.end());
  const Runtime& runtime = model_->device().runtime();
  const bool is_shared = model_->placement() != nullptr && !model_->placement()->is_single();
  const bool has_states = !model_->cache_layout().states.empty();
  // The host's own processor is never ahead of itself. A recurrent layer cannot take back a step that turns out to be behind the end.
  may_go_ahead_ = options_.ahead && runtime.runs_kernels() && runtime.op_fallback() == nullptr && !has_states && !is_shared &&
                  model_->info().vocab_size <= kMaxSampledTokens;
  // A step that is taken back costs a recurrent layer a whole block of tokens.
  may_speculate_ = options_.speculation.most > 0 && !has_states && model_->info().source_length == 0 &&
                   (options_.speculation.ngram || draft_ != nullptr);
  const ModelInfo& of = model_->info();
  info_.model = of.name;
  info_.architecture = of.architecture;
  info_.device = model_->device().location().to_string();
  info_.model_context = of.context_length;
  info_.width = of.vector_width;
  info_.layers = of.layers;
  info_.parameters = of.parameters;
  info_.file_bytes = of.file_bytes;
  info_.kv_bytes = memory_.pool().bytes();
  info_.kv_positions = memory_.positions().value_or(info_.sequences * info_.context);
  info_.context = std::min(info_.context, info_.kv_positions);
  info_.embed_tokens = info_.context;
  info_.encoder = of.encoder;
  info_.source_tokens = of.source_length;
  info_.target_tokens = of.target_length;
  info_.target_start = of.target_start;
  info_.pooling = options_.pooling.value_or(of.pooling);
  info_.embeds_each_token = options_.embeds_each_token;
  info_.classifier = of.classifier;
  info_.prompts = of.prompts;
}

void EngineCore::ensure_loaded() {
  if (loaded()) return;
  std::shared_ptr<LanguageModel> model = options_.reload();
  if (model == nullptr) ::wick::fail(ErrorCode::not_found, "EngineOptions: reload gave no model");
  check_swap(info_, *model);
  take(std::move(model), true);
  ++metrics_.reloads;
}

bool EngineCore::unload() {
  if (!options_.reload)
    ::wick::fail(ErrorCode::invalid_argument, "Engine: unload needs EngineOptions::reload, which loads the model again");
  if (!idle()) return false;
  ahead_.reset();
  memory_.unload();
  model_.reset();
  host_logits_ = {};
  update_gauges();
  return true;
}

void EngineCore::add_adapter(const std::string& name, std::shared_ptr<const LoraAdapter> adapter, float scale) {
  ensure_loaded();
  model_->add_adapter(name, adapter, scale);
  added_adapters_.push_back({name, std::move(adapter), scale});
  adapters_.assign(model_->adapters().begin(), model_->adapters().end());
}

void EngineCore::check_swap(const EngineInfo& info, const LanguageModel& model) {
  const ModelInfo& of = model.info();
  if (of.vocab_size != info.vocab_size) {
    ::wick::fail(ErrorCode::invalid_argument, "{} has {} tokens and {} has {}: only a model of the same vocabulary can take over", of.name,
                 of.vocab_size, info.model, info.vocab_size);
  }
  if (of.source_length != info.source_tokens || of.target_start != info.target_start) {
    ::wick::fail(ErrorCode::invalid_argument, "{} cannot take over from {}: sources or the tokens that answers begin with are not the same",
                 of.name, info.model);
  }
  if (of.context_length < info.context) {
    ::wick::fail(ErrorCode::invalid_argument, "{} was made for {} positions and the engine's context has {}: it cannot take over", of.name,
                 of.context_length, info.context);
  }
}

bool EngineCore::has_begun() const {
  if (!scheduler_.running().empty()) return true;
  const auto& waiting = scheduler_.waiting();
  return std::any_of(waiting.begin(), waiting.end(), [](const auto& sequence) { return sequence->generated() > 0; });
}

void EngineCore::swap_model(std::shared_ptr<LanguageModel> model, std::promise<void> done) {
  if (next_model_ != nullptr) {
    swapped_.set_exception(std::make_exception_ptr(
        Error(ErrorCode::invalid_argument, "another model was given before this one had taken over: " + next_model_->info().name)));
  }
  next_model_ = std::move(model);
  swapped_ = std::move(done);
  swap_if_due();
}

void EngineCore::swap_if_due() {
  if (next_model_ == nullptr || has_begun()) return;
  try {
    take(std::exchange(next_model_, nullptr), false);
    swapped_.set_value();
  } catch (...) {
    swapped_.set_exception(std::current_exception());
  }
}

}  // namespace wick
