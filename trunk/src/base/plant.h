// Planted defects for the tests of the diagnosis tools; nothing of it is in builds without
// ./configure --plants=on.
//
// A plant has a name and is off until the environment names it: WEIR_PLANT=name,name. The macro
// takes the statements that the defect is made of; in other builds it is an empty statement and
// they are not compiled.
#pragma once

#include "base/build.h"

#if WEIR_PLANTS

#include <string_view>

namespace weir::plant {

// Whether the environment variable WEIR_PLANT names this plant. Read once; costs a few comparisons.
bool active(std::string_view name);

// Whether a list "name,name" holds the name.
bool listed(std::string_view list, std::string_view name);

}  // namespace weir::plant

#define WEIR_PLANT(name, ...)            \
    do {                                 \
        if (weir::plant::active(name)) { \
            __VA_ARGS__;                 \
        }                                \
    } while (0)

#else

#define WEIR_PLANT(name, ...) static_cast<void>(0)

#endif
