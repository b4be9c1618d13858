#include "proto/sdp/phone_relay.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "proto/sdp/phone.h"

namespace weir::sdp {
namespace {

// Lines that are about the phone's own addresses, or ways of ICE.
constexpr std::array<std::string_view, 9> kDropped{
    "c=",
    "a=candidate:",
    "a=remote-candidates:",
    "a=end-of-candidates",
    "a=ice-",
    "a=rtcp:",
    "a=group:",
    "a=bundle-only",
    "a=alt:",
};

// Some readers take either of CR and LF for the end of a line.
std::string_view next_line(std::string_view& text) {
    const size_t end = text.find_first_of("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return line;
}

// Which port each section gets.
class Sections {
  public:
    Sections(const PhoneDescription& read, const RelayPorts& ports) : read_(read), ports_(ports) {}

    uint16_t port_of(size_t index) {
        if (index >= read_.media.size() || read_.media[index].rejected) {
            return 0;
        }
        const media::TrackKind kind = read_.media[index].kind;
        bool& used = kind == media::TrackKind::kAudio ? audio_ : video_;
        if ((kind != media::TrackKind::kAudio && kind != media::TrackKind::kVideo) || used) {
            return 0;
        }
        used = true;
        return kind == media::TrackKind::kAudio ? ports_.audio : ports_.video;
    }

  private:
    const PhoneDescription& read_;
    RelayPorts ports_;
    bool audio_ = false;
    bool video_ = false;
};

// "m=audio 5004 RTP/AVP 0 8" with another port. A line that read_phone_description() has taken has
// all of its words.
std::string media_line(std::string_view line, uint16_t port) {
    const size_t first = line.find(' ');
    const size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
    if (second == std::string_view::npos) {
        return std::string(line);
    }
    return fmt::format("{} {}{}", line.substr(0, first), port, line.substr(second));
}

}  // namespace

Result<std::string> relay_phone_description(std::string_view text,
                                            const NetAddress& address,
                                            const RelayPorts& ports) {
    WEIR_TRY_ASSIGN(const PhoneDescription read, read_phone_description(text));
    const std::string_view family = address.is_v4() ? "IP4" : "IP6";
    Sections sections(read, ports);
    std::string out;
    out.reserve(text.size() + 64 * read.media.size());
    size_t index = 0;
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        const bool dropped = line.empty() || std::ranges::any_of(kDropped, [&](auto each) {
                                 return line.starts_with(each);
                             });
        if (dropped) {
            continue;
        }
        if (!line.starts_with("m=")) {
            out += fmt::format("{}\r\n", line);
            continue;
        }
        const uint16_t port = sections.port_of(index);
        // On hold in the old way: no address.
        const bool held = port != 0 && read.media[index].to.empty();
        const std::string host = !held             ? address.ip_text()
                                 : address.is_v4() ? std::string("0.0.0.0")
                                                   : std::string("::");
        out += fmt::format("{}\r\nc=IN {} {}\r\n", media_line(line, port), family, host);
        index++;
    }
    return out;
}

}  // namespace weir::sdp
