"""Follows a server's log by python-mysql-replication, and prints the rows that result."""

import datetime
import json
import sys

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

LISTS = {"e": ["a", "b", "c"], "s": ["x", "y", "z"]}


def shown(name, value):
    if value is None:
        return "NULL"
    if name == "e":
        return str(LISTS["e"].index(value) + 1)
    if name == "s":
        return str(sum(1 << LISTS["s"].index(member) for member in value))
    if name == "b12":
        return str(int(value, 2))
    if name == "j":
        text = lambda part: part.decode() if isinstance(part, bytes) else part
        return json.dumps({text(key): text(part) for key, part in value.items()}, separators=(",", ":"))
    if name == "d":
        return repr(value).removesuffix(".0")
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%d %H:%M:%S.%f")
        return text[:-4] if name == "ts" else text
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        seconds, sign = abs(micros) // 1_000_000, "-" if micros < 0 else ""
        millis = abs(micros) % 1_000_000 // 1000
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}"
    if name in ("vb", "bl"):
        return (value if isinstance(value, bytes) else value.encode()).hex().upper()
    return value.decode() if isinstance(value, bytes) else str(value)


def row(values):
    return [shown(name, value) for name, value in values.items()]


stream = BinLogStreamReader(
    connection_settings={"host": "127.0.0.1", "port": int(sys.argv[1]), "user": "root", "passwd": ""},
    server_id=4711,
    log_file=sys.argv[2],
    log_pos=4,
    resume_stream=True,
    blocking=False,
    only_events=[WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
)
rows = {}
for event in stream:
    for change in event.rows:
        before = change.get("before_values", change.get("values") if isinstance(event, DeleteRowsEvent) else None)
        after = change.get("after_values", change.get("values") if isinstance(event, WriteRowsEvent) else None)
        if before:
            before = row(before)
            found = rows.pop(before[0], None)
            if found != before:
                sys.exit(f"before a change: {before}, known: {found}")
        if after:
            after = row(after)
            rows[after[0]] = after
stream.close()
for values in rows.values():
    print("|".join(values))
