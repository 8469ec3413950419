"""tests/programs/media.py -- work with many threads and one right result: encoders, fio with checksums, make, gdb.

Encoders must write the same bytes as a native run does, which the run makes for comparison (their results do not
depend on timing). fio writes with threads and reads back what it wrote.
"""
import re
import shutil
import time
from pathlib import Path

from harness import case
from tools import same


def encoder(name, package, *arguments):
    @case(name, package)
    def run_it(run):
        source, a, b = run.dir / "source.in", run.dir / "a.in", run.dir / "b.in"
        run.do("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25:duration=4", "-f", "yuv4mpegpipe", "-y", source)
        begin = time.monotonic()
        run.do(*(str(a) if x == "OUT" else str(source) if x == "IN" else x for x in arguments), preload=True, timeout=100)
        run.rate(100 / (time.monotonic() - begin), "frames/s")
        run.do(*(str(b) if x == "OUT" else str(source) if x == "IN" else x for x in arguments), timeout=100)
        run.check(a.stat().st_size > 1000 and same(a, b), "another file than natively")
        run.do("ffmpeg", "-v", "error", "-threads", 4, "-i", a, "-f", "null", "-", preload=True)
    return run_it


encoder("ffmpeg, x264 with 8 threads", "ffmpeg", "ffmpeg", "-v", "error", "-y", "-i", "IN", "-threads", "8", "-c:v", "libx264", "-preset",
        "veryfast", "-bitexact", "-f", "h264", "OUT")
encoder("ffmpeg, filters, vp9 with 4 threads", "ffmpeg", "ffmpeg", "-v", "error", "-y", "-filter_threads", "4", "-i", "IN", "-vf",
        "scale=320:180,hqdn3d", "-threads", "4", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-row-mt", "1", "-bitexact", "-f", "ivf", "OUT")


@case("fio, 8 threads, verified", "fio")
def fio(run):
    out = run.do("fio", "--name=x", f"--directory={run.dir}", "--thread", "--numjobs=8", "--size=4m", "--bs=4k", "--rw=randwrite", "--ioengine=psync",
                 "--verify=crc32c", "--do_verify=1", "--verify_fatal=1", "--group_reporting", "--end_fsync=1", "--fallocate=none",
                 preload=True, timeout=100)
    run.check("err= 0" in out, out[-400:])
    run.quiet += ["err= 0"]
    m = re.search(r"WRITE: bw=([\d.]+)([KMG])iB/s", out)
    run.rate(float(m[1]) * {"K": 1 / 1024, "M": 1, "G": 1024}[m[2]], "MB/s")


@case("make -j8 in a pipeline", "make", "gcc", "pigz")
def make(run):
    lines = ["all: " + " ".join(f"o{i}" for i in range(40))]
    for i in range(40):
        (run.dir / f"s{i}.c").write_text(f"int main(void) {{ return {i}; }}\n")
        lines.append(f"o{i}: s{i}.c\n\t@gcc -o $@ $< && {{ ./$@ || echo $@ $$?; }} | pigz -p 2 | pigz -d")
    (run.dir / "Makefile").write_text("\n".join(lines) + "\n")
    begin = time.monotonic()
    out = run.do("sh", "-c", "make -j8 | sort | tee out.in | wc -l", preload=True, timeout=110)
    run.check(out.strip() == "39", f"{out.strip()} lines, not 39")
    run.check(sorted((run.dir / "out.in").read_text().split("\n")[:-1]) == sorted(f"o{i} {i}" for i in range(1, 40)), "other lines")
    run.rate(40 / (time.monotonic() - begin), "programs/s")


@case("gdb attached to python3", "gdb", "python3")
def gdb(run):
    program = "import threading, time, sys\nprint('up', flush=True)\nn = [0]\ndef f():\n  while True: n[0] += 1; time.sleep(0.01)\n" \
              "[threading.Thread(target=f, daemon=True).start() for _ in range(20)]\n" \
              "while True:\n  a = n[0]; time.sleep(0.3); print('alive' if n[0] > a else 'stuck', flush=True)\n"
    p = run.start("/usr/bin/python3", "-c", program, name="python", as_user=False)
    run.until(lambda: "alive" in p.log.read_text(), "the program", p)
    run.loaded(p)
    begin = time.monotonic()
    for _ in range(3):
        out = run.do("gdb", "-q", "-batch", "-p", p.pid, "-ex", "handle SIGSEGV SIGURG nostop noprint pass", "-ex", "bt 3", "-ex", "info threads",
                     "-ex", "detach", timeout=60)
        run.check("#0" in out and "detached" in out, out[-300:])
    run.rate(3 / (time.monotonic() - begin), "attaches/s")
    seen = p.log.read_text().count("alive")
    run.until(lambda: p.log.read_text().count("alive") > seen + 1, "the program after gdb", p)
    run.check("stuck" not in p.log.read_text().splitlines()[-1], "its threads stand still")
    run.stop(p)


@case("varnish, 100 connections", "varnish", "nginx")
def varnish(run):
    from web import start_nginx
    back, web, root = start_nginx(run, preload=False)
    port = run.port()
    (run.dir / "v.vcl").write_text(f'vcl 4.1;\nbackend default {{ .host = "127.0.0.1"; .port = "{web}"; }}\n')
    p = run.start("varnishd", "-F", "-n", run.dir / "v", "-f", run.dir / "v.vcl", "-a", f"127.0.0.1:{port}", "-s", "malloc,64m", "-j", "none",
                  "-p", "thread_pool_min=50", "-p", "vcc_allow_inline_c=off")
    run.up(p, port)
    run.load("http", port, 100, root)
    run.stop(p)
    run.stop(back)
