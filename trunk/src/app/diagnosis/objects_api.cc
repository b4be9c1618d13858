#include "app/diagnosis/objects_api.h"

#include "base/object_count.h"

namespace weir::app {

void ObjectsApi::add_to(net::HttpRouter& router) {
    net::HttpRouteOptions options;
    options.errors = net::HttpErrorFormat::kJson;
    router.add_prefix("/api/v1/objects", options, [this](auto& exchange) { objects(exchange); });
}

void ObjectsApi::objects(net::HttpExchange& exchange) const {
    Json list = Json::array();
    for_each_object_class([&](const ObjectClass& each) {
        list.push_back({{"class", each.name()},
                        {"subsystem", each.subsystem()},
                        {"live", each.live()},
                        {"bytes", each.bytes()},
                        {"high_water", each.high_water()},
                        {"high_water_bytes", each.high_water_bytes()},
                        {"made", each.made()}});
    });
    Json body = envelope(identity_);
    body["objects"] = std::move(list);
    answer(exchange, body);
}

}  // namespace weir::app
