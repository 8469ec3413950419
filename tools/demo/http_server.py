# tools/demo/http_server.py -- Python's own ThreadingHTTPServer over a directory: http_server.py DIRECTORY
#
# A thread per connection, kept alive. What is set differs from `python3 -m http.server` only where its
# defaults would measure the kernel instead: a listen queue of 5, and Nagle's algorithm between header
# and body.
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024


with Server(("127.0.0.1", 0), functools.partial(Handler, directory=sys.argv[1])) as server:
    print("listening on", server.server_port, flush=True)
    server.serve_forever()
