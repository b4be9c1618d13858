// media::BitWriter, for headers that no encoder at hand makes.
#pragma once

#include "media/bit_writer.h"

namespace weir::test {

using BitWriter = media::BitWriter;

}  // namespace weir::test
