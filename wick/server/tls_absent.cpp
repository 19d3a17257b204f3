#include "wick/base/fail.h"
#include "wick/server/tls.h"

namespace wick::server {

std::unique_ptr<Tls> make_tls(const std::string&, const std::string&) {
  fail(ErrorCode::unsupported,
       "--tls-cert: this program was built without TLS; build it with -DWICK_TLS=ON, or put a reverse proxy in front and leave the flag "
       "out");
}

bool has_tls() noexcept { return false; }

std::shared_ptr<TlsClient> make_tls_client(const std::string& authorities) {
  fail(ErrorCode::unsupported, "--ca {}: this program was built without TLS; build it with -DWICK_TLS=ON, or leave the flag out",
       authorities);
}

}  // namespace wick::server
