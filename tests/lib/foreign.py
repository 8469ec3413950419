"""tests/lib/foreign.py -- what the runners of foreign test suites share: fetching Debian's sources, ending what a run left, workers.

Sources come from apt through a sources list of our own, so that the machine's is left alone. Everything
lies below the folder that the runner names; nothing of it enters the repository.
"""
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path


def skip(why):
    print(f"{os.path.relpath(sys.argv[0])}: {why}", file=sys.stderr)
    sys.exit(77)


def os_release(key):
    m = re.search(rf"^{key}=\"?([^\"\n]*)", Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    return m.group(1) if m else ""


def need(program, package):
    """Installs what is missing, as root on Debian; else says what is."""
    if shutil.which(program):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for args in (["update"], ["install", "-y", "--no-install-recommends", package]):
            subprocess.run(["apt-get", "-q", *args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if not shutil.which(program):
        skip(f"{program} is missing (Debian: apt-get install {package})")


def fetch(cache, package, inside):
    """Returns the folder of the unpacked source package, which has `inside` in it."""
    def unpacked():
        return sorted(f.parent for f in cache.glob(f"{package}-*/{inside}"))
    if unpacked():
        return unpacked()[-1]
    if not shutil.which("apt-get") or not os_release("VERSION_CODENAME"):
        skip(f"needs apt and Debian's source package {package}")
    need("dpkg-source", "dpkg-dev")
    apt = cache / "apt"
    for d in ("lists/partial", "cache/archives/partial"):
        (apt / d).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    signed = f"[signed-by={keys}] " if os.path.exists(keys) else ""
    (apt / "sources.list").write_text(
        f"deb-src {signed}http://deb.debian.org/debian {os_release('VERSION_CODENAME')} main\n", encoding="utf-8")
    command = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={apt}/sources.list", "-o", "Dir::Etc::sourceparts=-",
               "-o", f"Dir::State::lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache", "-o", "APT::Sandbox::User=root"]
    for args in (["update"], ["source", package]):
        p = subprocess.run(command + args, cwd=cache, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
        if p.returncode:
            print(p.stdout, file=sys.stderr)
            skip(f"apt-get {' '.join(args)} failed: the suite is Debian's source package {package}")
    shutil.rmtree(apt)
    if not unpacked():
        skip(f"{package} has no {inside}")
    return unpacked()[-1]


def clean_env():
    """The environment of a native run."""
    return {k: v for k, v in os.environ.items() if not k.startswith("GMPT_") and
            k not in ("GOMAXPROCS", "LD_PRELOAD", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "CONFORMANCE_RUN", "SUITES_RUN")}


def end_processes(mark):
    """Ends what is left of a run: processes with its mark in their environment, whatever their session."""
    for _ in range(20):
        found = False
        for p in Path("/proc").iterdir():
            if not p.name.isdigit():
                continue
            try:
                if mark in (p / "environ").read_bytes():
                    os.kill(int(p.name), signal.SIGKILL)
                    found = True
            except OSError:
                continue
        if not found:
            return
        time.sleep(0.02)


def stepped_aside(log):
    """Did the library, or the loader, say that the program ran on native threads?"""
    return re.search(rb"^libgmp: .*native threads|^ERROR: ld\.so: object ", log.read_bytes(), re.M) is not None


def signal_name(n):
    try:
        return signal.Signals(n).name
    except ValueError:
        return f"signal {n}"


def in_workers(n, function, items):
    work = queue.SimpleQueue()
    for i in items:
        work.put(i)

    def worker():
        while True:
            try:
                item = work.get_nowait()
            except queue.Empty:
                return
            function(item)
    threads = [threading.Thread(target=worker, daemon=True) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
