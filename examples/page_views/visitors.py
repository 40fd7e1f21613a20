"""Simulated visitors: post the recorded views to the site's endpoint, twenty per request.

`python visitors.py`, while `headrace run live.yaml` runs.
"""

import os
from pathlib import Path

import httpx


def post(url: str, events: Path, token: str = "secret") -> int:
    """Post the views as lines of JSON; return their number."""
    lines = events.read_text().splitlines()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"}
    with httpx.Client(headers=headers, timeout=60) as client:
        for first in range(0, len(lines), 20):
            key = {"Idempotency-Key": str(first)}
            client.post(url, content="\n".join(lines[first : first + 20]), headers=key).raise_for_status()
    return len(lines)


if __name__ == "__main__":
    listen = os.environ.get("VIEWS", "127.0.0.1:8080")
    token = os.environ.get("TOKEN", "secret")
    print(post(f"http://{listen}/views", Path("events.jsonl"), token), "views")
