"""tests/programs/services.py -- daemons with pools of threads: OpenLDAP's slapd, FreeRADIUS, squid, BIND's named.

Each answers from data made here, so every answer is compared with what it must be, and each writes something (a
database, a log, a disk cache, a zone transferred) that is looked at afterwards. They run in the foreground as an
unprivileged user, on ports of their own, with all their files in the run's directory.
"""
import hashlib
import hmac
import os
import random
import re
import signal
import socket
import sqlite3
import threading
import time

import web
from harness import Failure, case, exit_name, user
from servers import ask_names


def folder(run, name):
    """A directory that the server's user can write to."""
    path = run.dir / name
    path.mkdir()
    path.chmod(0o777)
    return path


def together(run, label, commands):
    """Native clients side by side; returns what each said."""
    clients = [run.start(*c, name=f"{label}-{n}", as_user=False, preload=False) for n, c in enumerate(commands)]
    for c in clients:
        run.until(lambda c=c: c.poll() is not None, f"{label}: all clients' ends", seconds=60)
        run.check(c.returncode == 0, f"{label}: {exit_name(c.returncode)}: {c.log.read_text(errors='replace')[-300:]}")
    return [c.log.read_text(errors="replace") for c in clients]


# ---- OpenLDAP ----

ENTRIES, SEARCHERS, EACH = 500, 8, 100
SUFFIX = "dc=example,dc=test"


def person(i, title="none"):
    """The attributes of an entry, in the order in which the server keeps them."""
    dice = random.Random(i)
    words = " ".join(f"{dice.randrange(16 ** 6):06x}" for _ in range(dice.randrange(1, 200)))
    return f"dn: uid=u{i},{SUFFIX}\nuid: u{i}\ncn: Person {i}\nsn: Number {i}\ntitle: {title}\ndescription: {words}\n\n"


def start_slapd(run, fresh=True):
    port, conf = run.port(), run.dir / "slapd.conf"
    data = folder(run, "ldap") if fresh else run.dir / "ldap"
    conf.write_text(f"""include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {run.dir}/slapd.pid
argsfile {run.dir}/slapd.args
threads 8
sizelimit unlimited
database mdb
suffix "{SUFFIX}"
rootdn "cn=root,{SUFFIX}"
rootpw secret
directory {data}
maxsize 67108864
index objectClass,uid eq
index cn eq,sub
""")
    p = run.start("slapd", "-h", f"ldap://127.0.0.1:{port}", "-f", conf, "-d", "none")
    run.up(p, port)
    return p, ["-x", "-H", f"ldap://127.0.0.1:{port}"], conf


def searches(run, who, dice):
    """Every searcher asks for entries by name over one connection."""
    commands, wanted = [], []
    for number in range(SEARCHERS):
        asked = [dice.randrange(ENTRIES) for _ in range(EACH)]
        names = run.dir / f"names.{number}"
        names.write_text("".join(f"u{i}\n" for i in asked))
        commands.append(["ldapsearch", *who, "-LLL", "-o", "ldif-wrap=no", "-b", SUFFIX, "-f", names, "(uid=%s)", "uid", "cn", "sn", "description"])
        wanted.append("\n".join(person(i).replace("title: none\n", "") for i in asked))
        (run.dir / f"ldapsearch-{number}.log").unlink(missing_ok=True)
    for number, (got, want) in enumerate(zip(together(run, "ldapsearch", commands), wanted)):
        run.check(got == want, f"searcher {number}: {got.count('dn: ')} entries of {EACH}, or others")


def all_entries(run, who, titles):
    got = run.do("ldapsearch", *who, "-LLL", "-o", "ldif-wrap=no", "-b", SUFFIX, "(cn=Person*)", "uid", "cn", "sn", "title", "description")
    want = [person(i, titles.get(i, "none")) for i in range(ENTRIES)]
    found = [e + "\n\n" for e in got.split("\n\n") if e]
    run.check(sorted(sorted(e.splitlines()) for e in found) == sorted(sorted(e.splitlines()) for e in want),
              f"{len(found)} entries of {ENTRIES} in the end, or others")


@case(f"slapd, {SEARCHERS} searchers and 2 writers", "slapd", "ldap-utils")
def slapd(run):
    p, who, conf = start_slapd(run)
    root = [*who, "-D", f"cn=root,{SUFFIX}", "-w", "secret"]
    (run.dir / "top.ldif").write_text(f"dn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: test\n\n")
    run.do("ldapadd", *root, "-f", run.dir / "top.ldif")
    parts = [run.dir / f"people.{k}.ldif" for k in range(4)]
    for k, part in enumerate(parts):
        part.write_text("".join(person(i).replace("uid: ", "objectClass: inetOrgPerson\nuid: ", 1) for i in range(k, ENTRIES, 4)))
    together(run, "ldapadd", [["ldapadd", *root, "-f", part] for part in parts])
    titles, done, dice, begin, stop, wrong = {}, 0, random.Random(1), time.monotonic(), threading.Event(), []

    def writer(half):
        n = 0
        while not stop.is_set() and not wrong:
            i, title = (2 * n + half) % ENTRIES, f"writer {half} change {n}"
            change = run.dir / f"change.{half}"
            change.write_text(f"dn: uid=u{i},{SUFFIX}\nchangetype: modify\nreplace: title\ntitle: {title}\n\n")
            c = run.start("ldapmodify", *root, "-f", change, name=f"ldapmodify-{half}", as_user=False, preload=False)
            if c.wait(60):
                wrong.append(f"ldapmodify: exit status {c.returncode}: {c.log.read_text()[-300:]}")
            titles[i] = title
            n += 1
    writers = [threading.Thread(target=writer, args=(half,)) for half in (0, 1)]
    for t in writers:
        t.start()
    try:
        while time.monotonic() < begin + run.seconds:
            searches(run, who, dice)
            done += SEARCHERS * EACH
    finally:
        took = time.monotonic() - begin
        stop.set()
        for t in writers:
            t.join()
    run.check(not wrong, f"{wrong}")
    run.rate(done / took, "searches/s", done + len(titles))
    all_entries(run, who, titles)
    run.stop(p)
    out = run.do("slapcat", "-f", conf, "-o", "ldif-wrap=no", preload=True, as_user=user())
    run.check(len(re.findall(rf"^dn: uid=u\d+,{SUFFIX}$", out, re.M)) == ENTRIES, "slapcat: " + out[-300:])
    if run.look:
        p, who, _ = start_slapd(run, fresh=False)
        all_entries(run, who, titles)
        run.stop(p)


# ---- FreeRADIUS ----

SECRET = b"of both ends"
ACCEPT, REJECT = 2, 3


def udp_port(run):
    """Free for datagrams too."""
    while True:
        port = run.port()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def radius_conf(run, port):
    """Users 0 to 199: the even ones in a file, the odd ones in an SQLite database, to which connections are pooled."""
    folder(run, "log")
    conf = run.dir / "conf"                # only its owner may write to it, else the server does not start
    conf.mkdir(mode=0o755)
    (conf / "users").write_text("".join(f'u{i} Cleartext-Password := "word {i}"\n\tReply-Message := "hello {i}"\n\n' for i in range(0, 200, 2)))
    with sqlite3.connect(run.dir / "log/users.db") as db:
        for table, attribute, value in (("radcheck", "Cleartext-Password", "word"), ("radreply", "Reply-Message", "hello")):
            db.execute(f"create table {table} (id integer primary key, username text, attribute text, op text, value text)")
            db.executemany(f"insert into {table} (username, attribute, op, value) values (?, ?, ':=', ?)",
                           [(f"u{i}", attribute, f"{value} {i}") for i in range(1, 200, 2)])
    (conf / "dictionary").write_text("")
    (conf / "radiusd.conf").write_text(f"""prefix = /usr
name = radiusd
raddbdir = {conf}
confdir = {conf}
logdir = {run.dir}/log
run_dir = {run.dir}/log
db_dir = {run.dir}/log
libdir = /usr/lib/freeradius
max_request_time = 30
cleanup_delay = 1
max_requests = 65536
hostname_lookups = no
proxy_requests = no
log {{
  destination = stdout
  auth = no
}}
security {{
  max_attributes = 200
  reject_delay = 0
  status_server = no
}}
thread pool {{
  start_servers = 4
  max_servers = 16
  min_spare_servers = 2
  max_spare_servers = 8
  max_requests_per_server = 500
}}
modules {{
  pap {{
  }}
  files {{
    filename = {conf}/users
  }}
  sql {{
    dialect = sqlite
    driver = rlm_sql_sqlite
    sqlite {{
      filename = {run.dir}/log/users.db
    }}
    pool {{
      start = 2
      min = 2
      max = 16
      spare = 2
    }}
    sql_user_name = "%{{User-Name}}"
    authorize_check_query = "select id, username, attribute, value, op from radcheck where username = '%{{SQL-User-Name}}'"
    authorize_reply_query = "select id, username, attribute, value, op from radreply where username = '%{{SQL-User-Name}}'"
  }}
  linelog {{
    filename = {run.dir}/log/lines
    format = "asked %{{User-Name}} %{{Calling-Station-Id}}"
  }}
}}
client local {{
  ipaddr = 127.0.0.1
  secret = "{SECRET.decode()}"
}}
server default {{
  listen {{
    type = auth
    ipaddr = 127.0.0.1
    port = {port}
  }}
  authorize {{
    files
    linelog
    if (&User-Name =~ /[13579]$/) {{
      sql
    }}
    pap
  }}
  authenticate {{
    pap
  }}
}}
""")
    return conf


def radius_request(ident, name, password, station):
    """RFC 2865: the password is hidden by the secret; RFC 2869: all of it is signed."""
    authenticator, padded = os.urandom(16), password.encode().ljust(16, b"\0")
    key = hashlib.md5(SECRET + authenticator).digest()
    attributes = b"".join(bytes([kind, len(value) + 2]) + value for kind, value in (
        (1, name.encode()), (2, bytes(a ^ b for a, b in zip(padded, key))), (31, station.encode()), (80, bytes(16))))
    packet = bytes([1, ident]) + (20 + len(attributes)).to_bytes(2, "big") + authenticator + attributes
    return packet[:-16] + hmac.digest(SECRET, packet, "md5"), authenticator


def radius_answer(answer, authenticator):
    """(identifier, code, message) of an answer that the secret's owner made for this request."""
    if hashlib.md5(answer[:4] + authenticator + answer[20:] + SECRET).digest() != answer[4:20] or int.from_bytes(answer[2:4], "big") != len(answer):
        raise Failure(f"not signed, or cut: {answer!r}")
    message, rest = "", answer[20:]
    while rest:
        if rest[0] == 18:
            message += rest[2:rest[1]].decode()
        rest = rest[rest[1]:]
    return answer[1], answer[0], message


def radius_client(port, number, end, times, stations, wrong):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(20)
        s.connect(("127.0.0.1", port))
        n = 0
        while time.monotonic() < end and not wrong:
            n += 1
            i, good, ident = (number * 37 + n * 7) % 220, n % 3 > 0, n % 256      # users from 200 on are not known
            station = f"c{number}n{n}"
            request, authenticator = radius_request(ident, f"u{i}", f"word {i}" if good else f"wrong {i}", station)
            hello = f"hello {i}" if i < 200 else ""
            begin = time.monotonic()
            try:
                s.send(request)
                got = radius_answer(s.recv(4096), authenticator)
            except (OSError, IndexError, Failure) as e:
                wrong.append(f"u{i}, request {n} of client {number}: {e!r}")
                return
            times.append(time.monotonic() - begin)
            stations.append(f"asked u{i} {station}")
            want = (ident, ACCEPT if good and i < 200 else REJECT, hello)
            if got != want:
                wrong.append(f"u{i}, {'right' if good else 'wrong'} password: {got}, not {want}")


@case("freeradius, 16 threads, 32 clients", "freeradius", "freeradius-utils")
def freeradius(run):
    port = udp_port(run)
    conf = radius_conf(run, port)
    p = run.start("freeradius", "-f", "-d", conf, "-n", "radiusd", "-l", "stdout")
    run.until(lambda: "Ready to process requests" in p.log.read_text(errors="replace"), "freeradius", p)
    run.loaded(p)
    times, stations, wrong, end = [], [], [], time.monotonic() + run.seconds
    threads = [threading.Thread(target=radius_client, args=(port, i, end, times, stations, wrong)) for i in range(32)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    run.check(not wrong, f"{len(wrong)} of {len(times)}: {wrong[:1]}")
    run.rate(len(times) / run.seconds, "requests/s", len(times))
    run.p99(sorted(times)[int(len(times) * .99)] * 1000)
    lines = sorted((run.dir / "log/lines").read_text().splitlines())
    run.check(lines == sorted(stations), f"the server's log has {len(lines)} lines for {len(stations)} requests, or others")
    radclient(run, conf, port)
    run.stop(p)


def radclient(run, conf, port):
    """Its own client, 50 requests out at a time; it compares each answer with a filter."""
    packets, filters = run.dir / "packets", run.dir / "filters"
    packets.write_text("".join(f'User-Name = "u{i}"\nUser-Password = "word {i if i % 4 else 0}"\n\n' for i in range(1, 200)))
    filters.write_text("".join(f"Response-Packet-Type == Access-{'Accept' if i % 4 else 'Reject'}\n\n" for i in range(1, 200)))
    (run.dir / "secret").write_text(SECRET.decode() + "\n")
    out = run.do("radclient", "-d", conf, "-p", 50, "-s", "-q", "-S", run.dir / "secret", "-f", f"{packets}:{filters}", f"127.0.0.1:{port}", "auth")
    run.check(re.search(r"Passed filter\s*:\s*199$", out, re.M) and re.search(r"Lost\s*:\s*0$", out, re.M), "radclient: " + out)


# ---- squid ----

def start_squid(run, port):
    """Odd files are fetched from the origin each time; the others are read from disk, never from memory."""
    (run.dir / "squid.conf").write_text(f"""http_port 127.0.0.1:{port}
http_access allow localhost
http_access deny all
visible_hostname localhost
pid_filename none
cache_log {run.dir}/cache.log
access_log stdio:{run.dir}/squid-access.txt
cache_store_log none
netdb_filename none
icp_port 0
pinger_enable off
coredump_dir {run.dir}
cache_dir aufs {run.dir}/aufs 64 4 4
cache_mem 0 MB
memory_cache_mode disk
maximum_object_size_in_memory 0 KB
maximum_object_size 4 MB
refresh_pattern . 1440 100% 1440
acl odd urlpath_regex [13579]\\.bin$
cache deny odd
shutdown_lifetime 1 second
max_filedescriptors 4096
""")
    run.log("cache")
    if not (run.dir / "aufs").exists():
        folder(run, "aufs")
        make = run.start("squid", "-N", "-z", "-f", run.dir / "squid.conf", name="squid-z")
        run.until(lambda: make.poll() is not None, "squid -z", seconds=60)
        run.check(make.returncode == 0, "squid -z: " + make.log.read_text(errors="replace")[-300:])
    p = run.start("squid", "-N", "-f", run.dir / "squid.conf")
    run.up(p, port)
    return p


@case("squid aufs, 50 connections", "squid", "nginx")
def squid(run):
    back, origin, root = web.start_nginx(run, preload=False)
    port = run.port()
    p = start_squid(run, port)
    run.load("http", port, 50, root, f"http://127.0.0.1:{origin}/")
    run.stop(p, seconds=60)
    lines = (run.dir / "squid-access.txt").read_text(errors="replace").splitlines()
    lines = [x for x in lines if "transaction-end-before-headers" not in x]     # a look whether the port is open
    odd = [x for x in lines if not re.search(r" TCP_(REFRESH_\w+|MEM_HIT|HIT|MISS|SWAPFAIL_MISS)/200 ", x)]
    run.check(not odd, f"{len(odd)} of {len(lines)} requests: {odd[:1]}")
    run.check(sum(" TCP_HIT/200 " in x for x in lines) > len(lines) / 4, "few answers came from disk")
    if run.look:                              # what it left on disk is still right
        p = start_squid(run, port)
        run.load("http", port, 20, root, f"http://127.0.0.1:{origin}/")
        run.stop(p, seconds=60)
    run.stop(back)


# ---- BIND ----

@case("named -n 4, dig preloaded", "bind9", "bind9-dnsutils")
def named(run):
    port = udp_port(run)
    names = [f"h{i} A 10.0.{i // 256}.{i % 256}" for i in range(1000)]
    (run.dir / "zone").write_text("$TTL 300\n@ SOA ns root 1 3600 600 86400 300\n@ NS ns\nns A 127.0.0.1\n" + "\n".join(names) + "\n")
    (run.dir / "named.conf").write_text(f"""options {{
  directory "{run.dir}";
  listen-on port {port} {{ 127.0.0.1; }};
  listen-on-v6 {{ none; }};
  pid-file none;
  session-keyfile none;
  lock-file none;
  recursion no;
  dnssec-validation no;
  empty-zones-enable no;
  minimal-responses yes;
  notify no;
  allow-transfer {{ 127.0.0.1; }};
}};
controls {{ }};
zone "test" {{ type primary; file "{run.dir}/zone"; }};
""")
    p = run.start("named", "-g", "-n", 4, "-c", run.dir / "named.conf")
    run.up(p, port)
    run.until(lambda: "all zones loaded" in p.log.read_text(errors="replace"), "the zone", p)
    reload = threading.Timer(run.seconds / 2, p.send_signal, [signal.SIGHUP])   # all its threads stop for that
    reload.start()
    ask_names(run, port)
    reload.join()
    run.until(lambda: p.log.read_text(errors="replace").count("all zones loaded") == 2, "the zone, again", p)
    dig(run, port, names)
    run.stop(p)


def dig(run, port, names):
    """A list of names over UDP and over TCP, and the whole zone."""
    at = ["-p", port, "@127.0.0.1"]
    (run.dir / "questions").write_text("".join(f"h{i}.test. A\n" for i in range(200)))
    for more in ([], ["+tcp"]):
        out = run.do("dig", *at, "+short", "+tries=1", *more, "-f", run.dir / "questions", preload=True)
        run.check(out.split() == [x.split()[-1] for x in names[:200]], f"dig {more}: {len(out.split())} answers of 200, or others")
    out = run.do("dig", *at, "+noall", "+answer", "test.", "AXFR", preload=True)
    got = sorted(" ".join(x.replace(".test.", "").split()[i] for i in (0, 3, 4)) for x in out.splitlines() if x.startswith("h"))
    run.check(got == sorted(names), f"AXFR: {len(got)} names of {len(names)}, or others")
