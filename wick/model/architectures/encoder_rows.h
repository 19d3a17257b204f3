// Rows of config.json that encoders after BERT share.
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
    {"classifier_dropout_prob", ConfigRow::Use::harmless},
    {"gradient_checkpointing", ConfigRow::Use::harmless},
};

}  // namespace wick
