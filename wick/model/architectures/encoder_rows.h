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

}  // namespace wick
