"""tests/programs/servers.py -- servers with threads of their own: caches, TLS and HTTP proxies, a broker.

Each gets the checking client (load.c) with few and with many connections, and where the program has a client of its
own that one runs preloaded too. Servers end on SIGTERM with the status they are documented to have.
"""
import signal
import socket
import threading
import time
from pathlib import Path

from harness import case

ECHO = r"""
import asyncio, sys
async def echo(r, w):
    try:
        while data := await r.read(65536):
            w.write(data); await w.drain()
    except ConnectionError: pass
    finally: w.close()
async def main():
    async with await asyncio.start_server(echo, "127.0.0.1", int(sys.argv[1]), backlog=1024) as s: await s.serve_forever()
asyncio.run(main())
"""


def native_echo(run):
    port = run.port()
    p = run.start("/usr/bin/python3", "-c", ECHO, port, name="echo", preload=False)
    run.until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "the echo server", p)
    return port


def memcached(connections):
    @case(f"memcached -t 4, {connections} connections", "memcached")
    def run_it(run):
        port = run.port()
        p = run.start("memcached", "-t", 4, "-l", "127.0.0.1", "-p", port, "-U", 0, "-c", 2048, "-m", 128)
        run.up(p, port)
        run.load("memcached", port, connections)
        run.stop(p)
    return run_it


memcached(50)
memcached(1000)


def redis(connections):
    @case(f"redis-server io-threads 4, {connections} connections", "redis-server", "redis-tools")
    def run_it(run):
        port = run.port()
        p = run.start("redis-server", "--port", port, "--bind", "127.0.0.1", "--io-threads", 4, "--io-threads-do-reads", "yes",
                      "--maxclients", 4000, "--dir", run.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", name="redis")
        run.quiet += ["overcommit_memory", "no config file specified"]
        run.up(p, port)
        run.load("redis", port, connections)
        cli = ["redis-cli", "-p", port]
        run.check(run.do(*cli, "bgsave").startswith("Background"), "no background save")
        run.until(lambda: "rdb_bgsave_in_progress:0" in run.do(*cli, "info", "persistence"), "the background save", p)
        run.check("rdb_last_bgsave_status:ok" in run.do(*cli, "info", "persistence"), "the background save failed")
        keys = run.do(*cli, "dbsize").strip()
        run.check(keys == str(connections), f"{keys} keys, not {connections}")
        run.check(run.do(*cli, "flushall", "async").strip() == "OK", "flushall")
        run.stop(p)
    return run_it


redis(50)
redis(1000)


@case("redis-benchmark --threads 4 (client)", "redis-server", "redis-tools")
def redis_benchmark(run):
    port = run.port()
    p = run.start("redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", run.dir, "--save", "", name="redis", preload=False)
    run.quiet += ["overcommit_memory", "no config file specified"]
    run.until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, "redis", p)
    out = run.do("redis-benchmark", "-p", port, "--threads", 4, "-c", 100, "-n", 20000 * run.seconds, "-t", "get", "--csv",
                 preload=True, timeout=100)
    fields = [x.strip('"') for x in out.strip().splitlines()[-1].split(",")]
    run.rate(float(fields[1]), "requests/s")
    run.p99(float(fields[6]))


@case("stunnel4, both ends, 200 connections", "stunnel4", "openssl")
def stunnel(run):
    echo, inner, outer = native_echo(run), run.port(), run.port()
    run.do("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", "/CN=localhost",
           "-keyout", run.dir / "key.pem", "-out", run.dir / "cert.pem")
    (run.dir / "key.pem").chmod(0o644)
    common = f"foreground = yes\npid =\ndebug = 4\nsocket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n[x]\n"
    (run.dir / "server.conf").write_text(common + f"accept = 127.0.0.1:{inner}\nconnect = 127.0.0.1:{echo}\ncert = {run.dir}/cert.pem\nkey = {run.dir}/key.pem\n")
    (run.dir / "client.conf").write_text(common + f"client = yes\naccept = 127.0.0.1:{outer}\nconnect = 127.0.0.1:{inner}\nCAfile = {run.dir}/cert.pem\nverifyPeer = yes\n")
    run.quiet += ["key.pem", "reset by peer", "pthread_join() failed"]     # a race of its own: it joins who detaches
    server = run.start("stunnel4", run.dir / "server.conf", name="stunnel-server")
    client = run.start("stunnel4", run.dir / "client.conf", name="stunnel-client")
    run.up(server, inner)
    run.up(client, outer)
    run.load("echo", outer, 200)
    run.stop(client)
    run.stop(server)


@case("haproxy nbthread 4, 200 connections", "haproxy")
def haproxy(run):
    echo, port = native_echo(run), run.port()
    (run.dir / "h.cfg").write_text(f"""global
  nbthread 4
  maxconn 4000
defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen x
  bind 127.0.0.1:{port}
  server s 127.0.0.1:{echo}
""")
    p = run.start("haproxy", "-db", "-f", run.dir / "h.cfg")
    run.up(p, port)
    run.load("echo", port, 200)
    run.stop(p, status=(0, -signal.SIGTERM, 143))


@case("unbound num-threads 4", "unbound", "python3")
def unbound(run):
    port = run.port()
    names = "".join(f'  local-data: "h{i}.test. A 10.0.{i // 256}.{i % 256}"\n' for i in range(1000))
    (run.dir / "u.conf").write_text(f"""server:
  num-threads: 4
  interface: 127.0.0.1
  port: {port}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "{run.dir}"
  pidfile: ""
  use-syslog: no
  logfile: ""
  module-config: "iterator"
  local-zone: "test." static
{names}remote-control:
  control-enable: no
""")
    p = run.start("unbound", "-d", "-c", run.dir / "u.conf")
    run.up(p, port)
    ask_names(run, port)
    run.stop(p)


def ask_names(run, port):
    """Threads that ask for names over UDP, one question out at a time, and look at each answer."""
    times, wrong, end = [], [], time.monotonic() + run.seconds

    def client(number):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(10)
            s.connect(("127.0.0.1", port))
            n = number
            while time.monotonic() < end and not wrong:
                n = (n * 7 + 3) % 1000
                ident = (number * 251 + n).to_bytes(2, "big")
                label = f"h{n}".encode()
                begin = time.monotonic()
                s.send(ident + b"\1\0\0\1\0\0\0\0\0\0" + bytes([len(label)]) + label + b"\4test\0\0\1\0\1")
                try:
                    answer = s.recv(600)
                except OSError as e:
                    wrong.append(repr(e))
                    return
                times.append(time.monotonic() - begin)
                if answer[:2] != ident or bytes([10, 0, n // 256, n % 256]) not in answer[-40:]:
                    wrong.append(f"a wrong answer for h{n}: {answer!r}")
    threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    run.check(not wrong, f"{len(wrong)} of {len(times)}: {wrong[:1]}")
    times.sort()
    run.rate(len(times) / run.seconds, "requests/s", len(times))
    run.p99(times[int(len(times) * .99)] * 1000)


@case("mosquitto, clients preloaded", "mosquitto", "mosquitto-clients")
def mosquitto(run):
    port = run.port()
    (run.dir / "m.conf").write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n")
    p = run.start("mosquitto", "-c", run.dir / "m.conf")
    run.up(p, port)
    lines = [f"message {i} " + "x" * (i % 500) for i in range(3000)]
    (run.dir / "lines").write_text("\n".join(lines) + "\n")
    sub = run.start("mosquitto_sub", "-p", port, "-t", "t", "-q", 1, "-C", len(lines), "-i", "sub", "-c", name="sub")
    run.until(lambda: "SUBSCRIBE" in Path(p.log).read_text() or time.sleep(0.3) is None, "the subscriber", p)
    begin = time.monotonic()
    run.do("mosquitto_pub", "-p", port, "-t", "t", "-q", 1, "-l", preload=True, stdin=run.dir / "lines")
    run.until(lambda: sub.poll() is not None, "all messages", p)
    run.rate(len(lines) / (time.monotonic() - begin), "messages/s")
    got = [x for x in Path(sub.log).read_text().splitlines() if not x.startswith("SCHED")]
    run.check(got == lines, f"{len(got)} lines of {len(lines)}, or another order")
    run.stop(p)
