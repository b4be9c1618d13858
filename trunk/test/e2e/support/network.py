"""A small network of namespaces: places with one address each, joined by a router, and cuts between any two of them.

A place is a network namespace with a pair of virtual interfaces to the router, which is a namespace, too. All of them exist as
long as this process has them open, so nothing is left behind, whatever becomes of the test. Rules of routing in the router cut
the way between two places: iproute2 is enough for that, no firewall has to be installed.

Needs root, as what is given to a namespace is the kernel's.
"""

import contextlib
import ctypes
import os
import subprocess
import threading

CLONE_NEWNET = 0x40000000
DELAY_MS = 1  # of each way between two places, where the kernel has netem
libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}; the test needs root and network namespaces")


def new_namespace():
    """The descriptor of a namespace that nobody is in."""
    made = []

    def make():  # unshare(2) is for the calling thread only, and that one ends
        try:
            checked(libc.unshare(CLONE_NEWNET), "unshare")
            made.append(os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Namespace:
    def __init__(self):
        self.fd = new_namespace()

    @property
    def path(self):
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    @contextlib.contextmanager
    def inside(self):
        """The calling thread is there: the sockets, threads and programs that it makes stay there."""
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            checked(libc.setns(self.fd, CLONE_NEWNET), "setns")
            yield
        finally:
            checked(libc.setns(before, CLONE_NEWNET), "setns")
            os.close(before)

    def run(self, *words, fails=False):
        """A program of the administrator. `fails`: it may; gives whether it did not."""
        with self.inside():
            done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=20,
                                  stdin=subprocess.DEVNULL)
        assert fails or done.returncode == 0, f"{' '.join(map(str, words))}: {done.stderr.strip()}"
        return done.returncode == 0

    def write(self, name, value):
        """A setting below /proc/sys/net, which shows the namespace of who looks."""
        with self.inside(), open(f"/proc/sys/net/{name}", "w") as setting:
            setting.write(str(value))

    def close(self):
        os.close(self.fd)


class Place(Namespace):
    def __init__(self, name, number):
        super().__init__()
        self.name, self.number = name, number
        self.address, self.gateway = f"10.77.{number}.2", f"10.77.{number}.1"
        self.device = f"to-{name}"  # at the router

    def __repr__(self):
        return self.name


class Network:
    """`names`: of the places, which are attributes by these names, too. `delayed`: whether the kernel has netem."""

    def __init__(self, *names):
        self.router = Namespace()
        self.places = {name: Place(name, number) for number, name in enumerate(names, 1)}
        self.cuts = {}  # the pair, in order -> (place, place)
        self.lock = threading.Lock()
        self.router.write("ipv4/ip_forward", 1)
        self.router.write("ipv4/icmp_ratelimit", 0)  # each refusal is said
        self.delayed = True
        for place in self.places.values():
            self.connect(place)

    def connect(self, place):
        self.router.run("ip", "link", "add", place.device, "type", "veth", "peer", "name", "eth0", "netns", place.path)
        self.router.run("ip", "addr", "add", f"{place.gateway}/24", "dev", place.device)
        self.router.run("ip", "link", "set", place.device, "up")
        for words in ("link set lo up", f"addr add {place.address}/24 dev eth0", "link set eth0 up",
                      f"route add default via {place.gateway}"):
            place.run("ip", *words.split())
        self.delayed = self.delayed and self.router.run("tc", "qdisc", "add", "dev", place.device, "root", "netem", "delay",
                                                        f"{DELAY_MS}ms", fails=True)

    def __getattr__(self, name):
        try:
            return self.__dict__["places"][name]
        except KeyError:
            raise AttributeError(name) from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in (*self.places.values(), self.router):
            each.close()

    # ---- cuts ----

    def cut(self, one, other, how="drop"):
        """drop: packets between the two vanish. one-way: only those from the one to the other. reject: they are refused, and
        what is connected is reset."""
        with self.lock:
            pair = min(one.number, other.number), max(one.number, other.number)
            if pair in self.cuts:
                return
            self.cuts[pair] = (one, other)
            for source, target in ((one, other),) if how == "one-way" else ((one, other), (other, one)):
                self.router.run("ip", "rule", "add", "pref", self.rule_of(pair), "from", source.address,
                                "to", target.address, "prohibit" if how == "reject" else "blackhole")
        if how == "reject":
            one.run("ss", "--kill", "--tcp", "dst", other.address)
            other.run("ss", "--kill", "--tcp", "dst", one.address)

    def heal(self, one=None, other=None):
        """That pair, or all."""
        with self.lock:
            for pair, places in list(self.cuts.items()):
                if one is None or {one, other} == set(places):
                    while self.router.run("ip", "rule", "del", "pref", self.rule_of(pair), fails=True):
                        pass
                    del self.cuts[pair]

    @staticmethod
    def rule_of(pair):
        return 1000 + pair[0] * 64 + pair[1]
