// What nginx's http { } says about the streams of the RTMP module: where HLS is served, and who may
// have it. Private to `weir --explain`.
#pragma once

#include <vector>

#include "config/explain/explainer.h"

namespace weir::config {

// What belongs to the RTMP module in the whole of http { }.
struct NginxHttp {
    bool status = false;    // rtmp_stat, rtmp_control: there was an API
    bool flv_live = false;  // HTTP-FLV, of a module that was made from the RTMP module
};

NginxHttp look_at_nginx_http(Explainer& out, const std::vector<Statement>& http);

// http_server { } for HLS, DASH and HTTP-FLV: the ports of the server { } of nginx that serves
// them. `folders`: of hls_path and dash_path. What restricted access there has to be decided.
void write_nginx_http(Explainer& out,
                      const std::vector<Statement>& http,
                      const std::vector<std::string>& folders);

}  // namespace weir::config
