// Rows that BERT and encoders after it share.
#pragma once

#include "wick/model/architectures/architecture.h"

namespace wick {

inline constexpr ConfigRow kEncoderConfig[] = {
    {"layer_norm_eps", ConfigRow::Use::read, "attention.layer_norm_epsilon"},
    {"is_decoder", ConfigRow::Use::only_value, {}, 0},
    {"pad_token_id", ConfigRow::Use::read, kPaddingToken},
    {"type_vocab_size", ConfigRow::Use::harmless},  // the tensor tells
    {"attention_probs_dropout_prob", ConfigRow::Use::harmless},
    {"hidden_dropout_prob", ConfigRow::Use::harmless},
    {"classifier_dropout", ConfigRow::Use::harmless},
    {"gradient_checkpointing", ConfigRow::Use::harmless},
};
// A key of encoders after BERT.
inline constexpr ConfigRow kLaterEncoderConfig[] = {
    {"classifier_dropout_prob", ConfigRow::Use::harmless},
};
// Tensors that BERT's classes have and its successors took over.
inline constexpr TensorRow kEncoderTensors[] = {
    {"embeddings.word_embeddings.weight", "token_embd.weight"},
    {"embeddings.LayerNorm.weight", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.bias", "token_embd_norm.bias"},
    {"embeddings.position_ids", ""},
    {"encoder.layer.{}.intermediate.dense.weight", "blk.{}.ffn_up.weight"},
    {"encoder.layer.{}.intermediate.dense.bias", "blk.{}.ffn_up.bias"},
    {"encoder.layer.{}.output.dense.weight", "blk.{}.ffn_down.weight"},
    {"encoder.layer.{}.output.dense.bias", "blk.{}.ffn_down.bias"},
    {"encoder.layer.{}.output.LayerNorm.weight", "blk.{}.layer_output_norm.weight"},
    {"encoder.layer.{}.output.LayerNorm.bias", "blk.{}.layer_output_norm.bias"},
    {"pooler.dense.weight", "cls.pooler.weight"},
    {"pooler.dense.bias", "cls.pooler.bias"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
};
inline constexpr TensorRow kAttentionInputTensors[] = {
    {"encoder.layer.{}.attention.self.query.weight", "blk.{}.attn_q.weight"},
    {"encoder.layer.{}.attention.self.query.bias", "blk.{}.attn_q.bias"},
    {"encoder.layer.{}.attention.self.key.weight", "blk.{}.attn_k.weight"},
    {"encoder.layer.{}.attention.self.key.bias", "blk.{}.attn_k.bias"},
    {"encoder.layer.{}.attention.self.value.weight", "blk.{}.attn_v.weight"},
    {"encoder.layer.{}.attention.self.value.bias", "blk.{}.attn_v.bias"},
};
inline constexpr TensorRow kAttentionOutputTensors[] = {
    {"encoder.layer.{}.attention.output.dense.weight", "blk.{}.attn_output.weight"},
    {"encoder.layer.{}.attention.output.dense.bias", "blk.{}.attn_output.bias"},
    {"encoder.layer.{}.attention.output.LayerNorm.weight", "blk.{}.attn_output_norm.weight"},
    {"encoder.layer.{}.attention.output.LayerNorm.bias", "blk.{}.attn_output_norm.bias"},
};
// The head for masked words takes no part in vectors of texts.
inline constexpr TensorRow kMaskedWordTensors[] = {
    {"cls.predictions.bias", ""},
    {"cls.predictions.decoder.weight", ""},
    {"cls.predictions.decoder.bias", ""},
    {"cls.predictions.transform.dense.weight", ""},
    {"cls.predictions.transform.dense.bias", ""},
    {"cls.predictions.transform.LayerNorm.weight", ""},
    {"cls.predictions.transform.LayerNorm.bias", ""},
};

}  // namespace wick
