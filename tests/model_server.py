"""A server of model files that does what servers do: it drops, truncates, lies, redirects."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FILE = bytes(range(256)) * 12_000  # three pieces
OTHER = FILE[::-1]


@dataclass
class Server:
    """Answers by path; notes what was asked, and from which byte on."""

    address: str = ""
    asked: list[tuple[str, int]] = field(default_factory=list)
    zip: bytes = b""


@contextmanager
def serving() -> Iterator[Server]:
    """Serve on a free port of this machine."""
    noted = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_) -> None:
            pass

        def do_GET(self) -> None:
            start = int(self.headers.get("Range", "bytes=0-")[6:-1])
            noted.asked.append((self.path, start))
            if self.path == "/gone":
                self.send_error(404)
            elif self.path == "/page":
                self.give(b"<!DOCTYPE html><p>Sign in", kind="text/html")
            elif self.path == "/page-as-file":
                self.give(b"<!DOCTYPE html><p>Sign in")
            elif self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/good")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif self.path == "/drops":  # a million bytes at a time, then the line is cut
                self.give(FILE, start, upto=start + 1_000_000)
            elif self.path == "/short":  # says it has the whole file, and ends early each time
                self.give(FILE[: len(FILE) // 2])
            elif self.path == "/endless":
                self.give(FILE * 3)
            elif self.path == "/no-ranges":
                self.give(FILE, upto=2_000_000 if len(noted.asked) == 1 else None)
            elif self.path == "/other":
                self.give(OTHER, start)
            elif self.path == "/pack.zip":
                self.give(noted.zip, start)
            else:
                self.give(FILE, start)

        def give(self, content, start=0, upto=None, kind="application/octet-stream") -> None:
            self.send_response(206 if start else 200)
            if start:
                last = len(content) - 1
                self.send_header("Content-Range", f"bytes {start}-{last}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content[start:upto])
            if upto is not None:
                self.close_connection = True

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    noted.address = f"http://127.0.0.1:{running.server_port}"
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield noted
    finally:
        running.shutdown()
        running.server_close()
