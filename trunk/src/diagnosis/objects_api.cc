#include "diagnosis/objects_api.h"

#include "base/object_count.h"

namespace weir::diagnosis {

void ObjectsApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = http::ErrorFormat::kJson;
    router.add_prefix("/api/v1/objects", options, [this](auto& exchange) { objects(exchange); });
}

void ObjectsApi::objects(net::HttpExchange& exchange) const {
    net::Json list = net::Json::array();
    for_each_object_class([&](const ObjectClass& each) {
        list.push_back({{"class", each.name()},
                        {"subsystem", each.subsystem()},
                        {"live", each.live()},
                        {"bytes", each.bytes()},
                        {"high_water", each.high_water()},
                        {"high_water_bytes", each.high_water_bytes()},
                        {"made", each.made()}});
    });
    net::Json body = net::envelope(identity_);
    body["objects"] = std::move(list);
    answer(exchange, body);
}

}  // namespace weir::diagnosis
