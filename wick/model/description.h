// The description of a decoder or an encoder as data: layers are ordered lists of blocks, and a block is a norm, what is computed, and how
// the result joins the residual stream. An architecture writes it from a checkpoint's metadata; DecoderModel computes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wick/model/kv/kv_layout.h"
#include "wick/model/rope_table.h"
#include "wick/nn/activation.h"
#include "wick/op/op.h"

namespace wick {

class Mixer;
class ScoreBias;
class WeightReader;

// Root mean square (Zhang & Sennrich 2019), or mean and variance (Ba, Kiros & Hinton 2016).
enum class NormKind { rms, layer };

struct NormSpec {
  std::string name;  // of its tensors: "attn_norm" is "blk.N.attn_norm.weight", and ".bias" if there is one
  NormKind kind = NormKind::rms;
  float epsilon = 1e-5F;
  bool bare = false;  // without tensors: what is normalized is the result
};

// Queries and keys are normalized head by head, by one weight [head_dim], or all heads together, by [heads · head_dim].
// After RoPE: head by head, after it. Bare: head by head, without weights.
// Own: layer norms with a weight [heads, head_dim].
enum class HeadNorms { none, each_head, all_heads, each_head_rotated, bare, own };

// Scores of far positions are sharpened (Llama 4): queries are multiplied by 1 + scale · log(1 + ⌊(position + first) / length⌋).
struct QueryTemperature {
  double length = 0;  // 0: none
  double scale = 0;
  double first = 0;
};

// A bias of attention's scores that only one architecture has, built in that architecture's file.
struct OwnBias {
  std::string name;  // for people
  std::function<std::unique_ptr<ScoreBias>(WeightReader& weights, int64_t layer)> build;
};

// Grouped-query attention over the cache. Weights: attn_q, attn_k, attn_v, or attn_qkv with the three one behind the other, and
// attn_output; biases where the checkpoint has them.
struct AttentionSpec {
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 1;           // of query · key
  float softcap = 0;         // 0: none
  float clamp = 0;           // of queries, keys and values, between norms and rotation; 0: none
  float alibi = 0;           // the largest bias a position (Press et al. 2022); 0: none
  bool output_bias = true;   // attn_output.bias counts, if it is there
  bool gated = false;        // in attn_q a gate follows each head's query; its sigmoid multiplies the head's result
  bool gate_matrix = false;  // the same of attn_gate [heads · head_dim, hidden_size]
  // The layer whose keys and values it attends to, having none of its own; -1: its own.
  int64_t cache_of = -1;
  bool keys_are_values = false;    // the values are attn_k's products, before its norm
  bool normalizes_values = false;  // each head's, without weights
  bool relative_bias = false;      // DecoderSpec::relative_bias is added to the scores
  bool after_source = false;       // of a decoder that writes from a source: the source's positions before the target are hidden
  std::optional<OwnBias> own_bias = {};
  bool sinks = false;  // attn_sinks: a score of each head that takes weight from all (Xiao et al. 2024)
  QueryTemperature temperature = {};
  // A token sees later ones too, as in encoders; a window is then of the positions nearer than its size, in both directions.
  bool causal = true;
  Retention retention = {};                // the positions that it sees
  int rope = 0;                            // of DecoderSpec::ropes; -1: queries and keys are not rotated
  HeadNorms head_norms = HeadNorms::none;  // attn_q_norm, attn_k_norm
  std::optional<NormSpec> sub_norm = {};   // of the heads' results, before attn_output
  float norm_epsilon = 1e-5F;              // of head_norms
};

// Attention of a target's tokens to its source (Vaswani et al. 2017). Keys and values are products of what the encoder made of the source
// (DecoderSpec::source). They are computed once, and are in the cache of the layer's own attention, before the target's. Weights:
// cross_attn_q, cross_attn_k, cross_attn_v, cross_attn_output; biases where the checkpoint has them.
struct CrossAttentionSpec {
  int64_t heads = 0, head_dim = 0;
  float scale = 1;  // of query · key
};

// Latent attention (DeepSeek-AI 2024): the keys and values of all heads are products of one row a position, normalized, which the cache
// keeps beside a rotated key that heads share. Queries are taken into the space of these rows, and results out of it, so that heads attend
// to the rows as they are. Weights: attn_q, or attn_q_a, attn_q_a_norm and attn_q_b; attn_kv_a_mqa, attn_kv_a_norm; attn_k_b [heads,
// latent_dim, key_dim] and attn_v_b [heads, value_dim, latent_dim], or both as attn_kv_b; attn_output; biases of attn_q_a, attn_kv_a_mqa
// and attn_output where the checkpoint has them.
struct LatentAttentionSpec {
  int64_t heads = 0;
  int64_t key_dim = 0, rope_dim = 0;  // of a head's query: what is not rotated, and what is
  int64_t value_dim = 0;
  int64_t latent_dim = 0;
  int64_t query_rank = 0;  // of attn_q_a; 0: attn_q is one matrix
  float scale = 1;
  bool rotates = true;  // or positions turn nothing, and the part that heads share is as its product
  float norm_epsilon = 1e-5F;
};

// The activation of a pair that is this activation of its gate, times up; none where linear does not know it.
[[nodiscard]] std::optional<GateKind> gate_kind_of(nn::ActivationKind activation);

// down(activation(gate(x)) · up(x)), or down(activation(up(x))) without a gate. Weights: ffn_gate, ffn_up, ffn_down; a gate without a
// tensor of its own is the first half of ffn_up's rows. ffn.act.scales, if it is there, divides what the activation gives (AWQ, Lin et al.
// 2023).
struct FeedForwardSpec {
  int64_t width = 0;
  nn::ActivationKind activation = nn::ActivationKind::silu;
  bool gated = true;
  std::optional<NormSpec> sub_norm = {};  // before ffn_down
  std::optional<float> cutoff = {};       // gates below their mean and so many standard deviations are 0 before the activation
  std::string suffix = {};                // of the weights' names: "_shexp" for experts that all tokens share
  std::string scaled_by = {};             // a weight [1, hidden_size], whose product's sigmoid multiplies the result
};

// How a router's scores become the experts of a token and their weights.
enum class Routing {
  softmax,          // of all scores; the largest are chosen
  softmax_of_used,  // the largest scores are chosen; softmax of these alone
  sigmoid,          // of each score
  sparse_mixer      // Phi 3.5 MoE's: each choice is weighted by a softmax over the scores that are nearly as large (Liu et al. 2024)
};

// Mixture of experts: a router selects `used` of `count` gated parts for each token; the result is their weighted sum. Weights:
// ffn_gate_inp [count, hidden_size], the stacks ffn_gate_exps, ffn_up_exps and ffn_down_exps [count, rows, columns], biases where the
// checkpoint has them, and a scale of each expert; gate and up may be one stack, ffn_gate_up_exps. exp_probs_b, if it is there, is added to
// the scores for the choice alone (DeepSeek-AI 2024); ffn_exps.bias [hidden_size] is added to the sum. Experts of a latent width read
// ffn_latent_down [latent, hidden_size] · x, and ffn_latent_up [hidden_size, latent] multiplies their sum (NVIDIA 2025).
struct ExpertsSpec {
  int64_t count = 0, used = 0;
  int64_t width = 0;  // of each
  Routing routing = Routing::softmax;
  bool normalized = false;  // the weights of a token's experts sum to 1
  float weight_scale = 1;
  // Only experts of the `groups_used` best of so many groups are chosen; a group is as good as its best two where scores are sigmoids, and
  // as its best one otherwise.
  int64_t groups = 1, groups_used = 1;
  bool weights_input = false;  // weights multiply what experts read, not what they give
  GateKind gate = GateKind::silu;
  bool gated = true;                                         // or each is down(activation(up(x)))
  nn::ActivationKind activation = nn::ActivationKind::silu;  // without a gate
  int64_t latent = 0;                                        // 0: experts read and give rows of hidden_size
  // The part's norm has no weights: the router reads its result times ffn_gate_inp.scale / √hidden_size, experts times pre_ffw_norm_2.
  bool scales_inputs = false;
};

// A layer's use of its token's row, one of DecoderSpec::layer_inputs: proj(activation(inp_gate(x)) · row). Weights: inp_gate [width,
// hidden_size], proj [hidden_size, width].
struct LayerInputSpec {
  int64_t width = 0;
  nn::ActivationKind activation = nn::ActivationKind::gelu_pytorch_tanh;
};

// A gated short convolution (Liquid AI 2025): out_proj(c · conv(b · x)), b, c and x being thirds of in_proj's rows; the convolution sees
// the last `kernel` positions. Its state is what it saw of the last kernel - 1. Weights: shortconv.in_proj, shortconv.conv [hidden_size,
// kernel], shortconv.out_proj.
struct ShortConvolutionSpec {
  int64_t kernel = 0;
};

// Mamba 2 (Dao & Gu 2024): a state [head_dim, state_size] of each head decays by one number a position and takes in products of the
// position's row and column; heads share the columns by groups. Before it is a short convolution, behind it a gate. Weights: ssm_in, with
// the rows of gate, convolution and time steps; ssm_conv1d [width, kernel] with a bias; ssm_dt.bias; ssm_a, ssm_d [heads, 1]; ssm_norm, if
// there is one; ssm_out.
struct StateSpaceSpec {
  int64_t heads = 0, head_dim = 0;
  int64_t groups = 1;
  int64_t state_size = 0;
  int64_t kernel = 0;
  int64_t norm_groups = 1;  // parts of what the gate has multiplied that ssm_norm is of
  double least_step = 0;    // time steps are no shorter
  float norm_epsilon = 1e-5F;
  [[nodiscard]] int64_t inner() const noexcept { return heads * head_dim; }
  // Columns of the convolution.
  [[nodiscard]] int64_t width() const noexcept { return inner() + 2 * groups * state_size; }
};

// Mamba (Gu & Dao 2023): a state [inner, state_size] whose numbers decay each by their own rate times the position's step, one for each
// row, and take in the product of the row's input with the position's column. A short convolution precedes it, a gate follows. Weights:
// ssm_in, with the rows of inputs and gate; ssm_conv1d [inner, kernel] with a bias; ssm_x, with the rows of steps of this rank, columns and
// reads; ssm_dt [inner, rank] with a bias; ssm_a [inner, state_size]; ssm_d [inner]; ssm_out; and where the checkpoint has them the norms
// of ssm_x's parts, ssm_dt_norm, ssm_b_norm and ssm_c_norm.
struct SelectiveScanSpec {
  int64_t inner = 0, state_size = 0;
  int64_t rank = 0;
  int64_t kernel = 0;
  bool bare_norms = false;  // ssm_x's parts are normalized without weights
  float norm_epsilon = 1e-5F;
};

// The gated delta rule (Yang, Kautz & Hatamizadeh 2025): a state [key_dim, value_dim] of each value head decays by one number a position;
// then what it holds under the position's key moves towards the position's value, by another number. Queries and keys, of which there are
// fewer heads, have length 1. A short convolution of queries, keys and values precedes it; a norm of each head and a gate follow.
// Weights: attn_qkv, with the rows of queries, keys and values; attn_gate; ssm_beta and ssm_alpha, or ssm_ba with the rows of both for each
// key head; ssm_conv1d [width, kernel]; ssm_dt.bias, ssm_a [value_heads]; ssm_norm [value_dim]; ssm_out.
// By channel (Kimi Team 2025), each row of the state decays by its own number. Weights are then attn_q, attn_k, attn_v with a convolution
// of each, ssm_conv1d_q, ssm_conv1d_k, ssm_conv1d_v; ssm_f_a and ssm_f_b, whose product gives the decays; ssm_dt.bias [keys], ssm_a
// [value_heads, 1]; ssm_beta; ssm_g_a and ssm_g_b, or attn_gate; ssm_norm; attn_output.
struct DeltaRuleSpec {
  int64_t key_heads = 0, value_heads = 0;
  int64_t key_dim = 0, value_dim = 0;
  int64_t kernel = 0;
  // Value head h reads key head h % key_heads, rather than the one that it shares with its neighbours.
  bool interleaved = false;
  bool by_channel = false;
  float norm_epsilon = 1e-6F;
  [[nodiscard]] int64_t keys() const noexcept { return key_heads * key_dim; }
  [[nodiscard]] int64_t inner() const noexcept { return value_heads * value_dim; }
  // Columns of the convolution.
  [[nodiscard]] int64_t width() const noexcept { return 2 * keys() + inner(); }
};

// RWKV 7's time mixing (Peng et al. 2025): a generalized delta rule. The rows of each head's state [head_dim, head_dim] decay by their own
// numbers; what it held under one key before goes to another. What products read is moved from the position's row towards the one before
// it; values are moved towards those of the first layer. Weights: time_mix_lerp_fused [6, hidden_size]; time_mix_receptance, time_mix_key,
// time_mix_value, time_mix_output; pairs of a low rank for decays, rates, values and gates, time_mix_w1 and w2, a1 and a2, v1 and v2, g1
// and g2, with the vectors w0, a0 and v0; time_mix_k_k, time_mix_k_a, time_mix_r_k; time_mix_ln, a norm of each head.
struct TimeMixSpec {
  int64_t heads = 0, head_dim = 0;
  int64_t decay_rank = 0, rate_rank = 0, value_rank = 0, gate_rank = 0;
  bool first = false;  // its values are those that other layers' are moved to
  float norm_epsilon = 1e-5F;
};

// RWKV 7's channel mixing: value(relu(key(x))²) of a row that is moved towards the one before it. Weights: channel_mix_lerp_k
// [hidden_size], channel_mix_key [width, hidden_size], channel_mix_value.
struct ChannelMixSpec {
  int64_t width = 0;
};

// A block with a real-gated linear recurrent unit, RG-LRU (De et al. 2024): each number h of a state becomes a · h + √(1 - a²) · i · x. Its
// decay a and the gate i of its input are of the position's row, by matrices of each head. A short convolution precedes it; another product
// of the row, activated, multiplies what it gives. Weights: ssm_in, ssm_gate [inner, hidden_size]; ssm_conv1d [inner, kernel]; ssm_gate_a,
// ssm_gate_x [heads, inner / heads, inner / heads], with biases [heads, inner / heads]; ssm_a [inner]; ssm_out; biases where the checkpoint
// has them.
struct LinearRecurrentUnitSpec {
  int64_t heads = 0, inner = 0;
  int64_t kernel = 0;
  nn::ActivationKind activation = nn::ActivationKind::gelu_pytorch_tanh;
};

// Lightning attention (Qin et al. 2024): attention without softmax, whose state of each head, a sum of products of keys and values, decays
// by e^-slope a position. Slopes are those of ALiBi times `rate`. Queries, keys and values are activated; a norm of all heads' results and
// a gate follow. Weights: attn_qkv, with the rows of each head's query, key and value; attn_gate [heads · head_dim, hidden_size];
// attn_norm_2; attn_output.
struct LightningAttentionSpec {
  int64_t heads = 0, head_dim = 0;
  double rate = 1;
  nn::ActivationKind activation = nn::ActivationKind::silu;
  float norm_epsilon = 1e-6F;
};

// A part that only one architecture has, built in that architecture's file.
struct OwnSpec {
  std::string name;  // for people
  std::function<std::unique_ptr<Mixer>(WeightReader& weights, int64_t layer)> build;
};

struct PartSpec {
  std::variant<AttentionSpec, CrossAttentionSpec, LatentAttentionSpec, FeedForwardSpec, ExpertsSpec, ShortConvolutionSpec, StateSpaceSpec,
               SelectiveScanSpec, DeltaRuleSpec, TimeMixSpec, ChannelMixSpec, LinearRecurrentUnitSpec, LightningAttentionSpec,
               LayerInputSpec, OwnSpec>
      mixer;
  std::optional<NormSpec> norm = {};       // of its own input, where parts of a block do not share the block's
  std::optional<NormSpec> post_norm = {};  // of its own result
};

// x += scale · post_norm(Σ part(norm(x))), then x = sum_norm(x), then x = sum_scale · x.
struct BlockSpec {
  std::optional<NormSpec> norm = {};
  bool norms_stream = false;    // x becomes norm(x) before the sum
  std::vector<PartSpec> parts;  // several: in parallel
  std::optional<NormSpec> post_norm = {};
  float residual_scale = 1;
  std::optional<NormSpec> sum_norm = {};  // of the residual stream: post-norm blocks (Vaswani et al. 2017)
  float sum_scale = 1;
  std::string sum_scaled_by = {};  // a weight [1] that multiplies it too, if the checkpoint has it
};

struct LayerSpec {
  std::vector<BlockSpec> blocks;
  int64_t times = 1;  // it is computed so many times, one after another: layers that share their weights (Lan et al. 2020)
};

// A score for each label from a hidden state x: cls.output(norm(activation(cls(x)))). Weights: cls [hidden_size, hidden_size], if it is
// there, and cls.output [labels, hidden_size], each with a bias where the checkpoint has one.
struct ScoreHeadSpec {
  enum class Input { first_token, last_token, mean, each_token } input = Input::first_token;
  enum class Activation { tanh, gelu, relu } activation = Activation::tanh;
  std::optional<NormSpec> norm = {};
};

// Alternating updates (Baykal et al. 2023): several residual streams, of which each layer computes one; the others are predicted before it
// and corrected after it by its result. Weights: altup_proj and altup_unembd_proj [streams - 1, hidden_size, hidden_size]; in each layer
// altup_router [streams, hidden_size] with altup_router_norm, altup_predict_coef [streams², streams], altup_correct_coef [streams,
// streams], altup_correct_scale [hidden_size], and LayerInputSpec's with post_norm, whose result the further streams take.
struct AlternatingSpec {
  int64_t streams = 0;
  int64_t active = 0;  // the stream that layers compute
  LayerInputSpec layer_input = {};
  float norm_epsilon = 1e-6F;
};

// A row of each token for each layer: (norm(model_proj(x) / √hidden_size) + √width · token_embd[token]) / √2. Weights:
// per_layer_token_embd [tokens, layers · width], per_layer_model_proj [layers · width, hidden_size], per_layer_proj_norm [width].
struct LayerRowsSpec {
  int64_t width = 0;
  float norm_epsilon = 1e-6F;
};

// A bias of each head for the distance between two positions: distances share buckets, of which half grow logarithmically (Raffel et al.
// 2020). Its table, for all layers, is the weight `name` [buckets, heads].
struct RelativeBiasSpec {
  std::string name;
  int64_t buckets = 32;
  int64_t max_distance = 128;
  bool bidirectional = true;
};

struct DecoderSpec {
  int64_t hidden_size = 0;
  int64_t context_length = 0;
  std::string context_limit = {};  // why it is less than the positions that the model was made for, for people; empty: it is not
  std::vector<LayerSpec> layers;
  std::vector<RopeConfig> ropes;
  RopeStyle rope_style = RopeStyle::half_split;  // of the weights' rows, as the checkpoint has them
  bool learned_positions = false;                // position_embd is added to the embedding
  bool token_types = false;                      // a row of token_types is added to the embedding, as Batch tells the types
  int64_t embedding_size = 0;                    // of embeddings, which token_embd_proj then projects; 0: hidden_size
  std::optional<RelativeBiasSpec> relative_bias = {};
  // Tokens see later ones: a text is computed as a whole, and nothing of it is kept. There are no logits.
  bool encoder = false;
  // The encoder of the source that this decoder writes from; none: it continues texts. The first tokens of a sequence are the source,
  // context_length at most, and the others the target, as many at most.
  std::shared_ptr<const DecoderSpec> source = {};
  std::vector<int32_t> target_start = {};  // what each target begins with
  // A prefix of names of weights: the tensor of a name with it counts before that of the name alone. "enc." and "dec." in a checkpoint of
  // both.
  std::string prefix = {};
  std::optional<ScoreHeadSpec> score_head = {};
  float embedding_scale = 1;
  std::optional<LayerRowsSpec> layer_inputs = {};
  std::optional<AlternatingSpec> alternating = {};
  std::optional<NormSpec> embedding_norm = {};
  std::optional<NormSpec> output_norm = NormSpec{"output_norm"};
  float logit_scale = 1;
  std::vector<std::string> unused = {};  // parts of the names of tensors that the model is not computed with
  float logit_softcap = 0;               // logits become softcap · tanh(logit / softcap); 0: they stay
};

// Which layers have some, for Placement::of.
[[nodiscard]] std::vector<bool> layers_with_experts(const DecoderSpec& model);
// A layer's parts in one line: "attention 4 heads of 16, 2 kv heads, window 16, …".
[[nodiscard]] std::string describe_layer(const LayerSpec& layer);
// The description, a line for each run of equal layers, for `wick inspect --layers`.
[[nodiscard]] std::vector<std::string> describe_model(const DecoderSpec& model);

}  // namespace wick
