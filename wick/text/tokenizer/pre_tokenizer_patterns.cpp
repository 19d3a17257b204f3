#include "wick/text/tokenizer/pre_tokenizer_patterns.h"

#include <algorithm>
#include <array>
#include <utility>

namespace wick {
namespace {

// The patterns are facts of the models' own tokenizer files. Many share parts, which are joined at compile time.
template <const std::string_view&... Parts>
struct Joined {
  static constexpr auto kCharacters = [] {
    std::array<char, (Parts.size() + ...)> characters{};
    char* end = characters.data();
    ((end = std::copy(Parts.begin(), Parts.end(), end)), ...);
    return characters;
  }();
  static constexpr std::string_view kText{kCharacters.data(), kCharacters.size()};
};

constexpr std::string_view kContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr std::string_view kMaybeContraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kLlama3Words = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Pattern = Joined<kContractions, kLlama3Words>::kText;
constexpr std::string_view kQwen2Words = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = Joined<kContractions, kQwen2Words>::kText;
constexpr std::string_view kQwen35Words =
    R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 = Joined<kContractions, kQwen35Words>::kText;
constexpr std::string_view kMiniCpm5Words = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kMiniCpm5 = Joined<kContractions, kMiniCpm5Words>::kText;
constexpr std::string_view kJais2Words =
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kJais2 = Joined<kContractions, kJais2Words>::kText;
constexpr std::string_view kSeedCoderWords = R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder = Joined<kContractions, kSeedCoderWords>::kText;
constexpr std::string_view kExaoneMoeWords =
    R"(|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoe = Joined<kContractions, kExaoneMoeWords>::kText;

// Words of capitals before small letters: "HelloWorld" is two.
constexpr std::string_view kLowerCased = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)";
constexpr std::string_view kUpperCased = R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)";
constexpr std::string_view kThreeDigitRest = R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kOneDigitRest = R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o = Joined<kLowerCased, kMaybeContraction, kUpperCased, kMaybeContraction, kThreeDigitRest>::kText;
constexpr std::string_view kTekken = Joined<kLowerCased, kUpperCased, kOneDigitRest>::kText;
constexpr std::string_view kYoutu = Joined<kLowerCased, kMaybeContraction, kUpperCased, kMaybeContraction, kOneDigitRest>::kText;

// The same with Han apart.
constexpr std::string_view kKimiStart = R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)";
constexpr std::string_view kKimiUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])";
constexpr std::string_view kKimiLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]])";
constexpr std::string_view kAny = "*";
constexpr std::string_view kSome = "+";
constexpr std::string_view kKimiBetween = R"(|[^\r\n\p{L}\p{N}]?)";
constexpr std::string_view kKimiRest = R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kKimiK2 = Joined<kKimiStart, kKimiUpper, kAny, kKimiLower, kSome, kMaybeContraction, kKimiBetween, kKimiUpper,
                                            kSome, kKimiLower, kAny, kMaybeContraction, kKimiRest>::kText;

constexpr std::string_view kDeepSeek3Words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Cased letters as Unicode had them then; by number, because some are changed by normalization.
constexpr std::string_view kDeepSeekLlmLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}\x{370}-\x{373})"
    R"(\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}\x{3A3}-\x{3F5}\x{3F7}-\x{481})"
    R"(\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF})"
    R"(\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45})"
    R"(\x{1F48}-\x{1F4D}\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}\x{1FF2}-\x{1FF4})"
    R"(\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}\x{2126}\x{2128}\x{212A}-\x{212D})"
    R"(\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4})"
    R"(\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E})"
    R"(\x{AB70}-\x{ABBF}\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepSeekLlmPunctuation = "\\s?[!-/:-~！-／：-～‘-‟　-。]+";
constexpr std::string_view kDeepSeekCjk = "[一-龥ࠀ-一가-퟿]+";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?…。，、।۔،)]+";

struct NamedSet {
  std::vector<std::string_view> names;
  PatternSet set;
};

const std::vector<NamedSet>& table() {
  static const std::vector<NamedSet> kTable = {
      {{"default"}, {{R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"},
       {{kLlama3Pattern}, true, true}},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {{kLlama3Pattern}}},
      {{"jais-2"}, {{kJais2}}},
      {{"gpt-2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en", "jina-v2-code", "roberta-bpe", "gigachat",
        "a.x-4.0", "mellum", "modern-bert", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling"},
       {{kGpt2}}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"}, {{R"(\p{N})", kGpt2}}},
      {{"falcon"}, {{R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2, "[0-9][0-9][0-9]"}}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "solar-open", "grok-2", "kormo", "f2llmv2"}, {{kQwen2}}},
      {{"qwen35"}, {{kQwen35}}},
      {{"minicpm5"}, {{R"(\p{N}{1,3})", kMiniCpm5}, true}},
      {{"deepseek-llm"}, {{"[\r\n]", kDeepSeekLlmLetters, kDeepSeekLlmPunctuation, "\\s+$", kDeepSeekCjk, "\\p{N}+"}}},
      {{"deepseek-coder"}, {{"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kDeepSeekCjk, "\\p{N}"}}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {{R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+", kDeepSeek3Words}}},
      {{"afmoe"},
       {{R"(\p{N}{1,3}(?=(?:\p{N}{3})*+(?!\p{N})))",
         "[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+", kDeepSeek3Words}}},
      {{"youtu"},
       {{"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+", kYoutu}, true}},
      {{"poro-chat", "bloom", "gpt3-finnish"}, {{kBloom}}},
      {{"viking"}, {{kBloom, R"(\p{N})"}}},
      {{"tekken"}, {{kTekken}, true, true}},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {{kGpt4o}}},
      {{"granite-embed-multi-97m"}, {{kGpt4o}, true}},
      {{"tiny_aya", "cohere2moe"}, {{R"(\d{1,3}(?=(?:\d{3})*\b))", kGpt4o}}},
      {{"kimi-k2"}, {{kKimiK2}}},
      {{"superbpe"}, {{R"(\p{N}+)", R"((?=(\d{3})+(?!\d)))"}}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"},
       {{R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"}}},
      {{"seed-coder"}, {{kSeedCoder}}},
      {{"exaone-moe"}, {{kExaoneMoe}}},
      {{"laguna"}, {{R"([^\n]+|[\n]+)", kQwen2}}},
      {{"chameleon"},
       {{"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", R"(([\t\n]|    |  ))", R"(\p{N})", R"([\p{P}!-/:-@\[-`{-~])", kGpt2},
        false,
        true}},
      {{"gemma4", "granite-embed-multi-311m", "sarvam-moe"}, {{R"([^\n]+|[\n]+)"}, false, false, true}},
  };
  return kTable;
}

}  // namespace

const PatternSet* find_pattern_set(std::string_view name) {
  for (const NamedSet& entry : table()) {
    for (const std::string_view known : entry.names) {
      if (known == name) return &entry.set;
    }
  }
  return nullptr;
}

std::string_view find_pre_name(std::span<const std::string> patterns, bool ignore_merges) {
  // Spelled otherwise in the models' own files.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kSpellings = {{{" ?[^(\\s|[.,!?…。，、।۔،])]+", kBloom}}};
  const auto spelled = [&](std::string_view pattern) {
    for (const auto& [other, own] : kSpellings) {
      if (pattern == other) return own;
    }
    return pattern;
  };
  for (const NamedSet& entry : table()) {
    const PatternSet& set = entry.set;
    const bool equal = set.ignore_merges == ignore_merges && !set.whole_text &&
                       std::equal(set.patterns.begin(), set.patterns.end(), patterns.begin(), patterns.end(),
                                  [&](std::string_view own, std::string_view other) { return own == spelled(other); });
    if (equal) return entry.names.front();
  }
  return {};
}

std::string known_pattern_sets() {
  std::string names;
  for (const NamedSet& entry : table()) {
    for (const std::string_view name : entry.names) names.append(names.empty() ? "" : ", ").append(name);
  }
  return names;
}

std::string_view gpt2_pattern() noexcept { return kGpt2; }
std::string_view llama3_pattern() noexcept { return kLlama3Pattern; }
std::string_view qwen2_pattern() noexcept { return kQwen2; }
std::string_view gpt4o_pattern() noexcept { return kGpt4o; }
std::string_view kimi_pattern() noexcept { return kKimiK2; }

}  // namespace wick
