#include "wick/text/grammar/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <map>

#include "wick/base/utf8.h"
#include "wick/text/unicode/character_set.h"

namespace wick {
namespace {

struct CategoryName {
  std::string_view letters;
  std::string_view name;
};
// The order is utf8proc_category_t's, from UTF8PROC_CATEGORY_CN on.
constexpr std::array<CategoryName, 30> kGeneralCategories = {{
    {"Cn", "Unassigned"},
    {"Lu", "Uppercase_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"Mn", "Nonspacing_Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"Nd", "Decimal_Number"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"Sm", "Math_Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"So", "Other_Symbol"},
    {"Zs", "Space_Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Cc", "Control"},
    {"Cf", "Format"},
    {"Cs", "Surrogate"},
    {"Co", "Private_Use"},
}};
constexpr std::array<CategoryName, 7> kGroups = {
    {{"L", "Letter"}, {"M", "Mark"}, {"N", "Number"}, {"P", "Punctuation"}, {"S", "Symbol"}, {"Z", "Separator"}, {"C", "Other"}}};

// The characters of each of kGeneralCategories, found once: patterns name the same ones again and again.
const std::array<CodePointSet, kGeneralCategories.size()>& sets_of_categories() {
  static const auto kSets = [] {
    std::array<CodePointSet, kGeneralCategories.size()> sets;
    const auto category_of = [](char32_t code) { return static_cast<size_t>(utf8proc_category(static_cast<utf8proc_int32_t>(code))); };
    for (char32_t first = 0; first <= kLastCodePoint;) {
      const size_t category = category_of(first);
      char32_t end = first + 1;
      while (end <= kLastCodePoint && category_of(end) == category) ++end;
      sets[category].add(first, end - 1);
      first = end;
    }
    return sets;
  }();
  return kSets;
}

// The characters of each of kGroups.
const std::array<CodePointSet, kGroups.size()>& sets_of_groups() {
  static const auto kSets = [] {
    std::array<CodePointSet, kGroups.size()> sets;
    for (size_t group = 0; group < kGroups.size(); ++group) {
      for (size_t index = 0; index < kGeneralCategories.size(); ++index) {
        if (kGeneralCategories[index].letters.starts_with(kGroups[group].letters)) sets[group].add(sets_of_categories()[index]);
      }
    }
    return sets;
  }();
  return kSets;
}

// One sequence where first and last differ only in a suffix that spans whole blocks of continuation bytes.
void split_equal_length(char32_t first, char32_t last, std::vector<Utf8Sequence>& out) {
  for (unsigned level = 1; level < 4; ++level) {
    const char32_t mask = (char32_t{1} << (6 * level)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      split_equal_length(first, first | mask, out);
      split_equal_length((first | mask) + 1, last, out);
      return;
    }
    if ((last & mask) != mask) {
      split_equal_length(first, (last & ~mask) - 1, out);
      split_equal_length(last & ~mask, last, out);
      return;
    }
  }
  const EncodedCharacter low = encode_character(first);
  const EncodedCharacter high = encode_character(last);
  Utf8Sequence sequence{.bytes = {}, .length = low.length};
  for (size_t index = 0; index < low.length; ++index) {
    sequence.bytes[index] = {static_cast<uint8_t>(low.bytes[index]), static_cast<uint8_t>(high.bytes[index])};
  }
  out.push_back(sequence);
}

// Of sorted ranges, those that touch or overlap become one.
std::vector<CodePointSet::Range> joined(const std::vector<CodePointSet::Range>& sorted) {
  std::vector<CodePointSet::Range> result;
  for (const CodePointSet::Range& range : sorted) {
    if (!result.empty() && range.first <= result.back().second + 1) {
      result.back().second = std::max(result.back().second, range.second);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

}  // namespace

CodePointSet::CodePointSet(std::initializer_list<Range> ranges) {
  for (const auto& [first, last] : ranges) add(first, last);
}

void CodePointSet::add(char32_t first, char32_t last) {
  if (first > last) return;
  if (first < kFirstSurrogate && last > kLastSurrogate) {
    add(first, kFirstSurrogate - 1);
    add(kLastSurrogate + 1, last);
    return;
  }
  if (first >= kFirstSurrogate && first <= kLastSurrogate) first = kLastSurrogate + 1;
  if (last >= kFirstSurrogate && last <= kLastSurrogate) last = kFirstSurrogate - 1;
  if (first > last) return;
  // Most sets are built in ascending order.
  sorted_ = sorted_ && (ranges_.empty() || first > ranges_.back().second + 1);
  ranges_.emplace_back(first, last);
}

void CodePointSet::add(const CodePointSet& other) {
  const std::vector<Range>& left = ranges();
  const std::vector<Range>& right = other.ranges();
  std::vector<Range> both(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), both.begin());
  ranges_ = joined(both);
}

const std::vector<CodePointSet::Range>& CodePointSet::ranges() const {
  if (sorted_) return ranges_;
  std::sort(ranges_.begin(), ranges_.end());
  ranges_ = joined(ranges_);
  sorted_ = true;
  return ranges_;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet result;
  char32_t next = 0;
  for (const auto& [first, last] : ranges()) {
    if (first > next) result.add(next, first - 1);
    next = last + 1;
  }
  if (next <= kLastCodePoint) result.add(next, kLastCodePoint);
  return result;
}

CodePointSet CodePointSet::without(const CodePointSet& other) const { return intersection(other.complement()); }

CodePointSet CodePointSet::intersection(const CodePointSet& other) const {
  CodePointSet result;
  const std::vector<Range>& left = ranges();
  const std::vector<Range>& right = other.ranges();
  for (size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    result.add(std::max(left[i].first, right[j].first), std::min(left[i].second, right[j].second));
    left[i].second < right[j].second ? ++i : ++j;
  }
  return result;
}

bool CodePointSet::contains(char32_t code) const {
  const std::vector<Range>& all = ranges();
  const auto after = std::upper_bound(all.begin(), all.end(), code, [](char32_t value, const Range& range) { return value < range.first; });
  return after != all.begin() && code <= std::prev(after)->second;
}

CodePointSet CodePointSet::all() { return {{0, kLastCodePoint}}; }
CodePointSet CodePointSet::digits() { return {{'0', '9'}}; }
CodePointSet CodePointSet::word() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CodePointSet CodePointSet::space() {
  return {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}
CodePointSet CodePointSet::dot() { return CodePointSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}.complement(); }

std::optional<CodePointSet> CodePointSet::category(std::string_view name) {
  const auto is_it = [&](const CategoryName& category) { return name == category.letters || name == category.name; };
  if (const auto group = std::ranges::find_if(kGroups, is_it); group != kGroups.end()) {
    return sets_of_groups()[static_cast<size_t>(group - kGroups.begin())];
  }
  const auto found = std::ranges::find_if(kGeneralCategories, is_it);
  if (found == kGeneralCategories.end()) return std::nullopt;
  return sets_of_categories()[static_cast<size_t>(found - kGeneralCategories.begin())];
}

std::vector<Utf8Sequence> utf8_sequences(char32_t first, char32_t last) {
  std::vector<Utf8Sequence> result;
  static constexpr std::array<char32_t, 4> kLastOfLength = {0x7F, 0x7FF, 0xFFFF, kLastCodePoint};
  for (const char32_t limit : kLastOfLength) {
    if (first > last) break;
    if (first > limit) continue;
    split_equal_length(first, std::min(last, limit), result);
    first = limit + 1;
  }
  return result;
}

}  // namespace wick
