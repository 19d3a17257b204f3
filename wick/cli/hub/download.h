// A Downloader fetches files over HTTP and HTTPS by libcurl, which it opens while the program runs: programs that download nothing need no
// libcurl, and start where there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace wick {

class Downloader {
 public:
  // `check` is called about once a second during a transfer; what it throws ends it and comes out of get().
  // Errors: not_found where the system has no libcurl.
  explicit Downloader(std::function<void()> check = {});
  ~Downloader();
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  struct Request {
    std::string url;
    std::string token = {};   // of a bearer, sent to this host alone; may be empty
    uint64_t first = 0;       // the byte to begin with
    std::string accept = {};  // the media types wanted, as an Accept field has them; empty: any
  };
  // Gets the bytes of an answer with status 200 (from the file's begin, whatever was requested) or 206 (from `first` on). What it throws
  // ends the transfer and comes out of get().
  using Sink = std::function<void(std::span<const std::byte> bytes, int status)>;
  // Follows redirections. Returns the status of the last answer; the body of one with another status is not read. The sink bounds the body.
  // Errors: io, with libcurl's reason: no network, no such host, a connection that breaks or has less than 100 bytes/s for a minute, a
  // certificate that is not trusted; headers or redirections without end.
  int get(const Request& request, const Sink& sink);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
  std::function<void()> check_;
};

}  // namespace wick
