// What the classes of transformers are: which text model a model that reads images holds, and why another class is refused.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "wick/base/fail.h"
#include "wick/base/suggest.h"
#include "wick/formats/printable.h"
#include "wick/model/checkpoint/hugging_face.h"
#include "wick/model/checkpoint/hugging_face_families.h"

namespace wick {
namespace {

struct TextType {
  std::string_view model_type, class_name;
};

// "model_type" of a "text_config", and the class that has the same text model alone.
constexpr std::array kTextTypes = {
    TextType{"llama", "LlamaForCausalLM"},
    TextType{"mistral", "MistralForCausalLM"},
    TextType{"mixtral", "MixtralForCausalLM"},
    TextType{"ministral", "MinistralForCausalLM"},
    TextType{"ministral3", "Ministral3ForCausalLM"},
    TextType{"llama4_text", "Llama4ForCausalLM"},
    TextType{"gemma", "GemmaForCausalLM"},
    TextType{"gemma2", "Gemma2ForCausalLM"},
    TextType{"gemma3_text", "Gemma3ForCausalLM"},
    TextType{"qwen2", "Qwen2ForCausalLM"},
    TextType{"qwen2_vl_text", "Qwen2VLForConditionalGeneration"},
    TextType{"qwen2_5_vl_text", "Qwen2_5_VLForConditionalGeneration"},
    TextType{"qwen2_moe", "Qwen2MoeForCausalLM"},
    TextType{"qwen3", "Qwen3ForCausalLM"},
    TextType{"qwen3_moe", "Qwen3MoeForCausalLM"},
    TextType{"qwen3_vl_text", "Qwen3VLForConditionalGeneration"},
    TextType{"qwen3_vl_moe_text", "Qwen3VLMoeForConditionalGeneration"},
    TextType{"gemma3n_text", "Gemma3nForCausalLM"},
    TextType{"gemma4_text", "Gemma4ForCausalLM"},
    TextType{"jamba", "JambaForCausalLM"},
    TextType{"kimi_linear", "KimiLinearForCausalLM"},
    TextType{"qwen3_next", "Qwen3NextForCausalLM"},
    TextType{"qwen3_5_text", "Qwen3_5ForCausalLM"},
    TextType{"qwen3_5_moe_text", "Qwen3_5MoeForCausalLM"},
    TextType{"phi", "PhiForCausalLM"},
    TextType{"phi3", "Phi3ForCausalLM"},
    TextType{"gpt2", "GPT2LMHeadModel"},
    TextType{"gpt_oss", "GptOssForCausalLM"},
    TextType{"granite", "GraniteForCausalLM"},
    TextType{"granitemoe", "GraniteMoeForCausalLM"},
    TextType{"granitemoehybrid", "GraniteMoeHybridForCausalLM"},
    TextType{"lfm2", "Lfm2ForCausalLM"},
    TextType{"nemotron_h", "NemotronHForCausalLM"},
    TextType{"cohere", "CohereForCausalLM"},
    TextType{"cohere2", "Cohere2ForCausalLM"},
    TextType{"smollm3", "SmolLM3ForCausalLM"},
    TextType{"olmo2", "Olmo2ForCausalLM"},
    TextType{"olmo3", "Olmo3ForCausalLM"},
    TextType{"glm4", "Glm4ForCausalLM"},
    TextType{"glm4_moe", "Glm4MoeForCausalLM"},
    TextType{"deepseek_v2", "DeepseekV2ForCausalLM"},
    TextType{"deepseek_v3", "DeepseekV3ForCausalLM"},
    TextType{"deepseek_v32", "DeepseekV32ForCausalLM"},
    TextType{"glm_moe_dsa", "GlmMoeDsaForCausalLM"},
    TextType{"ernie4_5", "Ernie4_5ForCausalLM"},
    TextType{"exaone4", "Exaone4ForCausalLM"},
    TextType{"internlm2", "InternLM2ForCausalLM"},
    TextType{"stablelm", "StableLmForCausalLM"},
    TextType{"starcoder2", "Starcoder2ForCausalLM"},
};

// What a model is, as far as it decides which others are near it.
enum class Family { decoder, experts, recurrent, encoder, encoder_decoder, multimodal, reranker };

struct ForeignClass {
  std::string_view part;  // of the class's name, in the case of the table
  Family family;
  std::string_view gguf = {};  // the architecture of its GGUF files; empty where llama.cpp has none
};

// The first that fits counts.
constexpr std::array kForeignClasses = {
    ForeignClass{"ForSequenceClassification", Family::reranker},
    ForeignClass{"ForTokenClassification", Family::reranker},
    ForeignClass{"ForQuestionAnswering", Family::reranker},
    ForeignClass{"NomicBert", Family::encoder, "nomic-bert"},
    ForeignClass{"ModernBert", Family::encoder, "modern-bert"},
    ForeignClass{"NeoBERT", Family::encoder, "neo-bert"},
    ForeignClass{"EuroBert", Family::encoder, "eurobert"},
    ForeignClass{"JinaBert", Family::encoder, "jina-bert-v2"},
    ForeignClass{"XLMRoberta", Family::encoder, "bert"},
    ForeignClass{"Roberta", Family::encoder, "bert"},
    ForeignClass{"Camembert", Family::encoder, "bert"},
    ForeignClass{"DistilBert", Family::encoder, "bert"},
    ForeignClass{"Deberta", Family::encoder},
    ForeignClass{"MPNet", Family::encoder},
    ForeignClass{"Electra", Family::encoder, "bert"},
    ForeignClass{"Albert", Family::encoder},
    ForeignClass{"NewModel", Family::encoder},
    ForeignClass{"NewFor", Family::encoder},
    ForeignClass{"Gte", Family::encoder},
    ForeignClass{"LlamaBidirectional", Family::encoder, "llama-embed"},
    ForeignClass{"Bert", Family::encoder, "bert"},
    ForeignClass{"CLIP", Family::encoder},
    ForeignClass{"Siglip", Family::encoder},
    ForeignClass{"ForMaskedLM", Family::encoder},
    ForeignClass{"T5EncoderModel", Family::encoder, "t5encoder"},
    ForeignClass{"T5", Family::encoder_decoder, "t5"},
    ForeignClass{"Pegasus", Family::encoder_decoder},
    ForeignClass{"MBart", Family::encoder_decoder},
    ForeignClass{"Bart", Family::encoder_decoder},
    ForeignClass{"Marian", Family::encoder_decoder},
    ForeignClass{"M2M100", Family::encoder_decoder},
    ForeignClass{"Whisper", Family::encoder_decoder},
    ForeignClass{"FalconH1", Family::recurrent, "falcon-h1"},
    ForeignClass{"FalconMamba", Family::recurrent, "mamba"},
    ForeignClass{"Mamba2", Family::recurrent, "mamba2"},
    ForeignClass{"Mamba", Family::recurrent, "mamba"},
    ForeignClass{"Jamba", Family::recurrent, "jamba"},
    ForeignClass{"Zamba", Family::recurrent},
    ForeignClass{"Bamba", Family::recurrent, "granitehybrid"},
    ForeignClass{"NemotronH", Family::recurrent, "nemotron_h"},
    ForeignClass{"GraniteMoeHybrid", Family::recurrent, "granitehybrid"},
    ForeignClass{"Lfm2Moe", Family::recurrent, "lfm2moe"},
    ForeignClass{"Lfm2", Family::recurrent, "lfm2"},
    ForeignClass{"Qwen3Next", Family::recurrent, "qwen3next"},
    ForeignClass{"Qwen3_5Moe", Family::recurrent, "qwen35moe"},
    ForeignClass{"Qwen3_5", Family::recurrent, "qwen35"},
    ForeignClass{"KimiLinear", Family::recurrent, "kimi-linear"},
    ForeignClass{"MiniMaxText01", Family::recurrent, "minimax-01"},
    ForeignClass{"RWKV6Qwen2", Family::recurrent, "rwkv6qwen2"},
    ForeignClass{"Rwkv6", Family::recurrent, "rwkv6"},
    ForeignClass{"RWKV7", Family::recurrent, "rwkv7"},
    ForeignClass{"Rwkv", Family::recurrent, "rwkv7"},
    ForeignClass{"Plamo2", Family::recurrent, "plamo2"},
    ForeignClass{"RecurrentGemma", Family::recurrent, "recurrentgemma"},
    ForeignClass{"xLSTM", Family::recurrent},
    ForeignClass{"PaliGemma", Family::multimodal},
    ForeignClass{"Mllama", Family::multimodal},
    ForeignClass{"Gemma3n", Family::multimodal, "gemma3n"},
    ForeignClass{"Gemma4", Family::multimodal, "gemma4"},
    ForeignClass{"Glm4v", Family::multimodal, "glm4"},
    ForeignClass{"ForConditionalGeneration", Family::multimodal},
    ForeignClass{"InternVL", Family::multimodal},
    ForeignClass{"Llava", Family::multimodal},
    ForeignClass{"VLForCausalLM", Family::multimodal},
    ForeignClass{"DeciLM", Family::decoder, "deci"},
    ForeignClass{"OpenELM", Family::decoder, "openelm"},
    ForeignClass{"ChatGLM", Family::decoder, "chatglm"},
    ForeignClass{"Baichuan", Family::decoder, "baichuan"},
    ForeignClass{"BaiChuan", Family::decoder, "baichuan"},
    ForeignClass{"InternLM3", Family::decoder, "llama"},
    ForeignClass{"Aquila", Family::decoder, "llama"},
    ForeignClass{"YiForCausalLM", Family::decoder, "llama"},
    ForeignClass{"LLaMAForCausalLM", Family::decoder, "llama"},
    ForeignClass{"MiniCPM3", Family::decoder, "minicpm3"},
    ForeignClass{"MiniCPM", Family::decoder, "minicpm"},
    ForeignClass{"Orion", Family::decoder, "orion"},
    ForeignClass{"Xverse", Family::decoder, "xverse"},
    ForeignClass{"Apertus", Family::decoder, "apertus"},
    ForeignClass{"Plamo3", Family::decoder, "plamo3"},
    ForeignClass{"Plamo", Family::decoder, "plamo"},
    ForeignClass{"CodeShell", Family::decoder, "codeshell"},
    ForeignClass{"QWenLMHead", Family::decoder, "qwen"},
    ForeignClass{"GPTRefact", Family::decoder, "refact"},
    ForeignClass{"PersimmonForCausalLM", Family::decoder, "persimmon"},
    ForeignClass{"OPTForCausalLM", Family::decoder},
    ForeignClass{"GPTNeoForCausalLM", Family::decoder},
    ForeignClass{"CodeGen", Family::decoder},
    ForeignClass{"JAISLMHead", Family::decoder, "jais"},
    ForeignClass{"BitnetForCausalLM", Family::decoder, "bitnet"},
    ForeignClass{"PLMForCausalLM", Family::decoder, "plm"},
    ForeignClass{"Dream", Family::decoder, "dream"},
    ForeignClass{"LLaDA", Family::decoder, "llada"},
    ForeignClass{"Dbrx", Family::experts, "dbrx"},
    ForeignClass{"Grok", Family::experts, "grok"},
    ForeignClass{"Arctic", Family::experts, "arctic"},
    ForeignClass{"BailingMoeV2", Family::experts, "bailingmoe2"},
    ForeignClass{"Bailing", Family::experts, "bailingmoe"},
    ForeignClass{"DeepseekForCausalLM", Family::experts, "deepseek"},
    ForeignClass{"DeepseekV4", Family::experts, "deepseek4"},
    ForeignClass{"GroveMoe", Family::experts, "grovemoe"},
    ForeignClass{"Afmoe", Family::experts, "afmoe"},
    ForeignClass{"Moe", Family::experts},
    ForeignClass{"MoE", Family::experts},
};

std::string_view name_of(Family family) {
  switch (family) {
    case Family::decoder: return "a decoder";
    case Family::experts: return "a decoder with experts";
    case Family::recurrent: return "a decoder with recurrent layers";
    case Family::encoder: return "an encoder";
    case Family::encoder_decoder: return "an encoder with a decoder";
    case Family::multimodal: return "a model of text and other media";
    case Family::reranker: return "a classifier";
  }
  return "";
}

// Which classes that run are of a kind: `experts` may be, recurrent and other ones by their names.
Family family_of(const Architecture& architecture, std::string_view class_name) {
  for (const ForeignClass& each : kForeignClasses) {
    const bool decides = each.family != Family::decoder && each.family != Family::multimodal;
    if (decides && class_name.find(each.part) != std::string_view::npos) return each.family;
  }
  if (class_name.ends_with("ForConditionalGeneration")) return Family::multimodal;
  const bool plain = class_name == "LlamaForCausalLM" || class_name == "MistralForCausalLM" || class_name == "MinistralForCausalLM" ||
                     class_name == "GraniteForCausalLM" || class_name == "Ministral3ForCausalLM" || class_name == "Ernie4_5ForCausalLM";
  return architecture.experts && !plain ? Family::experts : Family::decoder;
}

// The classes of that kind that run, the nearest by their names first.
std::vector<std::string> nearest_of(Family family, const std::string& class_name) {
  std::vector<std::string> near;
  for (const Architecture* architecture : architectures()) {
    for (const std::string_view each : architecture->hugging_face.classes) {
      if (family_of(*architecture, each) == family) near.emplace_back(each);
    }
  }
  const std::string shown = class_name.substr(0, 80);
  std::stable_sort(near.begin(), near.end(), [&](const std::string& left, const std::string& right) {
    return edit_distance(shown, left) < edit_distance(shown, right);
  });
  near.resize(std::min<size_t>(near.size(), 3));
  return near;
}

std::string about_gguf(const ForeignClass* known) {
  if (known == nullptr || known->gguf.empty()) return "no GGUF architecture of it is known";
  if (find_architecture(known->gguf) != nullptr) return fmt::format("a GGUF file of it (architecture {}) runs: take one", known->gguf);
  return fmt::format("a GGUF file of it (architecture {}) does not run either", known->gguf);
}

}  // namespace

std::string class_with_head(const std::string& name) {
  if (find_architecture_of_class(name) != nullptr) return name;
  for (const std::string_view own : {std::string_view("Model"), kClassifier}) {
    if (!name.ends_with(own)) continue;
    const std::string stem = name.substr(0, name.size() - own.size());
    for (const char* end : {"ForCausalLM", "LMHeadModel"}) {
      if (find_architecture_of_class(stem + end) != nullptr) return stem + end;
    }
  }
  return name;
}

std::string_view class_of_text_model(std::string_view model_type) {
  const auto found =
      std::find_if(kTextTypes.begin(), kTextTypes.end(), [&](const TextType& each) { return each.model_type == model_type; });
  return found == kTextTypes.end() ? std::string_view() : found->class_name;
}

void fail_class(const std::string& file, std::string_view key, const std::string& class_name) {
  const auto known = std::find_if(kForeignClasses.begin(), kForeignClasses.end(),
                                  [&](const ForeignClass& each) { return class_name.find(each.part) != std::string::npos; });
  const ForeignClass* foreign = known == kForeignClasses.end() ? nullptr : &*known;
  const Family family = foreign == nullptr ? Family::decoder : foreign->family;
  const std::vector<std::string> near = nearest_of(family, class_name);
  const std::string kin = near.empty() ? fmt::format("this version runs none of that kind")
                                       : fmt::format("the nearest that are: {} (docs/models.md has all)", fmt::join(near, ", "));
  fail(ErrorCode::unsupported, "{}: {} = {} is not supported: it is {}, and {}; {}", file, key, printable(class_name), name_of(family), kin,
       about_gguf(foreign));
}

std::optional<nlohmann::json> text_part(const nlohmann::json& whole, const std::string& name) {
  const auto classes = whole.find("architectures");
  const auto text = whole.find(kTextConfig);
  const bool named = classes != whole.end() && classes->is_array() && !classes->empty() && classes->front().is_string();
  if (!named || text == whole.end() || !text->is_object()) return std::nullopt;
  const auto& outer = classes->front().get_ref<const std::string&>();
  // Its prompts are attended to in both directions.
  const bool usual = outer.ends_with("ForConditionalGeneration") && !outer.starts_with("PaliGemma");
  const nlohmann::json type = text->value("model_type", nlohmann::json());
  std::string_view inner = type.is_string() ? class_of_text_model(type.get_ref<const std::string&>()) : std::string_view();
  if (inner.empty() && find_architecture_of_class(outer) != nullptr) inner = outer;
  if (!usual || inner.empty() || find_architecture_of_class(inner) == nullptr) {
    fail_class(name, "architectures", outer);
  }
  nlohmann::json part = *text;
  part["architectures"] = {inner};
  for (const char* key : {"tie_word_embeddings", "quantization_config", "quantization"}) {
    if (const auto value = whole.find(key); value != whole.end() && !value->is_null()) part[key] = *value;
  }
  return part;
}

}  // namespace wick
