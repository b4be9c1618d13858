"""GStreamer's RTSP server with one stream, for tests of the RTSP client. Run by Debian's Python, which has its bindings:

    /usr/bin/python3 gst_rtsp_server.py PORT LAUNCH [USER PASSWORD]

LAUNCH: elements that end in payloaders named pay0, pay1. Prints "ready".
"""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtsp", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402  the versions come first


def main(port, launch, user="", password=""):
    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(f"( {launch} )")
    factory.set_shared(False)  # a client that plays a file from its beginning would take all others along
    if user:
        auth = GstRtspServer.RTSPAuth()
        auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
        token = GstRtspServer.RTSPToken()
        token.set_string("media.factory.role", "user")
        auth.add_digest(user, password, token)
        server.set_auth(auth)
        permissions = GstRtspServer.RTSPPermissions()
        permissions.add_permission_for_role("user", "media.factory.access", True)
        permissions.add_permission_for_role("user", "media.factory.construct", True)
        factory.set_permissions(permissions)
    server.get_mount_points().add_factory("/live/main", factory)
    assert server.attach(None) > 0, "the port is in use"
    print("ready", flush=True)
    GLib.MainLoop().run()


main(*sys.argv[1:])
