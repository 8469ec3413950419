"""tests/programs/languages.py -- interpreters and virtual machines: python3, ruby, java, node.

Their programs use what threads are for in that language: servers with a thread a connection, pools, queues, locks,
timeouts. Each prints one line that must be exactly right.
"""
import re
import shutil
import time

from harness import Failure, case
from web import site

HTTP = r"""
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
with Server(("127.0.0.1", int(sys.argv[1])), functools.partial(Handler, directory=sys.argv[2])) as s: s.serve_forever()
"""


@case("python3 ThreadingHTTPServer, 200", "python3")
def python_http(run):
    port, root = run.port(), site(run)
    p = run.start("/usr/bin/python3", "-c", HTTP, port, root, name="python")
    run.up(p, port)
    run.load("http", port, 200, root)
    run.stop(p)


FUTURES = r"""
import concurrent.futures as f, hashlib, os, subprocess, time, zlib
def work(i):
    data = bytes([i % 256]) * (1000 + i)
    if i % 50 == 0: time.sleep(0.01)
    return i, zlib.crc32(zlib.compress(data)), hashlib.sha256(data).hexdigest()
def native(i):
    data = bytes([i % 256]) * (1000 + i)
    return i, zlib.crc32(zlib.compress(data)), hashlib.sha256(data).hexdigest()
with f.ThreadPoolExecutor(64) as pool:
    assert list(pool.map(work, range(3000))) == [native(i) for i in range(3000)]
    done = [x.result()[0] for x in f.as_completed([pool.submit(work, i) for i in range(2000)])]
    assert sorted(done) == list(range(2000))
    try: pool.submit(time.sleep, 0.5).result(timeout=0.05); assert False
    except f.TimeoutError: pass
    outs = list(pool.map(lambda i: subprocess.run(["/bin/echo", str(i)], capture_output=True, text=True).stdout, range(60)))
    assert outs == [f"{i}\n" for i in range(60)]
with f.ProcessPoolExecutor(4) as pool:
    assert list(pool.map(pow, range(500), range(500), [997] * 500)) == [pow(i, i, 997) for i in range(500)]
print("ok")
"""

QUEUES = r"""
import queue, sys, threading, time
STAGES, WORKERS, ITEMS = 5, 8, 4000
qs = [queue.Queue(16) for _ in range(STAGES + 1)]
def stage(i):
    while True:
        x = qs[i].get()
        qs[i].task_done()
        if x is None: return
        qs[i + 1].put(x + 1)
ts = [threading.Thread(target=stage, args=(i,)) for i in range(STAGES) for _ in range(WORKERS)]
for t in ts: t.start()
def feed():
    for x in range(ITEMS): qs[0].put(x * 10)
threading.Thread(target=feed).start()
got = sorted(qs[STAGES].get(timeout=60) for _ in range(ITEMS))
for i in range(STAGES):
    for _ in range(WORKERS): qs[i].put(None)
for t in ts: t.join(30)
assert not any(t.is_alive() for t in ts)
assert got == [x * 10 + STAGES for x in range(ITEMS)]
cond, turn, log = threading.Condition(), [0], []
def player(me):
    for _ in range(200):
        with cond:
            while not cond.wait_for(lambda: turn[0] == me, 0.5): pass
            log.append(me); turn[0] = (me + 1) % 4; cond.notify_all()
ps = [threading.Thread(target=player, args=(i,)) for i in range(4)]
for t in ps: t.start()
for t in ps: t.join(60)
assert log == [0, 1, 2, 3] * 200
barrier, events = threading.Barrier(50), threading.Event()
bs = [threading.Thread(target=lambda: (barrier.wait(30), events.wait(30))) for _ in range(50)]
for t in bs: t.start()
events.set()
for t in bs: t.join(30)
timers = [threading.Timer(0.01 * (i % 10), log.append, [9]) for i in range(100)]
for t in timers: t.start()
for t in timers: t.join(30)
assert log.count(9) == 100
print("ok")
"""


def python(name, program):
    @case(name, "python3")
    def run_it(run):
        begin = time.monotonic()
        out = run.do("/usr/bin/python3", "-W", "ignore", "-c", program, preload=True, timeout=100)
        run.check(out == "ok\n", "it says " + out)
        run.rate(1 / (time.monotonic() - begin), "1/s")


python("python3 concurrent.futures", FUTURES)
python("python3 queue pipelines", QUEUES)

RUBY = r"""
require 'socket'; require 'timeout'; require 'digest'
server = TCPServer.new('127.0.0.1', 0); port = server.addr[1]
Thread.new { loop { Thread.new(server.accept) { |s| while (l = s.gets); s.puts Digest::SHA256.hexdigest(l); end; s.close } } }
ok = (0...50).map { |i| Thread.new { s = TCPSocket.new('127.0.0.1', port); r = (0...100).all? { |j| s.puts "#{i} #{j}"; s.gets.chomp == Digest::SHA256.hexdigest("#{i} #{j}\n") }; s.close; r } }.map(&:value)
q = SizedQueue.new(5); sum = 0; m = Mutex.new
c = 4.times.map { Thread.new { while (x = q.pop) != :end; m.synchronize { sum += x }; end } }
(1..5000).each { |x| q << x }; 4.times { q << :end }; c.each(&:join)
begin; Timeout.timeout(0.1) { sleep 5 }; t = false; rescue Timeout::Error; t = true; end
p [ok.all?, sum, t, `echo hi`]
"""


@case("ruby threads, queues, timeouts", "ruby")
def ruby(run):
    begin = time.monotonic()
    out = run.do("ruby", "-e", RUBY, preload=True, timeout=90)
    run.check(out.strip() == '[true, 12502500, true, "hi\\n"]', "it says " + out)
    run.rate(1 / (time.monotonic() - begin), "1/s")


JAVA = r"""
import java.io.*; import java.net.*; import java.util.concurrent.*;
public class Echo {
  static void serve(Socket s) {
    try (s) { s.setTcpNoDelay(true); InputStream in = s.getInputStream(); OutputStream out = s.getOutputStream(); byte[] b = new byte[8192];
      for (int n; (n = in.read(b)) > 0;) out.write(b, 0, n);
    } catch (IOException e) { }
  }
  public static void main(String[] a) throws Exception {
    long sum = ForkJoinPool.commonPool().submit(() -> java.util.stream.LongStream.range(0, 3000000).parallel().map(x -> x * x % 7).sum()).get();
    System.out.println("sum " + sum);
    ServerSocket s = new ServerSocket(Integer.parseInt(a[0]), 1024, InetAddress.getByName("127.0.0.1"));
    for (;;) { Socket c = s.accept(); new Thread(() -> serve(c)).start(); }
  }
}
"""


@case("openjdk javac, threaded echo, 200", "openjdk-17-jdk-headless")
def java(run):
    (run.dir / "Echo.java").write_text(JAVA)
    run.do("javac", "Echo.java", preload=True, timeout=100)
    port = run.port()
    p = run.start("java", "-Xmx256m", "-cp", run.dir, "Echo", port, name="java")
    run.up(p, port)
    run.load("echo", port, 200)
    run.check("sum " in p.log.read_text(), "no sum")
    run.stop(p, status=(143,))


NODE = r"""
const http = require('http'), crypto = require('crypto'), zlib = require('zlib'), fs = require('fs'), dns = require('dns');
const { Worker, isMainThread, workerData, parentPort } = require('worker_threads');
if (!isMainThread) { let h = crypto.createHash('sha256'); for (let i = 0; i < 20000; i++) h.update('' + (i * workerData)); parentPort.postMessage(h.digest('hex')); }
else (async () => {
  const pb = await Promise.all([...Array(40).keys()].map(i => new Promise((y, n) => crypto.pbkdf2('p' + i, 's', 500, 32, 'sha256', (e, k) => e ? n(e) : y(k.equals(crypto.pbkdf2Sync('p' + i, 's', 500, 32, 'sha256')))))));
  const z = await Promise.all([...Array(40).keys()].map(i => new Promise((y, n) => zlib.deflate(Buffer.alloc(50000, i), (e, b) => e ? n(e) : y(zlib.inflateSync(b).equals(Buffer.alloc(50000, i)))))));
  const w = await Promise.all([1, 2, 3, 1].map(k => new Promise((y, n) => { const t = new Worker(__filename, { workerData: k }); t.on('message', y); t.on('error', n); })));
  console.log(pb.every(x => x), z.every(x => x), w[0] === w[3] && w[0] !== w[1]);
})();
"""


@case("node worker threads, thread pool", "nodejs")
def node(run):
    (run.dir / "n.js").write_text(NODE)
    begin = time.monotonic()
    out = run.do("node", run.dir / "n.js", preload=True, timeout=90)
    run.check(out.strip() == "true true true", "it says " + out)
    run.rate(1 / (time.monotonic() - begin), "1/s")
