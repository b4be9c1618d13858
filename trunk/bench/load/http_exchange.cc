#include "bench/load/http_exchange.h"

#include "io/deadline.h"

namespace weir::load {
namespace {

constexpr size_t kMaxAnswer = 256 * 1024;

}  // namespace

Result<HttpAnswer> http_exchange(const io::SocketAddress& server,
                                 const std::string& request,
                                 io::Deadline deadline,
                                 const io::SocketAddress* from) {
    WEIR_TRY_ASSIGN(auto stream, io::TcpStream::connect(server, deadline, from));
    WEIR_TRY(stream->write_all(as_bytes(request), deadline));
    std::string answer;
    Bytes buffer(4096);
    for (;;) {
        auto size = stream->read_some(buffer, deadline);
        if (!size.ok()) {
            if (size.error().code() != ErrorCode::kClosed) {
                return size.take_error().with_context(server.to_string());
            }
            return HttpAnswer::parse(answer);
        }
        answer.append(buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*size));
        if (answer.size() > kMaxAnswer) {
            return make_error(ErrorCode::kLimit, "{}: the answer is larger than {} bytes",
                              server.to_string(), kMaxAnswer);
        }
    }
}

}  // namespace weir::load
