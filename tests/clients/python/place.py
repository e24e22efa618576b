"""Where the server is, and what a program found there, line by line: two servers are compared by these lines."""

import os

HOST = os.environ.get("CLIENT_HOST", "127.0.0.1")
PORT = int(os.environ["CLIENT_PORT"])
USER = os.environ.get("CLIENT_USER", "root")
PASSWORD = os.environ.get("CLIENT_PASSWORD", "")
DATABASE = os.environ.get("CLIENT_DATABASE", "clients")
URL = f"{USER}:{PASSWORD}@{HOST}:{PORT}/{DATABASE}"


def found(what, *values):
    print(f"{what}:", *(repr(value) for value in values), flush=True)
