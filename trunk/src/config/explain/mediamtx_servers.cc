// The servers of MediaMTX. Each is on unless the file says otherwise.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "config/access_rules.h"
#include "config/explain/mediamtx.h"
#include "config/explain/translate.h"

namespace weir::config {
namespace {

using Place = std::vector<std::string>;

constexpr std::string_view kLoopback = "127.0.0.1:";

// Keys of the file, with the defaults there.
struct Key {
    std::string_view name;
    std::string_view fallback;
};

constexpr Key kKeys[] = {
    {"rtmp", "yes"},
    {"rtmpEncryption", "no"},
    {"rtmpAddress", ":1935"},
    {"rtmpsAddress", ":1936"},
    {"rtmpServerKey", "server.key"},
    {"rtmpServerCert", "server.crt"},
    {"rtsp", "yes"},
    {"rtspEncryption", "no"},
    {"rtspAddress", ":8554"},
    {"rtspsAddress", ":8322"},
    {"rtspServerKey", "server.key"},
    {"rtspServerCert", "server.crt"},
    {"rtpAddress", ":8000"},
    {"rtcpAddress", ":8001"},
    {"rtspTransports", ""},
    {"multicastIPRange", "224.1.0.0/16"},
    {"multicastRTPPort", "8002"},
    {"multicastRTCPPort", "8003"},
    {"hls", "yes"},
    {"hlsAddress", ":8888"},
    {"hlsEncryption", "no"},
    {"hlsServerKey", "server.key"},
    {"hlsServerCert", "server.crt"},
    {"webrtc", "yes"},
    {"webrtcAddress", ":8889"},
    {"webrtcEncryption", "no"},
    {"webrtcServerKey", "server.key"},
    {"webrtcServerCert", "server.crt"},
    {"webrtcLocalUDPAddress", ":8189"},
    {"webrtcLocalTCPAddress", ""},
    {"webrtcAdditionalHosts", ""},
    {"webrtcICEServers2", ""},
    {"srt", "yes"},
    {"srtAddress", ":8890"},
    {"api", "no"},
    {"apiAddress", ":9997"},
    {"metrics", "no"},
    {"metricsAddress", ":9998"},
};

bool encrypts(const std::string& word) {
    return word == "optional" || word == "strict" || is_yes(word);
}

class Servers {
  public:
    Servers(Explainer& out, const YamlNode& root) : out_(out), root_(root) {}

    void write() {
        write_rtmp();
        write_rtsp();
        write_http();
        write_webrtc();
        if (is_on("srt")) {
            line("srtAddress", {"srt_server"}, "enabled on;");
            listen("srtAddress", {"srt_server"});
        } else {
            say_off("srt");
        }
        write_api();
    }

  private:
    std::string word(std::string_view key) const {
        const auto found = std::ranges::find(kKeys, key, &Key::name);
        return root_.word(key, found == std::end(kKeys) ? "" : found->fallback);
    }

    bool is_on(std::string_view key) const { return is_yes(word(key)); }

    // The statement of a key; one of the first line where the file does not have it.
    Statement at(std::string_view key) const {
        const auto found = std::ranges::find(root_.keys, key);
        if (found == root_.keys.end()) {
            YamlNode value;
            value.text = word(key);
            return statement_of(key, 1, value);
        }
        const auto i = static_cast<size_t>(found - root_.keys.begin());
        return statement_of(key, root_.key_lines[i], root_.values[i]);
    }

    void line(std::string_view key, const Place& place, std::string text, std::string note = {}) {
        out_.become(at(key), place, {std::move(text), {}, std::move(note)}, true);
    }

    void say_off(std::string_view key) { out_.say(at(key), "switched off there, and here"); }

    void listen(std::string_view key, const Place& place, std::string_view more = {}) {
        line(key, place, fmt::format("listen {}{};", quoted_word(mtx_address(word(key))), more));
    }

    // Where the block has certificates of its own they stand there, else at the top level.
    void certificate(std::string_view protocol, const Place& place) {
        const std::string cert = fmt::format("{}ServerCert", protocol);
        const std::string key = fmt::format("{}ServerKey", protocol);
        line(cert, place, fmt::format("ssl_certificate {};", quoted_word(word(cert))));
        line(key, place, fmt::format("ssl_certificate_key {};", quoted_word(word(key))));
    }

    void write_rtmp() {
        if (!is_on("rtmp")) {
            line("rtmp", {}, fmt::format("listen {}1935;", kLoopback),
                 "RTMP cannot be switched off: it is there for this machine");
            return;
        }
        const std::string encryption = word("rtmpEncryption");
        if (encryption == "optional" || !encrypts(encryption)) {
            listen("rtmpAddress", {});
        }
        if (encrypts(encryption)) {
            listen("rtmpsAddress", {}, " ssl");
            certificate("rtmp", {});
        }
    }

    bool has_transport(std::string_view name) const {
        const YamlNode* list = root_.find("rtspTransports");
        return list == nullptr || list->items.empty() ||
               std::ranges::find(list->items, name, &YamlNode::text) != list->items.end();
    }

    void write_rtsp() {
        if (!is_on("rtsp")) {
            say_off("rtsp");
            return;
        }
        const Place place = {"rtsp_server"};
        const std::string encryption = word("rtspEncryption");
        line("rtsp", place, "enabled on;");
        if (encryption == "optional" || !encrypts(encryption)) {
            listen("rtspAddress", place);
        }
        if (encrypts(encryption)) {
            listen("rtspsAddress", place, " ssl");
            certificate("rtsp", {});
        }
        if (!has_transport("udp")) {
            line("rtspTransports", place, "udp off;");
        } else {
            line("rtpAddress", place,
                 fmt::format("rtp_listen {};", quoted_word(mtx_address(word("rtpAddress")))),
                 "RTCP is on the port after it");
        }
        if (has_transport("multicast")) {
            line("multicastIPRange", place,
                 fmt::format("multicast {};", quoted_word(word("multicastIPRange"))));
            line("multicastRTPPort", place,
                 fmt::format("multicast_ports {};", quoted_word(word("multicastRTPPort"))),
                 "RTCP and audio are on the ports after it");
        }
    }

    // HLS and WebRTC have ports of their own there; here both have all that is HTTP.
    void write_http() {
        const Place place = {"http_server"};
        const bool hls = is_on("hls");
        const bool webrtc = is_on("webrtc");
        if (!hls && !webrtc) {
            line("hls", place, "enabled off;");
            return;
        }
        for (const std::string_view protocol : {"hls", "webrtc"}) {
            if (!(protocol == "hls" ? hls : webrtc)) {
                continue;
            }
            const bool ssl = encrypts(word(fmt::format("{}Encryption", protocol)));
            listen(fmt::format("{}Address", protocol), place, ssl ? " ssl" : "");
            if (ssl) {
                certificate(protocol, place);
            }
        }
        out_.put(place, "stream_list none;");
        if (!hls) {
            line("hls", {"hls"}, "enabled off;");
        }
    }

    void write_webrtc() {
        const Place place = {"rtc_server"};
        if (!is_on("webrtc")) {
            say_off("webrtc");
            return;
        }
        line("webrtc", place, "enabled on;");
        listen("webrtcLocalUDPAddress", place);
        const std::string tcp = word("webrtcLocalTCPAddress");
        line("webrtcLocalTCPAddress", place, tcp.empty() ? "tcp off;" : "tcp on;",
             "on the port of UDP");
        if (!tcp.empty() && mtx_port(tcp) != mtx_port(word("webrtcLocalUDPAddress"))) {
            out_.lose(at("webrtcLocalTCPAddress"), "WebRTC by TCP has the port of UDP.");
        }
        write_hosts(place);
        if (const YamlNode* servers = root_.find("webrtcICEServers2")) {
            for (const YamlNode& each : servers->items) {
                write_ice_server(each);
            }
        }
    }

    void write_hosts(const Place& place) {
        const YamlNode* hosts = root_.find("webrtcAdditionalHosts");
        for (const YamlNode& each : hosts != nullptr ? hosts->items : std::vector<YamlNode>()) {
            const Statement where = statement_of("webrtcAdditionalHosts", each.line, each);
            if (IpNetwork::parse(each.text).has_value()) {
                out_.become(where, place,
                            {fmt::format("candidate {};", each.text),
                             {},
                             "in place of the addresses of the interfaces"});
            } else {
                out_.lose(where, "a candidate is a numeric address, no name.");
            }
        }
    }

    void write_ice_server(const YamlNode& server) {
        const std::string url = server.word("url");
        const std::string user = server.word("username");
        const std::string password = server.word("password");
        YamlNode shown;
        shown.text = url;
        const Statement where = statement_of("webrtcICEServers2", server.line, shown);
        if (user == "AUTH_SECRET") {
            out_.lose(where, "passwords of TURN are fixed: ice_server URL USER PASSWORD;");
            return;
        }
        const std::string login =
            user.empty() ? "" : fmt::format(" {} {}", quoted_word(user), quoted_word(password));
        out_.become(where, {"rtc_server"},
                    {fmt::format("ice_server {}{};", quoted_word(url), login),
                     fmt::format("ice_server {}{};", url, user.empty() ? "" : " (secret)"),
                     "clients are told; this server needs none"});
    }

    // Here whoever reaches the API can end any stream: a bare port is that of this machine.
    void write_api() {
        const Place place = {"http_api"};
        const std::string_view key = is_on("api") ? "api" : "metrics";
        if (!is_on(key)) {
            out_.put(place, std::string(kApiOff));
            return;
        }
        line(key, place, "enabled on;");
        const std::string address = fmt::format("{}Address", key);
        const std::string value = word(address);
        line(address, place,
             fmt::format("listen {}{};", value.starts_with(':') ? kLoopback : "",
                         quoted_word(mtx_address(value))),
             "the API and /metrics; with user admin NAME PASSWORD; others may have it too");
    }

    Explainer& out_;
    const YamlNode& root_;
};

}  // namespace

bool is_mtx_server_key(std::string_view key) {
    return std::ranges::find(kKeys, key, &Key::name) != std::end(kKeys);
}

void explain_mtx_servers(Explainer& out, const YamlNode& root) {
    Servers(out, root).write();
}

}  // namespace weir::config
