"""tests/programs/databases.py -- MariaDB, a thread per connection, under sysbench; PostgreSQL, which must be unharmed.

MariaDB gets read-write transactions from few, many and very many connections; afterwards every table is checked, and
the server must end cleanly and start again on what it left. sysbench itself runs preloaded in a case of its own.
"""
import re
import signal
from pathlib import Path

from harness import case, user

TABLES = ["--tables=4", "--table-size=2000"]


def start_mariadb(run, preload=True, fresh=True):
    data, sock, port = run.dir / "data", run.dir / "m.sock", run.port()
    if fresh:
        data.mkdir()
        data.chmod(0o777)
        who = [f"--user={user()}"] if user() else []
        run.do("mariadb-install-db", "--no-defaults", *who, f"--datadir={data}", "--auth-root-authentication-method=normal",
               "--skip-test-db", timeout=100)
    p = run.start("mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={sock}", f"--port={port}", "--bind-address=127.0.0.1",
                  "--max-connections=2000", "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=2", "--skip-name-resolve",
                  "--back-log=1000", "--max-prepared-stmt-count=100000", "--table-open-cache=4000", "--thread-cache-size=100", "--lc-messages-dir=/usr/share/mysql",
                  f"--pid-file={run.dir}/pid", name="mariadbd", preload=preload)
    run.quiet += ["io_uring", "Aborted connection", "max_open_files", "Clustered index record not found",   # natively too, when purge lags
                   "open_files_limit", "mariadb-install-db"]
    run.until(sock.exists, "mariadbd's socket", p, 60)
    if preload:
        run.loaded(p)
    return p, ["mariadb", "--no-defaults", "-S", sock, "-u", "root", "-N", "-B"], sock


def sysbench(run, sock, preload, connections, *command, timeout=120):
    return run.do("sysbench", "oltp_read_write", "--db-driver=mysql", f"--mysql-socket={sock}", "--mysql-user=root", "--mysql-db=sb", *TABLES,
                  f"--threads={connections}", f"--time={run.seconds}", "--percentile=99", "--mysql-ignore-errors=1213,1020,1205,1180", *command,
                  preload=preload, timeout=run.seconds + timeout)


def results(run, out):
    m = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", out)
    run.rate(float(m[2]), "transactions/s", int(m[1]))
    run.p99(float(re.search(r"99th percentile:\s+([\d.]+)", out)[1]))
    run.check("reconnects:                          0 " in re.sub(r" +\(", " (", out) or re.search(r"reconnects:\s+0 ", out), "connections were lost")


def check_tables(run, client):
    out = run.do(*client, "-e", "check table sb.sbtest1, sb.sbtest2, sb.sbtest3, sb.sbtest4 extended; "
                 "select count(*) from sb.sbtest1 union all select count(*) from sb.sbtest2; select count(*), sum(k) > 0 from sb.sbtest3", timeout=100)
    run.check(out.count("status\tOK") == 4, "check table: " + out)
    run.check(out.splitlines()[-3:] == ["2000", "2000", "2000\t1"], "rows: " + out)


def mariadb(connections):
    @case(f"mariadb, sysbench oltp, {connections} connections", "mariadb-server", "sysbench")
    def run_it(run):
        p, client, sock = start_mariadb(run)
        run.do(*client, "-e", "create database sb")
        sysbench(run, sock, False, 4, "prepare")
        results(run, sysbench(run, sock, False, connections, "run"))
        check_tables(run, client)
        run.stop(p, seconds=60)
        text = Path(p.log).read_text(errors="replace")
        run.check("Shutdown complete" in text, "no clean shutdown: " + text[-300:])
        if run.look or not run.rounds_seen:
            (run.dir / "m.sock").unlink(missing_ok=True)
            p, client, sock = start_mariadb(run, fresh=False)
            check_tables(run, client)
            run.stop(p, seconds=60)
    return run_it


for n in (16, 256, 1000):
    mariadb(n)


@case("sysbench oltp, 64 (client of mariadb)", "mariadb-server", "sysbench")
def sysbench_client(run):
    p, client, sock = start_mariadb(run, preload=False)
    run.do(*client, "-e", "create database sb")
    sysbench(run, sock, True, 4, "prepare")
    results(run, sysbench(run, sock, True, 64, "run"))
    check_tables(run, client)
    run.stop(p, seconds=60)


@case("postgresql, pgbench -j 4", "postgresql", "postgresql-contrib")
def postgres(run):
    bin_dir = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    data, port = run.dir / "data", run.port()
    owner = "postgres"
    data.mkdir()
    import shutil
    try:
        shutil.chown(data, owner)
    except (PermissionError, LookupError):
        pass
    run.do(bin_dir / "initdb", "-D", data, "-A", "trust", "-N", "-U", "x", preload=True, as_user=owner, timeout=100)
    p = run.start(bin_dir / "postgres", "-D", data, "-p", port, "-k", run.dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
                  as_user=owner, name="postgres")
    run.quiet += ["enabling \"trust\"", "initdb: warning"]
    run.up(p, port)
    bench = [bin_dir / "pgbench", "-h", "127.0.0.1", "-p", port, "-U", "x", "postgres"]
    run.until(lambda: "accept connections" in Path(p.log).read_text(errors="replace"), "postgres", p)
    run.do(*bench, "-i", "-s", 2, "-q", preload=True)
    out = run.do(*bench, "-c", 16, "-j", 4, "-T", run.seconds, preload=True, timeout=run.seconds + 60)
    run.rate(float(re.search(r"tps = ([\d.]+)", out)[1]), "transactions/s",
             int(re.search(r"transactions actually processed: (\d+)", out)[1]))
    run.check(re.search(r"number of failed transactions: 0 ", out), out)
    sums = run.do(bin_dir / "psql", "-h", "127.0.0.1", "-p", port, "-U", "x", "-At", "postgres", "-c",
                  "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history), "
                  "(select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history)")
    run.check(sums.strip() == "t|t", "balances differ: " + sums)
    run.stop(p, sig=signal.SIGINT, status=(0,))
