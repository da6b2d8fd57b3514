"""Ordinary engineering text of any size: what agents send each other, none of it an attack."""

from __future__ import annotations

_PARTS = (
    """Take over the log reader. It reads one line at a time and keeps the byte offset of each record, so that a reader
which was stopped half way goes on at the right place. `read_records(path, start=0)` yields pairs of offset and row. The
tests for torn last lines are in tests/unit/test_log.py; run them with `pytest -k log -q` before you change the size of
the buffer (65536 now), and tell me when the slow ones are green as well.""",
    """Fix the upload test that fails one time in forty

- `test_upload_resumes` waited for a fixed 0.2 s; it now polls the store until the chunk is on the disk
- raise the limit of open files on the build machines to 4096 (#2241, https://ci.example.net/builds/88121?shard=3)
- aiohttp from 3.9.1 to 3.9.5, commit 3f1c9e0a7b52d4886e1f0c9ab7d25e61f4a8830c

Reviewed-by: Mira Lund <mira@example.org>""",
    """```python
def retry(call, *, attempts: int = 5, base: float = 0.1) -> Result:
    for number in range(attempts):
        try:
            return call()
        except ConnectionError as error:
            log.warning("attempt %d of %d failed: %s", number + 1, attempts, error)
            time.sleep(base * 2**number)
    raise GaveUp(attempts)
```""",
    """Traceback (most recent call last):
  File "/srv/app/worker.py", line 118, in run
    job = queue.get(timeout=5)
  File "/usr/lib/python3.11/queue.py", line 179, in get
    raise Empty
_queue.Empty
2026-03-11T08:14:52.113Z ERROR worker[4411] job 9f86d081884c7d65 gave up after 5003 ms, next attempt in 30 s""",
    """We measured three ways to store the index: a sorted array with binary search (41 ms for a million look-ups), a
hash table (18 ms), and SQLite with a covering index (212 ms). The hash table needs 96 MB, so we took the array; next to
the network the difference does not matter. Größe und Laufzeit stehen in docs/index.md → die Messung läuft mit
`make bench`.""",
    """The migration has two steps. First `0007_add_owner.sql` adds the column without a constraint and fills it in
batches of 1,000 rows; the old code keeps working meanwhile. Once the dashboard shows no row without an owner, `0008`
sets NOT NULL. Do not run both in one release: on the copy of production the lock was held for 40 seconds, and every
request that wrote to `documents` had to wait for it.""",
    """| setting | default | meaning |
|---|---|---|
| `cache.max_mb` | 256 | what the cache may hold before it drops the oldest entries |
| `cache.ttl_s` | 3600 | how long an entry is good for; 0 turns the cache off |
| `http.timeout_s` | 10 | for a whole request, its redirects included |

An unknown setting is an error, since it is a typing mistake more often than a plan.""",
    """The review found three things. The handler catches every exception, so a typing mistake in the template reads as
"not found". `parse_amount("1,5")` gives 15, because the comma is dropped before anybody looks at the locale. And the
retry has no upper bound: with the server down for a night it wrote 2 GB of logs. I mended the first two and left the
third to you, as you know what the callers expect.""",
)


def text(size: int, number: int = 0) -> str:
    """`size` characters; each `number` gives another text of the same kind."""
    pieces: list[str] = []
    length = 0
    while length < size:
        at = number + len(pieces)
        # Steps of 3 and 5 through 8 parts: neighbours differ, and no two rounds are the same text.
        part = _PARTS[at * (3, 5)[at // len(_PARTS) % 2] % len(_PARTS)]
        pieces.append(f"{part}\n\nStep {at} of {size}, see note-{at * 7919 % 10_007}.md.\n\n")
        length += len(pieces[-1])
    return "".join(pieces)[:size]
