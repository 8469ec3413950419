"""tests/programs/harness.py -- one run of one program: starting, watching, ending, judging.

What it is: a case is a function of a Run. It starts the program with run.start() (a server) or run.do() (something
that ends), loads it, checks what comes back, and calls run.rate() and run.p99(). The same function runs natively
and preloaded; it never asks which.

What makes a run fail: a Failure raised by the function; a process that does not end in time; a signal it was not
sent; a line of complaint in a log that no native run has; a line of the library's own.

Everything started carries a mark in its environment and is in a session of its own; what is left of a run at its
end is found by these two and ended by pid. As root, servers run as an unprivileged user.
"""
import os
import pwd
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPLAINT = re.compile(r"error|fail|fatal|panic|abort|assert|corrupt|crash|segv|segfault|warn|unable|cannot|libgmp:", re.I)
PAGE = resource.getpagesize()
CASES = []


class Failure(Exception):
    pass


class Case:
    def __init__(self, name, packages, function):
        self.name, self.packages, self.function = name, packages, function


def case(name, *packages):
    def add(function):
        CASES.append(Case(name, packages, function))
        return function
    return add


def user():
    """Whom servers run as: nobody when we are root, else ourselves."""
    return "nobody" if os.geteuid() == 0 else None


class Run:
    def __init__(self, preloaded, lib, load, procs, seconds, mark, look):
        self.preloaded, self.lib, self.load_tool, self.seconds, self.look = preloaded, lib, load, seconds, look
        self.mark, self.procs = mark, procs
        self.dir = Path(tempfile.mkdtemp(prefix="programs-"))
        self.dir.chmod(0o777)
        self.started, self.watched, self.logs, self.quiet = [], [], [], []
        self.result = {"rate": None, "unit": "", "p99": None, "memory": 0, "threads": 0, "gs": None, "cpu": 0, "work": 1}
        self.over = threading.Event()
        self.sampler = threading.Thread(target=self._sample, daemon=True)
        self.sampler.start()

    # ---- starting ----

    def env(self, preload, extra=None):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(("GMPT_", "MAKE", "MFLAGS", "LC_")) and k not in ("GOMAXPROCS", "LD_PRELOAD")}
        name, value = self.mark.split("=")
        env |= {name: value, "LC_ALL": "C", "HOME": str(self.dir), "TMPDIR": str(self.dir)}
        if preload and self.preloaded:
            env["LD_PRELOAD"] = str(self.lib)
            if self.procs:
                env["GOMAXPROCS"] = str(self.procs)
            if self.look:
                env["GMPT_DEBUG"] = "schedtrace=100"
        return env | (extra or {})

    def _limits(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def start(self, *command, name=None, as_user=True, preload=True, watch=True, env=None, cwd=None, stdin=subprocess.DEVNULL):
        """Starts a server; its output is a log of this run."""
        command = [str(c) for c in command]
        log = self.log(name or Path(command[0]).name)
        who = {"user": user(), "group": "nogroup", "extra_groups": []} if as_user is True and user() else {}
        if isinstance(as_user, str) and os.geteuid() == 0:
            who = {"user": as_user, "group": pwd.getpwnam(as_user).pw_gid, "extra_groups": []}
        with open(log, "ab") as out:
            p = subprocess.Popen(command, env=self.env(preload, env), cwd=cwd or self.dir, stdin=stdin, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=self._limits, **who)
        p.log = log
        self.started.append(p)
        if watch and preload:
            self.watched.append(p.pid)
        return p

    def do(self, *command, preload=False, timeout=60, stdin=None, env=None, cwd=None, status=(0,), as_user=None, stdout=None):
        """Runs something to its end; returns its output. stdin, stdout: paths."""
        command = [str(c) for c in command]
        out = Path(stdout) if stdout else self.dir / f"out.{len(self.started)}"
        err = self.log(f"{Path(command[0]).name}.{len(self.started)}")
        who = {"user": as_user, "group": pwd.getpwnam(as_user).pw_gid, "extra_groups": []} if as_user and os.geteuid() == 0 else {}
        with open(out, "wb") as o, open(err, "wb") as e, open(stdin or os.devnull, "rb") as i:
            p = subprocess.Popen(command, env=self.env(preload, env), cwd=cwd or self.dir, stdin=i, stdout=o, stderr=e,
                                 start_new_session=True, preexec_fn=self._limits, **who)
            p.log = err
            self.started.append(p)
            if preload:
                self.watched.append(p.pid)
            try:
                code = p.wait(timeout)
            except subprocess.TimeoutExpired:
                self.hang(p, f"{' '.join(command)[:80]}: not done after {timeout} s")
            finally:
                if preload:
                    self.watched.remove(p.pid)
        if code not in status:
            said = "\n".join(x for x in (tail(out) + tail(err)) if not x.startswith("SCHED"))
            raise Failure(f"{' '.join(command)[:80]}: {exit_name(code)}: {said[-400:]}")
        return out.read_text(errors="replace") if not stdout else ""

    def log(self, name):
        path = self.dir / f"{name}.log"
        if path not in self.logs:
            self.logs.append(path)
        return path

    # ---- servers ----

    @staticmethod
    def port():
        """A free one, below those that the kernel gives to outgoing connections."""
        while True:
            port = random.randrange(10000, 32000)
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)):
                    return port

    def until(self, question, what, process=None, seconds=30):
        limit = time.monotonic() + seconds
        while not question():
            if process and process.poll() is not None:
                raise Failure(f"{what}: it ended with {exit_name(process.returncode)}: {' | '.join(tail(process.log))[-400:]}")
            if time.monotonic() > limit:
                if process:
                    self.hang(process, f"{what}: not within {seconds} s")
                raise Failure(f"{what}: not within {seconds} s")
            time.sleep(0.05)

    def up(self, process, port):
        """Waits until the server answers on its port, and sees that the library is in it."""
        def answers():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0
        self.until(answers, f"{Path(process.args[0]).name} on its port", process)
        self.loaded(process)

    def loaded(self, process):
        if self.preloaded and str(self.lib) not in Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8"):
            raise Failure("the loader did not take the library")

    def stop(self, process, sig=signal.SIGTERM, status=(0, -signal.SIGTERM), seconds=20):
        if process.poll() is not None:
            raise Failure(f"{Path(process.args[0]).name} is gone: {exit_name(process.returncode)}: {' | '.join(tail(process.log))[-400:]}")
        process.send_signal(sig)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.hang(process, f"{Path(process.args[0]).name} did not end on {sig.name}")
        if code not in status:
            raise Failure(f"{Path(process.args[0]).name} ended with {exit_name(code)}")

    def load(self, protocol, port, connections, *more):
        """The checking client; sets rate and p99."""
        out = self.do(self.load_tool, protocol, port, connections, self.seconds, *more, timeout=self.seconds + 60)
        values = dict(line.split("\t") for line in out.splitlines())
        self.rate(float(values["rate"]), "requests/s", float(values["rate"]) * self.seconds)
        self.p99(float(values["p99"]) / 1000)

    def hang(self, process, what):
        """Puts every thread's stack into a file that is kept, and fails."""
        where = self.lib.parent / f"hang-{process.pid}.txt"
        if shutil.which("gdb"):
            with open(where, "wb") as out:
                for pid in sorted(self.session(process.pid))[:3]:
                    try:
                        subprocess.run(["gdb", "-q", "-batch", "-p", str(pid), "-ex", "handle SIGSEGV SIGURG nostop noprint pass",
                                        "-ex", "thread apply all bt 12"], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=subprocess.DEVNULL, timeout=20, check=False)
                    except subprocess.TimeoutExpired:
                        pass
        raise Failure(f"hang: {what} (stacks in {where.name})")

    # ---- judging ----

    @staticmethod
    def check(fact, what):
        if not fact:
            raise Failure(what)

    def rate(self, value, unit, work=1):
        """work: how much was done, when a run is a time and not an amount."""
        self.result["rate"], self.result["unit"], self.result["work"] = value, unit, work

    def p99(self, milliseconds):
        self.result["p99"] = milliseconds

    def complaints(self):
        """What the logs complain about, without numbers, so that runs can be compared."""
        found = {}
        for log in self.logs:
            try:
                text = log.read_text(errors="replace")
            except OSError:
                continue
            for line in text.splitlines():
                m = re.match(r"SCHED .* gs=(\d+) ", line)
                if m:
                    self.result["gs"] = max(self.result["gs"] or 0, int(m[1]))
                elif COMPLAINT.search(line) and not any(q in line for q in self.quiet):
                    found.setdefault(re.sub(r"0x[0-9a-f]+|[0-9]+|programs-\w+", "N", line.strip())[:200], line.strip())
        return found

    # ---- watching and ending ----

    @staticmethod
    def stats():
        """(pid, session, threads, resident pages, ticks of CPU) of every process."""
        for p in os.listdir("/proc"):
            if p.isdigit():
                try:
                    with open(f"/proc/{p}/stat", encoding="utf-8", errors="replace") as f:
                        fields = f.read().rpartition(")")[2].split()
                    yield int(p), int(fields[3]), int(fields[17]), int(fields[21]), int(fields[11]) + int(fields[12])
                except (OSError, IndexError):
                    continue

    def session(self, sid):
        return [pid for pid, s, *_ in self.stats() if s == sid]

    def _sample(self):
        cpu = {}
        while not self.over.wait(0.15):
            watched = set(self.watched)
            if watched:
                mine = [(t, r) for _, s, t, r, _ in self.stats() if s in watched]
                cpu.update((pid, c) for pid, s, _, _, c in self.stats() if s in watched)
                self.result["cpu"] = sum(cpu.values()) / os.sysconf("SC_CLK_TCK")
                if mine:
                    self.result["threads"] = max(self.result["threads"], max(t for t, _ in mine))
                    self.result["memory"] = max(self.result["memory"], sum(r for _, r in mine) * PAGE / 1e6)

    def finish(self):
        """Ends what is left and removes the directory."""
        self.over.set()
        self.sampler.join()
        sessions = {p.pid for p in self.started}
        for _ in range(40):
            left = [pid for pid, s, *_ in self.stats() if s in sessions or self._marked(pid)]
            left = [pid for pid in left if not self._zombie(pid)]
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
            time.sleep(0.05)
        for p in self.started:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)

    def _marked(self, pid):
        try:
            return self.mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    @staticmethod
    def _zombie(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] == "Z"
        except OSError:
            return True


def tail(path, lines=5):
    try:
        return [x for x in Path(path).read_text(errors="replace").splitlines() if not x.startswith("SCHED")][-lines:]
    except OSError:
        return []


def exit_name(code):
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"
