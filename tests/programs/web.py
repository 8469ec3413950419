"""tests/programs/web.py -- HTTP: Apache's threaded modules, nginx with a thread pool, tinyproxy; ab, siege and wrk.

Files of 1 byte to 256 KB are fetched and compared byte for byte by load.c. The well-known clients run preloaded
against a native server, and must report no failure.
"""
import random
import re
import signal
import socket

from harness import case

SIZES = [1, 10, 100, 1000, 4096, 10000, 30000, 65536, 262144]


def site(run):
    root = run.dir / "site"
    root.mkdir()
    dice = random.Random(1)
    for i, size in enumerate(SIZES):
        (root / f"{i}.bin").write_bytes(dice.randbytes(size))
    return root


def apache_conf(run, mpm, port, root):
    modules = "\n".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so" for m in (f"mpm_{mpm}", "authz_core", "mime", "status"))
    (run.dir / "a.conf").write_text(f"""{modules}
ServerRoot {run.dir}
PidFile {run.dir}/pid
ServerName 127.0.0.1
Listen 127.0.0.1:{port}
DefaultRuntimeDir {run.dir}
Mutex file:{run.dir} default
ErrorLog {run.dir}/error.log
LogLevel warn
TypesConfig /dev/null
DocumentRoot {root}
StartServers 2
ThreadsPerChild 100
ThreadLimit 100
MaxRequestWorkers 400
ServerLimit 4
MinSpareThreads 50
MaxSpareThreads 400
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 20
EnableSendfile On
<Directory {root}>
  Require all granted
</Directory>
""")
    run.log("error")
    return run.dir / "a.conf"


def start_apache(run, mpm):
    port, root = run.port(), site(run)
    p = run.start("apache2", "-DFOREGROUND", "-f", apache_conf(run, mpm, port, root), name="apache")
    run.up(p, port)
    return p, port, root


def apache(mpm, connections):
    @case(f"apache2 mpm_{mpm}, {connections} connections", "apache2-bin")
    def run_it(run):
        p, port, root = start_apache(run, mpm)
        run.load("http", port, connections, root)
        p.send_signal(signal.SIGUSR1)         # graceful: new children, the old ones finish
        run.load("http", port, 20, root) if run.look else None
        run.stop(p)
    return run_it


for m in ("worker", "event"):
    apache(m, 100)


def start_nginx(run, preload=True):
    port, root = run.port(), site(run)
    (run.dir / "n.conf").write_text(f"""worker_processes 2;
daemon off;
pid {run.dir}/pid;
error_log stderr warn;
thread_pool default threads=8;
events {{ worker_connections 2000; }}
http {{
  access_log off;
  client_body_temp_path {run.dir}/b; proxy_temp_path {run.dir}/p; fastcgi_temp_path {run.dir}/f; uwsgi_temp_path {run.dir}/u; scgi_temp_path {run.dir}/s;
  keepalive_requests 1000000000;
  aio threads;
  sendfile off;
  output_buffers 2 64k;
  server {{ listen 127.0.0.1:{port} backlog=1024; root {root}; }}
}}
""")
    p = run.start("nginx", "-c", run.dir / "n.conf", "-e", "stderr", preload=preload)
    if preload:
        run.up(p, port)
    else:
        run.until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "nginx", p)
    return p, port, root


@case("nginx aio threads, 200 connections", "nginx")
def nginx(run):
    p, port, root = start_nginx(run)
    run.load("http", port, 200, root)
    run.stop(p)


@case("tinyproxy, 50 connections", "tinyproxy-bin", "nginx")
def tinyproxy(run):
    back, web, root = start_nginx(run, preload=False)
    port = run.port()
    (run.dir / "t.conf").write_text(f"""Port {port}
Listen 127.0.0.1
Timeout 60
LogLevel Warning
MaxClients 400
Allow 127.0.0.1
""")
    p = run.start("tinyproxy", "-d", "-c", run.dir / "t.conf")
    run.up(p, port)
    run.load("http", port, 50, root, f"http://127.0.0.1:{web}/")
    run.stop(p, status=(0, -signal.SIGTERM))
    run.stop(back)


# ---- clients ----

@case("ab -c 50 (client)", "apache2-utils", "nginx")
def ab(run):
    p, port, _ = start_nginx(run, preload=False)
    out = run.do("ab", "-q", "-k", "-c", 50, "-n", 3000 * run.seconds, f"http://127.0.0.1:{port}/5.bin", preload=True, timeout=100)
    run.check(re.search(r"Failed requests:\s+0$", out, re.M) and re.search(rf"Complete requests:\s+{3000 * run.seconds}$", out, re.M), out[-600:])
    run.rate(float(re.search(r"Requests per second:\s+([\d.]+)", out)[1]), "requests/s")
    run.p99(float(re.search(r"\s99%\s+(\d+)", out)[1]))
    run.quiet.append("Failed requests")
    run.stop(p)


# With -t it cancels its threads asynchronously, also inside malloc: natively every tenth run never ends.
@case("siege -c 50 (client)", "siege", "nginx")
def siege(run):
    p, port, _ = start_nginx(run, preload=False)
    (run.dir / "siegerc").write_text("verbose = false\nlogging = false\nshow-logfile = false\njson_output = true\nconnection = keep-alive\nlimit = 255\n")
    out = run.do("siege", "-R", run.dir / "siegerc", "-b", "-c", 50, "-r", 150 * run.seconds, f"http://127.0.0.1:{port}/5.bin",
                 preload=True, timeout=run.seconds + 60)
    values = dict(re.findall(r'"(\w+)":\s*([\d.]+)', out))
    run.check(float(values["availability"]) == 100 and float(values["failed_transactions"]) == 0 and float(values["transactions"]) == 7500 * run.seconds, out)
    size = float(values["data_transferred"]) / float(values["transactions"]) * 1e6
    run.check(9000 < size < 11100, f"{size} bytes each, not 10000")
    run.rate(float(values["transaction_rate"]), "requests/s")
    run.quiet += ["failed_transactions"]
    run.stop(p)


@case("wrk -t 4 -c 200 (client)", "wrk", "nginx")
def wrk(run):
    p, port, _ = start_nginx(run, preload=False)
    out = run.do("wrk", "-t", 4, "-c", 200, "-d", f"{run.seconds}s", "--latency", "--timeout", "20s", f"http://127.0.0.1:{port}/5.bin",
                 preload=True, timeout=run.seconds + 60)
    run.check("Socket errors" not in out and "Non-2xx" not in out, out)
    run.rate(float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), "requests/s")
    m = re.search(r"99%\s+([\d.]+)(us|ms|s)", out)
    run.p99(float(m[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[m[2]])
    run.stop(p)
