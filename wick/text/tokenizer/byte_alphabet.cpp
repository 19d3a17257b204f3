#include "wick/text/tokenizer/byte_alphabet.h"

#include <array>

#include "wick/base/utf8.h"

namespace wick {
namespace {

struct Letter {
  uint16_t code = 0;
  EncodedCharacter utf8;
};

struct Alphabet {
  std::array<Letter, 256> letters{};
  std::array<int16_t, 0x144> bytes{};  // by code; -1: no byte
};

// Printable Latin-1 bytes map to themselves, the others in order to U+0100, U+0101 ….
constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.bytes) byte = -1;
  uint16_t next = 0x100;
  for (uint16_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    Letter& letter = alphabet.letters[byte];
    letter.code = printable ? byte : next++;
    alphabet.bytes[letter.code] = static_cast<int16_t>(byte);
    letter.utf8 = encode_character(letter.code);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string_view byte_to_letter(uint8_t byte) noexcept { return kAlphabet.letters[byte].utf8.text(); }

void append_letters(std::string& result, std::string_view text) {
  const size_t begin = result.size();
  result.resize(begin + 2 * text.size());
  char* output = result.data() + begin;
  for (const char character : text) {
    const EncodedCharacter& letter = kAlphabet.letters[static_cast<uint8_t>(character)].utf8;
    output[0] = letter.bytes[0];
    output[1] = letter.bytes[1];
    output += letter.length;
  }
  result.resize(static_cast<size_t>(output - result.data()));
}

std::optional<std::string> letters_to_bytes(std::string_view letters) {
  std::string bytes;
  bytes.reserve(letters.size());
  for (size_t offset = 0; offset < letters.size();) {
    const DecodedCharacter character = decode_character(letters, offset);
    if (!character.valid || character.code >= kAlphabet.bytes.size() || kAlphabet.bytes[character.code] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.bytes[character.code]));
    offset += character.length;
  }
  return bytes;
}

}  // namespace wick
