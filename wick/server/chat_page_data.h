// The chat page as wick/server/chat_page/assemble.cmake makes it of its parts.
#pragma once

#include <span>

namespace wick::server {

extern const std::span<const unsigned char> kChatPage;  // compressed, in gzip's format
extern const char* const kChatPagePolicy;               // its Content-Security-Policy: the hashes of its scripts and of its style

}  // namespace wick::server
