// The turns of each family as its model card describes them; the words of the templates are Wick's own.
#include "wick/text/chat/named_templates.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wick/text/chat/chat_template.h"

namespace wick {
namespace {

// A system message of its own, then turns between <|im_start|> and <|im_end|>; also Qwen's and SmolLM's.
constexpr std::string_view kChatMl =
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// Meta's Llama 2: the system message inside of the first [INST].
constexpr std::string_view kLlama2 =
    "{% set ns = namespace(system='') %}{% for message in messages %}"
    "{% if message.role == 'system' %}{% set ns.system = '<<SYS>>\\n' ~ message.content ~ '\\n<</SYS>>\\n\\n' %}"
    "{% elif message.role == 'assistant' %} {{ message.content|trim }} {{ eos_token }}"
    "{% else %}{{ bos_token }}[INST] {{ ns.system }}{{ message.content|trim }} [/INST]{% set ns.system = '' %}{% endif %}{% endfor %}";

constexpr std::string_view kLlama3 =
    "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n{{ message.content|trim "
    "}}<|eot_id|>"
    "{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}";

// Llama 4 renamed the marks.
constexpr std::string_view kLlama4 =
    "{{ bos_token }}{% for message in messages %}<|header_start|>{{ message.role }}<|header_end|>\n\n{{ message.content|trim }}<|eot|>"
    "{% endfor %}{% if add_generation_prompt %}<|header_start|>assistant<|header_end|>\n\n{% endif %}";

// Gemma has no system turn: its words begin the first turn of the user; the assistant is called model.
constexpr std::string_view kGemma =
    "{{ bos_token }}{% set ns = namespace(system='') %}{% for message in messages %}"
    "{% if message.role == 'system' %}{% set ns.system = message.content|trim ~ '\\n\\n' %}{% else %}"
    "<start_of_turn>{{ 'model' if message.role == 'assistant' else message.role }}\n{{ ns.system }}{{ message.content|trim "
    "}}<end_of_turn>\n"
    "{% set ns.system = '' %}{% endif %}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}";

// Mistral's instruct models up to 2024: [INST] around the user, the system's words before the user's.
constexpr std::string_view kMistral =
    "{{ bos_token }}{% set ns = namespace(system='') %}{% for message in messages %}"
    "{% if message.role == 'system' %}{% set ns.system = message.content ~ '\\n\\n' %}"
    "{% elif message.role == 'assistant' %} {{ message.content|trim }}{{ eos_token }}"
    "{% else %}[INST] {{ ns.system }}{{ message.content|trim }} [/INST]{% set ns.system = '' %}{% endif %}{% endfor %}";

// With the marks of 2025, which are single tokens, and a turn for the system.
constexpr std::string_view kMistral7 =
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}[SYSTEM_PROMPT]{{ message.content }}[/SYSTEM_PROMPT]"
    "{% elif message.role == 'assistant' %}{{ message.content }}{{ eos_token }}{% else %}[INST]{{ message.content }}[/INST]{% endif %}{% "
    "endfor %}";

constexpr std::string_view kPhi3 =
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

constexpr std::string_view kPhi4 =
    "{% for message in messages %}<|im_start|>{{ message.role }}<|im_sep|>{{ message.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant<|im_sep|>{% endif %}";

constexpr std::string_view kZephyr =
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

// DeepSeek V2.5, V3 and R1: the marks have full-width bars.
constexpr std::string_view kDeepSeek =
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}"
    "{% elif message.role == 'assistant' %}<｜Assistant｜>{{ message.content.split('</think>')[-1] }}<｜end▁of▁sentence｜>"
    "{% else %}<｜User｜>{{ message.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<｜Assistant｜>{% endif %}";

constexpr std::string_view kVicuna =
    "{{ bos_token }}{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% elif message.role == 'assistant' %}ASSISTANT: {{ message.content }}{{ eos_token }}\n"
    "{% else %}USER: {{ message.content }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}";

constexpr std::string_view kAlpaca =
    "{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n"
    "{% elif message.role == 'assistant' %}### Response:\n{{ message.content }}{{ eos_token }}\n\n"
    "{% else %}### Instruction:\n{{ message.content }}\n\n{% endif %}{% endfor %}{% if add_generation_prompt %}### Response:\n{% endif %}";

constexpr std::string_view kCommandR =
    "{{ bos_token }}{% for message in messages %}<|START_OF_TURN_TOKEN|><|{{ 'CHATBOT' if message.role == 'assistant' else "
    "message.role|upper }}_TOKEN|>"
    "{{ message.content|trim }}<|END_OF_TURN_TOKEN|>{% endfor %}"
    "{% if add_generation_prompt %}<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>{% endif %}";

constexpr std::string_view kGranite =
    "{% for message in messages %}<|start_of_role|>{{ message.role }}<|end_of_role|>{{ message.content }}<|end_of_text|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}";

constexpr std::string_view kGlm4 =
    "[gMASK]<sop>{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}";

// OpenAI's harmony: what the assistant said goes to its final channel.
constexpr std::string_view kHarmony =
    "{% for message in messages %}<|start|>{{ message.role }}{% if message.role == 'assistant' %}<|channel|>final{% endif %}"
    "<|message|>{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}";

// Plain lines, for models that know no marks at all.
constexpr std::string_view kPlain =
    "{% for message in messages %}{% if message.role == 'system' %}{{ message.content }}\n\n{% else %}"
    "{{ message.role|capitalize }}: {{ message.content }}\n{% endif %}{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}";

constexpr std::pair<std::string_view, std::string_view> kTemplates[] = {
    {"alpaca", kAlpaca}, {"chatml", kChatMl},   {"command-r", kCommandR},  {"deepseek", kDeepSeek}, {"gemma", kGemma},
    {"glm4", kGlm4},     {"gpt-oss", kHarmony}, {"granite", kGranite},     {"llama2", kLlama2},     {"llama3", kLlama3},
    {"llama4", kLlama4}, {"mistral", kMistral}, {"mistral-v7", kMistral7}, {"phi3", kPhi3},         {"phi4", kPhi4},
    {"plain", kPlain},   {"qwen", kChatMl},     {"vicuna", kVicuna},       {"zephyr", kZephyr},
};

}  // namespace

std::optional<std::string_view> find_named_template(std::string_view name) {
  const auto found = std::find_if(std::begin(kTemplates), std::end(kTemplates), [&](const auto& entry) { return entry.first == name; });
  return found == std::end(kTemplates) ? std::nullopt : std::optional(found->second);
}

std::vector<std::string_view> named_chat_templates() {
  std::vector<std::string_view> names;
  for (const auto& [name, text] : kTemplates) names.push_back(name);
  return names;
}

}  // namespace wick
