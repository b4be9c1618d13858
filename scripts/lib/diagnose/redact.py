"""Takes secrets out of what scripts/diagnose collects. Rather too much than too little.

Removed are: values of what has token, secret, password, key and the like in its name (directives, key=value and
"key": "value" pairs, JSON members, headers), user and password in URLs, values in their queries and queries without names,
private keys in PEM form, and wherever they turn up again the values that the configuration had in such places.
"""

import json
import re
import urllib.parse

REMOVED = "[removed]"
LEAST_KNOWN = 4  # letters of a configured secret that is looked for elsewhere: shorter ones are in every other word
LEAST_QUERY = 8  # the same for a value of a query whose name says nothing: json, true
EVERYWHERE = {"none", "true", "false", "auto", "http", "https", "rtmp", "live", "file", "publish", "play", "allow", "deny",
              "weir", "vhost", "stream"}

SECRET_NAME = re.compile(r"token|secret|(?<!by)pass(?!es|ed|ing|ive|thr)|pwd|psk|credential|auth|hmac|jwt|(?<![a-z])sid(?![a-z])|"
                         r"(?<![a-z])sign?(?![a-z])|signature|(?<!mon)key(?!_?frame|int|word)", re.IGNORECASE)
# Directives whose first value is an address and whose others are user and password.
ADDRESS_FIRST = {"ice_server"}
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
        """A secret in its own right: it is removed wherever it stands from now on."""
        if len(value) >= LEAST_KNOWN and value != REMOVED and value.lower() not in EVERYWHERE:
            self._known |= {value, urllib.parse.quote(value, safe=""), json.dumps(value)[1:-1]}

    def _take(self, value, learn):
        self.removed += 1
        if learn:
            self.learn(value)
        return REMOVED

    def text(self, text, learn=False):
        for secret in sorted(self._known, key=len, reverse=True):
            self.removed += text.count(secret)
            text = text.replace(secret, REMOVED)
        text = PEM.sub(lambda found: self._take("", False), text)
        text = USER_INFO.sub(lambda found: found[1] + self._user_info(found[2], learn) + "@", text)
        text = QUERY_ITEM.sub(lambda found: self._query_item(found, learn), text)
        text = BARE_QUERY.sub(lambda found: found[1] + self._take(urllib.parse.unquote(found[2]), learn), text)
        text = HEADER.sub(lambda found: self._header(found, learn), text)
        text = SCHEME.sub(lambda found: f"{found[1]} {self._take(found[2], learn)}", text)
        return PAIR.sub(lambda found: self._pair(found, learn), text)

    def _user_info(self, info, learn):
        user, _, password = info.partition(":")
        return self._take(urllib.parse.unquote(password or user), learn)

    def _header(self, found, learn):
        value = found[3].strip(" \t\"';")
        return found[1] + found[2] + self._take(value.rpartition(" ")[2], learn)

    def _query_item(self, found, learn):
        if found[2].lower() in HARMLESS_QUERY or not found[3]:
            return found[0]
        telling = is_secret_name(found[2]) or len(found[3]) >= LEAST_QUERY
        return f"{found[1]}{found[2]}={self._take(urllib.parse.unquote(found[3]), learn and telling)}"

    def _pair(self, found, learn):
        quote, name, between, value = found.groups()
        if not is_secret_name(name) or value.strip("\"'") == REMOVED:
            return found[0]
        mark = value[0] if value[0] in "\"'" else ""
        return f"{quote}{name}{quote}{between}{mark}{self._take(value.strip(mark) if mark else value, learn)}{mark}"

    def json(self, value):
        """A parsed JSON value without its secrets."""
        if isinstance(value, dict):
            return {self.text(name): self._member(name, member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _member(self, name, value):
        if is_secret_name(name) and value not in ("", None) and not isinstance(value, bool):
            return self._take("", False)
        return self.json(value)

    def variable(self, name, value):
        """One of an environment."""
        return self._take(value, True) if is_secret_name(name) and value else self.text(value)

    def config(self, text):
        """A configuration of Weir without its secrets and without its comments (who knows what is in them)."""
        # Once more for what stands before the directive that calls it a secret.
        return self.text(_Config(self, text).out())


class _Config:
    """Reads as base/config_lexer.h does; a broken file too."""

    WORD = re.compile(r"\"(?:[^\"\\\n]|\\.)*(?:\"|(?=\n)|\Z)|'(?:[^'\\\n]|\\.)*(?:'|(?=\n)|\Z)|[^\s;{}\"'#][^\s;{}]*")

    def __init__(self, redactor, text):
        self.redactor = redactor
        self.text = text

    def out(self):
        out, at = [], 0
        name, secret, blocks = None, False, []  # blocks: whether all values in them are secret
        while at < len(self.text):
            letter = self.text[at]
            word = self.WORD.match(self.text, at)
            if letter == "#":
                end = self.text.find("\n", at)
                at = len(self.text) if end < 0 else end
                continue
            if word is None:
                if letter == "{":
                    blocks.append(secret)
                elif letter == "}" and blocks:
                    blocks.pop()
                if letter in ";{}":
                    name, secret = None, False
                out.append(letter)
                at += 1
                continue
            if name is None:
                name = word[0]
                secret = is_secret_name(name) or any(blocks)
                out.append(self.redactor.text(name))
            elif secret:
                out.append(self.redactor._take(self._plain(word[0]), True))
            else:
                out.append(self.redactor.text(word[0], learn=True))
                secret = name in ADDRESS_FIRST
            at = word.end()
        return "".join(out)

    @staticmethod
    def _plain(word):
        if word[0] not in "\"'":
            return word
        body = word[1:-1] if len(word) > 1 and word[-1] == word[0] else word[1:]
        return re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), body)
