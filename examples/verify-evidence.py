"""Verifies an evidence file of Context Ledger. Written from docs/reference/evidence.md, with the standard library alone.

    python3 verify-evidence.py FILE [FINGERPRINT OF THE OPERATOR'S KEY]
"""
import base64, hashlib, json, re, sys

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def check(condition, problem):
    if not condition:
        raise ValueError(problem)


def sha(data):
    return hashlib.sha256(data).digest()


def b64(text):
    data = base64.b64decode(text, validate=True)
    check(base64.b64encode(data).decode() == text, "a text is not canonical base64")
    return data


def add(p, q):  # Ed25519 (RFC 8032, section 5.1.4): points in extended coordinates
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(scalar, p):
    result = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            result = add(result, p)
        p, scalar = add(p, p), scalar >> 1
    return result


def point(data):
    y, sign = int.from_bytes(data, "little") & (2**255 - 1), data[31] >> 7
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    x = x if (x * x - x2) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    check(y < P and (x * x - x2) % P == 0 and not (x == 0 and sign), "a key or signature is not a point of the curve")
    x = x if x & 1 == sign else P - x
    return (x, y, 1, x * y % P)


def is_signed(key, signature, message):
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    base = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    left, right = times(s, base), add(point(signature[:32]), times(h, point(key)))
    return s < L and (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def read_file(data):
    meta = re.search(rb'<meta name="file-sha256" content="([0-9a-f]{64})">', data)
    check(meta and sha(data[: meta.start(1)] + b"0" * 64 + data[meta.end(1) :]).hex().encode() == meta[1], "the file is not as it was written")
    evidence = json.loads(re.search(rb'<script type="application/json" id="evidence">(.*?)</script>', data, re.S)[1])
    check(evidence["format"] == "context-ledger-evidence" and evidence["version"] == 1, "this is not evidence of version 1")
    return evidence


def read_note(checkpoint):
    body, _, lines = checkpoint["note"].rpartition("\n\n")
    origin, size, root = body.split("\n")
    signatures = {}
    for line in lines.removesuffix("\n").split("\n"):
        dash, name, encoded = line.split(" ")
        check(dash == "—", "the checkpoint has a line that is not a signature")
        signatures[name, b64(encoded)[:4]] = b64(encoded)[4:]
    fingerprints = []
    for text in checkpoint["verifierKeys"]:
        name, key_id, encoded = text.split("+", 2)
        typed = b64(encoded)
        check(len(typed) == 33 and typed[0] == 1 and sha(name.encode() + b"\n" + typed)[:4].hex() == key_id, "a key was changed")
        check(is_signed(typed[1:], signatures[name, bytes.fromhex(key_id)], (body + "\n").encode()), "the signature does not match")
        fingerprints.append("sha256:" + sha(bytes.fromhex("302a300506032b6570032100") + typed[1:]).hex())
    check(fingerprints, "the file names no key")
    return origin, int(size), b64(root), fingerprints


def root_of(leaf, index, size, proof):  # RFC 9162, section 2.1.3.2
    check(index < size, "an event is after the checkpoint")
    node, last = index, size - 1
    for sibling in proof:
        check(last > 0, "a proof is too long")
        if node % 2 == 1 or node == last:
            leaf = sha(b"\1" + sibling + leaf)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            leaf = sha(b"\1" + leaf + sibling)
        node, last = node // 2, last // 2
    check(last == 0, "a proof is too short")
    return leaf


def read_events(evidence, size, root):
    nodes, used, events = [b64(node) for node in evidence["nodes"]], set(), {}
    for event in evidence["events"]:
        record, digest = json.loads(event["record"]), sha(event["record"].encode())
        data, body = json.loads(record[10]), event.get("body")
        claim = data["claimCheck"]["sha256"] if "claimCheck" in data else None
        check(claim == (None if body is None else sha(body.encode()).hex()), "the text of an event was changed")
        proof = [nodes[index] for index in event["proof"]]
        used.update(event["proof"])
        check(root_of(sha(b"\0" + digest), event["leaf"], size, proof) == root, f"event {event['leaf']} is not in the log")
        check((record[1], record[2]) not in events, "an event is in the file twice")
        events[record[1], record[2]] = (record, digest.hex(), data if body is None else json.loads(body))
    check(used == set(range(len(nodes))), "the file has hashes that no proof uses")
    return events


def check_chain(own, context):
    previous = "0" * 64
    for number, (record, digest, _) in enumerate(own):
        check(record[2] == str(number) and record[0] == previous, f"event {number} of the conversation is missing")
        previous = digest
    check(len(own) > int(context["revision"]), "events before the moment are missing")


def check_context(context, events, stream, messages):
    digest, stated = sha(context["text"].encode()).hex(), context.get("statedBy")
    if stated:
        record, _, data = events[stated["stream"], stated["revision"]]
        said = data.get("answers") if record[4] == "MessageAppended" else {"hash": data.get("contextHash"), "revision": record[2]}
        check(record[1] == stream and said == {"hash": digest, "revision": context["revision"]}, "the messages are not those that the log names")
    shown = json.loads(context["text"])
    check(len(shown) == len(context["messageIds"]), "the file does not name the origin of each message")
    for number, (message, name) in enumerate(zip(shown, context["messageIds"])):
        if name is not None and number not in context["adapted"]:
            data = messages[name]
            check(data["role"] == message["role"] and data["content"] == message.get("content"), f"message {number + 1} differs from the recorded one")
    return "named by the log" if stated else "not named by an event of the log, so not proven"


def check_summary(summary, events, messages):
    place = lambda name: events[summary[name]["stream"], summary[name]["revision"]]
    record, _, data = place("recorded")
    check(data["batchId"] == summary["batchId"], "a summary is not the recorded one")
    if record[4] == "BatchesResummarized":
        check(data["sourceBatchIds"] == [each["batchId"] for each in summary["sources"]], "a summary was made of others")
        made, count = data, sum(check_summary(each, events, messages) for each in summary["sources"])
    else:
        made, count = place("chunk" if "chunk" in summary else "observed")[2], len(data["messageIds"])
        check(record[4] == "BatchArchived" and summary["sources"] == [] and made["chunkId"] == data["chunkId"], "a summary has another origin")
        check("chunk" not in summary or made["messageIds"] == data["messageIds"], "a summary stands for other messages")
        check(all(name in messages for name in data["messageIds"]), "a message that a summary stands for is missing")
    for kind in ("prompt", "persona"):
        digest = made.get("summarizer", {}).get(kind, {}).get("sha256")
        prompt = events.get((f"prompt-{digest}", "0"))
        check(prompt is None or sha(prompt[2]["text"].encode()).hex() == digest, "a prompt is not the one that was used")
    return count


def verify(data):
    evidence = read_file(data)
    origin, size, root, fingerprints = read_note(evidence["checkpoint"])
    events, stream = read_events(evidence, size, root), "conversation-" + evidence["conversationId"]
    own = [event for (name, _), event in events.items() if name == stream]
    check_chain(own, evidence["context"])
    messages = {data["messageId"]: data for record, _, data in own if record[4] == "MessageAppended"}
    context = check_context(evidence["context"], events, stream, messages)
    count = sum(check_summary(summary, events, messages) for summary in evidence["summaries"])
    return fingerprints, f"{len(events)} events of {origin} ({size} events); the context is {context}; summaries stand for {count} messages"


if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as file:
            keys, sentence = verify(file.read())
        check(not sys.argv[2:] or sys.argv[2] in keys, f"it is signed by {', '.join(keys)}, not by {''.join(sys.argv[2:])}")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
        sys.exit(f"NOT VALID: {type(problem).__name__}: {problem}")
    print(f"valid: {sentence}\nsigned by {', '.join(keys)}" + ("" if len(sys.argv) > 2 else ": compare this with the operator's fingerprint"))
