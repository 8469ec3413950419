# tools/demo/http_client.py -- concurrent clients that fetch files and check every byte. Runs natively.
#
# usage: http_client.py make DIRECTORY                          writes the files, 1 B to 1 MB
#        http_client.py PORT DIRECTORY CLIENTS REQUESTS PID     REQUESTS (> 1) by each client; PID is the server's
# The clock starts when every client has had its first reply: a thread of the server serves each of them.
# A client opens a new connection every tenth request, so the server starts and ends threads all the time.
# Prints name<TAB>value lines; exit status 1 if any reply was missing or wrong.
import hashlib
import http.client
import os
import random
import sys
import threading
import time

PER_CONNECTION = 10
FILES = 41  # sizes 2^0, 2^0.5, 2^1, ... 2^20


def make_files(directory):
    dice = random.Random(1)
    for i in range(FILES):
        with open(os.path.join(directory, f"{i:02}.bin"), "wb") as out:
            out.write(dice.randbytes(int(2 ** (i / 2))))


def digest(data):
    return hashlib.sha256(data).digest()


class Run:
    def __init__(self, port, directory, clients, requests, pid):
        self.port, self.clients, self.requests, self.pid = port, clients, requests, pid
        self.want = {}
        for name in sorted(os.listdir(directory)):
            with open(os.path.join(directory, name), "rb") as data:
                self.want["/" + name] = digest(data.read())
        self.errors = []
        self.done = [0] * clients
        self.gate = threading.Barrier(clients + 1)

    def fetch(self, connection, path):
        connection.request("GET", path)
        reply = connection.getresponse()
        body = reply.read()
        if reply.status != 200:
            raise ValueError(f"{path}: status {reply.status}")
        if digest(body) != self.want[path]:
            raise ValueError(f"{path}: {len(body)} bytes, wrong content")

    def client(self, number):
        dice = random.Random(number)
        paths = list(self.want)
        connection = None
        for i in range(self.requests):
            if i == 1:
                self.gate.wait()
            try:
                if i % PER_CONNECTION == 0:
                    if connection:
                        connection.close()
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
                self.fetch(connection, dice.choice(paths))
                self.done[number] += 1
            except (OSError, ValueError, http.client.HTTPException) as error:
                self.errors.append(f"client {number}: {error!r}")
                if i > 0 and len(self.errors) > self.clients:  # the server is gone: enough timeouts
                    break
        if connection:
            connection.close()

    def main(self):
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(self.clients)]
        for thread in threads:
            thread.start()
        self.gate.wait()
        start, peak = time.monotonic(), 0
        for thread in threads:
            while thread.is_alive():
                try:
                    peak = max(peak, len(os.listdir(f"/proc/{self.pid}/task")))
                except FileNotFoundError:
                    pass
                thread.join(0.05)
        seconds = time.monotonic() - start
        for line in self.errors[:5]:
            print("http_client:", line, file=sys.stderr)
        print(f"requests\t{sum(self.done)}\nerrors\t{len(self.errors)}\nseconds\t{seconds:.1f}\nthreads\t{peak}")
        return 0 if not self.errors and sum(self.done) == self.clients * self.requests else 1


if sys.argv[1] == "make":
    make_files(sys.argv[2])
else:
    port, directory, clients, requests, pid = sys.argv[1:6]
    sys.exit(Run(int(port), directory, int(clients), int(requests), int(pid)).main())
