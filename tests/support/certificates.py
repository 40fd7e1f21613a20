"""A certificate for this host, signed by itself."""

from __future__ import annotations

import subprocess
from pathlib import Path


def create_certificate(place: Path) -> tuple[Path, Path]:
    """Create key.pem and ca.pem, which clients trust, in a directory; return certificate and key."""
    key, certificate = place / "key.pem", place / "ca.pem"
    subject = "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 {subject}".split()
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key
