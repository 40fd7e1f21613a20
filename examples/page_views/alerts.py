"""A receiver of webhooks that prints what it gets: `python alerts.py`, on port 8081."""

from http.server import BaseHTTPRequestHandler, HTTPServer


class Receiver(BaseHTTPRequestHandler):
    """Answers every request with 204."""

    def do_POST(self) -> None:
        """Print the body."""
        print(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(204)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 8081), Receiver).serve_forever()
