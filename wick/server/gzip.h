// Decompression of what the program itself holds in gzip's format (RFC 1952).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wick::server {

// Errors: WICK_ASSERT for bytes that are not in that format: they are part of the program.
[[nodiscard]] std::string gunzip(std::span<const unsigned char> bytes);

// Whether a request's Accept-Encoding lists gzip, and not with the weight 0 (RFC 9110, 12.5.3).
[[nodiscard]] bool accepts_gzip(std::string_view accept_encoding);

}  // namespace wick::server
