#include "wick/model/decoder_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <utility>

#include "wick/base/fail.h"
#include "wick/base/log.h"
#include "wick/formats/printable.h"
#include "wick/model/architectures/architecture.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/model_config.h"
#include "wick/model/checkpoint/state_sizes.h"
#include "wick/model/memory_fit.h"
#include "wick/tensor/ops/linear.h"

namespace wick {
namespace {

// Tensors that no model computes with: the rotations' frequencies, which early converters kept and the metadata tell again; scales of
// activations for products in NVFP4, which are in f32 or 8 bits here; the head of a classifier.
constexpr std::array<std::string_view, 4> kHarmlessTensors = {".attn_rot_embd.", ".rope.freqs", ".input_scale", "cls.output."};

int64_t vocabulary_rows(const Checkpoint& checkpoint) {
  const CheckpointTensor* embedding = checkpoint.find_tensor("token_embd.weight");
  if (embedding == nullptr && checkpoint.gguf() == nullptr) {
    const Architecture* architecture = find_architecture(checkpoint.get_string("general.architecture"));
    const std::string stored = architecture == nullptr ? "" : stored_name_of("token_embd.weight", architecture->hugging_face);
    fail(ErrorCode::not_found, "{}: tensor '{}' (token_embd.weight) is missing; the folder is incomplete or of another architecture",
         checkpoint.name(), stored);
  }
  if (embedding == nullptr) {
    fail(ErrorCode::not_found, "{}: tensor 'token_embd.weight' is missing; the file holds no model (a vocabulary alone?)",
         checkpoint.name());
  }
  return embedding->shape.rank() == 0 ? 0 : embedding->shape[0];
}

// A folder of a base model, converted or not.
bool is_headless(const Checkpoint& checkpoint) {
  const GgufValue* value = checkpoint.find(std::string(checkpoint.get_string("general.architecture")) + ".headless");
  const bool* flag = value == nullptr ? nullptr : std::get_if<bool>(&value->value);
  return flag != nullptr && *flag;
}

const Architecture& architecture_of(const Checkpoint& checkpoint) {
  const std::string_view name = checkpoint.get_string("general.architecture");
  if (const Architecture* found = find_architecture(name)) return *found;
  fail(ErrorCode::unsupported, "{}: metadata general.architecture = {} is not supported; this version runs {}", checkpoint.name(),
       printable(name), fmt::join(supported_architectures(), ", "));
}

}  // namespace

DecoderSpec describe(const Checkpoint& checkpoint) {
  const Architecture& architecture = architecture_of(checkpoint);
  DecoderSpec spec = architecture.describe(ModelConfig::read(checkpoint, architecture));
  // A decoder has seen a text at its last token.
  const bool scores = read_pooling(checkpoint, architecture.name) == Pooling::rank;
  if (scores && !spec.score_head && checkpoint.find_tensor("cls.output.weight") != nullptr) {
    spec.score_head = {.input = ScoreHeadSpec::Input::last_token};
  }
  const KeyReader keys(checkpoint, architecture.name);
  if (!spec.encoder && !keys.find_choice("attention.causal").value_or(true)) attend_both_ways(spec, keys);
  return spec;
}

std::unique_ptr<DecoderModel> DecoderModel::load(const Checkpoint& checkpoint, const Device& device, const LoadOptions& options) {
  DecoderSpec spec = describe(checkpoint);
  if (const Architecture& architecture = architecture_of(checkpoint); architecture.recurrent) {
    check_state_sizes(KeyReader(checkpoint, architecture.name), spec);
  }
  WeightReader weights(checkpoint, device, options);
  weights.set_scaled_feed_forward(architecture_of(checkpoint).scaled_feed_forward);
  const std::optional<size_t> free = free_memory(device);  // NOLINT(clang-analyzer-deadcode.DeadStores): read after the exception
  try {
    return std::unique_ptr<DecoderModel>(new DecoderModel(std::move(spec), weights, options, nullptr));
  } catch (const Error& error) {
    // Of the host's memory nothing is known that would help.
    if (error.code() != ErrorCode::out_of_memory || !device.runtime().runs_kernels()) throw;
  }
  fail_weights_too_large(checkpoint, device, options.placement, free);
}

namespace {

std::atomic<uint64_t> models_made{0};

// Of the layers that the bias is added in.
int64_t score_bias_heads(const DecoderSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    for (const BlockSpec& block : layer.blocks) {
      for (const PartSpec& part : block.parts) {
        const auto* attention = std::get_if<AttentionSpec>(&part.mixer);
        if (attention != nullptr && (attention->relative_bias || attention->after_source)) return attention->heads;
      }
    }
  }
  return 1;
}

LinearParams linear_params_of(const LoadOptions& options) {
  LinearParams params;
  params.precise = options.precise;
  params.fast = options.fast;
  params.deterministic = options.deterministic;
  return params;
}

}  // namespace

DecoderModel::DecoderModel(DecoderSpec spec, WeightReader& weights, const LoadOptions& options, const Shared* shared)
    : spec_(std::move(spec)),
      placement_(Placement::of(layers_with_experts(spec_), weights.device(), options.placement)),
      device_(placement_.main()),
      linear_(linear_params_of(options)),
      angles_(placement_.devices.size()),
      observe_(options.observe),
      record_(options.record),
      id_(++models_made) {
  const Checkpoint& checkpoint = weights.checkpoint();
  const int64_t vocabulary = vocabulary_rows(checkpoint);
  make_layout(options);
  weights.set_device(device_);
  weights.set_prefix(spec_.prefix);
  if ((spec_.encoder || spec_.source) && !placement_.is_single()) {
    fail(ErrorCode::unsupported, "{}: an encoder runs on one device; load it without layers or experts on another one", checkpoint.name());
  }
  const bool tied = !spec_.encoder && !weights.has("output.weight");
  if (shared != nullptr) embedding_ = shared->embedding;
  read_embedding(weights, vocabulary, tied);
  read_source(weights, options);
  read_layers(weights, options, shared == nullptr ? 0 : shared->cached);
  weights.set_device(device_);
  if (spec_.layer_inputs) layer_rows_.emplace(*spec_.layer_inputs, std::ssize(spec_.layers), weights, spec_.hidden_size);
  if (spec_.alternating) streams_.emplace(*spec_.alternating, weights, spec_.hidden_size);
  read_head(weights, vocabulary, tied);
  // Llama 3.1's files bring the divisors of their frequencies as a tensor.
  for (RopeConfig& rope : spec_.ropes) {
    // Of several, the first is that of layers without a window.
    const bool is_first = &rope == &spec_.ropes.front();
    if (const auto divisors = is_first ? weights.find_vector("rope_freqs.weight", rope.dims / 2) : std::nullopt) {
      rope.frequency_divisors = divisors->to_vector<float>();
    }
    if (rope.scaling == RopeScaling::longrope) {
      rope.short_divisors = weights.vector("rope_factors_short.weight", rope.dims / 2).to_vector<float>();
      rope.long_divisors = weights.vector("rope_factors_long.weight", rope.dims / 2).to_vector<float>();
    }
    ropes_.emplace_back(rope);
    long_ropes_.emplace_back(rope, spec_.context_length);
  }
  if (shared == nullptr) require_all_read(weights);
  const std::optional<std::string_view> own_name = checkpoint.find_string("general.name");
  info_ = {.architecture = std::string(checkpoint.get_string("general.architecture")),
           .name = own_name ? printable_name(*own_name) : checkpoint.name(),
           .context_length = (spec_.source ? 2 : 1) * spec_.context_length,
           .vocab_size = vocabulary,
           .layers = std::ssize(spec_.layers),
           .width = spec_.hidden_size,
           .vector_width = dense_->width(),
           .parameters = weights.parameters(),
           .file_bytes = checkpoint.file_bytes(),
           .pooling = read_pooling(checkpoint, checkpoint.get_string("general.architecture")),
           .headless = spec_.encoder || score_head_ || is_headless(checkpoint),
           .encoder = spec_.encoder,
           .context_limit = spec_.context_limit};
  if (!spec_.context_limit.empty()) {
    log_warning("{}: the context ends at {} tokens: {}", checkpoint.name(), info_.context_length, spec_.context_limit);
  } else if (!spec_.ropes.empty() && spec_.ropes.front().dynamic) {
    info_.context_limit = "dynamic RoPE scaling begins behind that; it is not supported, because it changes keys that are in the cache";
  } else if (const std::string key = info_.architecture + ".context_length"; !spec_.source && checkpoint.find(key) != nullptr) {
    info_.context_limit = checkpoint.where(key);
  }
  if (spec_.source) {
    info_.source_length = spec_.source->context_length;
    info_.target_length = spec_.context_length;
    info_.target_start = spec_.target_start;
  }
  info_.prompts = read_text_prompts(checkpoint, info_.architecture);
  if (score_head_) {
    info_.classifier = read_classifier(checkpoint, info_.architecture, score_head_->labels());
    info_.classifier->of_tokens = score_head_->input() == ScoreHeadSpec::Input::each_token;
  }
  // Without the folder of a file that gives the model no name: it may move.
  layout_.model = fmt::format("{} ({}, {} parameters, {} bytes)", std::filesystem::path(info_.name).filename().string(), info_.architecture,
                              info_.parameters, info_.file_bytes);
  if (!linear_.precise) prepare_matrices();
}

void DecoderModel::read_embedding(WeightReader& weights, int64_t vocabulary, bool tied) {
  const int64_t size = spec_.embedding_size == 0 ? spec_.hidden_size : spec_.embedding_size;
  if (!embedding_.weight.defined()) {
    embedding_ = tied ? weights.matrix("token_embd", vocabulary, size) : weights.table("token_embd", vocabulary, size);
  }
  if (spec_.learned_positions) learned_positions_ = weights.table("position_embd", spec_.context_length, size);
  if (spec_.token_types) {
    token_types_ = weights.vectors("token_types.weight", std::max<int64_t>(weights.rows_of("token_types.weight"), 1), size);
  }
  if (spec_.embedding_norm) embedding_norm_.emplace(*spec_.embedding_norm, weights, "", size);
  if (spec_.embedding_size != 0) {
    projection_ = weights.matrix("token_embd_proj", spec_.hidden_size, size);
    projection_bias_ = weights.find_vector("token_embd_proj.bias", spec_.hidden_size);
  }
  score_bias_heads_ = score_bias_heads(spec_);
  if (const auto& bias = spec_.relative_bias) {
    relative_bias_ = weights.vectors(bias->name, bias->buckets, score_bias_heads_).transpose(0, 1).contiguous();
  }
}

void DecoderModel::read_head(WeightReader& weights, int64_t vocabulary, bool tied) {
  if (spec_.output_norm) output_norm_.emplace(*spec_.output_norm, weights, "", spec_.hidden_size);
  dense_.emplace(weights, spec_.hidden_size);
  if (spec_.score_head) score_head_.emplace(*spec_.score_head, weights, spec_.hidden_size);
  if (spec_.encoder) return;
  if (!tied) own_head_ = weights.matrix("output", vocabulary, spec_.hidden_size);
  head_bias_ = weights.find_vector("output.bias", vocabulary);
}

// But for layers behind the last, which predict more tokens at once.
void DecoderModel::require_all_read(const WeightReader& weights) const {
  const Checkpoint& checkpoint = weights.checkpoint();
  const std::string key = std::string(checkpoint.get_string("general.architecture")) + ".block_count";
  std::vector<std::string> further;
  const auto blocks = static_cast<int64_t>(checkpoint.find_uint(key).value_or(0));
  for (int64_t layer = std::ssize(spec_.layers); layer < blocks; ++layer) further.push_back(fmt::format("blk.{}.", layer));
  std::vector<std::string_view> harmless(kHarmlessTensors.begin(), kHarmlessTensors.end());
  harmless.insert(harmless.end(), further.begin(), further.end());
  harmless.insert(harmless.end(), spec_.unused.begin(), spec_.unused.end());
  weights.require_all_read(harmless);
}

void DecoderModel::make_layout(const LoadOptions& options) {
  const DType dtype = options.cache_dtype();
  for (const LayerSpec& layer : spec_.layers) {
    for (const BlockSpec& block : layer.blocks) {
      for (const PartSpec& part : block.parts) {
        if (const std::optional<int64_t> numbers = kept_state(part, spec_.hidden_size)) layout_.states.push_back(*numbers);
        const std::optional<KvLayer> cached = cached_layer(part, dtype);
        if (!cached) continue;
        KvPool::check_dtype(*cached);
        const auto* attention = std::get_if<AttentionSpec>(&part.mixer);
        const auto* latent = std::get_if<LatentAttentionSpec>(&part.mixer);
        some_without_rope_ |= (attention != nullptr && attention->rope < 0) || (latent != nullptr && !latent->rotates);
        // An encoder needs keys and values only while their layer runs: all layers share the room for one.
        if (!spec_.encoder || layout_.layers.empty()) layout_.layers.push_back(*cached);
      }
    }
  }
}

int64_t DecoderModel::cache_of(const PartSpec& part, int64_t layer, std::span<const int64_t> cached_of) const {
  const auto* attention = std::get_if<AttentionSpec>(&part.mixer);
  if (attention == nullptr || attention->cache_of < 0) return cached_of[static_cast<size_t>(layer)];
  const auto other = static_cast<size_t>(attention->cache_of);
  if (placement_.layers[other].device != placement_.layers[static_cast<size_t>(layer)].device) {
    fail(ErrorCode::unsupported, "layer {} attends to the keys and values of layer {}, which is on another device; load both on one device",
         layer, other);
  }
  return cached_of[other];
}

void DecoderModel::read_source(WeightReader& weights, const LoadOptions& options) {
  if (!spec_.source) return;
  // What the encoder's layers keep of the source is not needed any more when the decoder's write theirs there.
  const std::optional<KvLayer> kept = cached_layer(spec_.source->layers.front().blocks.front().parts.front(), options.cache_dtype());
  const auto same = std::find(layout_.layers.begin(), layout_.layers.end(), kept);
  const Shared shared{embedding_, same - layout_.layers.begin()};
  if (same == layout_.layers.end()) layout_.layers.push_back(kept.value());
  LoadOptions silent = options;
  silent.layer_progress = {};
  source_.reset(new DecoderModel(*spec_.source, weights, silent, &shared));
  weights.set_prefix(spec_.prefix);
}

void DecoderModel::read_layers(WeightReader& weights, const LoadOptions& options, int64_t cached) {
  int64_t recurrent = 0;
  std::vector<int64_t> cached_of;  // of the layers so far
  const auto tell = [&] {
    if (options.layer_progress) options.layer_progress(std::ssize(layers_), std::ssize(spec_.layers));
  };
  tell();
  for (int64_t index = 0; index < std::ssize(spec_.layers); ++index) {
    const std::string prefix = fmt::format("blk.{}.", index);
    const auto read_norm = [&](const std::optional<NormSpec>& norm) {
      return norm ? std::optional<Norm>(Norm(*norm, weights, prefix, spec_.hidden_size)) : std::nullopt;
    };
    const Placement::Layer place = placement_.layers[static_cast<size_t>(index)];
    DecoderLayer& layer = layers_.emplace_back();
    layer.device = place.device;
    cached_of.push_back(cached);
    layer.times = spec_.layers[static_cast<size_t>(index)].times;
    for (const BlockSpec& spec : spec_.layers[static_cast<size_t>(index)].blocks) {
      DecoderBlock& block = layer.blocks.emplace_back();
      weights.set_device(placement_.devices[place.device]);
      block.norm = read_norm(spec.norm);
      block.norms_stream = spec.norms_stream;
      block.post_norm = read_norm(spec.post_norm);
      block.residual_scale = spec.residual_scale;
      block.sum_norm = read_norm(spec.sum_norm);
      if (!spec.sum_scaled_by.empty()) block.sum_scale = weights.find_vector(prefix + spec.sum_scaled_by + ".weight", 1);
      if (spec.sum_scale != 1) {
        const Tensor factor = Tensor::full({1}, spec.sum_scale, DType::f32, weights.device());
        block.sum_scale = block.sum_scale ? *block.sum_scale * factor : factor;
      }
      for (const PartSpec& part : spec.parts) {
        std::optional<Norm> norm = read_norm(part.norm), post_norm = read_norm(part.post_norm);
        const size_t device = std::holds_alternative<ExpertsSpec>(part.mixer) ? place.experts : place.device;
        weights.set_device(placement_.devices[device]);
        const int64_t cache = cache_of(part, index, cached_of);
        block.parts.push_back(
            {std::move(norm), std::move(post_norm), build_mixer(part, weights, {index, cache, recurrent, spec_.hidden_size}), device});
        weights.set_device(placement_.devices[place.device]);
        if (!spec_.encoder && cached_layer(part, DType::f32)) ++cached;
        if (kept_state(part, spec_.hidden_size)) ++recurrent;
      }
    }
    weights.set_device(placement_.devices[place.device]);
    if (spec_.alternating) layer.updates.emplace(*spec_.alternating, weights, MixerPlace{index, cached, recurrent, spec_.hidden_size});
    tell();
  }
}

std::vector<Device> DecoderModel::cache_devices() const {
  if (placement_.is_single()) return {};
  std::vector<Device> devices, of_states;
  for (size_t layer = 0; layer < spec_.layers.size(); ++layer) {
    const Device& device = placement_.devices[placement_.layers[layer].device];
    for (const BlockSpec& block : spec_.layers[layer].blocks) {
      for (const PartSpec& part : block.parts) {
        if (cached_layer(part, DType::f32)) devices.push_back(device);
        if (kept_state(part, spec_.hidden_size)) of_states.push_back(device);
      }
    }
  }
  devices.insert(devices.end(), of_states.begin(), of_states.end());
  return devices;
}

void DecoderModel::prepare_matrices() const {
  for (const DecoderLayer& layer : layers_) {
    for (const DecoderBlock& block : layer.blocks) {
      for (const DecoderBlock::Part& part : block.parts) {
        for (const ScaledMatrix* matrix : part.mixer->matrices()) matrix->prepare();
      }
    }
  }
  if (projection_) projection_->prepare();
  if (!spec_.encoder) head().prepare();
}

}  // namespace wick
