// Encoders of BERT's form (Devlin et al. 2019): learned positions, token types, post-norm blocks. RoBERTa and XLM-RoBERTa (Liu et al. 2019,
// Conneau et al. 2020) count positions after that of their padding token, DistilBERT (Sanh et al. 2019) has no token types.
#include "wick/model/architectures/encoder_rows.h"
#include "wick/model/architectures/encoders.h"
#include "wick/model/architectures/rows.h"

namespace wick {
namespace {

DecoderSpec describe_bert(const ModelConfig& config) {
  DecoderSpec spec = describe_post_norm_encoder(config, [&](int64_t layer) { return config.ungated_feed_forward(layer); }, -1);
  spec.ropes.clear();
  spec.learned_positions = true;
  return spec;
}

constexpr std::string_view kBertClasses[] = {"BertModel",
                                             "BertForMaskedLM",
                                             "BertForPreTraining",
                                             "BertForSequenceClassification",
                                             "BertForTokenClassification",
                                             "RobertaModel",
                                             "RobertaForMaskedLM",
                                             "RobertaForSequenceClassification",
                                             "RobertaForTokenClassification",
                                             "XLMRobertaModel",
                                             "XLMRobertaForMaskedLM",
                                             "XLMRobertaForSequenceClassification",
                                             "XLMRobertaForTokenClassification",
                                             "CamembertModel",
                                             "CamembertForMaskedLM",
                                             "CamembertForSequenceClassification",
                                             "CamembertForTokenClassification",
                                             "DistilBertModel",
                                             "DistilBertForMaskedLM",
                                             "DistilBertForSequenceClassification",
                                             "DistilBertForTokenClassification",
                                             "ElectraModel",
                                             "ElectraForPreTraining",
                                             "ElectraForMaskedLM",
                                             "ElectraForSequenceClassification",
                                             "ElectraForTokenClassification"};
constexpr ConfigRow kBertOwnConfig[] = {
    {"position_embedding_type", ConfigRow::Use::only_text, "absolute"},
    {"classifier_activation", ConfigRow::Use::harmless},
    {"output_past", ConfigRow::Use::harmless},
    // Sizes of the pooler, which its tensors tell.
    {"directionality", ConfigRow::Use::harmless},
    {"pooler_fc_size", ConfigRow::Use::harmless},
    {"pooler_num_attention_heads", ConfigRow::Use::harmless},
    {"pooler_num_fc_layers", ConfigRow::Use::harmless},
    {"pooler_size_per_head", ConfigRow::Use::harmless},
    {"pooler_type", ConfigRow::Use::harmless},
    // ELECTRA's; embeddings of another width than the layers have a projection.
    {"embedding_size", ConfigRow::Use::harmless},
    {"generator_size", ConfigRow::Use::harmless},
    {"summary_activation", ConfigRow::Use::harmless},
    {"summary_last_dropout", ConfigRow::Use::harmless},
    {"summary_type", ConfigRow::Use::harmless},
    {"summary_use_proj", ConfigRow::Use::harmless},
    // DistilBERT's.
    {"dim", ConfigRow::Use::read, "embedding_length"},
    {"n_layers", ConfigRow::Use::read, "block_count"},
    {"n_heads", ConfigRow::Use::read, "attention.head_count"},
    {"hidden_dim", ConfigRow::Use::read, "feed_forward_length"},
    {"activation", ConfigRow::Use::read, "hidden_act"},
    {"dropout", ConfigRow::Use::harmless},
    {"qa_dropout", ConfigRow::Use::harmless},
    {"seq_classif_dropout", ConfigRow::Use::harmless},
    {"sinusoidal_pos_embds", ConfigRow::Use::harmless},  // the tensor has them
    {"DistilBertModel", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-12},
    {"DistilBertForMaskedLM", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-12},
    {"DistilBertForSequenceClassification", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-12},
    {"DistilBertForTokenClassification", ConfigRow::Use::of_class, "attention.layer_norm_epsilon", 1e-12},
    {"DistilBertForSequenceClassification", ConfigRow::Use::of_class, "classifier.activation", 0, "relu"},
    {"ElectraForSequenceClassification", ConfigRow::Use::of_class, "classifier.activation", 0, "gelu"},
    {"RobertaModel", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"RobertaForMaskedLM", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"RobertaForSequenceClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"RobertaForTokenClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"XLMRobertaModel", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"XLMRobertaForMaskedLM", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"XLMRobertaForSequenceClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"XLMRobertaForTokenClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"CamembertModel", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"CamembertForMaskedLM", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"CamembertForSequenceClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
    {"CamembertForTokenClassification", ConfigRow::Use::flag_of_class, kPositionsAfterPadding, 1},
};
constexpr auto kBertConfig = joined(kBertOwnConfig, kEncoderConfig);
constexpr std::string_view kBertBases[] = {"bert.", "roberta.", "distilbert.", "electra."};
constexpr TensorRow kBertOwnTensors[] = {
    {"embeddings.position_embeddings.weight", "position_embd.weight"},
    {"embeddings.token_type_embeddings.weight", "token_types.weight"},
    {"embeddings.LayerNorm.gamma", "token_embd_norm.weight"},
    {"embeddings.LayerNorm.beta", "token_embd_norm.bias"},
    {"embeddings.token_type_ids", ""},
    {"encoder.layer.{}.attention.output.LayerNorm.gamma", "blk.{}.attn_output_norm.weight"},
    {"encoder.layer.{}.attention.output.LayerNorm.beta", "blk.{}.attn_output_norm.bias"},
    {"encoder.layer.{}.output.LayerNorm.gamma", "blk.{}.layer_output_norm.weight"},
    {"encoder.layer.{}.output.LayerNorm.beta", "blk.{}.layer_output_norm.bias"},
    {"transformer.layer.{}.attention.q_lin.weight", "blk.{}.attn_q.weight"},
    {"transformer.layer.{}.attention.q_lin.bias", "blk.{}.attn_q.bias"},
    {"transformer.layer.{}.attention.k_lin.weight", "blk.{}.attn_k.weight"},
    {"transformer.layer.{}.attention.k_lin.bias", "blk.{}.attn_k.bias"},
    {"transformer.layer.{}.attention.v_lin.weight", "blk.{}.attn_v.weight"},
    {"transformer.layer.{}.attention.v_lin.bias", "blk.{}.attn_v.bias"},
    {"transformer.layer.{}.attention.out_lin.weight", "blk.{}.attn_output.weight"},
    {"transformer.layer.{}.attention.out_lin.bias", "blk.{}.attn_output.bias"},
    {"transformer.layer.{}.sa_layer_norm.weight", "blk.{}.attn_output_norm.weight"},
    {"transformer.layer.{}.sa_layer_norm.bias", "blk.{}.attn_output_norm.bias"},
    {"transformer.layer.{}.ffn.lin1.weight", "blk.{}.ffn_up.weight"},
    {"transformer.layer.{}.ffn.lin1.bias", "blk.{}.ffn_up.bias"},
    {"transformer.layer.{}.ffn.lin2.weight", "blk.{}.ffn_down.weight"},
    {"transformer.layer.{}.ffn.lin2.bias", "blk.{}.ffn_down.bias"},
    {"transformer.layer.{}.output_layer_norm.weight", "blk.{}.layer_output_norm.weight"},
    {"transformer.layer.{}.output_layer_norm.bias", "blk.{}.layer_output_norm.bias"},
    // A classifier reads the first token through the pooler, where it has no such layer of its own.
    {"pre_classifier.weight", "cls.weight"},
    {"pre_classifier.bias", "cls.bias"},
    {"embeddings_project.weight", "token_embd_proj.weight"},
    {"embeddings_project.bias", "token_embd_proj.bias"},
    {"classifier.dense.weight", "cls.weight"},
    {"classifier.dense.bias", "cls.bias"},
    {"classifier.out_proj.weight", "cls.output.weight"},
    {"classifier.out_proj.bias", "cls.output.bias"},
    // What predicts masked words or the next sentence takes no part in vectors of texts.
    {"cls.predictions.transform.LayerNorm.gamma", ""},
    {"cls.predictions.transform.LayerNorm.beta", ""},
    {"cls.seq_relationship.weight", ""},
    {"cls.seq_relationship.bias", ""},
    {"lm_head.bias", ""},
    {"lm_head.decoder.weight", ""},
    {"lm_head.decoder.bias", ""},
    {"lm_head.dense.weight", ""},
    {"lm_head.dense.bias", ""},
    {"lm_head.layer_norm.weight", ""},
    {"lm_head.layer_norm.bias", ""},
    {"vocab_transform.weight", ""},
    {"vocab_transform.bias", ""},
    {"vocab_layer_norm.weight", ""},
    {"vocab_layer_norm.bias", ""},
    {"vocab_projector.weight", ""},
    {"vocab_projector.bias", ""},
    {"discriminator_predictions.dense.weight", ""},
    {"discriminator_predictions.dense.bias", ""},
    {"discriminator_predictions.dense_prediction.weight", ""},
    {"discriminator_predictions.dense_prediction.bias", ""},
    {"generator_predictions.dense.weight", ""},
    {"generator_predictions.dense.bias", ""},
    {"generator_predictions.LayerNorm.weight", ""},
    {"generator_predictions.LayerNorm.bias", ""},
    {"generator_lm_head.weight", ""},
    {"generator_lm_head.bias", ""},
};
constexpr auto kBertTensors = joined(kBertOwnTensors, kAttentionInputTensors, kAttentionOutputTensors, kMaskedWordTensors, kEncoderTensors);

}  // namespace

const Architecture kBert = {
    .name = "bert",
    .models = "BERT, MiniLM, BGE, E5, GTE, RoBERTa, XLM-RoBERTa, BGE-M3, CamemBERT, DistilBERT, ELECTRA; their rerankers and classifiers",
    .describe = describe_bert,
    .activation = nn::ActivationKind::gelu,
    .encoder = true,
    .hugging_face = {.classes = kBertClasses, .config = kBertConfig, .tensors = kBertTensors, .bases = kBertBases}};

}  // namespace wick
