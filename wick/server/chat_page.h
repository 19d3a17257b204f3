// GET /: the chat page, which is part of the program.
#pragma once

#include "wick/server/router.h"

namespace wick::server {

void add_chat_page(Router& router);

}  // namespace wick::server
