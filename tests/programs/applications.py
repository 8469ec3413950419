"""tests/programs/applications.py -- larger programs: puma, clamd, icecast, RocksDB, MariaDB's own tests.

Each is one that people run as it is: an application server on Ruby's threads, a scanner with a pool of workers, a
streaming server with a thread a source, a database in the process with threads that flush and compact. What comes
back is known beforehand, or is what a native run makes of the same.
"""
import base64
import hashlib
import random
import re
import selectors
import socket
import time
import xml.etree.ElementTree as xml
from types import SimpleNamespace

from harness import Failure, case, exit_name
from web import site

PUMA = r"""
FILES = Dir.children("ROOT").to_h { |f| [f, File.binread("ROOT/#{f}").freeze] }
COUNT, LOCK = Hash.new(0), Mutex.new
threads 16, 16
bind "tcp://127.0.0.1:PORT"
quiet
app do |env|
  name = env["PATH_INFO"].delete_prefix("/")
  body = case LOCK.synchronize { COUNT[name] += 1 } % 8
         when 0 then Thread.new { File.binread("ROOT/#{name}") }.value
         when 1 then sleep 0.001; File.binread("ROOT/#{name}")
         else FILES[name]
         end
  [200, { "content-type" => "application/octet-stream", "content-length" => body.bytesize.to_s }, [body]]
end
"""


@case("puma (ruby) -t 16, 100 connections", "puma")
def puma(run):
    port, root = run.port(), site(run)
    (run.dir / "puma.rb").write_text(PUMA.replace("PORT", str(port)).replace("ROOT", str(root)))
    p = run.start("puma", "-C", run.dir / "puma.rb")
    run.up(p, port)
    run.load("http", port, 100, root)
    run.stop(p)


# ---- clamd --------------------------------------------------------------------------------------------

def plague(run):
    """A tree with files that match, and what must be said of them."""
    tree, expected, dice = run.dir / "tree", {}, random.Random(7)
    tree.mkdir()
    whole = dice.randbytes(5000)
    needle = b"NeedleInAHaystackOfTheProgramsTest"
    data = run.dir / "signatures"
    data.mkdir()
    (data / "own.hdb").write_text(f"{hashlib.md5(whole).hexdigest()}:{len(whole)}:Own.Whole\n")
    (data / "own.ndb").write_text(f"Own.Needle:0:*:{needle.hex()}\n")
    for i in range(400):
        folder = tree / f"d{i % 13}" / f"e{i % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        path, text = folder / f"f{i}.bin", dice.randbytes(dice.randrange(1, 20000))
        if i % 10 == 3:
            where = dice.randrange(len(text))
            text, expected[str(path)] = text[:where] + needle + text[where:], "Own.Needle.UNOFFICIAL"
        elif i % 25 == 0:
            text, expected[str(path)] = whole, "Own.Whole.UNOFFICIAL"
        path.write_bytes(text)
    return tree, data, expected


@case("clamd, clamdscan --multiscan", "clamav-daemon", "clamdscan")
def clamd(run):
    port = run.port()
    tree, data, expected = plague(run)
    (run.dir / "clamd.conf").write_text(f"""Foreground yes
DatabaseDirectory {data}
TCPSocket {port}
TCPAddr 127.0.0.1
MaxThreads 8
MaxQueue 200
LogFile {run.dir}/scan.log
LogTime no
TemporaryDirectory {run.dir}
SelfCheck 60
ConcurrentDatabaseReload yes
""")
    run.log("scan")
    p = run.start("clamd", "-c", run.dir / "clamd.conf")
    run.up(p, port)
    begin, scans = time.monotonic(), 0
    while scans < 2 or time.monotonic() - begin < run.seconds:
        way = ["--multiscan"] if scans % 2 == 0 else ["--stream"]      # the daemon reads the files, or gets them sent
        out = run.do("clamdscan", "-c", run.dir / "clamd.conf", *way, tree, preload=True, status=(1,), timeout=60)
        found = dict(re.findall(r"^(/.*): (\S+) FOUND$", out, re.M))
        run.check(found == expected, f"scan {scans}: {len(found)} of {len(expected)} found: {sorted(found.items() ^ expected.items())[:2]}")
        run.check(f"Infected files: {len(expected)}" in out and "ERROR" not in out, out[-400:])
        scans += 1
    run.rate(400 * scans / (time.monotonic() - begin), "files/s", scans)
    late = run.dir / "late.bin"                         # known only once the daemon has read its signatures again
    late.write_bytes(b"x" * 5000)
    scan = ["clamdscan", "-c", run.dir / "clamd.conf", "--no-summary", late]
    run.check(run.do(*scan, preload=True).endswith("late.bin: OK\n"), "it finds what it does not know")
    (data / "late.hdb").write_text(f"{hashlib.md5(late.read_bytes()).hexdigest()}:5000:Own.Late\n")
    run.do("clamdscan", "-c", run.dir / "clamd.conf", "--reload", preload=True)
    run.until(lambda: "Own.Late" in run.do(*scan, preload=True, status=(0, 1)), "the new signature", p)
    run.stop(p, status=(0,))


# ---- icecast ------------------------------------------------------------------------------------------

MOUNTS, LISTENERS, AHEAD, BLOCK = 3, 15, 128 << 10, 1400


class Mount:
    """A source and its listeners. The source runs no further ahead of the slowest than AHEAD bytes."""

    def __init__(self, port, number, watch):
        self.port, self.number, self.watch, self.dice = port, number, watch, random.Random(number)
        self.sent, self.out, self.listeners = bytearray(), b"", []
        auth = base64.b64encode(b"source:secret").decode()
        self.source = socket.create_connection(("127.0.0.1", port), 10)
        self.source.sendall(f"SOURCE /m{number} HTTP/1.0\r\nAuthorization: Basic {auth}\r\nContent-Type: audio/mpeg\r\n\r\n".encode())
        answer = self.source.recv(4096)
        if b" 200 " not in answer:
            raise Failure(f"the source: {answer!r}")
        self.source.setblocking(False)

    def listen(self, count):
        for _ in range(count):
            s = socket.create_connection(("127.0.0.1", self.port), 10)
            s.sendall(f"GET /m{self.number} HTTP/1.0\r\n\r\n".encode())
            s.setblocking(False)
            listener = {"socket": s, "mount": self, "head": b"", "at": None, "first": 0, "over": False}
            self.listeners.append(listener)
            self.watch.register(s, selectors.EVENT_READ, listener)

    def push(self):
        slowest = min((x["at"] for x in self.listeners if x["at"] is not None), default=0)
        if not self.out and len(self.sent) - slowest < AHEAD:
            self.out = self.dice.randbytes(self.dice.randrange(1, 16384))
        self.flush()

    def flush(self):
        if self.out:
            try:
                n = self.source.send(self.out)
            except BlockingIOError:
                return
            self.sent += self.out[:n]
            self.out = self.out[n:]

    def receive(self, listener):
        data = listener["socket"].recv(1 << 16)
        if not data:
            listener["over"] = True
            self.watch.unregister(listener["socket"])
            listener["socket"].close()
            return
        if listener["at"] is None:
            listener["head"] += data
            head, end, data = listener["head"].partition(b"\r\n\r\n")
            if not end or len(data) < 32:
                return
            if b" 200 " not in head:
                raise Failure(f"a listener: {head!r}")
            listener["at"] = listener["first"] = self.sent.find(data[:32])
            if listener["at"] < 0:
                raise Failure(f"/m{self.number}: a listener's first bytes are nobody's")
        at = listener["at"]
        if self.sent[at:at + len(data)] != data:
            raise Failure(f"/m{self.number}: a listener got other bytes than were sent, after byte {at}")
        listener["at"] += len(data)


def turn(mounts, watch, push):
    for mount in mounts:
        if push:
            mount.push()
        else:
            mount.flush()
    for key, _ in watch.select(0.002):
        key.data["mount"].receive(key.data)


def until(mounts, watch, push, fact, what, seconds=20):
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            where = [[(x["first"], x["at"]) for x in m.listeners if x["at"] != len(m.sent)] for m in mounts]
            raise Failure(f"{what}: not within {seconds} s; sent {[len(m.sent) for m in mounts]}, behind {where}")
        turn(mounts, watch, push)


def listeners_counted(run, port):
    auth = base64.b64encode(b"admin:secret").decode()
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(f"GET /admin/stats HTTP/1.0\r\nAuthorization: Basic {auth}\r\n\r\n".encode())
        text = b"".join(iter(lambda: s.recv(65536), b""))
    run.check(b" 200 " in text[:20], f"the statistics: {text[:100]!r}")
    stats = xml.fromstring(text.partition(b"\r\n\r\n")[2].decode())
    return {s.get("mount"): int(s.findtext("listeners")) for s in stats.findall("source")}


@case(f"icecast2, {MOUNTS} sources, {MOUNTS * LISTENERS * 2} listeners", "icecast2")
def icecast(run):
    port = run.port()
    (run.dir / "i.xml").write_text(f"""<icecast>
  <location>here</location> <admin>a@localhost</admin> <hostname>localhost</hostname>
  <limits> <clients>400</clients> <sources>10</sources> <queue-size>4194304</queue-size> <burst-size>65536</burst-size>
    <client-timeout>30</client-timeout> <header-timeout>15</header-timeout> <source-timeout>20</source-timeout> </limits>
  <authentication> <source-password>secret</source-password> <relay-password>secret</relay-password>
    <admin-user>admin</admin-user> <admin-password>secret</admin-password> </authentication>
  <listen-socket> <port>{port}</port> <bind-address>127.0.0.1</bind-address> </listen-socket>
  <fileserve>1</fileserve>
  <paths> <basedir>{run.dir}</basedir> <logdir>{run.dir}</logdir> <webroot>/usr/share/icecast2/web</webroot>
    <adminroot>/usr/share/icecast2/admin</adminroot> </paths>
  <logging> <accesslog>access.log</accesslog> <errorlog>error.log</errorlog> <loglevel>2</loglevel> </logging>
  <security> <chroot>0</chroot> </security>
</icecast>
""")
    run.log("error")
    p = run.start("icecast2", "-c", run.dir / "i.xml")
    run.up(p, port)
    watch = selectors.DefaultSelector()
    mounts = [Mount(port, i, watch) for i in range(MOUNTS)]
    everyone = []
    try:
        for m in mounts:
            m.listen(LISTENERS)
            everyone += m.listeners
        until(mounts, watch, True, lambda: all(x["at"] is not None for x in everyone), "the first bytes")
        begin, start = time.monotonic(), sum(x["at"] - x["first"] for x in everyone)
        for m in mounts:            # more come while it streams: they get what is still in the queue, and the rest
            m.listen(LISTENERS)
        everyone = [x for m in mounts for x in m.listeners]

        def enough():
            return time.monotonic() - begin > run.seconds and all(x["at"] and x["at"] - x["first"] > 2 * AHEAD for x in everyone)
        until(mounts, watch, True, enough, "streaming", run.seconds + 30)
        amount = sum(x["at"] - x["first"] for x in everyone) - start
        run.rate(amount / 1e6 / (time.monotonic() - begin), "MB/s", amount)
        for m in mounts:            # it passes on whole blocks only
            m.out += m.dice.randbytes(-(len(m.sent) + len(m.out)) % BLOCK)
        until(mounts, watch, False, lambda: all(x["at"] == len(m.sent) and not m.out for m in mounts for x in m.listeners), "the last bytes")
        wanted = {f"/m{m.number}": LISTENERS * 2 for m in mounts}
        run.until(lambda: listeners_counted(run, port) == wanted, "statistics with all listeners", p, 20)
        for m in mounts:
            m.source.close()
        until(mounts, watch, False, lambda: all(x["over"] for x in everyone), "the end of the streams")
    finally:
        for m in mounts:
            m.source.close()
        for x in everyone:
            x["socket"].close()
        watch.close()
    run.stop(p, status=(0,))


# ---- RocksDB ------------------------------------------------------------------------------------------

def keys(run, where):
    """How many keys the database has, and their digest."""
    out = run.dir / "keys.in"
    run.do("ldb", f"--db={where}", "scan", "--no_value", "--hex", stdout=out)
    lines = out.read_bytes().splitlines()
    return len(lines), hashlib.sha256(b"\n".join(lines)).hexdigest()


@case("rocksdb db_bench, 8 threads", "rocksdb-tools")
def rocksdb(run):
    common = ["--threads=8", "--num=40000", "--value_size=200", "--seed=5", "--max_background_jobs=4", "--subcompactions=2", "--write_buffer_size=2000000",
              "--target_file_size_base=2000000", "--compression_type=none", "--verify_checksum=1", "--paranoid_checks=1", "--histogram=1"]
    fill = ["--benchmarks=fillrandom", "--writes=5000"]

    def bench(where, preload, *more):
        return run.do("db_bench", f"--db={where}", f"--wal_dir={where}", *common, *more, preload=preload, timeout=110)
    a, b = run.dir / "a", run.dir / "b"
    bench(a, True, *fill)
    bench(b, False, *fill)
    got, wanted = keys(run, a), keys(run, b)
    run.check(got == wanted and wanted[0] > 20000, f"other keys than natively: {got[0]}, not {wanted[0]}")
    old = ["--use_existing_db=1", "--reads=8000", "--writes=5000"]
    found = [re.search(r"readrandom .*\((\d+ of \d+) found\)", bench(x, x == a, *old, "--benchmarks=readrandom"))[1] for x in (a, b)]
    run.check(found[0] == found[1], f"found {found[0]}, natively {found[1]}")
    out = bench(a, True, *old, "--benchmarks=readwhilewriting,overwrite,compact,waitforcompaction,verifychecksum,readseq")
    run.rate(float(re.search(r"readwhilewriting\s+: .* (\d+) ops/sec", out)[1]), "reads/s")
    run.p99(float(re.search(r"readwhilewriting.*?P99: ([\d.]+)", out, re.S)[1]) / 1000)
    bench(run.dir / "c", True, "--benchmarks=randomwithverify", "--reads=500")
    run.do("ldb", f"--db={a}", "checkconsistency")
    for log in (a / "LOG", run.dir / "c" / "LOG"):
        run.check("[ERROR]" not in log.read_text(errors="replace"), f"{log.parent.name}/LOG has errors")


# ---- MariaDB's own tests ------------------------------------------------------------------------------

SUITE = "/usr/share/mysql/mysql-test"
TESTS = ["kill", "sp-threads", "lock_kill", "flush_block_commit", "pool_of_threads", "deadlock_innodb"]


@case("mariadb-test-run, main.*", "mariadb-test", "mariadb-server")
def mariadb_tests(run):
    var, begin = run.dir / "var", time.monotonic()
    p = run.start("perl", f"{SUITE}/mariadb-test-run.pl", f"--vardir={var}", f"--build-thread={(run.port() - 10000) // 30}", "--force", "--retry=0",
                  "--mysqld=--bind-address=127.0.0.1", *(f"main.{t}" for t in TESTS), cwd=SUITE, name="tests")
    run.logs.append(var / "log" / "mysqld.1.err")
    run.quiet += ["Aborted connection"]
    pid_file = var / "run" / "mysqld.1.pid"
    run.until(pid_file.exists, "the server", p, 60)
    run.loaded(SimpleNamespace(pid=int(pid_file.read_text())))
    run.until(lambda: p.poll() is not None, "the tests", p, 90)
    said = p.log.read_text(errors="replace")
    verdicts = dict(re.findall(r"^main\.(\S+)(?: '\w+')? +\[ (\w+) \]", said, re.M))
    run.check(p.returncode == 0 and verdicts == dict.fromkeys(TESTS, "pass"), f"{exit_name(p.returncode)}: {verdicts}: {said[-300:]}")
    run.rate(len(TESTS) / (time.monotonic() - begin), "tests/s")
