"""Publishes nothing by librtmp, as OBS does: its handshake, its login, its publish command. Exit code 0: accepted.

    python librtmp_publish.py "rtmp://host/app/stream pubUser=NAME pubPasswd=PASSWORD"
"""

import ctypes
import os
import sys


def main():
    rtmp = ctypes.CDLL("librtmp.so.1")
    rtmp.RTMP_Alloc.restype = ctypes.c_void_p
    for name in ("RTMP_Init", "RTMP_SetupURL", "RTMP_EnableWrite", "RTMP_Connect", "RTMP_ConnectStream", "RTMP_Close"):
        getattr(rtmp, name).argtypes = {"RTMP_SetupURL": [ctypes.c_void_p, ctypes.c_char_p],
                                        "RTMP_Connect": [ctypes.c_void_p, ctypes.c_void_p],
                                        "RTMP_ConnectStream": [ctypes.c_void_p, ctypes.c_int]}.get(name, [ctypes.c_void_p])
    session = rtmp.RTMP_Alloc()
    rtmp.RTMP_Init(session)
    url = ctypes.create_string_buffer(sys.argv[1].encode())  # it keeps pointers into it
    done = (rtmp.RTMP_SetupURL(session, url) and (rtmp.RTMP_EnableWrite(session) or True)
            and rtmp.RTMP_Connect(session, None) and rtmp.RTMP_ConnectStream(session, 0))
    # At once: Debian's build writes behind a buffer when it logs in, and may notice when it frees it.
    os._exit(0 if done else 1)


if __name__ == "__main__":
    main()
