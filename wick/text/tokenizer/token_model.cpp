#include "wick/text/tokenizer/token_model.h"

namespace wick {

ByteFallback::ByteFallback(const Vocabulary& vocabulary) {
  for (int byte = 0; byte < 256; ++byte) {
    ids_[static_cast<size_t>(byte)] = vocabulary.find_piece(byte_token(static_cast<uint8_t>(byte)));
  }
}

bool ByteFallback::covers(std::string_view bytes) const noexcept {
  for (const char byte : bytes) {
    if ((*this)[byte] == kNoToken) return false;
  }
  return true;
}

bool has_inner_space_marker(const Vocabulary& vocabulary) {
  for (TokenId id = 0; id < vocabulary.size(); ++id) {
    const TokenKind kind = vocabulary.kind(id);
    if (kind != TokenKind::normal && kind != TokenKind::unused) continue;
    std::string_view text = vocabulary.text(id);
    while (text.starts_with(kSpaceMarker)) text.remove_prefix(kSpaceMarker.size());
    if (text.find(kSpaceMarker) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace wick
