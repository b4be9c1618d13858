// The commands of ServerSession: what clients ask, and what is answered without asking the owner.
#include <algorithm>
#include <utility>

#include "proto/rtmp/server_session.h"

namespace weir::rtmp {
namespace {

// Texts of a connect that are only reported: cut instead of refused.
constexpr size_t kMaxReportedText = 1024;
constexpr size_t kMaxCodecList = 256;
constexpr size_t kMaxShownName = 64;
constexpr uint32_t kCapsMultitrack = 2;      // of capsEx, Enhanced RTMP v2
constexpr double kMaxDurationMs = 1e12;      // 30 years: more is no end
constexpr std::string_view kFmle = "FMLE/";  // how flashVer of an encoder begins

std::string cut(std::string_view text, size_t size) {
    return std::string(text.substr(0, std::min(text.size(), size)));
}

void append_codec(std::string_view codec, std::string& list) {
    if (codec.empty() || codec.size() > 4 || list.size() + codec.size() + 1 > kMaxCodecList ||
        list.find(codec) != std::string::npos) {
        return;
    }
    if (!list.empty()) {
        list += ',';
    }
    list += codec;
}

EnhancedCaps parse_enhanced(const amf::Value& object) {
    EnhancedCaps caps;
    if (const amf::Value* list = object.find("fourCcList")) {
        caps.present = true;
        for (const amf::Member& element : list->members()) {
            append_codec(element.value.as_string(), caps.codecs);
        }
    }
    for (const std::string_view map : {"videoFourCcInfoMap", "audioFourCcInfoMap"}) {
        if (const amf::Value* codecs = object.find(map)) {
            caps.present = true;
            for (const amf::Member& codec : codecs->members()) {
                append_codec(codec.name, caps.codecs);
            }
        }
    }
    if (const amf::Value* flags = object.find("capsEx")) {
        caps.present = true;
        const double value = flags->as_number();
        caps.caps_ex = value >= 0 && value <= 255 ? static_cast<uint32_t>(value) : 0;
    }
    return caps;
}

// An id out of an AMF number; 0 (never a stream) for everything that is none.
uint32_t stream_id_of(const amf::Value& value) {
    const double number = value.as_number();
    return number >= 1 && number <= 4294967295.0 ? static_cast<uint32_t>(number) : 0;
}

// RTMP 1.0 §7.2.2.1 has seconds; Flash Player and librtmp send milliseconds, of the start as well:
// -2
// ("live or recorded") or -1 ("live") as the start tells a client of the book, -2000 or -1000 one
// of the others. Deviation: 0, "a single frame" in the book, is what a client sends that means no
// end.
int64_t duration_of(double start, double duration) {
    const bool in_seconds = start == -1 || start == -2;
    const double ms = in_seconds ? duration * 1000 : duration;
    return ms >= 1 && ms <= kMaxDurationMs ? static_cast<int64_t>(ms) : -1;
}

bool is_false(const amf::Value& value) {
    return value.type() == amf::Type::kBoolean && !value.as_boolean();
}

}  // namespace

const ServerSession::CommandEntry ServerSession::kCommands[] = {
    {"connect", &ServerSession::on_connect},
    {"createStream", &ServerSession::on_create_stream},
    {"initStream", &ServerSession::on_ignored},
    {"releaseStream", &ServerSession::on_acknowledged},
    {"FCPublish", &ServerSession::on_fc_publish},
    {"FCUnpublish", &ServerSession::on_fc_unpublish},
    {"FCSubscribe", &ServerSession::on_fc_subscribe},
    {"FCUnsubscribe", &ServerSession::on_acknowledged},
    {"publish", &ServerSession::on_publish},
    {"play", &ServerSession::on_play},
    {"pause", &ServerSession::on_pause},
    {"pauseRaw", &ServerSession::on_pause},
    {"seek", &ServerSession::on_seek},
    {"deleteStream", &ServerSession::on_delete_stream},
    {"closeStream", &ServerSession::on_close_stream},
    {"close", &ServerSession::on_close},
    {"getStreamLength", &ServerSession::on_get_stream_length},
    {"_checkbw", &ServerSession::on_acknowledged},
    {"checkBandwidth", &ServerSession::on_acknowledged},
    {"receiveAudio", &ServerSession::on_ignored},
    {"receiveVideo", &ServerSession::on_ignored},
    {"_result", &ServerSession::on_ignored},
    {"_error", &ServerSession::on_ignored},
    {"onStatus", &ServerSession::on_ignored},
};

bool ServerSession::handle_command(Message& message, Event& event) {
    if (message.body.size() > kMaxCommandSize) {
        return fail(make_error(ErrorCode::kLimit, "a command of {} bytes is over {}",
                               message.body.size(), kMaxCommandSize));
    }
    Result<Command> parsed = parse_command(message.type, message.body);
    if (!parsed.ok()) {
        return fail(parsed.take_error().with_context("command"));
    }
    Command& command = *parsed;
    if (state_ == State::kClosed) {
        return false;
    }
    if (state_ != State::kConnected && command.name != "connect") {
        return fail(make_error(ErrorCode::kMalformed, "command '{}' before connect",
                               cut(command.name, kMaxShownName)));
    }
    for (const CommandEntry& entry : kCommands) {
        if (entry.name == command.name) {
            return (this->*entry.handler)(message, command, event);
        }
    }
    if (takes_calls_) {
        event.kind = EventKind::kCall;
        event.stream_id = message.stream_id;
        event.data.emplace<CallRequest>(
            CallRequest{std::move(command.name), command.transaction, std::move(command.args)});
        return true;
    }
    if (command.transaction != 0) {
        Bytes body;
        write_call_failed(command.transaction,
                          "Method not found (" + cut(command.name, kMaxShownName) + ").", body);
        send_command(body);
    }
    return false;
}

bool ServerSession::on_connect(const Message&, const Command& command, Event& event) {
    if (state_ != State::kNew) {
        return fail(make_error(ErrorCode::kMalformed, "a second connect"));
    }
    pending_connect_ = std::make_unique<ConnectAnswer>();
    pending_connect_->transaction = command.transaction;
    state_ = State::kConnectAsked;
    ConnectRequest request;
    if (Error error = parse_connect(command.object, request)) {
        reject_connect(status::kConnectInvalidApp, error.message());
        return fail(std::move(error));
    }
    for (size_t i = 0; i < std::min(command.args.size(), kMaxConnectArguments); i++) {
        request.arguments.push_back(cut(command.args[i].as_string(), kMaxReportedText));
    }
    pending_connect_->object_encoding = request.object_encoding;
    pending_connect_->enhanced = request.enhanced.present;
    takes_multitrack_ = (request.enhanced.caps_ex & kCapsMultitrack) != 0;
    fmle_ = request.flash_version.starts_with(kFmle);
    names_ = request.app + request.vhost + request.query;
    app_size_ = static_cast<uint16_t>(request.app.size());
    vhost_size_ = static_cast<uint16_t>(request.vhost.size());
    event.kind = EventKind::kConnect;
    event.stream_id = 0;
    event.data = std::move(request);
    return true;
}

Error ServerSession::parse_connect(const amf::Value& object, ConnectRequest& request) {
    const std::string_view tc_url = object.text_of("tcUrl");
    const auto [app, app_query] = split_query(object.text_of("app"));
    if (app.size() > kMaxAppSize) {
        return make_error(ErrorCode::kLimit, "application name of {} bytes: at most {} are allowed",
                          app.size(), kMaxAppSize);
    }
    if (tc_url.size() > kMaxUrlSize || app_query.size() > kMaxUrlSize) {
        return make_error(ErrorCode::kLimit, "tcUrl or query of more than {} bytes", kMaxUrlSize);
    }
    std::string query(app_query.empty() ? split_query(tc_url).second : app_query);
    // Clients put "?authmod=..." behind an app that has a query of its own.
    std::ranges::replace(query, '?', '&');
    std::string_view vhost = query_value(query, "vhost");
    if (vhost.empty()) {
        vhost = url_host(tc_url);
    }
    request.app = normal_app(app);
    request.tc_url = tc_url;
    request.vhost = vhost;
    request.flash_version = cut(object.text_of("flashVer"), kMaxReportedText);
    request.publishes =
        object.text_of("type") == "nonprivate" || request.flash_version.starts_with(kFmle);
    request.page_url = cut(object.text_of("pageUrl"), kMaxReportedText);
    request.swf_url = cut(object.text_of("swfUrl"), kMaxReportedText);
    request.query = std::move(query);
    request.object_encoding = object.number_of("objectEncoding") == 3 ? 3 : 0;
    request.enhanced = parse_enhanced(object);
    return {};
}

Result<StreamName> ServerSession::parse_name(std::string_view text) const {
    const std::string_view names(names_);
    const std::string_view connect_query = names.substr(size_t{app_size_} + vhost_size_);
    const auto [name, query] = split_query(text);
    if (query.size() > kMaxUrlSize) {
        return make_error(ErrorCode::kLimit, "query of {} bytes: at most {} are allowed",
                          query.size(), kMaxUrlSize);
    }
    StreamName out;
    WEIR_TRY(parse_path(names.substr(0, app_size_), name, out));
    const std::string_view vhost = query_value(query, "vhost");
    out.vhost = vhost.empty() ? names.substr(app_size_, vhost_size_) : vhost;
    out.query = query;
    if (!connect_query.empty()) {
        out.query += out.query.empty() ? "" : "&";
        out.query += connect_query;
    }
    return out;
}

bool ServerSession::on_create_stream(const Message&, const Command& command, Event&) {
    Bytes body;
    if (streams_.size() == kMaxStreams) {
        write_call_failed(command.transaction, "Too many streams on one connection.", body);
    } else {
        streams_.emplace_back().id = next_stream_id_;
        write_create_stream_result(command.transaction, next_stream_id_, body);
        next_stream_id_++;
    }
    send_command(body);
    return false;
}

// Commands that clients wait for, with nothing to do here.
bool ServerSession::on_acknowledged(const Message&, const Command& command, Event&) {
    if (command.transaction != 0) {
        Bytes body;
        write_empty_result(command.transaction, body);
        send_command(body);
    }
    return false;
}

bool ServerSession::on_ignored(const Message&, const Command&, Event&) {
    return false;
}

bool ServerSession::on_get_stream_length(const Message&, const Command& command, Event&) {
    Bytes body;
    write_number_result(command.transaction, 0, body);  // live: no length
    send_command(body);
    return false;
}

// Answers the call, then calls back with a status, as Flash Media Server does.
void ServerSession::answer_named(const Command& command,
                                 std::string_view callback,
                                 const Status& info) {
    if (command.transaction != 0) {
        Bytes body;
        write_empty_result(command.transaction, body);
        send_command(body);
    }
    Bytes body;
    write_named_status(callback, info, body);
    send_command(body);
}

bool ServerSession::on_fc_publish(const Message& message, const Command& command, Event& event) {
    // Adobe's encoder waits for the call back. gortmplib takes that for the answer to what it asked
    // next, and leaves.
    if (!fmle_) {
        return on_acknowledged(message, command, event);
    }
    answer_named(
        command, "onFCPublish",
        {"status", status::kPublishStart, cut(command.arg(0).as_string(), kMaxStreamNameSize)});
    return false;
}

bool ServerSession::on_fc_subscribe(const Message&, const Command& command, Event&) {
    answer_named(
        command, "onFCSubscribe",
        {"status", status::kPlayStart, cut(command.arg(0).as_string(), kMaxStreamNameSize)});
    return false;
}

bool ServerSession::on_fc_unpublish(const Message& message, const Command& command, Event& event) {
    const std::string_view text = command.arg(0).as_string();
    answer_named(command, "onFCUnpublish",
                 {"status", status::kUnpublishSuccess, cut(text, kMaxStreamNameSize)});
    // The command comes on message stream 0 and names the stream; a publisher of one stream can
    // only mean that.
    StreamSlot* only = nullptr;
    size_t publishers = 0;
    const Result<StreamName> name = parse_name(text);
    for (StreamSlot& slot : streams_) {
        if (slot.state != StreamState::kPublishing && slot.state != StreamState::kPublishAsked) {
            continue;
        }
        if (slot.id == message.stream_id || (name.ok() && slot.name == name->path())) {
            return end_stream(slot, true, event);
        }
        only = &slot;
        publishers++;
    }
    return publishers == 1 && end_stream(*only, true, event);
}

bool ServerSession::on_publish(const Message& message, const Command& command, Event& event) {
    const uint32_t id = message.stream_id;
    StreamSlot* slot = find_stream(id);
    if (slot && is_false(command.arg(0))) {
        return end_stream(*slot, true, event);  // publish(false) is an old way to say closeStream
    }
    if (!slot || slot->state != StreamState::kIdle) {
        send_status(id,
                    {"error", status::kPublishBadName,
                     slot ? "This message stream is in use." : "publish without createStream."});
        return false;
    }
    Result<StreamName> name = parse_name(command.arg(0).as_string());
    if (!name.ok()) {
        send_status(id, {"error", status::kPublishBadName, name.error().message()});
        return false;
    }
    slot->state = StreamState::kPublishAsked;
    slot->name = name->path();
    PublishRequest request;
    request.name = std::move(*name);
    const std::string_view type = command.arg(1).as_string();
    request.type = type == "record"   ? PublishType::kRecord
                   : type == "append" ? PublishType::kAppend
                                      : PublishType::kLive;
    event.kind = EventKind::kPublish;
    event.stream_id = id;
    event.data = std::move(request);
    return true;
}

bool ServerSession::on_play(const Message& message, const Command& command, Event& event) {
    const uint32_t id = message.stream_id;
    StreamSlot* slot = find_stream(id);
    if (slot && is_false(command.arg(0))) {
        return end_stream(*slot, true, event);
    }
    for (StreamSlot& ended : streams_) {
        if (ended.ended) {  // of a recording that was played to its end: another one may follow
            leave_state(ended);
        }
    }
    const bool playing = std::ranges::any_of(streams_, [](const StreamSlot& other) {
        return other.state == StreamState::kPlaying || other.state == StreamState::kPlayAsked;
    });
    if (!slot || playing || slot->state != StreamState::kIdle) {
        send_status(id,
                    {"error", status::kPlayFailed,
                     !slot     ? "play without createStream."
                     : playing ? "Only one stream can be played on a connection; open another one."
                               : "This message stream is in use."});
        return false;
    }
    Result<StreamName> name = parse_name(command.arg(0).as_string());
    if (!name.ok()) {
        send_status(id, {"error", status::kPlayFailed, name.error().message()});
        return false;
    }
    PlayRequest request;
    request.name = std::move(*name);
    request.start_ms = command.arg(1).as_number(-2);
    request.duration_ms = duration_of(request.start_ms, command.arg(2).as_number(-1));
    request.reset = command.arg(3).as_boolean(true);
    slot->state = StreamState::kPlayAsked;
    slot->name = request.name.path();
    slot->reset = request.reset;
    event.kind = EventKind::kPlay;
    event.stream_id = id;
    event.data = std::move(request);
    return true;
}

bool ServerSession::on_pause(const Message& message, const Command& command, Event& event) {
    if (!find_stream(message.stream_id, StreamState::kPlaying)) {
        return false;
    }
    event.kind = EventKind::kPause;
    event.stream_id = message.stream_id;
    event.data = PauseRequest{command.arg(0).as_boolean(), command.arg(1).as_number()};
    return true;
}

bool ServerSession::on_seek(const Message& message, const Command& command, Event& event) {
    if (!find_stream(message.stream_id, StreamState::kPlaying)) {
        return false;
    }
    event.kind = EventKind::kSeek;
    event.stream_id = message.stream_id;
    event.data = SeekRequest{command.arg(0).as_number()};
    return true;
}

bool ServerSession::on_delete_stream(const Message&, const Command& command, Event& event) {
    const uint32_t id = stream_id_of(command.arg(0));
    StreamSlot* slot = find_stream(id);
    if (!slot) {
        return false;
    }
    const bool ended = end_stream(*slot, false, event);
    std::erase_if(streams_, [id](const StreamSlot& other) { return other.id == id; });
    return ended;
}

bool ServerSession::on_close_stream(const Message& message, const Command&, Event& event) {
    StreamSlot* slot = find_stream(message.stream_id);
    return slot && end_stream(*slot, true, event);
}

bool ServerSession::on_close(const Message&, const Command&, Event& event) {
    state_ = State::kClosed;
    event.kind = EventKind::kClosed;
    event.stream_id = 0;
    event.data = std::monostate();
    return true;
}

// The slot becomes idle; `tell`: a publisher hears of it.
bool ServerSession::end_stream(StreamSlot& slot, bool tell, Event& event) {
    const StreamState state = leave_state(slot);
    const std::string name = std::exchange(slot.name, std::string());
    if (state == StreamState::kIdle) {
        return false;
    }
    const bool publisher = state == StreamState::kPublishing || state == StreamState::kPublishAsked;
    if (publisher && tell) {
        send_status(slot.id, {"status", status::kUnpublishSuccess,
                              name + " is not published any more.", name});
    }
    event.kind = publisher ? EventKind::kUnpublish : EventKind::kStop;
    event.stream_id = slot.id;
    event.data = std::monostate();
    return true;
}

}  // namespace weir::rtmp
