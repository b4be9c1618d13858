#include "base/object_count.h"

#include <cstring>

namespace weir {
namespace {

bool comes_before(const ObjectName& a, const ObjectClass& b) {
    const int subsystems = std::strcmp(a.subsystem, b.subsystem());
    return subsystems < 0 || (subsystems == 0 && std::strcmp(a.name, b.name()) < 0);
}

}  // namespace

// Filled while static objects are made: before any of them, hence no dynamic initialisation.
constinit ObjectClass* ObjectClass::first_ = nullptr;

ObjectClass::ObjectClass(const ObjectName& name) : name_(name) {
    ObjectClass** place = &first_;
    while (*place && !comes_before(name, **place)) {
        place = &(*place)->next_;
    }
    next_ = *place;
    *place = this;
}

const ObjectClass* find_object_class(std::string_view name) {
    for (const ObjectClass* at = ObjectClass::first(); at; at = at->next()) {
        if (name == at->name()) {
            return at;
        }
    }
    return nullptr;
}

}  // namespace weir
