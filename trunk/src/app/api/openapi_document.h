// The OpenAPI document of the API: trunk/src/app/api/openapi.json, put into the program by the
// build.
#pragma once

#include <string_view>

namespace weir::app {

std::string_view openapi_document();

}  // namespace weir::app
