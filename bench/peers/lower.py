# lower.py: the lowering of request traces in plain Python (standard and agentic rows)
#
# lower.py FILE [ROWS]: prints rows, bytes of the rows and seconds; reading the file is not in the
# seconds. ROWS gets the rows, for a comparison. For files of gen_request: without completion hashes
# and `claude` members, whose rules are left out.
import bisect
import json
import sys
import time


def read(path):
    requests, tools = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)["event"]
            context = event.get("agent_context") or {}
            kind = event["event_type"]
            if kind == "request_end":
                request, replay = event["request"], event["request"]["replay"]
                start = request.get("request_received_ms")
                total = request.get("total_time_ms")
                end = event["event_time_unix_ms"] if total is None else start + int(total + 0.5)
                requests.append({
                    "id": request["request_id"], "session": context.get("session_id"),
                    "parent": context.get("parent_session_id"), "start": start, "end": end,
                    "length": replay["input_length"], "output": request["output_tokens"],
                    "hashes": replay["input_sequence_hashes"],
                    "wait_for": [], "branches": [], "reset": False, "previous": None})
            elif kind in ("tool_end", "tool_error"):
                tool = event["tool"]
                tools.append({
                    "session": context["session_id"], "start": tool["started_at_unix_ms"],
                    "end": tool["ended_at_unix_ms"], "id": tool["tool_call_id"],
                    "class": tool["tool_class"], "duration": float(tool["duration_ms"]),
                    "status": tool.get("status") or ("error" if kind == "tool_error" else "succeeded"),
                    "bytes": tool.get("output_bytes"), "tokens": tool.get("output_tokens"),
                    "error": tool.get("error_type")})
    return requests, tools


def add(items, value):
    if value not in items:
        items.append(value)


def chain(order):
    sessions, parents = {}, {}
    for r in order:
        name = r["session"]
        if name in sessions:
            before = sessions[name][-1]
            add(r["wait_for"], before["id"])
            r["previous"] = before["start"]
            sessions[name].append(r)
        else:
            sessions[name] = [r]
            r["reset"] = True
        if r["parent"] is not None:
            if parents.setdefault(name, r["parent"]) != r["parent"]:
                raise ValueError("conflicting_parent")
    for name in sorted(parents):
        parent = sessions.get(parents[name])
        if parent is None:
            continue
        first = sessions[name][0]
        last = max(sessions[name], key=lambda r: (r["end"], r["start"], r["id"]))
        starts = [r["start"] for r in parent]
        at = bisect.bisect_right(starts, first["start"])
        if at:
            add(first["wait_for"], parent[at - 1]["id"])
            add(parent[at - 1]["branches"], first["id"])
        at = bisect.bisect_left(starts, last["end"])
        if at < len(parent):
            add(parent[at]["wait_for"], last["id"])
    return parents


def check_cycles(order, by_id):
    left = {r["id"]: len(r["wait_for"]) for r in order}
    after = {}
    for r in order:
        for name in r["wait_for"]:
            after.setdefault(name, []).append(r["id"])
    ready = [name for name, n in left.items() if n == 0]
    done = 0
    while ready:
        done += 1
        for name in after.get(ready.pop(), ()):
            left[name] -= 1
            if left[name] == 0:
                ready.append(name)
    if done != len(by_id):
        raise ValueError("dependency_cycle")


def waits(r, row, by_id, tools):
    dep_end = max(by_id[name]["end"] for name in r["wait_for"])
    gap = max(r["start"] - dep_end, 0)
    since = dep_end if r["previous"] is None else r["previous"]
    spans = tools.get(r["session"], ())
    kept = [t for t in spans if since < t["end"] <= r["start"]] if spans else []
    busy, covered = 0, None
    for begin, end in sorted((max(t["start"], dep_end), min(t["end"], r["start"])) for t in kept):
        if end <= begin:
            continue
        if covered is None or begin > covered:
            busy += end - begin
            covered = end
        elif end > covered:
            busy += end - covered
            covered = end
    wait = min(float(busy), float(gap))
    row["delay"] = float(gap) - wait
    return wait, kept


def rows(order, agentic, parents, by_id, tools):
    ids = {}
    for r in order:
        for h in r["hashes"]:
            if h not in ids:
                ids[h] = len(ids)
    begin = order[0]["start"]
    for r in order:
        row = {}
        if agentic:
            row["request_id"], row["session_id"] = r["id"], r["session"]
        row["input_length"], row["output_length"] = r["length"], r["output"]
        row["hash_ids"] = [ids[h] for h in r["hashes"]]
        row["timestamp"] = float(r["start"] - begin)
        if agentic:
            wait, kept = 0, []
            if r["wait_for"]:
                wait, kept = waits(r, row, by_id, tools)
            row["request_kind"] = "agent" if r["session"] in parents else "foreground"
            if r["wait_for"]:
                row["wait_for"] = r["wait_for"]
            if r["branches"]:
                row["branches"] = r["branches"]
            row["prefix_reset"] = r["reset"]
            if wait > 0:
                row["tool_wait_ms"] = wait
            if kept:
                row["tool_events"] = []
                for t in kept:
                    event = {"tool_call_id": t["id"], "tool_class": t["class"],
                             "started_at_unix_ms": max(t["start"], 0),
                             "ended_at_unix_ms": max(t["end"], 0), "duration_ms": t["duration"],
                             "status": t["status"]}
                    for name, key in (("output_bytes", "bytes"), ("output_tokens", "tokens"),
                                      ("error_type", "error")):
                        if t[key] is not None:
                            event[name] = t[key]
                    row["tool_events"].append(event)
        yield json.dumps(row, separators=(",", ":"))


def lower(requests, tools, out):
    order = sorted(requests, key=lambda r: (r["start"], r["end"], r["id"]))
    agentic = order[0]["session"] is not None
    by_id = {r["id"]: r for r in order}
    parents, by_session = {}, {}
    if agentic:
        parents = chain(order)
        check_cycles(order, by_id)
        for t in sorted(tools, key=lambda t: (t["start"], t["end"])):
            by_session.setdefault(t["session"], []).append(t)
    count = size = 0
    for row in rows(order, agentic, parents, by_id, by_session):
        count += 1
        size += len(row) + 1
        if out:
            out.write(row + "\n")
    return count, size


found = read(sys.argv[1])
writer = open(sys.argv[2], "w", encoding="utf-8") if len(sys.argv) > 2 else None
at = time.monotonic()
total, length = lower(found[0], found[1], writer)
print("%d %d %.6f" % (total, length, time.monotonic() - at))
