#include "proto/cluster/scripts.h"

#include <fmt/format.h>

#include "base/hmac.h"
#include "base/strings.h"

namespace weir::cluster {
namespace {

// Values of other types than text, and texts that are no records, count as none: the next claim
// writes over them. GET of such a value is an error, which pcall gives back as a table.
constexpr std::string_view kRead = R"(
local function text(key, most)
  local v = redis.pcall('GET', key)
  if type(v) == 'string' and #v <= most then return v end
  return nil
end
local function record()
  local v = text(KEYS[1], 256)
  if v then
    local n, b, e, s = string.match(v, '^([%w%.%-_]+) (%w+) (%d+) (%d+)$')
    if n and #e <= 15 and #s <= 15 then return n, b, e, s end
  end
  return nil
end
local function alive(node, boot)
  local v = text('{weir}:n:' .. node, 1024)
  return v ~= nil and string.sub(v, 1, #boot + 1) == boot .. ' '
end
local function tell(what, epoch, node)
  redis.call('PUBLISH', '{weir}:ev', what .. ' ' .. string.sub(KEYS[1], 10) .. ' ' .. epoch .. ' ' .. node)
end
)";

// A former boot of this node at the same address has gone: two processes cannot listen there. Who
// has held the lease, and finds another, is not alone with its name.
constexpr std::string_view kBeat = R"(
local v = text(KEYS[1], 1024)
local boot, url
if v then boot, url = string.match(v, '^(%w+) (%S+) ') end
if boot and boot ~= ARGV[1] and (ARGV[4] == '1' or url == '-' or url ~= ARGV[5]) then return {2} end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if boot == ARGV[1] then return {0} end
return {1}
)";

constexpr std::string_view kLeave = R"(
local v = text(KEYS[1], 1024)
if v and string.sub(v, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then redis.call('DEL', KEYS[1]) end
return {0}
)";

// ARGV: node, boot, refuse|takeover, least epoch, life in ms
constexpr std::string_view kClaim = R"(
local n, b, e = record()
if n and not (n == ARGV[1] and b == ARGV[2]) and ARGV[3] == 'refuse' and alive(n, b) then
  return {0, n, e}
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local epoch = math.max(now, (tonumber(e) or 0) + 1, tonumber(ARGV[4]))
local shown = string.format('%.0f', epoch)
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. shown .. ' ' .. string.format('%.0f', now), 'PX', ARGV[5])
tell('claim', shown, ARGV[1])
return {1, ARGV[1], shown}
)";

// ARGV: node, boot, epoch, since, life in ms
constexpr std::string_view kRenew = R"(
local n, b, e = record()
if n and not (n == ARGV[1] and b == ARGV[2]) and tonumber(e) >= tonumber(ARGV[3]) then
  return {0, n, e}
end
if n and n == ARGV[1] and b == ARGV[2] and tonumber(e) > tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  return {1, n, e}
end
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4], 'PX', ARGV[5])
if not (n == ARGV[1] and b == ARGV[2] and e == ARGV[3]) then tell('claim', ARGV[3], ARGV[1]) end
return {1, ARGV[1], ARGV[3]}
)";

// ARGV: node, boot, epoch or 0
constexpr std::string_view kRelease = R"(
local n, b, e = record()
if n == ARGV[1] and b == ARGV[2] and (ARGV[3] == '0' or e == ARGV[3]) then
  redis.call('DEL', KEYS[1])
  tell('release', e, n)
end
return {0}
)";

constexpr std::string_view kLookup = R"(
local n, b, e, s = record()
if not n then return {redis.call('EXISTS', KEYS[1]) == 0 and 0 or 2} end
local key = '{weir}:n:' .. n
local v = text(key, 1024)
if not v then return {redis.call('EXISTS', key) == 0 and 0 or 2} end
if string.sub(v, 1, #b + 1) ~= b .. ' ' then return {0} end
return {1, n .. ' ' .. b .. ' ' .. e .. ' ' .. s, v}
)";

// ARGV: node, boot and epoch of the record; least epoch, life in ms
constexpr std::string_view kRaise = R"(
local n, b, e, s = record()
if n ~= ARGV[1] or b ~= ARGV[2] or e ~= ARGV[3] then return {0, n or ARGV[1], e or ARGV[3]} end
local t = redis.call('TIME')
local shown = string.format('%.0f', math.max(t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[4])))
redis.call('SET', KEYS[1], n .. ' ' .. b .. ' ' .. shown .. ' ' .. s, 'PX', ARGV[5])
tell('claim', shown, n)
return {1, n, shown}
)";

Script make(std::string_view body) {
    Script script;
    script.text = std::string(kRead) + std::string(body);
    script.digest = hex(sha1(as_bytes(script.text)));
    return script;
}

redis::Command on(std::string key) {
    return {"1", std::move(key)};
}

// The first element, a small number.
std::optional<int64_t> verdict(const redis::Reply& reply) {
    if (!reply.is_array(1) || reply.elements[0].type != redis::ReplyType::kInteger) {
        return std::nullopt;
    }
    return reply.elements[0].integer;
}

}  // namespace

const Script& beat_script() {
    static const Script script = make(kBeat);
    return script;
}

const Script& leave_script() {
    static const Script script = make(kLeave);
    return script;
}

const Script& claim_script() {
    static const Script script = make(kClaim);
    return script;
}

const Script& renew_script() {
    static const Script script = make(kRenew);
    return script;
}

const Script& release_script() {
    static const Script script = make(kRelease);
    return script;
}

const Script& lookup_script() {
    static const Script script = make(kLookup);
    return script;
}

const Script& raise_script() {
    static const Script script = make(kRaise);
    return script;
}

redis::Command run_by_digest(const Script& script, redis::Command keys_and_arguments) {
    redis::Command command{"EVALSHA", script.digest};
    command.insert(command.end(), std::make_move_iterator(keys_and_arguments.begin()),
                   std::make_move_iterator(keys_and_arguments.end()));
    return command;
}

redis::Command with_text(const Script& script, redis::Command by_digest) {
    by_digest[0] = "EVAL";
    by_digest[1] = script.text;
    return by_digest;
}

redis::Command beat(const NodeIdentity& self,
                    const NodeRecord& record,
                    int64_t lease_ms,
                    bool held) {
    redis::Command words = on(node_key(self.node));
    words.push_back(self.boot);
    words.push_back(record.write());
    words.push_back(std::to_string(lease_ms));
    words.emplace_back(held ? "1" : "0");
    words.push_back(record.url.empty() ? "-" : record.url);
    return run_by_digest(beat_script(), std::move(words));
}

std::optional<Beat> parse_beat(const redis::Reply& reply) {
    const std::optional<int64_t> answer = verdict(reply);
    if (!answer || *answer < 0 || *answer > 2) {
        return std::nullopt;
    }
    return static_cast<Beat>(*answer);
}

redis::Command leave(const NodeIdentity& self) {
    redis::Command words = on(node_key(self.node));
    words.push_back(self.boot);
    return run_by_digest(leave_script(), std::move(words));
}

redis::Command say_relays(const NodeIdentity& self, std::string record, int64_t life_ms) {
    if (record.empty()) {
        return {"DEL", relays_key(self.node)};
    }
    return {"SET", relays_key(self.node), std::move(record), "PX", std::to_string(life_ms)};
}

redis::Command claim(const NodeIdentity& self,
                     std::string_view stream,
                     bool takeover,
                     uint64_t least_epoch) {
    redis::Command words = on(stream_key(stream));
    words.push_back(self.node);
    words.push_back(self.boot);
    words.emplace_back(takeover ? "takeover" : "refuse");
    words.push_back(std::to_string(least_epoch));
    words.push_back(std::to_string(kStreamLifeMs));
    return run_by_digest(claim_script(), std::move(words));
}

redis::Command renew(const NodeIdentity& self,
                     std::string_view stream,
                     uint64_t epoch,
                     uint64_t since_ms) {
    redis::Command words = on(stream_key(stream));
    words.push_back(self.node);
    words.push_back(self.boot);
    words.push_back(std::to_string(epoch));
    words.push_back(std::to_string(since_ms));
    words.push_back(std::to_string(kStreamLifeMs));
    return run_by_digest(renew_script(), std::move(words));
}

redis::Command release(const NodeIdentity& self, std::string_view stream, uint64_t epoch) {
    redis::Command words = on(stream_key(stream));
    words.push_back(self.node);
    words.push_back(self.boot);
    words.push_back(std::to_string(epoch));
    return run_by_digest(release_script(), std::move(words));
}

redis::Command lookup(std::string_view stream) {
    return run_by_digest(lookup_script(), on(stream_key(stream)));
}

redis::Command raise(std::string_view stream, const StreamRecord& record, uint64_t least_epoch) {
    redis::Command words = on(stream_key(stream));
    words.push_back(record.node);
    words.push_back(record.boot);
    words.push_back(std::to_string(record.epoch));
    words.push_back(std::to_string(least_epoch));
    words.push_back(std::to_string(kStreamLifeMs));
    return run_by_digest(raise_script(), std::move(words));
}

std::optional<ClaimAnswer> parse_claim(const redis::Reply& reply) {
    const std::optional<int64_t> answer = verdict(reply);
    if (!answer || *answer < 0 || *answer > 1 || !reply.is_array(3)) {
        return std::nullopt;
    }
    const std::optional<uint64_t> epoch = parse_uint(reply.elements[2].text, 1, kMaxEpoch);
    if (!epoch || !is_node_name(reply.elements[1].text)) {
        return std::nullopt;
    }
    return ClaimAnswer{*answer == 1, reply.elements[1].text, *epoch};
}

std::optional<LookupAnswer> parse_lookup(const redis::Reply& reply) {
    const std::optional<int64_t> answer = verdict(reply);
    if (!answer || *answer < 0 || *answer > 2) {
        return std::nullopt;
    }
    LookupAnswer found;
    if (*answer == 0) {
        return found;
    }
    found.found = Found::kUnreadable;
    if (*answer == 1 && reply.is_array(3)) {
        std::optional<StreamRecord> stream = StreamRecord::parse(reply.elements[1].text);
        std::optional<NodeRecord> node = NodeRecord::parse(reply.elements[2].text);
        if (stream && node) {
            found.found = Found::kNode;
            found.stream = std::move(*stream);
            found.node = std::move(*node);
        }
    }
    return found;
}

}  // namespace weir::cluster
