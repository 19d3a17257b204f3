#include "wick/cli/hub/download.h"

#include <array>
#include <exception>
#include <string_view>

#include "wick/base/dynlib.h"
#include "wick/base/fail.h"

namespace wick {
namespace {

// Of libcurl's interface, which has been binary compatible since 7.16.
using CurlHandle = void*;
constexpr int kCurlUrl = 10002, kCurlWriteData = 10001, kCurlErrorBuffer = 10010, kCurlRange = 10007, kCurlUserAgent = 10018,
              kCurlHeaders = 10023, kCurlHeaderData = 10029, kCurlProgressData = 10057;
constexpr int kCurlWriteFunction = 20011, kCurlHeaderFunction = 20079, kCurlProgressFunction = 20219;
constexpr int kCurlLowSpeedLimit = 19, kCurlLowSpeedTime = 20, kCurlFollow = 52, kCurlMostRedirections = 68, kCurlConnectTimeout = 78,
              kCurlNoProgress = 43, kCurlNoSignal = 99, kCurlProtocols = 181, kCurlRedirectionProtocols = 182;
constexpr int kCurlResponseCode = 0x200002;
constexpr long kCurlHttp = 1, kCurlHttps = 2;
constexpr int kCurlCannotResolve = 6, kCurlCannotConnect = 7;
constexpr size_t kCurlErrorBytes = 256;
constexpr int kFirstErrorStatus = 300;
// Of all headers of a transfer, and of the texts of redirections.
constexpr uint64_t kMaxSideBytes = uint64_t{1} << 20;
// A transfer that is slower for a minute has stalled, in bytes/s.
constexpr long kStalledSpeed = 100;

}  // namespace

struct Downloader::Library {
  std::shared_ptr<const DynamicLibrary> code;
  CurlHandle (*init)();
  int (*set)(CurlHandle, int, ...);
  int (*perform)(CurlHandle);
  int (*info)(CurlHandle, int, ...);
  void (*cleanup)(CurlHandle);
  const char* (*describe)(int);
  void* (*append)(void*, const char*);
  void (*free_list)(void*);
};

namespace {

struct Transfer {
  std::function<int()> status;
  const Downloader::Sink& sink;
  const std::function<void()>& check;
  const std::string& url;
  uint64_t header_bytes = 0;
  bool is_refused = false;  // by a status, whose text nobody reads
  std::exception_ptr failure = {};
};

[[noreturn]] void fail_endless(const Transfer& transfer, const char* what) {
  fail(ErrorCode::io, "{}: {} of the answer are longer than {} bytes; is this a hub?", transfer.url, what, kMaxSideBytes);
}

// libcurl takes any number but that of the bytes as an error.
size_t take_bytes(const char* bytes, size_t size, size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const size_t length = size * count;
  const int status = transfer.status();
  if (status >= kFirstErrorStatus) {
    transfer.is_refused = true;
    return length + 1;
  }
  try {
    transfer.sink(std::as_bytes(std::span(bytes, length)), status);
  } catch (...) {
    transfer.failure = std::current_exception();
    return length + 1;
  }
  return length;
}

size_t take_header(const char* /*bytes*/, size_t size, size_t count, void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const size_t length = size * count;
  transfer.header_bytes += length;
  if (transfer.header_bytes <= kMaxSideBytes) return length;
  try {
    fail_endless(transfer, "the headers");
  } catch (...) {
    transfer.failure = std::current_exception();
  }
  return length + 1;
}

// libcurl ends a transfer whose progress does not return 0.
int note_progress(void* data, int64_t /*total*/, int64_t now, int64_t /*upload_total*/, int64_t /*upload_now*/) {
  auto& transfer = *static_cast<Transfer*>(data);
  try {
    if (transfer.check) transfer.check();
    // libcurl reads the text of a redirection to its end.
    if (now > static_cast<int64_t>(kMaxSideBytes) && transfer.status() >= kFirstErrorStatus) fail_endless(transfer, "redirections");
  } catch (...) {
    transfer.failure = std::current_exception();
    return 1;
  }
  return 0;
}

}  // namespace

Downloader::Downloader(std::function<void()> check) : library_(std::make_unique<Library>()), check_(std::move(check)) {
  const std::array<std::string, 2> names = {"libcurl.so.4", "libcurl-gnutls.so.4"};
  library_->code = open_first(names, "what downloads models", "install libcurl4, or download the files and name them");
  const auto find = [&]<class Function>(const char* name, Function*& function) {
    function = library_->code->function<Function>(name);
    if (function == nullptr) fail(ErrorCode::not_found, "{}: it has no {}; install another libcurl", library_->code->name(), name);
  };
  find("curl_easy_init", library_->init);
  find("curl_easy_setopt", library_->set);
  find("curl_easy_perform", library_->perform);
  find("curl_easy_getinfo", library_->info);
  find("curl_easy_cleanup", library_->cleanup);
  find("curl_easy_strerror", library_->describe);
  find("curl_slist_append", library_->append);
  find("curl_slist_free_all", library_->free_list);
}

Downloader::~Downloader() = default;

int Downloader::get(const Request& request, const Sink& sink) {
  const Library& curl = *library_;
  const std::unique_ptr<void, void (*)(void*)> handle(curl.init(), curl.cleanup);
  if (handle == nullptr) fail(ErrorCode::io, "{}: libcurl cannot begin", request.url);
  const auto status = [&] {
    long code = 0;
    curl.info(handle.get(), kCurlResponseCode, &code);
    return static_cast<int>(code);
  };
  Transfer transfer{.status = status, .sink = sink, .check = check_, .url = request.url};
  std::array<char, kCurlErrorBytes> reason{};
  std::unique_ptr<void, void (*)(void*)> headers(nullptr, curl.free_list);
  curl.set(handle.get(), kCurlUrl, request.url.c_str());
  curl.set(handle.get(), kCurlWriteFunction, &take_bytes);
  curl.set(handle.get(), kCurlWriteData, static_cast<void*>(&transfer));
  curl.set(handle.get(), kCurlHeaderFunction, &take_header);
  curl.set(handle.get(), kCurlHeaderData, static_cast<void*>(&transfer));
  curl.set(handle.get(), kCurlProgressFunction, &note_progress);
  curl.set(handle.get(), kCurlProgressData, static_cast<void*>(&transfer));
  curl.set(handle.get(), kCurlNoProgress, 0L);
  curl.set(handle.get(), kCurlErrorBuffer, reason.data());
  curl.set(handle.get(), kCurlUserAgent, "wick");
  curl.set(handle.get(), kCurlFollow, 1L);
  curl.set(handle.get(), kCurlMostRedirections, 10L);
  curl.set(handle.get(), kCurlNoSignal, 1L);
  curl.set(handle.get(), kCurlConnectTimeout, 30L);
  curl.set(handle.get(), kCurlLowSpeedLimit, kStalledSpeed);
  curl.set(handle.get(), kCurlLowSpeedTime, 60L);
  curl.set(handle.get(), kCurlProtocols, kCurlHttp | kCurlHttps);
  // Nobody is led from HTTPS to HTTP.
  curl.set(handle.get(), kCurlRedirectionProtocols, request.url.starts_with("https:") ? kCurlHttps : kCurlHttp | kCurlHttps);
  const std::string range = std::to_string(request.first) + "-";
  if (request.first > 0) curl.set(handle.get(), kCurlRange, range.c_str());
  const auto add_header = [&](const std::string& line) { headers.reset(curl.append(headers.release(), line.c_str())); };
  if (!request.token.empty()) add_header("Authorization: Bearer " + request.token);
  if (!request.accept.empty()) add_header("Accept: " + request.accept);
  if (headers != nullptr) curl.set(handle.get(), kCurlHeaders, headers.get());
  const int result = curl.perform(handle.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (result == 0 || transfer.is_refused) return status();
  const std::string_view why = reason[0] != '\0' ? reason.data() : curl.describe(result);
  const bool offline = result == kCurlCannotResolve || result == kCurlCannotConnect;
  fail(ErrorCode::io, "{}: {}{}", request.url, why,
       offline ? "; this machine seems to be offline, or the address is wrong; `wick list` shows the models that are here"
               : "; what has come is kept, and the same command goes on with it");
}

}  // namespace wick
