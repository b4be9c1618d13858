// Checks one statement and makes its value. Which function a type of value takes stands in
// value_types.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/config_number.h"
#include "base/config_parser.h"
#include "config/directives.h"
#include "config/value.h"
#include "config/value_words.h"

namespace weir::config {

// Each function reports at the word that is wrong.
class ValueParser {
  public:
    ValueParser(const Directive& directive,
                const Statement& statement,
                const ValueScope& scope,
                DiagnosticSink& sink)
        : directive_(directive), statement_(statement), scope_(scope), sink_(sink) {}

    std::optional<Value> parse();

    // ---- one for each type of value: false after a mistake, which is then reported ----

    bool parse_nothing(Value&) { return true; }  // a block; `include`, which Includer has done

    bool parse_flag(Value& value) { return parse_choice_of(value, "off|on"); }

    bool parse_choice(Value& value) { return parse_choice_of(value, directive_.choices); }

    bool parse_count(Value& value) { return parse_number(value, {}, 1); }

    bool parse_size(Value& value) { return parse_number(value, config_size_units(), 1); }

    bool parse_bitrate(Value& value) { return parse_number(value, config_rate_units(), 1); }

    bool parse_duration(Value& value) {
        return parse_number(value, config_duration_units(), directive_.unit);
    }

    bool parse_hosts(Value& value) { return parse_words(value, is_host_name); }

    bool parse_servers(Value& value) { return parse_words(value, is_server_name); }

    bool parse_origins(Value& value) { return parse_words(value, is_origin_pattern); }

    bool parse_frames(Value& value) { return parse_words(value, is_frame_source); }

    bool parse_user(Value& value) { return parse_words(value, is_account_name); }

    bool parse_login(Value& value) { return parse_login_at(value, 0); }

    bool parse_role_secret(Value& value) { return parse_role(value) && parse_secret_at(value, 1); }

    bool parse_role_login(Value& value) { return parse_role(value) && parse_login_at(value, 1); }

    // Each of the two kinds once.
    bool parse_keep(Value& value);
    bool parse_record_name(Value& value);
    bool parse_vhost(Value& value);
    // In the form in which names of streams are compared.
    bool parse_application(Value& value);
    bool parse_path(Value& value);
    bool parse_text(Value& value);
    bool parse_secrets(Value& value);
    // Addresses, then what holds for all of them.
    bool parse_listeners(Value& value);
    bool parse_networks(Value& value);
    bool parse_cores(Value& value);
    bool parse_addresses(Value& value);
    bool parse_rule(Value& value);
    // The URL goes into a Link field as it is.
    bool parse_ice_server(Value& value);
    // May hold a token of the operator's: what is wrong is said without showing it.
    bool parse_urls(Value& value);
    bool parse_shared_secret(Value& value);
    // As of parse_urls().
    bool parse_source_url(Value& value);
    bool parse_group_out(Value& value);
    bool parse_command(Value& value);
    bool parse_stream_names(Value& value);
    bool parse_stream_name(Value& value);
    bool parse_dial(Value& value);
    bool parse_sip_domains(Value& value);
    bool parse_port_range(Value& value);
    bool parse_extension(Value& value);
    bool parse_call_targets(Value& value);
    bool parse_sip_user(Value& value);
    bool parse_sip_servers(Value& value);
    // `words`: prefix, registration, max_calls, strip, then the users.
    bool parse_outside(Value& value);

  private:
    const Token& word(size_t i = 0) const { return statement_.arguments[i]; }

    bool fail(const Token& token, std::string_view expected, std::string_view hint = "");
    // As messages show it: without what may be a secret.
    std::string shown(const Token& token) const;
    bool count_fits();
    bool parse_choice_of(Value& value, std::string_view choices);
    bool parse_number(Value& value, std::span<const ConfigUnit> units, uint64_t bare);
    bool parse_words(Value& value, bool (*is_good)(std::string_view));
    bool parse_secret_at(Value& value, size_t at);
    bool parse_login_at(Value& value, size_t at);
    bool parse_role(Value& value);
    void add_listener(Value& value, const Token& token, std::string address);
    std::string origin() const;
    // 10.1.2.3/8 says two things at once; which one was meant only its author knows.
    bool network_is_exact(const Token& token, const IpNetwork& network);

    const Directive& directive_;
    const Statement& statement_;
    const ValueScope& scope_;
    DiagnosticSink& sink_;
};

}  // namespace weir::config
