"""tests/programs/tools.py -- programs that do a piece of work with threads and end: compressors, benchmarks, git, sqlite.

Each piece of work has one right answer, known beforehand or found with another program, and the time it takes is
the rate. What they write is compared byte for byte.
"""
import hashlib
import re
import time

from harness import case

MEGABYTES = 16


def words(path, megabytes=MEGABYTES):
    """Text that compresses, the same every time."""
    seed = b"".join(hashlib.sha256(str(i).encode()).hexdigest()[: 3 + i % 9].encode() + b" \n"[i % 11 == 0:][:1] for i in range(60000))
    with open(path, "wb") as out:
        size = 0
        while size < megabytes << 20:
            at = (size * 7919) % (len(seed) - 65536)
            out.write(seed[at:at + 65536])
            size += 65536
    return path


def same(a, b):
    return hashlib.sha256(a.read_bytes()).digest() == hashlib.sha256(b.read_bytes()).digest()


def compressor(name, package, command, unpack, megabytes=MEGABYTES, threaded_unpack=False):
    @case(name, package)
    def run_it(run):
        plain, packed, again = run.dir / "plain.in", run.dir / "packed.in", run.dir / "again.in"
        words(plain, megabytes)
        begin = time.monotonic()
        run.do(*command.split(), preload=True, stdin=plain, stdout=packed, timeout=100)
        run.rate(megabytes / (time.monotonic() - begin), "MB/s")
        run.do(*unpack.split(), stdin=packed, stdout=again)
        run.check(same(plain, again), "what was packed is not what was there")
        if threaded_unpack:
            again.unlink()
            run.do(*unpack.split(), preload=True, stdin=packed, stdout=again)
            run.check(same(plain, again), "what was unpacked is not what was there")
    return run_it


compressor("pigz -p 8", "pigz", "pigz -p 8 -c", "pigz -dc", threaded_unpack=True)
compressor("pbzip2 -p8", "pbzip2", "pbzip2 -p8 -c", "pbzip2 -dc", 2, threaded_unpack=True)
compressor("xz -T8", "xz-utils", "xz -T8 -1 --block-size=1MiB -c", "xz -T8 -dc", 6, threaded_unpack=True)
compressor("zstd -T8", "zstd", "zstd -T8 -9 -q -c", "zstd -q -dc", threaded_unpack=True)


def sysbench(name, *arguments):
    @case(f"sysbench {name}", "sysbench")
    def run_it(run):
        out = run.do("sysbench", *arguments, f"--time={run.seconds}", "--percentile=99", "run", preload=True, timeout=run.seconds + 40)
        events = int(re.search(r"total number of events:\s+(\d+)", out)[1])
        run.check(events > 0, "no events")
        run.rate(events / float(re.search(r"total time:\s+([\d.]+)s", out)[1]), "events/s", events)
        run.p99(float(re.search(r"99th percentile:\s+([\d.]+)", out)[1]))


sysbench("threads, 64", "threads", "--threads=64", "--thread-locks=4")
sysbench("mutex, 64", "mutex", "--threads=64", "--mutex-num=16", "--mutex-locks=50000", "--mutex-loops=100")
sysbench("cpu, 16", "cpu", "--threads=16", "--cpu-max-prime=5000")


def stress_ng(stressor, *more):
    @case(f"stress-ng {stressor}", "stress-ng")
    def run_it(run):
        out = run.do("stress-ng", f"--{stressor}", 2, *more, "--timeout", run.seconds, "--verify", "--metrics-brief", "--temp-path", run.dir,
                     "--stdout", preload=True, timeout=run.seconds + 40)
        m = re.search(rf"metrc:.* {stressor} +(\d+) +([\d.]+) ", out)
        run.check(m and int(m[1]) > 0, "nothing was done")
        run.check(not re.search(r"^stress-ng: (fail|error)", out, re.M), "it complains: " + out[-300:])
        run.rate(int(m[1]) / float(m[2]), "bogo ops/s", int(m[1]))


for s in ("pthread", "mutex", "futex", "sem", "sock", "switch", "pipe", "mq", "sigq"):
    stress_ng(s)


@case("openssl speed -multi 2", "openssl")
def openssl_speed(run):
    out = run.do("openssl", "speed", "-multi", 2, "-seconds", 1, "-bytes", 8192, "-mr", "sha256", preload=True, timeout=60)
    m = re.search(r"^\+F:\d+:sha256:([\d.]+)", out, re.M)
    run.check(m, "no result: " + out[-300:])
    run.rate(float(m[1]) / 1e6, "MB/s")


@case("git index-pack, grep, 4 threads", "git")
def git(run):
    source = run.dir / "source"
    source.mkdir()
    for i in range(400):
        (source / f"f{i:03}").write_text("\n".join(hashlib.md5(f"{i} {j // 3}".encode()).hexdigest() for j in range(200 + i)), encoding="utf-8")
    who = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "pack.threads=4", "-c", "grep.threads=4", "-c", "index.threads=4"]
    run.do("git", "init", "-q", source)
    for i in range(3):
        for f in source.glob("f*"):
            f.write_text(f.read_text(encoding="utf-8") + f"\nround {i} {f.name}", encoding="utf-8")
        run.do("git", *who, "add", ".", preload=True, cwd=source)
        run.do("git", *who, "commit", "-q", "-m", f"c{i}", preload=True, cwd=source)
    begin = time.monotonic()
    run.do("git", *who, "repack", "-a", "-d", "-f", "-q", preload=True, cwd=source)
    pack = next((source / ".git/objects/pack").glob("*.pack"))
    named = run.do("git", *who, "index-pack", "--threads=4", "--strict", "-o", run.dir / "own.idx", pack, preload=True, cwd=source).strip()
    run.check(same(run.dir / "own.idx", pack.with_suffix(".idx")), "another index than git's own")
    run.do("git", "fsck", "--full", cwd=source)
    found = run.do("git", *who, "grep", "-c", "round [12]", preload=True, cwd=source).splitlines()
    run.check(len(found) == 400 and all(x.endswith(":2") for x in found), f"grep found {len(found)} files of 400")
    run.rate(1 / (time.monotonic() - begin), "1/s")
    run.check(named.endswith(pack.stem[5:]) or named, "no name")


SQLITE = r"""
import os, sqlite3, sys, threading
path, threads, each = sys.argv[1], 16, 60
db = sqlite3.connect(path)
db.execute("pragma journal_mode=wal")
db.execute("create table t (who int, n int, text text, primary key (who, n))")
db.commit(); db.close()
errors = []
def worker(who):
    try:
        db = sqlite3.connect(path, timeout=60)
        db.execute("pragma synchronous=off")
        for n in range(each):
            with db:
                db.execute("insert into t values (?, ?, ?)", (who, n, f"{who}-{n}" * 20))
            got = db.execute("select text from t where who=? and n=?", (who, n)).fetchone()
            if got != (f"{who}-{n}" * 20,):
                errors.append((who, n, got))
        db.close()
    except Exception as e:
        errors.append((who, repr(e)))
ts = [threading.Thread(target=worker, args=(i,)) for i in range(threads)]
[t.start() for t in ts]; [t.join() for t in ts]
db = sqlite3.connect(path)
print(db.execute("select count(*), count(distinct who) from t").fetchone(), db.execute("pragma integrity_check").fetchone()[0], errors[:3])
"""


@case("sqlite3, 16 writing threads", "python3", "sqlite3")
def sqlite(run):
    path = run.dir / "t.db"
    begin = time.monotonic()
    out = run.do("/usr/bin/python3", "-c", SQLITE, path, preload=True, timeout=100)
    run.rate(960 / (time.monotonic() - begin), "commits/s")
    run.check(out.strip() == "(960, 16) ok []", f"it says {out.strip()}")
    run.check(run.do("sqlite3", path, "pragma integrity_check; select count(*) from t").split() == ["ok", "960"], "the file is not whole")


@case("ripgrep -j8 (Rust)", "ripgrep")
def ripgrep(run):
    tree = run.dir / "tree"
    for i in range(60):
        (tree / f"d{i % 7}" / f"e{i % 5}").mkdir(parents=True, exist_ok=True)
        (tree / f"d{i % 7}" / f"e{i % 5}" / f"f{i}").write_bytes(words(run.dir / "some.in", 1).read_bytes()[i * 1000:i * 1000 + 600000])
    begin = time.monotonic()
    out = run.do("rg", "-j8", "-c", "a[0-9]b", tree, preload=True)
    run.rate(1 / (time.monotonic() - begin), "1/s")
    plain = run.do("grep", "-rc", "a[0-9]b", tree)
    run.check(sorted(out.split()) == sorted(x for x in plain.split() if not x.endswith(":0")) and len(out.split()) > 30, "other counts than grep")


@case("fzf (Go, its own scheduler)", "fzf")
def fzf(run):
    (run.dir / "lines.in").write_text("\n".join(str(i * 7) for i in range(300000)) + "\n")
    begin = time.monotonic()
    out = run.do("fzf", "-f", "4321", "+s", preload=True, stdin=run.dir / "lines.in", timeout=90)
    run.rate(1 / (time.monotonic() - begin), "1/s")

    def fits(line):         # the letters in this order, anything between
        it = iter(line)
        return all(c in it for c in "4321")
    run.check(out.split() == [str(i * 7) for i in range(300000) if fits(str(i * 7))], "other lines than asked for")
