// Counts the long-lived objects of the process per class: how many live, their bytes, the most
// there ever were, how many were made. For /api/v1/objects, /metrics, tests and leak hunts, in
// every build.
//
// Objects of the media thread only: the counters are plain numbers. What comes and goes per media
// message is not counted. A class is listed from the start of the process on, as soon as code that
// makes its objects is linked in.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// Both parts are literals of [a-z_]. The class is unique in the process ("wire_log"); the subsystem
// groups classes ("streams").
struct ObjectName {
    const char* name;
    const char* subsystem;
};

// The counters of one class. Static storage only: it stays in the list until the process ends, and
// counts even while static objects are destroyed.
class ObjectClass {
  public:
    explicit ObjectClass(const ObjectName& name);
    ObjectClass(const ObjectClass&) = delete;
    ObjectClass& operator=(const ObjectClass&) = delete;

    void made(uint64_t bytes) {
        entered();
        add_bytes(bytes);
    }

    // made() and ended() without bytes, for what comes and goes often.
    void entered() {
        made_++;
        if (++live_ > high_water_) {
            high_water_ = live_;
        }
    }

    // `bytes`: all that the object was said to have.
    void ended(uint64_t bytes) {
        left();
        bytes_ -= bytes;
    }

    void left() { live_--; }

    // What live objects of the class hold besides themselves: buffers, containers.
    void add_bytes(uint64_t bytes) {
        bytes_ += bytes;
        if (bytes_ > high_water_bytes_) {
            high_water_bytes_ = bytes_;
        }
    }

    void remove_bytes(uint64_t bytes) { bytes_ -= bytes; }

    const char* name() const { return name_.name; }

    const char* subsystem() const { return name_.subsystem; }

    uint64_t live() const { return live_; }

    uint64_t bytes() const { return bytes_; }

    uint64_t high_water() const { return high_water_; }

    uint64_t high_water_bytes() const { return high_water_bytes_; }

    // Since the process started.
    uint64_t made() const { return made_; }

    // The list of all classes, in order of subsystem and name; nullptr behind the last.
    static const ObjectClass* first() { return first_; }

    const ObjectClass* next() const { return next_; }

  private:
    static ObjectClass* first_;

    const ObjectName name_;
    ObjectClass* next_ = nullptr;
    uint64_t live_ = 0;
    uint64_t bytes_ = 0;
    uint64_t high_water_ = 0;
    uint64_t high_water_bytes_ = 0;
    uint64_t made_ = 0;
};

// Calls visit(const ObjectClass&) for each class, in order of subsystem and name.
template <typename Visit>
void for_each_object_class(Visit&& visit) {
    for (const ObjectClass* at = ObjectClass::first(); at; at = at->next()) {
        visit(*at);
    }
}

// The class of that name; nullptr when there is none. For tests.
const ObjectClass* find_object_class(std::string_view name);

// Base of a counted class T, which costs no memory in its objects:
//     class Pump final : private Counted<Pump> {
//       public:
//         static constexpr ObjectName kObjectName{"pump", "fan_out"};
// An object counts for sizeof(T), and T::kHeldBytes more where there is such a constant: what each
// holds. Where members are counted as objects of their own, T::kCountedInside takes their bytes
// off.
template <typename T>
class Counted {
  public:
    // The counters of T.
    static ObjectClass& object_class() { return counters_; }

  protected:
    Counted() { counters_.made(bytes_each()); }

    Counted(const Counted&) : Counted() {}

    Counted& operator=(const Counted&) = default;

    ~Counted() { counters_.ended(bytes_each()); }

  private:
    static constexpr uint64_t bytes_each() {
        uint64_t bytes = sizeof(T);
        if constexpr (requires { T::kHeldBytes; }) {
            bytes += T::kHeldBytes;
        }
        if constexpr (requires { T::kCountedInside; }) {
            static_assert(T::kCountedInside <= sizeof(T));
            bytes -= T::kCountedInside;
        }
        return bytes;
    }

    static inline ObjectClass counters_{T::kObjectName};
};

}  // namespace weir
