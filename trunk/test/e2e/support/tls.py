"""Certificates, a server with TLS and proxy listeners, and headers of the PROXY protocol made by hand."""

import socket
import ssl
import struct

from media import run
from weir import TOP, free_port

V2_SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def certificate(folder, name="server", names=("localhost",), key="ec", days=30):
    """A self-signed pair NAME.pem and NAME.key; replaces what was there at once, as certbot does."""
    kind = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if key == "ec" else ["rsa:2048"]
    subject = ",".join([f"DNS:{each}" for each in names] + ["IP:127.0.0.1"])
    run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-days", days, "-subj", f"/CN={names[0]}",
         "-addext", f"subjectAltName={subject}", "-keyout", folder / f"{name}.key.new", "-out", folder / f"{name}.pem.new"])
    (folder / f"{name}.key.new").chmod(0o600)
    (folder / f"{name}.key.new").rename(folder / f"{name}.key")
    (folder / f"{name}.pem.new").rename(folder / f"{name}.pem")
    return folder / f"{name}.pem"


def tls_weir(new_weir, folder, extra="", certificates=("server",), proxies=""):
    """A server that listens with and without TLS, and behind proxies; certificates NAME.pem are in the folder."""
    server = new_weir()
    server.rtmps_port, server.https_port, server.apis_port = free_port(), free_port(), free_port()
    server.proxy_rtmp_port, server.proxy_http_port, server.proxy_https_port = free_port(), free_port(), free_port()
    pairs = "\n".join(f'ssl_certificate "{folder}/{name}.pem"; ssl_certificate_key "{folder}/{name}.key";'
                      for name in certificates)
    server.config_path.write_text(
        f"listen 127.0.0.1:{server.rtmp_port};\nlisten 127.0.0.1:{server.rtmps_port} ssl;\n"
        f"listen 127.0.0.1:{server.proxy_rtmp_port} proxy_protocol;\n{pairs}\nssl_certificate_watch 1s;\n{proxies}\n"
        f"http_server {{ listen 127.0.0.1:{server.http_port}; listen 127.0.0.1:{server.https_port} tls;\n"
        f"listen 127.0.0.1:{server.proxy_http_port} proxy_protocol;\n"
        f'listen 127.0.0.1:{server.proxy_https_port} ssl proxy_protocol; dir "{TOP}/objs/www"; }}\n'
        f"http_api {{ listen 127.0.0.1:{server.api_port}; listen 127.0.0.1:{server.apis_port} ssl; }}\n{extra}\n")
    server.rtmps = lambda path="live/livestream": f"rtmps://127.0.0.1:{server.rtmps_port}/{path}"
    server.https = lambda path="/live/livestream.flv": f"https://127.0.0.1:{server.https_port}{path}"
    return server


def v2_header(source, port=4242, command=1, tlv=b""):
    """PROXY protocol version 2: a client at that IPv4 address."""
    body = socket.inet_aton(source) + socket.inet_aton("127.0.0.1") + struct.pack(">HH", port, 1935) + tlv
    return V2_SIGNATURE + bytes([0x20 | command, 0x11]) + struct.pack(">H", len(body)) + body


def blind_context():
    """A client that takes any certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def connect(port, before=b"", tls=False, name="localhost"):
    """A socket that has sent `before`, and shaken hands after it."""
    plain = socket.create_connection(("127.0.0.1", port), 10)
    plain.sendall(before)
    return blind_context().wrap_socket(plain, server_hostname=name) if tls else plain


def get(stream, path, fields=""):
    """One HTTP request on a connected socket; the whole answer."""
    stream.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n".encode())
    answer = b""
    while chunk := stream.recv(65536):
        answer += chunk
    return answer.decode(errors="replace")
