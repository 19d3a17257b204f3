#include "wick/server/chat_page.h"

#include <string>
#include <utility>

#include "wick/server/chat_page_data.h"
#include "wick/server/gzip.h"

namespace wick::server {
namespace {

void chat_page(const HttpRequest& request, const Exchange& exchange) {
  HttpResponse response{.status = 200,
                        .headers = {{"Content-Type", "text/html; charset=utf-8"},
                                    {"Content-Security-Policy", kChatPagePolicy},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cache-Control", "no-cache"},
                                    {"Vary", "Accept-Encoding"}}};
  if (accepts_gzip(request.headers.find("Accept-Encoding").value_or(""))) {
    response.headers.add("Content-Encoding", "gzip");
    response.body.assign(kChatPage.begin(), kChatPage.end());
  } else {
    response.body = gunzip(kChatPage);
  }
  exchange->respond(std::move(response));
}

}  // namespace

void add_chat_page(Router& router) {
  for (const char* path : {"/", "/index.html"}) {
    router.add(
        "GET", path, Dialect::openai, [](HttpRequest& request, const Exchange& exchange) { chat_page(request, exchange); },
        Route::Who::anyone);
  }
}

}  // namespace wick::server
