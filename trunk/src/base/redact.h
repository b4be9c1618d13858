// URLs as logs and the API may show them: without the secrets that clients put into them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

// "rtmp://u:p@host/live?vhost=a&key=x" -> "rtmp://***@host/live?vhost=a&key=***". Values of key,
// token, password and the like are replaced wherever "?name=" or "&name=" stands, also where a
// client has written a second '?'. The rest stays as it is, so it must still be escaped.
std::string redacted_url(std::string_view url);

// What an operator configured: "http://u:p@host/hook?a=b" -> "http://***@host/hook?***". Each
// service has names of its own for its tokens, so no value of the query is shown. A login ends at
// the last '@' in front of the first '/', also behind a '?' or '#'. A text without "://" stays.
std::string hidden_url(std::string_view url);

// The same without the path, which is a key of many services: "http://u:p@host/hook/key?a=b" ->
// "http://***@host/***".
std::string hidden_path(std::string_view url);

// The path that hidden_path() leaves out, without its first '/'; empty: there is none.
std::string path_of_url(std::string_view url);

// What hidden_url() leaves out: user and password (also decoded), and the values of the query.
std::vector<std::string> secrets_of_url(std::string_view url);

// What may be secret in an argument of a program besides the whole: secrets_of_url() of each
// address in it ("[f=flv]rtmp://a/app/key|[f=flv]rtmp://b/app/key"), the last word of each path,
// which is a stream key, and the value of "-option=value". Also what is none, such as an ordinary
// name.
std::vector<std::string> secrets_of_argument(std::string_view word);

// Whether a parameter of that name holds a secret.
bool is_secret_parameter(std::string_view name);

}  // namespace weir
