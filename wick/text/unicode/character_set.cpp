#include "wick/text/unicode/character_set.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace wick {
namespace {

constexpr const char* kAnyCharacter = "(?s:.)";

struct Property {
  std::string_view name;  // normalized
  std::string_view items;
};

// POSIX brackets over Unicode. In Oniguruma [[:punct:]] has symbols, \p{Punct} has not.
constexpr auto kPosix = std::to_array<Property>({{"alnum", "\\p{Alphabetic}\\p{Nd}"},
                                                 {"alpha", "\\p{Alphabetic}"},
                                                 {"ascii", "\\x00-\\x7F"},
                                                 {"blank", "\\p{Zs}\\t"},
                                                 {"cntrl", "\\p{Cc}"},
                                                 {"digit", kDigitItems},
                                                 {"graph", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}"},
                                                 {"lower", "\\p{Lowercase}"},
                                                 {"print", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}"},
                                                 {"punct", "\\p{P}\\p{S}"},
                                                 {"space", kSpaceItems},
                                                 {"upper", "\\p{Uppercase}"},
                                                 {"word", kBracketWordItems},
                                                 {"xdigit", kHexItems}});

// General categories: their long names and those that PCRE2 spells otherwise or takes for something else.
constexpr auto kCategories = std::to_array<Property>({{"any", "\\x{0}-\\x{10FFFF}"},
                                                      {"assigned", "\\P{Cn}"},
                                                      {"c", "\\p{C}"},
                                                      {"other", "\\p{C}"},
                                                      {"cc", "\\p{Cc}"},
                                                      {"control", "\\p{Cc}"},
                                                      {"cf", "\\p{Cf}"},
                                                      {"format", "\\p{Cf}"},
                                                      {"cn", "\\p{Cn}"},
                                                      {"unassigned", "\\p{Cn}"},
                                                      {"co", "\\p{Co}"},
                                                      {"privateuse", "\\p{Co}"},
                                                      {"cs", "\\p{Cs}"},
                                                      {"surrogate", "\\p{Cs}"},
                                                      {"l", "\\p{L}"},
                                                      {"letter", "\\p{L}"},
                                                      {"lc", "\\p{L&}"},
                                                      {"casedletter", "\\p{L&}"},
                                                      {"ll", "\\p{Ll}"},
                                                      {"lowercaseletter", "\\p{Ll}"},
                                                      {"lm", "\\p{Lm}"},
                                                      {"modifierletter", "\\p{Lm}"},
                                                      {"lo", "\\p{Lo}"},
                                                      {"otherletter", "\\p{Lo}"},
                                                      {"lt", "\\p{Lt}"},
                                                      {"titlecaseletter", "\\p{Lt}"},
                                                      {"lu", "\\p{Lu}"},
                                                      {"uppercaseletter", "\\p{Lu}"},
                                                      {"m", "\\p{M}"},
                                                      {"mark", "\\p{M}"},
                                                      {"combiningmark", "\\p{M}"},
                                                      {"mc", "\\p{Mc}"},
                                                      {"spacingmark", "\\p{Mc}"},
                                                      {"me", "\\p{Me}"},
                                                      {"enclosingmark", "\\p{Me}"},
                                                      {"mn", "\\p{Mn}"},
                                                      {"nonspacingmark", "\\p{Mn}"},
                                                      {"n", "\\p{N}"},
                                                      {"number", "\\p{N}"},
                                                      {"nd", "\\p{Nd}"},
                                                      {"decimalnumber", "\\p{Nd}"},
                                                      {"nl", "\\p{Nl}"},
                                                      {"letternumber", "\\p{Nl}"},
                                                      {"no", "\\p{No}"},
                                                      {"othernumber", "\\p{No}"},
                                                      {"p", "\\p{P}"},
                                                      {"punct", "\\p{P}"},
                                                      {"punctuation", "\\p{P}"},
                                                      {"pc", "\\p{Pc}"},
                                                      {"connectorpunctuation", "\\p{Pc}"},
                                                      {"pd", "\\p{Pd}"},
                                                      {"dashpunctuation", "\\p{Pd}"},
                                                      {"pe", "\\p{Pe}"},
                                                      {"closepunctuation", "\\p{Pe}"},
                                                      {"pf", "\\p{Pf}"},
                                                      {"finalpunctuation", "\\p{Pf}"},
                                                      {"pi", "\\p{Pi}"},
                                                      {"initialpunctuation", "\\p{Pi}"},
                                                      {"po", "\\p{Po}"},
                                                      {"otherpunctuation", "\\p{Po}"},
                                                      {"ps", "\\p{Ps}"},
                                                      {"openpunctuation", "\\p{Ps}"},
                                                      {"s", "\\p{S}"},
                                                      {"symbol", "\\p{S}"},
                                                      {"sc", "\\p{Sc}"},
                                                      {"currencysymbol", "\\p{Sc}"},
                                                      {"sk", "\\p{Sk}"},
                                                      {"modifiersymbol", "\\p{Sk}"},
                                                      {"sm", "\\p{Sm}"},
                                                      {"mathsymbol", "\\p{Sm}"},
                                                      {"so", "\\p{So}"},
                                                      {"othersymbol", "\\p{So}"},
                                                      {"z", "\\p{Z}"},
                                                      {"separator", "\\p{Z}"},
                                                      {"zl", "\\p{Zl}"},
                                                      {"lineseparator", "\\p{Zl}"},
                                                      {"zp", "\\p{Zp}"},
                                                      {"paragraphseparator", "\\p{Zp}"},
                                                      {"zs", "\\p{Zs}"}});

template <size_t Count>
std::string_view find_in(const std::array<Property, Count>& table, std::string_view name) noexcept {
  const auto* found = std::find_if(table.begin(), table.end(), [&](const Property& property) { return property.name == name; });
  return found == table.end() ? std::string_view() : found->items;
}

// Empty if a character of `name` is none that property names have.
std::string normalize_name(std::string_view name) {
  std::string result;
  for (const char letter : name) {
    if (letter == ' ' || letter == '-' || letter == '_') continue;
    const char lower = letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    if (!((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))) return {};
    result += lower;
  }
  return result;
}

bool compiles(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &offset, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

}  // namespace

void CharacterSet::add_range(char32_t first, char32_t last) {
  // No text holds a surrogate, and PCRE2 refuses them.
  if (first >= kFirstSurrogate && first <= kLastSurrogate) first = kLastSurrogate + 1;
  if (last >= kFirstSurrogate && last <= kLastSurrogate) last = kFirstSurrogate - 1;
  if (last < first) return;
  items_ += first == last ? fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(first))
                          : fmt::format("\\x{{{:X}}}-\\x{{{:X}}}", static_cast<uint32_t>(first), static_cast<uint32_t>(last));
}

void CharacterSet::add(const CharacterSet& other) {
  if (negated_) {
    const std::string before = expression();
    *this = CharacterSet();
    others_.push_back(before);
  }
  if (other.negated_) {
    others_.push_back(other.expression());
    return;
  }
  items_ += other.items_;
  others_.insert(others_.end(), other.others_.begin(), other.others_.end());
}

void CharacterSet::intersect(const CharacterSet& other) {
  std::string both = other.negated_ ? "(?:(?!" + other.members() + ")" : "(?:(?=" + other.members() + ")";
  both += expression() + ")";
  *this = CharacterSet();
  others_.push_back(std::move(both));
}

std::string CharacterSet::members() const {
  if (items_.empty() && others_.empty()) return "(?!)";
  if (others_.empty()) return "[" + items_ + "]";
  if (items_.empty() && others_.size() == 1) return others_.front();
  // Atomic: a character that two members hold must not be tried once for each of them, which doubles the work with every character.
  std::string result = "(?>";
  if (!items_.empty()) result += "[" + items_ + "]|";
  for (const std::string& other : others_) result += other + "|";
  result.back() = ')';
  return result;
}

std::string CharacterSet::expression() const {
  if (!negated_) return members();
  if (items_.empty() && others_.empty()) return kAnyCharacter;
  if (others_.empty()) return "[^" + items_ + "]";
  return "(?:(?!" + members() + ")" + kAnyCharacter + ")";
}

std::string find_property(std::string_view name) {
  const std::string known = normalize_name(name);
  if (known.empty()) return {};
  if (const std::string_view items = find_in(kCategories, known); !items.empty()) return std::string(items);
  if (known == "word") return std::string(kWordItems);
  if (const std::string_view items = find_in(kPosix, known); !items.empty()) return std::string(items);
  // PCRE2's own inventions.
  const bool bidi_class =
      known.starts_with("bidi") && known != "bidicontrol" && known != "bidic" && known != "bidimirrored" && known != "bidim";
  if (bidi_class || known == "xan" || known == "xps" || known == "xsp" || known == "xuc" || known == "xwd") return {};
  // Scripts without their extensions; then binary properties.
  for (const char* form : {"\\p{{sc:{}}}", "\\p{{{}}}"}) {
    std::string items = fmt::format(fmt::runtime(form), known);
    if (compiles(items)) return items;
  }
  return {};
}

std::string find_posix_bracket(std::string_view name) { return std::string(find_in(kPosix, name)); }

}  // namespace wick
