// Documentation made from the table of directives: what doc/configuration.md and conf/full.conf
// hold.
#pragma once

#include <string>

namespace weir::config {

// doc/configuration.md: grammar, units, one table per block.
std::string config_markdown();

// conf/full.conf: every directive with its explanation and its default.
std::string annotated_config();

// doc/man/weir.conf.5: the same as a manual page.
std::string config_man_page();

}  // namespace weir::config
