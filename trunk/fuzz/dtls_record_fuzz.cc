// DTLS records: they lie one behind the other in the datagram, and numbering them changes nothing
// but numbers.
#include <algorithm>

#include "base/check.h"
#include "proto/dtls/record.h"

namespace dtls = weir::dtls;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);  // NOLINT(readability-*)

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    weir::Bytes numbered(data, data + size);
    uint64_t next = 5;
    dtls::renumber_clear_records(numbered, next);
    weir::ByteSpan before(data, size), after(numbered);
    uint64_t expected = 5;
    while (auto record = dtls::next_record(before)) {
        const auto same = dtls::next_record(after);
        WEIR_CHECK(same && same->type == record->type && same->epoch == record->epoch);
        WEIR_CHECK(same->fragment.size() == record->fragment.size());
        WEIR_CHECK(
            std::equal(same->fragment.begin(), same->fragment.end(), record->fragment.begin()));
        const uint64_t number = weir::ByteReader(same->header.subspan(3)).u64();
        WEIR_CHECK(record->epoch != 0 || number == expected++);
        WEIR_CHECK(!dtls::message_head(*record) || record->epoch == 0);
        WEIR_CHECK(!dtls::is_closing_alert(*record, {}));
    }
    WEIR_CHECK(next == expected && before.size() == after.size() && !dtls::next_record(after));
    return 0;
}
