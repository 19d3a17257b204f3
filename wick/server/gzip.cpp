#include "wick/server/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <vector>

#include "wick/base/ascii.h"
#include "wick/base/fail.h"

namespace wick::server {
namespace {

constexpr int kGzipFormat = 16;  // zlib: added to the size of the window

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// "q=0", "q=0.000"
bool is_zero_weight(std::string_view parameter) {
  parameter = without_spaces(parameter);
  return parameter.starts_with("q=0") && parameter.find_first_not_of("0.", 2) == std::string_view::npos;
}

}  // namespace

std::string gunzip(std::span<const unsigned char> bytes) {
  z_stream stream = {};
  int status = inflateInit2(&stream, MAX_WBITS + kGzipFormat);
  stream.next_in = const_cast<unsigned char*>(bytes.data());  // zlib does not write there
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> part(size_t{1} << 18);
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<unsigned char*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  WICK_ASSERT(status == Z_STREAM_END);
  return text;
}

bool accepts_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const size_t comma = std::min(accept_encoding.find(','), accept_encoding.size());
    const std::string_view coding = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(std::min(comma + 1, accept_encoding.size()));
    const size_t semicolon = std::min(coding.find(';'), coding.size());
    const std::string name = ascii_lowercase(without_spaces(coding.substr(0, semicolon)));
    if (name == "gzip") return semicolon == coding.size() || !is_zero_weight(coding.substr(semicolon + 1));
  }
  return false;
}

}  // namespace wick::server
