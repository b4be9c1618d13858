// Which page made a request: Host and Origin against pages of other sites that speak to this server
// from a user's browser (drive-by requests), and against names of strangers that point here (DNS
// rebinding). Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "proto/http/request.h"

namespace weir::http {

// Without port and brackets: "example.org", "::1". Empty: that is no host with or without a port
// (RFC 3986 §3.2.2), as "[::1].example.org" is not.
std::string_view host_name(std::string_view host);

// Whether no stranger can have made the browser believe that this server is theirs: an IP address,
// localhost and what ends in .localhost, a name without a dot (no public name), or one of `own`.
// Empty (HTTP/1.0, which no browser speaks) is true; what is no host is not.
bool is_own_host(std::string_view host, std::span<const std::string> own);

// Whether the request says that a page of another scheme, name or port than Host made it. `secure`:
// it came by TLS, to us or to a proxy that is believed (HttpExchange::secure()).
bool crosses_origin(const Request& request, bool secure);

// The Origin field of a request that comes from a page of another site; empty when there is no such
// field (no browser, or nothing that a browser marks), or the page is this server's own. A page
// that says "null" is of another site.
std::string_view foreign_origin(const Request& request,
                                std::span<const std::string> own,
                                bool secure);

// Whether a page of this machine made the request, whatever its port, and asked this machine by an
// address of its own: Origin and Host are of 127.0.0.0/8, [::1], localhost or *.localhost, which no
// name of a stranger can stand for. Says nothing of the connection: the caller knows the peer.
bool is_loopback_page(const Request& request);

// Origin against what was configured: "https://a.example", or "*" for any.
bool is_listed_origin(std::string_view origin, std::span<const std::string> listed);

}  // namespace weir::http
