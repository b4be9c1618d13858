// Accept-Encoding (RFC 9110 §12.5.3). Pure.
#pragma once

#include "proto/http/fields.h"

namespace weir::http {

// Whether an answer may be compressed with gzip. A client that does not say so is not asked to.
bool accepts_gzip(const Fields& headers);

}  // namespace weir::http
