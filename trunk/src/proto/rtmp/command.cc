#include "proto/rtmp/command.h"

#include <utility>

#include "proto/rtmp/message.h"

namespace weir::rtmp {
namespace {

// What Flash Media Server answers; clients compare the version only with old ones.
constexpr std::string_view kServerVersion = "FMS/3,5,7,7009";
constexpr double kCapabilities = 31;

// Enhanced RTMP v2 "Enhancing NetConnection connect Command".
constexpr double kCanForward = 4;
constexpr double kCapsMultitrack = 2;
constexpr double kCapsModEx = 4;

// Everything is passed through untouched, so the wildcard says it all.
void write_enhanced_caps(amf::Writer& writer) {
    writer.key("fourCcList").begin_strict_array(1).string("*");
    writer.key("videoFourCcInfoMap").begin_object().key("*").number(kCanForward).end_object();
    writer.key("audioFourCcInfoMap").begin_object().key("*").number(kCanForward).end_object();
    writer.key("capsEx").number(kCapsMultitrack + kCapsModEx);
}

void write_info(const Status& status, amf::Writer& writer) {
    writer.begin_object();
    writer.key("level").string(status.level);
    writer.key("code").string(status.code);
    writer.key("description").string(status.description);
    if (!status.details.empty()) {
        writer.key("details").string(status.details);
    }
    writer.end_object();
}

}  // namespace

const amf::Value& Command::arg(size_t index) const {
    static const amf::Value kNull;
    return index < args.size() ? args[index] : kNull;
}

ByteSpan amf0_part(uint8_t type, ByteSpan body) {
    // The format selector of the AMF3 types is 0 for AMF0, the only one that is defined; some
    // clients leave it out.
    const bool amf3 = type == kCommandAmf3 || type == kDataAmf3;
    return amf3 && !body.empty() && body.front() == 0 ? body.subspan(1) : body;
}

Result<Command> parse_command(uint8_t type, ByteSpan body) {
    ByteReader reader(amf0_part(type, body));
    Command command;
    WEIR_TRY_ASSIGN(amf::Value name, amf::parse(reader));
    if (!name.is_string() || name.as_string().empty()) {
        return make_error(ErrorCode::kMalformed, "a command without a name");
    }
    if (name.as_string().size() > kMaxCommandNameSize) {
        return make_error(ErrorCode::kLimit, "a command name of {} bytes", name.as_string().size());
    }
    command.name = name.as_string();
    if (reader.empty()) {
        return command;
    }
    WEIR_TRY_ASSIGN(amf::Value transaction, amf::parse(reader));
    command.transaction = transaction.as_number();
    if (reader.empty()) {
        return command;
    }
    WEIR_TRY_ASSIGN(command.object, amf::parse(reader));
    WEIR_TRY_ASSIGN(command.args, amf::parse_all(reader.rest()));
    return command;
}

void write_connect_result(const ConnectAnswer& answer, Bytes& out) {
    amf::Writer writer(out);
    writer.string("_result").number(answer.transaction);
    writer.begin_object();
    writer.key("fmsVer").string(kServerVersion);
    writer.key("capabilities").number(kCapabilities);
    writer.key("mode").number(1);
    if (answer.enhanced) {
        write_enhanced_caps(writer);
    }
    writer.end_object();
    writer.begin_object();
    writer.key("level").string("status");
    writer.key("code").string(status::kConnectSuccess);
    writer.key("description").string("Connection succeeded.");
    writer.key("objectEncoding").number(answer.object_encoding);
    if (answer.enhanced) {
        // The specification says "an object as one of the parameters": clients look into either.
        write_enhanced_caps(writer);
    }
    writer.end_object();
}

void write_connect_error(double transaction, const Status& status, Bytes& out) {
    amf::Writer writer(out);
    writer.string("_error").number(transaction).null();
    write_info(status, writer);
}

void write_on_status(const Status& status, Bytes& out) {
    write_named_status("onStatus", status, out);
}

void write_named_status(std::string_view command, const Status& status, Bytes& out) {
    amf::Writer writer(out);
    writer.string(command).number(0).null();
    write_info(status, writer);
}

void write_create_stream_result(double transaction, uint32_t stream_id, Bytes& out) {
    write_number_result(transaction, stream_id, out);
}

void write_number_result(double transaction, double value, Bytes& out) {
    amf::Writer(out).string("_result").number(transaction).null().number(value);
}

void write_empty_result(double transaction, Bytes& out) {
    amf::Writer(out).string("_result").number(transaction).null().null();
}

void write_call_failed(double transaction, std::string_view description, Bytes& out) {
    write_connect_error(transaction, {"error", status::kCallFailed, description}, out);
}

void write_call(std::string_view name, std::span<const amf::Value> arguments, Bytes& out) {
    amf::Writer writer(out);
    writer.string(name).number(0).null();
    for (const amf::Value& argument : arguments) {
        writer.value(argument);
    }
}

void write_play_status(std::string_view code, Bytes& out) {
    amf::Writer writer(out);
    writer.string("onPlayStatus").begin_object();
    writer.key("level").string("status");
    writer.key("code").string(code);
    writer.end_object();
}

void write_sample_access(Bytes& out) {
    amf::Writer(out).string("|RtmpSampleAccess").boolean(true).boolean(true);
}

}  // namespace weir::rtmp
