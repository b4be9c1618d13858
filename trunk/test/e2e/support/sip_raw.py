"""A telephone whose messages are written one by one, so that it can break off anywhere. UDP or TCP, one call at a time."""

import hashlib
import re
import secrets
import socket

HERE, ELSEWHERE = "127.0.0.1", "127.0.0.2"


class NoMessage(Exception):
    """Nothing more has come."""


class Message:
    def __init__(self, text):
        head, _, self.body = text.partition("\r\n\r\n")
        self.first, *self.lines = head.split("\r\n")
        self.status = int(self.first.split()[1]) if self.first.startswith("SIP/2.0") else 0
        self.method = "" if self.status else self.first.split()[0]

    def all(self, name):
        return [line.partition(":")[2].strip() for line in self.lines if line.lower().startswith(name.lower() + ":")]

    def __getitem__(self, name):
        return next(iter(self.all(name)), "")


class RawPhone:
    def __init__(self, port, transport="udp", address=HERE, user="raw"):
        self.transport, self.user = transport, user
        kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.bind((address, 0))
        self.socket.connect((HERE, port))
        self.media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media.bind((address, 0))
        self.address, self.own_port = self.socket.getsockname()
        self.server, self.rest = f"{HERE}:{port}", b""
        self.call_id, self.tag, self.number = secrets.token_hex(8), secrets.token_hex(4), ""
        self.remote, self.cseq, self.branch, self.to_media = "", 0, "", None
        self.known = set()  # Call-IDs of others

    def close(self):
        self.socket.close()
        self.media.close()

    def __enter__(self):
        return self

    def __exit__(self, *how):
        self.close()

    # ---- out ----

    def sdp(self, direction="sendrecv", more=""):
        return (f"v=0\r\no=- 1 1 IN IP4 {self.address}\r\ns=-\r\nc=IN IP4 {self.address}\r\nt=0 0\r\n"
                f"m=audio {self.media.getsockname()[1]} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na={direction}\r\n{more}")

    def send(self, text):
        self.socket.sendall(text.encode())

    def request(self, method, body="", cseq=None, branch=None, fields=""):
        """Sends it. ACK and CANCEL have the number, and where it matters the branch, of their INVITE."""
        if cseq is None:
            self.cseq += 1
        self.branch = branch or "z9hG4bK" + secrets.token_hex(8)
        kind = "Content-Type: application/sdp\r\n" if body else ""
        self.send(f"{method} sip:{self.number}@{self.server} SIP/2.0\r\n"
                  f"Via: SIP/2.0/{self.transport.upper()} {self.address}:{self.own_port};branch={self.branch};rport\r\n"
                  f"Max-Forwards: 70\r\nFrom: <sip:{self.user}@{self.address}>;tag={self.tag}\r\n"
                  f"To: <sip:{self.number}@{self.server}>{self.remote}\r\nCall-ID: {self.call_id}\r\n"
                  f"CSeq: {cseq or self.cseq} {method}\r\n"
                  f"Contact: <sip:{self.user}@{self.address}:{self.own_port};transport={self.transport}>\r\n"
                  f"{fields}{kind}Content-Length: {len(body)}\r\n\r\n{body}")

    def invite(self, number, body=None):
        self.number = number
        self.request("INVITE", self.sdp() if body is None else body)

    def ack(self):
        self.request("ACK", cseq=self.cseq)

    def cancel(self):
        self.request("CANCEL", cseq=self.cseq, branch=self.branch)

    def answer(self, request, status, body=""):
        """A request of the server's."""
        copied = "".join(f"{name}: {value}\r\n" for name in ("Via", "From", "Call-ID", "CSeq") for value in request.all(name))
        kind = "Content-Type: application/sdp\r\n" if body else ""
        self.send(f"SIP/2.0 {status} Whatever\r\n{copied}To: {request['To']};tag={self.tag}\r\n"
                  f"Contact: <sip:{self.user}@{self.address}:{self.own_port}>\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}")

    def say(self, packets=10):
        for number in range(packets):
            self.media.sendto(b"\x80\x00" + number.to_bytes(2, "big") + (160 * number).to_bytes(4, "big") + b"\0\0\0\1" + b"\x55" * 160,
                              self.to_media)

    # ---- in ----

    def next(self, seconds=10):
        self.socket.settimeout(seconds)
        try:
            if self.transport == "udp":
                return Message(self.socket.recv(65536).decode())
            while b"\r\n\r\n" not in self.rest:
                self._more()
            head = self.rest.partition(b"\r\n\r\n")[0].decode()
            length = len(head) + 4 + int(re.search(r"(?im)^Content-Length: *(\d+)", head).group(1))
            while len(self.rest) < length:
                self._more()
            message, self.rest = self.rest[:length], self.rest[length:]
            return Message(message.decode())
        except (TimeoutError, ConnectionError) as error:
            raise NoMessage(str(error)) from None

    def _more(self):
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("closed")
        self.rest += more

    def wait_status(self, least=200):
        """The next answer with at least that status, to the last request but one of ACK."""
        while True:
            message = self.next()
            if message.status >= least and message["CSeq"].startswith(f"{self.cseq} "):
                if found := re.search(r";tag=[^;>]+", message["To"]):
                    self.remote = found.group(0)
                if port := re.search(r"(?m)^m=audio (\d+)", message.body):
                    self.to_media = (HERE, int(port.group(1)))
                return message

    def wait_invite(self):
        """Of a call that is new: an earlier one is sent again as long as nobody answers it."""
        while (message := self.next()).method != "INVITE" or message["Call-ID"] in self.known:
            pass
        self.known.add(message["Call-ID"])
        return message

    # ---- whole steps ----

    def talk(self, number):
        """A call that is answered."""
        self.invite(number)
        answer = self.wait_status()
        assert answer.status == 200, answer.first
        self.ack()

    def register(self, password, realm="weir"):
        self.number = self.user
        self.request("REGISTER", fields="Expires: 3600\r\n")
        challenge = self.wait_status()
        nonce = re.search(r'nonce="([^"]+)"', challenge["WWW-Authenticate"]).group(1)
        uri = f"sip:{self.number}@{self.server}"

        def md5(text):
            return hashlib.md5(text.encode()).hexdigest()

        secret = md5(f"{md5(f'{self.user}:{realm}:{password}')}:{nonce}:00000001:abcd:auth:{md5(f'REGISTER:{uri}')}")
        self.remote = ""
        self.request("REGISTER", fields=f'Expires: 3600\r\nAuthorization: Digest username="{self.user}", realm="{realm}", nonce="{nonce}", '
                     f'uri="{uri}", qop=auth, nc=00000001, cnonce="abcd", response="{secret}"\r\n')
        assert self.wait_status().status == 200
        self.remote = ""
