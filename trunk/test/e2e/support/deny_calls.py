"""Runs a program in a sandbox that forbids system calls: deny_calls.py CALL[,CALL...] PROGRAM [ARGUMENT...]

A seccomp filter, as containers and service managers set one: these calls fail with EPERM.
"""

import ctypes
import os
import re
import struct
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_NUMBER, EQUAL, RETURN = 0x20, 0x15, 0x06  # of a BPF instruction
ALLOW, FAIL_EPERM = 0x7FFF0000, 0x00050001


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def numbers_of_calls():
    """By name, as the compiler's headers have them; an old call may be missing on a new machine."""
    said = subprocess.run(["gcc", "-dM", "-E", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], check=True,
                          capture_output=True, text=True, timeout=20).stdout
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)\n", said)}


def deny(calls):
    known = numbers_of_calls()
    numbers = [known[call] for call in calls if call in known]
    assert numbers and len(numbers) < 250, calls  # the distance of a jump is one byte
    code = [(LOAD_NUMBER, 0, 0, 0)]
    code += [(EQUAL, len(numbers) - at, 0, number) for at, number in enumerate(numbers)]
    code += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL_EPERM)]
    program = Program(len(code), b"".join(struct.pack("HBBI", *each) for each in code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                                                                 ctypes.byref(program)):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    deny(sys.argv[1].split(","))
    os.execvp(sys.argv[2], sys.argv[2:])
