"""Takes secrets out of what scripts/diagnose collects. Rather too much than too little.

The server knows what is secret in its configuration, prints it without that (`weir --dump-config`), and lists the secrets
(`weir --print-secrets`), which are removed here wherever they turn up again. Besides, from what others have written into the
log: values of what has token, secret, password, key and the like in its name (key=value and "key": "value" pairs, JSON
members, headers), user and password in URLs, values in their queries and queries without names, private keys in PEM form.
"""

import json
import re
import urllib.parse

REMOVED = "[removed]"
EVERYWHERE = {"none", "true", "false", "auto", "http", "https", "rtmp", "live", "file", "publish", "play", "allow", "deny",
              "weir", "vhost", "stream"}

SECRET_NAME = re.compile(r"token|secret|(?<!by)pass(?!es|ed|ing|ive|thr)|pwd|psk|credential|auth|hmac|jwt|(?<![a-z])sid(?![a-z])|"
                         r"(?<![a-z])sign?(?![a-z])|signature|(?<!mon)key(?!_?frame|int|word)", re.IGNORECASE)
# Of a query: all others lose their values, since each service calls its signature by another name.
HARMLESS_QUERY = {"vhost", "app", "stream", "start", "count", "play", "transport", "autoplay", "check", "what", "seconds"}

PEM = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
USER_INFO = re.compile(r"([a-z][a-z0-9+.-]*://)([^\s\"'<>]*)@", re.IGNORECASE)
BARE_QUERY = re.compile(r"(://[^\s\"'<>?]*\?)([^\s\"'<>=&\[]+)(?=[\s\"'<>]|$)")
QUERY_ITEM = re.compile(r"([?&])([\w.%\[\]-]+)=([^&\s\"'<>]*)")
HEADER = re.compile(r"\b((?:proxy-)?authorization|cookie|set-cookie)(\"?\s*[:=]\s*)([^\r\n]*)", re.IGNORECASE)
SCHEME = re.compile(r"\b(bearer|basic)\s+([\w.~+/-]{8,}=*)", re.IGNORECASE)
PAIR = re.compile(r"([\"']?)([\w.-]+)\1(\s*[=:]\s*)(\[removed\]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s,;&}\]]+)")


def is_secret_name(name):
    return SECRET_NAME.search(name) is not None


class Redactor:
    def __init__(self):
        self.removed = 0
        self._known = set()

    def learn(self, value):
        """A secret of the configuration: it is removed wherever it stands from now on."""
        if value and value.lower() not in EVERYWHERE:
            self._known |= {value, urllib.parse.quote(value, safe=""), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}

    def _take(self):
        self.removed += 1
        return REMOVED

    def known(self, text):
        """Text of the server's own, without the secrets of its configuration."""
        for secret in sorted(self._known, key=len, reverse=True):
            self.removed += text.count(secret)
            text = text.replace(secret, REMOVED)
        return text

    def text(self, text):
        text = PEM.sub(lambda found: self._take(), self.known(text))
        text = USER_INFO.sub(lambda found: found[1] + self._take() + "@", text)
        text = QUERY_ITEM.sub(self._query_item, text)
        text = BARE_QUERY.sub(lambda found: found[1] + self._take(), text)
        text = HEADER.sub(self._header, text)
        text = SCHEME.sub(lambda found: f"{found[1]} {self._take()}", text)
        return PAIR.sub(self._pair, text)

    def _header(self, found):
        return found[1] + found[2] + self._take()

    def _query_item(self, found):
        if found[2].lower() in HARMLESS_QUERY or not found[3]:
            return found[0]
        return f"{found[1]}{found[2]}={self._take()}"

    def _pair(self, found):
        quote, name, between, value = found.groups()
        if not is_secret_name(name) or value.strip("\"'") == REMOVED:
            return found[0]
        mark = value[0] if value[0] in "\"'" else ""
        return f"{quote}{name}{quote}{between}{mark}{self._take()}{mark}"

    def json(self, value):
        """A parsed JSON value without its secrets."""
        if isinstance(value, dict):
            return {self.text(name): self._member(name, member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _member(self, name, value):
        if is_secret_name(name) and value not in ("", None) and not isinstance(value, bool):
            return self._take()
        return self.json(value)
