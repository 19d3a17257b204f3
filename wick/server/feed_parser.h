// Feeds a parser of Beast from what was read of a connection: the server's for requests and the client's for responses.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/error.hpp>
#include <cstddef>
#include <string_view>

namespace wick::server {

// How many bytes the next read may bring; 0 where the buffer holds the most that it may.
[[nodiscard]] inline size_t room_in(boost::beast::flat_buffer& buffer) { return boost::beast::read_size(buffer, buffer.max_size()); }

// Gives the parser what the buffer holds. True: it needs more, for which there is room. False: it has gone on, or `error` says why not.
template <class Parser>
[[nodiscard]] bool needs_more(Parser& parser, boost::beast::flat_buffer& buffer, boost::system::error_code& error) {
  error = {};
  // Beast asserts for a last chunk, which some bytes follow in any case, that after its line alone it sees two of them at once.
  const std::string_view text(static_cast<const char*>(buffer.data().data()), buffer.size());
  if (!text.empty() && !(parser.chunked() && text == "0\r\n")) {
    buffer.consume(parser.put(buffer.data(), error));
    if (error != boost::beast::http::error::need_more) return false;
    error = {};
  }
  if (room_in(buffer) == 0) error = boost::beast::http::error::buffer_overflow;
  return !error;
}

// After a read: where the stream has ended, so has the message, or it lacks a part, or there was none.
template <class Parser>
void take_end(Parser& parser, boost::system::error_code& error) {
  if (error != boost::asio::error::eof) return;
  error = {};
  if (parser.got_some()) {
    parser.put_eof(error);
  } else {
    error = boost::beast::http::error::end_of_stream;
  }
}

}  // namespace wick::server
