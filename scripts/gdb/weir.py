"""Commands for gdb that know the coroutines of Weir, in a running server and in a core file.

    gdb -p "$(cat objs/weir.pid)" -x scripts/gdb/weir.py          # the server stands still until you detach
    gdb objs/weir CORE -x scripts/gdb/weir.py

    weir coroutines           all of them: state, what each waits for, stack in use, where it stands
    weir bt [WHICH]           the stack of one (number of the list), of those of one name or log id, or of all
    weir with NUMBER COMMAND  any gdb command on the stack of one: weir with 3 info locals

amd64 only. Needs the debug data of every build; of a stripped program, give gdb the unstripped one of the same build. Nothing of the process is changed: the
stacks are found by an unwinder, and no register is set.

How: the scheduler keeps a list of all coroutines (CoroutineState::older_, trunk/src/io/scheduler.h). One that does
not run was put aside by State Threads: its thread object (Worker::thread) holds the callee-saved registers, in the
order rbx rbp r12 r13 r14 r15 rsp rip. Where in the object is looked for, not assumed: rsp must lie on the
coroutine's own stack and rip in the program.
"""

import re
import time

import gdb
import gdb.unwinder

REGISTERS = ("rbx", "rbp", "r12", "r13", "r14", "r15", "rsp", "rip")
OBJECT_WORDS = 48  # of a thread object that are searched; it lies at the top of its stack, or on the heap
STATES = {0: "running", 1: "ready", 2: "waiting", 3: "waiting", 4: "waiting", 5: "sleeping", 6: "ended", 7: "suspended"}
LONG_US = 365 * 24 * 3600 * 10**6  # a deadline further away than this is none
PLACES = 500  # for more coroutines than this the list does without the place where each stands (a millisecond each)
DEPTH = 64
UNREADABLE = "unreadable"
# Frames that say nothing about who waits.
PLUMBING = re.compile(r"^(weir::io::|st_|_st_|std::|epoll_|\?\?)")
LAMBDA = re.compile(r"_Function_handler<void ?\(\), (.*)::<lambda.*::_M_invoke")
# State Threads starts every coroutine in these; what follows is no stack.
OUTERMOST = ("_st_thread_main", "st_thread_create")


class Trouble(gdb.GdbError):
    """Told to the user without a Python stack."""


def evaluate(expression):
    try:
        return gdb.parse_and_eval(expression)
    except gdb.error as why:
        raise Trouble(f"{why}: no process or core file of Weir, or one without symbols?") from why


def static_object(function, type_name):
    """The object that a function-local `static T* instance` points to."""
    symbol = f"'weir::io::(anonymous namespace)::{function}()::instance'"
    return evaluate(f"*('{type_name}'**)&{symbol}").dereference()


class cpp:
    """The names are C++; gdb may stand in a C function."""

    def __enter__(self):
        self.before = gdb.parameter("language")
        gdb.execute("set language c++", to_string=True)

    def __exit__(self, *_):
        gdb.execute(f"set language {self.before}", to_string=True)


def media_thread():
    """The thread of all coroutines: that with the number of the process."""
    inferior = gdb.selected_inferior()
    threads = sorted(inferior.threads(), key=lambda thread: thread.ptid[1])
    if not threads:
        raise Trouble("there is no process and no core file")
    return next((thread for thread in threads if thread.ptid[1] == inferior.pid), threads[0])


def word(address):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, 8)), "little")


def in_program(address):
    """True when a function of the program or a library is at the address."""
    return "in section .text" in gdb.execute(f"info symbol {address}", to_string=True)


class Unwinder(gdb.unwinder.Unwinder):
    """While it has registers, the innermost frame of the media thread counts as called by a coroutine."""

    def __init__(self):
        super().__init__("weir coroutine")
        self.registers = None
        self.origin = None

    def __call__(self, pending):
        if self.registers is None or int(pending.read_register("rsp")) != self.origin:
            return None
        # Below the frame that follows: gdb takes a stack that goes the other way for a broken one.
        below = gdb.Value(self.registers["rsp"] - 16)
        info = pending.create_unwind_info(FrameId(below, pending.read_register("rip")))
        kind = gdb.lookup_type("unsigned long")
        for name, value in self.registers.items():
            info.add_saved_register(name, gdb.Value(value).cast(kind))
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


UNWINDER = Unwinder()
gdb.unwinder.register_unwinder(None, UNWINDER, replace=True)


class on_stack_of:
    """Inside, the frames from number 1 on are those of the coroutine; of a running one, from number 0 on."""

    def __init__(self, coroutine):
        self.coroutine = coroutine

    def __enter__(self):
        self.thread_before = gdb.selected_thread()
        try:
            media_thread().switch()
            registers = self.coroutine.registers()
            if registers:
                UNWINDER.origin = int(gdb.newest_frame().read_register("rsp"))
                UNWINDER.registers = registers
                gdb.invalidate_cached_frames()
            frame = gdb.newest_frame()
            frame = frame.older() if registers else frame
        except BaseException:
            self.__exit__()
            raise
        if frame is None:
            self.__exit__()
            raise Trouble(f"coroutine {self.coroutine.number} ({self.coroutine.name}): its stack cannot be read")
        return frame

    def __exit__(self, *_):
        UNWINDER.registers = None
        gdb.invalidate_cached_frames()
        if self.thread_before is not None:
            self.thread_before.switch()


class Coroutine:
    def __init__(self, number, state, main_fiber, running):
        self.number = number
        self.name, self.log_id, self.waits_for = "?", "", ""
        self.interrupted = False
        self.fd, self.until_us = -1, 0
        self.thread, self.bottom, self.size = 0, 0, 0
        self.state = UNREADABLE
        self._registers = None
        try:
            self._read(state, main_fiber, running)
        except gdb.error:
            pass  # a core file that lacks this page: what was read before it is shown

    def _read(self, state, main_fiber, running):
        self.name = state["name_"].string(errors="replace")
        self.log_id = state["log_id_"].string(errors="replace")
        self.interrupted = bool(state["interrupted_"])
        self.waits_for = state["waits_for_"].string(errors="replace")
        self.fd = int(state["waits_fd_"])
        self.until_us = int(state["waits_until_"]["__d"]["__r"])
        if int(state["worker_"]) == 0:
            self.state = "starting"
        else:
            worker = state["worker_"].dereference()
            self.thread = int(worker["thread"])
            stack = main_fiber if int(worker["stack"]) == 0 else worker["stack"].dereference()
            self.bottom, self.size = int(stack["bottom"]), int(stack["size"])
            code = int.from_bytes(bytes(gdb.selected_inferior().read_memory(self.thread, 4)), "little")
            self.state = "running" if self.thread == running else STATES.get(code, f"state {code}")

    def registers(self):
        """Those at the switch away; None of a coroutine that runs."""
        if self.state == "running":
            return None
        if self.state == "starting":
            raise Trouble(f"coroutine {self.number} ({self.name}) has not run yet: it has no stack to show")
        if self.state == UNREADABLE:
            raise Trouble(f"coroutine {self.number} ({self.name}): its memory is not in this core file")
        if self._registers is None:
            try:
                words = [word(self.thread + 8 * i) for i in range(OBJECT_WORDS)]
            except gdb.error as why:
                raise Trouble(f"coroutine {self.number} ({self.name}): its stack is not in this core file: {why}") from why
            for at in range(OBJECT_WORDS - len(REGISTERS) + 1):
                found = dict(zip(REGISTERS, words[at:at + len(REGISTERS)]))
                if self.bottom <= found["rsp"] < self.bottom + self.size and in_program(found["rip"]):
                    self._registers = found
                    break
            else:
                raise Trouble(f"coroutine {self.number} ({self.name}): no saved registers in its thread object at "
                              f"{self.thread:#x}; is this another State Threads than Debian's 1.9?")
        return self._registers

    def stack_used(self):
        """Bytes; None when that cannot be known."""
        try:
            registers = self.registers()
        except Trouble:
            return None
        if registers is None:
            sp = int(gdb.newest_frame().read_register("rsp"))
            return self.bottom + self.size - sp if self.bottom <= sp < self.bottom + self.size else None
        return self.bottom + self.size - registers["rsp"]

    def waiting(self, now_us):
        if self.state in ("running", "starting", UNREADABLE) or not self.waits_for:
            return "-"
        text = self.waits_for + (f", fd {self.fd}" if self.fd >= 0 else "")
        if self.until_us and self.until_us - now_us < LONG_US:
            text += f", {(self.until_us - now_us) / 1e6:.1f} s left"
        if self.state == "ready":
            text = f"(had: {text})"
        return text + (", asked to stop" if self.interrupted else "")

    def place(self):
        """The innermost function of its own."""
        try:
            with on_stack_of(self) as frame:
                own = own_frame(frame)
                return short(shown_name(own)) + line_of(own, " ") if own else "-"
        except (gdb.error, Trouble):
            return "-"


def own_frame(frame):
    """The innermost that is not about waiting; None when there is none."""
    for _ in range(DEPTH):
        if frame is None or not PLUMBING.match(shown_name(frame)) or frame.name() == "operator()":
            break
        frame = frame.older()
    return frame


def shown_name(frame):
    name = frame.name() or "??"
    return lambda_name(frame) if name == "operator()" else name


def short(name):
    """Without parameters: `weir::net::Pump::run(...)::<lambda()>` is long enough as it is."""
    name = name.replace("(anonymous namespace)::", "")
    depth, out = 0, ""
    for i, letter in enumerate(name):
        if letter in "(" and not name.startswith("()", i) or depth and letter == "(":
            depth += 1
        elif letter == ")" and depth:
            depth -= 1
        elif not depth:
            out += letter
    return out


def lambda_name(frame):
    """Of a coroutine's body, from the std::function that holds it."""
    while frame is not None and (frame.name() == "operator()" or (frame.name() or "").startswith("std::")):
        found = LAMBDA.search(frame.name())
        if found:
            return found[1] + " lambda"
        frame = frame.older()
    return "lambda"


def line_of(frame, before):
    place, function = frame.find_sal(), frame.function()
    if place.symtab is None:
        return ""
    symtab, line = place.symtab, place.line
    if function is not None and function.symtab is not None and function.symtab.filename != symtab.filename:
        # The call belongs to something small that was inlined from a header: the last line of the function before it.
        start, end = frame.block().start, frame.pc()
        lines = [entry for entry in function.symtab.linetable() if start <= entry.pc < end and entry.line > 0]
        if lines:
            symtab, line = function.symtab, max(lines, key=lambda entry: entry.pc).line
    return f"{before}{symtab.filename.rsplit('/', 1)[-1]}:{line}"


def now_us():
    """The clock of the deadlines: that of this machine for a process, that of its last round for a core file."""
    if gdb.selected_inferior().was_attached:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    reactor = static_object("reactor", "weir::io::(anonymous namespace)::Reactor")
    return int(reactor["busy_"]["last_"]["__d"]["__r"])


def coroutines():
    """Oldest first; the numbers are those of this moment."""
    with cpp():
        scheduler = static_object("scheduler", "weir::io::Scheduler")
        running = int(evaluate("*(unsigned long*)&_st_this_thread"))
        states, seen = [], set()
        try:
            at = scheduler["newest_"]
            while int(at) != 0 and int(at) not in seen:
                state, older = at.dereference(), at.dereference()["older_"]
                older.fetch_lazy()
                seen.add(int(at))
                states.append(state)
                at = older
            broken = "leads back to itself" if int(at) != 0 else ""
        except gdb.error as why:
            broken = f"breaks off: {why}"
        if broken:
            print(f"weir: the list of coroutines {broken}; is this program the one of the process or core file? "
                  f"{len(states)} are shown.")
        media_thread().switch()
        return [Coroutine(number, state, scheduler["main_"]["fiber"], running)
                for number, state in enumerate(reversed(states), 1)]


def choose(which):
    found = coroutines()
    if which in ("", "all"):
        return found
    chosen = [c for c in found if which in (str(c.number), c.name, c.log_id)]
    if not chosen:
        names = sorted({c.name for c in found})
        raise Trouble(f"no coroutine '{which}': give a number from 1 to {len(found)}, a log id, or one of: "
                      + ", ".join(names))
    return chosen


class WeirCommand(gdb.Command):
    """Coroutines of Weir: coroutines, bt, with."""

    def __init__(self):
        super().__init__("weir", gdb.COMMAND_STACK, prefix=True)


class Coroutines(gdb.Command):
    """weir coroutines: all coroutines, oldest first."""

    def __init__(self):
        super().__init__("weir coroutines", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        before = gdb.selected_thread()
        found = coroutines()
        with cpp():
            now = now_us()
        rows = [("no.", "name", "log id", "state", "waits for", "stack", "stands in")]
        for c in found:
            used = c.stack_used()
            rows.append((str(c.number), c.name, c.log_id or "-", c.state, c.waiting(now),
                         "-" if used is None else f"{used / 1024:.1f}/{c.size // 1024} KiB",
                         c.place() if len(found) <= PLACES else "-"))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)] + [0]
        for row in rows:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
        print(f"{len(found)} coroutines")
        if before is not None:
            before.switch()


class Backtrace(gdb.Command):
    """weir bt [NUMBER|NAME|LOG-ID|all]: stacks of coroutines."""

    def __init__(self):
        super().__init__("weir bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        before = gdb.selected_thread()
        for c in choose(argument.strip()):
            print(f"coroutine {c.number} {c.name} {c.log_id or '-'} {c.state}"
                  + (f", waits for {c.waits_for}" if c.state == "waiting" else ""))
            try:
                with on_stack_of(c) as frame:
                    show_stack(frame)
            except (gdb.error, Trouble) as why:
                print(f"  {why}")
            print()
        if before is not None:
            before.switch()


def show_stack(frame):
    """The calls of the standard library are left out: between a coroutine and its body there are four."""
    level = 0
    while frame is not None and level < DEPTH:
        name = shown_name(frame)
        if not name.startswith("std::"):
            print(f"  #{level:<2} {frame.pc():#018x} in {name}{line_of(frame, ' at ')}")
        if name in OUTERMOST:
            return
        level += 1
        frame = frame.older()
    if level == DEPTH:
        print("  ...")


class With(gdb.Command):
    """weir with NUMBER COMMAND: a gdb command on the stack of one coroutine.

    The innermost frame of its own is selected. Frame 0 stays that of the thread; of a coroutine that does not run,
    frame 1 is where it was put aside."""

    def __init__(self):
        super().__init__("weir with", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        chosen = choose(which) if which else []
        if len(chosen) != 1 or not command:
            raise Trouble("weir with NUMBER COMMAND, with a number of `weir coroutines`")
        with on_stack_of(chosen[0]) as frame:
            (own_frame(frame) or frame).select()
            gdb.execute(command, from_tty)


WeirCommand()
Coroutines()
Backtrace()
With()
