# load.py: json.loads and executemany, one transaction: load.py FILE DATABASE; prints seconds
import json
import os
import sqlite3
import struct
import sys
import time

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fields.json")) as f:
    FIELDS = json.load(f)
REQUEST = ["request_id", "model", "input_tokens", "output_tokens", "request_received_ms",
           "total_time_ms", "ttft_ms", "avg_itl_ms", "queue_depth"]


def value(v):
    return json.dumps(v) if isinstance(v, (list, dict)) else v


def load(db, path):
    batches = {kind: [] for kind in FIELDS}
    statements = {}
    for kind, names in FIELDS.items():
        db.execute("create table %s(%s)" % (kind, ", ".join('"%s"' % n for n in names)))
        statements[kind] = "insert into %s values(%s)" % (kind, ", ".join("?" * len(names)))
    columns = REQUEST + ["trace_block_size", "input_length", "hashes"]
    db.execute("create table request(%s)" % ", ".join(columns))
    statements["request"] = "insert into request values(%s)" % ", ".join("?" * len(columns))
    batches["request"] = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            kind = record.get("kind", "request")
            if kind == "request":
                request = record["event"]["request"]
                replay = request["replay"]
                hashes = replay["input_sequence_hashes"]
                row = [request.get(name) for name in REQUEST]
                row += [replay["trace_block_size"], replay["input_length"],
                        struct.pack("<%dQ" % len(hashes), *hashes)]
            else:
                row = [value(record.get(name)) for name in FIELDS[kind]]
            batch = batches[kind]
            batch.append(row)
            if len(batch) == 1000:
                db.executemany(statements[kind], batch)
                batch.clear()
    for kind, batch in batches.items():
        db.executemany(statements[kind], batch)


begin = time.monotonic()
connection = sqlite3.connect(sys.argv[2])
connection.execute("pragma journal_mode = wal")
connection.execute("pragma synchronous = normal")
load(connection, sys.argv[1])
connection.commit()
connection.close()
print("%.6f" % (time.monotonic() - begin))
