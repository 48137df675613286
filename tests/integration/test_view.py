"""`snoopie view`: who gets into the app, and what is left of it."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
import zstandard
from websockets.exceptions import InvalidStatus

from tests.support import ring
from tests.support.encoder import TraceBuilder
from tests.support.viewing import PATIENCE, ROOT, Answer, Viewed, alive, children, serving, shown, viewing

_Seen = TypeVar("_Seen")

# One of each kind that Streamlit serves.
ENDPOINTS = [
    ("GET", "/"),
    ("GET", "/kernels"),
    ("GET", "/index.html"),
    ("GET", "/favicon.png"),
    ("GET", "/static/media/none.woff2"),
    ("GET", "/_stcore/health"),
    ("HEAD", "/_stcore/health"),
    ("GET", "/_stcore/host-config"),
    ("GET", "/_stcore/metrics"),
    ("GET", "/_stcore/agent/openapi.json"),
    ("POST", "/_stcore/agent/interact"),
    ("GET", "/_stcore/stream"),
    ("GET", "/media/none.png"),
    ("OPTIONS", "/_stcore/upload_file/a/b"),
    ("PUT", "/_stcore/upload_file/a/b"),
    ("DELETE", "/_stcore/upload_file/a/b"),
    ("GET", "/component/st_aggrid.agGrid/index.html"),
    ("GET", "/_stcore/bidi-components/none/index.js"),
    ("GET", "/none"),
    ("GET", "//evil.example/"),
]

# What opens a WebSocket.
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "c25vb3BpZSBzbm9vcGllIA==",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    with viewing(ring.write_ring(tmp_path_factory.mktemp("ring"))) as running:
        yield running


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_nothing_is_answered_without_the_token(app: Viewed, method: str, path: str) -> None:
    port = app.host.rpartition(":")[2]
    wrong = "x" * len(app.token)
    attempts: list[tuple[str, dict[str, str]]] = [
        (path, {}),
        (f"{path}?token={wrong}", {}),
        (f"{path}?token=", {}),
        (f"{path}?token=%ff%00", {}),
        (path, {"Cookie": f"snoopie-{port}={wrong}"}),
        (path, {"Cookie": f"snoopie-{port}="}),
        (path, {"Cookie": f"snoopie-1={app.token}"}),
        (path, {"Cookie": "\x01;=;" * 10}),
        (path, {"X-Token": app.token, "Authorization": f"token {app.token}"}),
    ]
    for address, headers in attempts:
        answer = app.ask(address, method, headers)
        assert (address, headers, answer.status) == (address, headers, 403)
        assert "snoopie view" in answer.body or method == "HEAD"
        assert "Set-Cookie" not in answer.headers
        assert app.token not in answer.body + str(answer.headers)


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_everything_is_answered_with_the_cookie(app: Viewed, method: str, path: str) -> None:
    answer = app.ask(path, method, app.cookie)
    # Streamlit refuses some of these itself, in its own words.
    assert "snoopie view" not in answer.body and "own pages only" not in answer.body
    assert answer.status in ({403, 404} if method in ("PUT", "DELETE", "POST") else {200, 204, 400, 404, 405})


def test_the_token_is_changed_for_a_cookie(app: Viewed) -> None:
    answer = app.ask(f"/compare?with=a%26b&token={app.token}&kernels=%F0%9F%90%B6")
    assert (answer.status, answer.headers["location"]) == (303, "/compare?with=a%26b&kernels=%F0%9F%90%B6")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert {name: f"{name}={rest.split(';')[0]}"} == {name: app.cookie["Cookie"]}
    assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {part.strip() for part in rest.split(";")}
    assert answer.headers["cache-control"] == "no-store"
    # Nowhere else, however it is asked for.
    for path in ("//evil.example/", "/%5Cevil.example", "///evil.example", "/\t/evil.example"):
        place = app.ask(f"{path.replace(chr(9), '%09')}?token={app.token}").headers["location"]
        assert place.startswith("/") and not place.startswith(("//", "/\\"))


@pytest.mark.parametrize("path", ["/", "/communication", "/kernels?operations=load"])
def test_pages_know_where_they_will_be(app: Viewed, path: str) -> None:
    """Before Streamlit's scripts do, and however the browser takes them."""
    plain = app.ask(path, headers=app.cookie)
    assert "[data-testid=stAppViewContainer]:not(:has(" in plain.body.partition("</head>")[0]
    assert int(plain.headers["content-length"]) == len(plain.body.encode())
    small = app.ask(path, headers=app.cookie | {"Accept-Encoding": "gzip"})
    assert (small.status, small.headers["content-encoding"]) == (200, "gzip")


def test_the_server_is_ready_before_a_browser_is(tmp_path: Path) -> None:
    """It imports what the first page needs once it has said where it is."""
    with viewing(ring.write_ring(tmp_path)) as app:
        serving = Path(f"/proc/{app.process.pid}/maps")
        end = time.monotonic() + PATIENCE
        while "/pandas/_libs/" not in serving.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)


def script(which: str, page: Answer) -> str:
    """Where a page has what it begins with: its entry, or the small scripts together."""
    (name,) = re.findall(rf'data-{which}="([^"]+)"', page.body)
    return f"/static/js/{name}"


def test_small_scripts_come_together(app: Viewed) -> None:
    """As they are in Streamlit's own files, but for what they call one another."""
    place = script("small", app.ask("/", headers=app.cookie))
    assert app.ask(place).status == 403
    scripts = json.loads(app.ask(place, headers=app.cookie).body)
    assert len(scripts) > 100
    for name in list(scripts)[::40]:
        own = app.ask(f"/static/js/{name}", headers=app.cookie).body
        assert own == scripts[name].replace("\0", "./")


def test_browsers_keep_what_does_not_change(app: Viewed) -> None:
    """Each table with filters is a frame, and would load its script of more than a megabyte again."""
    tables = "/component/st_aggrid.AgGrid.agGrid"
    with app.session() as session:
        shown(session)  # the app names its components
    page, frame = (app.ask(path, headers=app.cookie) for path in ("/", f"{tables}/index.html"))
    assert (frame.status, frame.headers["cache-control"]) == (200, "no-cache")
    (of_tables,) = re.findall(r'src="\./(static/js/[^"]+)"', frame.body)
    for path in (*map(script, ("entry", "small"), (page, page)), f"{tables}/{of_tables}"):
        answer = app.ask(path, headers=app.cookie | {"Accept-Encoding": "gzip"})
        assert (answer.status, answer.headers["content-encoding"]) == (200, "gzip")
        assert {"immutable", "max-age=31536000"} <= set(answer.headers["cache-control"].split(", "))
    # Without a hash in its name.
    other = app.ask(f"{tables}/bootstrap.min.css", headers=app.cookie)
    assert (other.status, other.headers["cache-control"]) == (200, "public, max-age=3600")
    none = app.ask(f"{tables}/none.f4bb7ae6.js", headers=app.cookie)
    assert none.status == 404 and "cache-control" not in none.headers


def test_scripts_come_as_small_as_the_browser_takes_them(app: Viewed) -> None:
    """And say the same."""
    entry = script("entry", app.ask("/", headers=app.cookie))

    def asked(takes: str) -> Answer:
        return app.ask(entry, headers=app.cookie | {"Accept-Encoding": takes})

    plain, gzipped, packed = map(asked, ("identity", "gzip", "gzip, deflate, br, zstd"))
    assert "content-encoding" not in plain.headers and len(plain.sent) > 300_000
    assert (gzipped.headers["content-encoding"], packed.headers["content-encoding"]) == ("gzip", "zstd")
    assert gzip.decompress(gzipped.sent) == zstandard.decompress(packed.sent) == plain.sent
    assert len(packed.sent) < 0.9 * len(gzipped.sent)
    assert "accept-encoding" in packed.headers["vary"].lower()


def test_cookies_of_other_servers_do_not_matter(app: Viewed) -> None:
    others = 'a={"b": [1, 2]}; =; c="; \x80'
    assert app.ask("/", headers={"Cookie": f"{others}; {app.cookie['Cookie']}; d={others}"}).status == 200


def test_other_sites_get_nothing_to_know_or_to_embed(app: Viewed) -> None:
    for headers in ({}, app.cookie):
        answer = app.ask("/", headers=headers)
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
        assert "default-src 'self'" in answer.headers["content-security-policy"]


def test_a_session_wants_the_token_too(app: Viewed) -> None:
    port = app.host.rpartition(":")[2]
    for headers in ({}, {"Cookie": f"snoopie-{port}=wrong"}, {"Cookie": f"other={app.token}"}):
        with pytest.raises(InvalidStatus) as refused, app.session(headers):
            pass
        assert refused.value.response.status_code == 403
    with app.session() as connection:
        assert "ring_put" in shown(connection, "kernels")


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        # Another user's server on this machine: the same site, to which a browser gives the same cookies.
        {"Origin": "http://127.0.0.1:9"},
        # A name that its owner made lead here.
        {"Host": "evil.example", "Origin": "http://evil.example"},
        {"Host": "evil.example"},
    ],
)
def test_other_pages_cannot_use_the_cookie_of_a_browser(app: Viewed, headers: dict[str, str]) -> None:
    cookie = {"Cookie": app.cookie["Cookie"]}
    assert app.ask("/", headers=cookie | headers).status == 403
    assert app.ask(f"/?token={app.token}", headers=headers).status == 403
    own = {"Origin": f"http://{app.host}"}
    assert app.ask("/", headers=cookie | own).status == 200
    assert app.ask("/_stcore/stream", headers=cookie | UPGRADE | headers).status == 403
    assert app.ask("/_stcore/stream", headers=cookie | UPGRADE | own).status == 101
    with app.session(cookie | own) as connection:
        assert "ring_put" in shown(connection, "kernels")


def test_only_this_user_learns_the_token(app: Viewed) -> None:
    # Everybody on the machine may read the words of a command.
    words = Path(f"/proc/{app.process.pid}/cmdline").read_text()
    assert "serve.py" in words and app.token not in words
    app.ask(f"/?token={app.token}")
    app.ask(f"/?token={app.token}x")
    assert app.said().count(app.token) == 1
    assert len(app.token) >= 43  # 256 bits


def test_the_first_free_port_is_taken_and_each_server_has_its_token(app: Viewed, tmp_path: Path) -> None:
    trace = ring.write_ring(tmp_path)
    with viewing(trace, "--compare", trace) as other:
        assert "/compare?token=" in other.address
        assert other.host != app.host
        assert other.token != app.token
        assert other.ask("/", headers=other.cookie).status == 200
        port = other.host.rpartition(":")[2]
        assert other.ask("/", headers={"Cookie": f"snoopie-{port}={app.token}"}).status == 403


def test_only_this_machine_can_reach_it(app: Viewed) -> None:
    assert app.host.startswith("127.0.0.1:")
    for other in ("127.0.0.2", "::1"):
        family = socket.AF_INET6 if ":" in other else socket.AF_INET
        with socket.socket(family) as client:
            client.settimeout(PATIENCE)
            assert client.connect_ex((other, int(app.host.rpartition(":")[2]))) != 0


def test_what_is_opened_to_others_is_said(tmp_path: Path) -> None:
    with viewing("--no-token", "--address", "127.0.0.3", ring.write_ring(tmp_path)) as app:
        assert app.address.startswith("http://127.0.0.3:") and "token" not in app.address
        assert app.ask("/").status == 200
        with app.session({}) as connection:
            assert "ring_put" in shown(connection, "kernels")
        assert app.ask("/", headers={"Origin": "http://evil.example"}).status == 403
        said = app.said()
        assert "snoopie: open to other machines and whoever can reach it, without a token\n" in said


def test_a_port_that_is_taken_is_an_error_in_one_line(app: Viewed, tmp_path: Path) -> None:
    port = app.host.rpartition(":")[2]
    command = [sys.executable, "-m", "snoopie.cli", "view", "--port", port, str(ring.write_ring(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "starting the app; its address follows\n")
    sentence = f"127.0.0.1:{port} cannot be served (Address already in use); name another --port"
    assert done.stderr == f"snoopie: {sentence}\n"


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_when_it_is_asked_to(tmp_path: Path, ended_by: signal.Signals) -> None:
    with viewing(ring.write_ring(tmp_path)) as app, app.session() as connection:
        shown(connection)
        app.process.send_signal(ended_by)
        assert app.process.wait(PATIENCE) in (0, -ended_by)
        assert app.said().splitlines()[2:] == ["Ctrl-C ends it."]


def until(look: Callable[[], _Seen]) -> _Seen:
    """What is seen, once it is there."""
    end = time.monotonic() + PATIENCE
    while not (seen := look()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return seen


def settled(look: Callable[[], _Seen]) -> _Seen:
    """What is seen, once four looks in a row see the same."""
    seen = [look()]

    def same() -> bool:
        time.sleep(0.5)
        seen.append(look())
        return len(seen) > 3 and len(set(seen[-4:])) == 1

    until(same)
    return seen[-1]


def write_large(folder: Path) -> Path:
    """A trace of so many records that another process goes through them."""
    trace = TraceBuilder(2)
    function = trace.function("many(int*)")
    site = trace.site(function, "STG.E", "store", 4, line=trace.line("/x/many.cu", 3))
    launch = trace.launch(function, 0)
    made = trace.allocation("device", 1 << 20, 1, 0, address=0x7F00_0000_0000)
    assert made == 1
    trace.count(launch, site, 1, 30_001, 32 * 30_001, 4 * 30_001)
    for _ in range(30_001):
        trace.record(launch, site, 1, 0x7F00_0000_0000, 4)
    return trace.write(folder / "many.zst")


@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_its_worker_ends_with_the_server(tmp_path: Path, ended_by: signal.Signals) -> None:
    """Also while it is asked, and whether or not it answers."""
    with viewing(write_large(tmp_path)) as app, app.session() as connection:
        shown(connection)
        worker = until(lambda: children(app.process.pid))[0]
        os.kill(worker, signal.SIGSTOP)
        app.process.send_signal(ended_by)
        app.process.wait(PATIENCE)
        os.kill(worker, signal.SIGCONT)
        until(lambda: not alive(worker))


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_sessions_leave_nothing_behind(tmp_path: Path) -> None:
    """No process, no descriptor, no thread, and no memory but what the first ones made room for."""
    opened, at_once = 50, 5
    # Streamlit keeps what was closed for two minutes, for a browser that comes back.
    with viewing(ring.write_ring(tmp_path), settings="server.disconnectedSessionTTL = 1") as app:

        def open_some(count: int) -> None:
            for _ in range(count // at_once):
                with ExitStack() as all_of_them:
                    pages = [all_of_them.enter_context(app.session()) for _ in range(at_once)]
                    for page in pages:
                        assert "ring_put" in shown(page, "kernels")

        def left() -> tuple[int, int, int]:
            """Processes, descriptors, threads. Streamlit forgets and collects when somebody else comes."""
            # What is opened again and again within the second is kept, the more the faster the machine is.
            time.sleep(1.5)
            open_some(at_once)
            process = Path(f"/proc/{app.process.pid}")
            descriptors, threads = (len(list((process / name).iterdir())) for name in ("fd", "task"))
            return len(children(app.process.pid)), descriptors, threads

        open_some(2 * at_once)
        before, memory = left(), resident(app.process.pid)
        open_some(opened)
        # Those that `left` itself opened may be kept yet; a session has three descriptors and a thread.
        after = until(lambda: (now := left())[1] <= before[1] + 3 * at_once and now)
        grown = resident(app.process.pid) - memory
        print(f"{opened} sessions: processes, descriptors, threads {before} → {after}, {grown >> 10:+,} KiB")
        assert after[0] == before[0] == 0
        assert after[2] <= before[2] + at_once
        assert grown < opened * (200 << 10)


# streamlit run visualizer/app.py


def test_streamlit_alone_serves_this_machine_and_its_own_pages(tmp_path: Path) -> None:
    """By the settings that lie beside the app, whatever the user's are."""
    settings = """
        server.address = "0.0.0.0"
        server.enableCORS = false
        server.enableXsrfProtection = false
        server.allowedHosts = []
        browser.gatherUsageStats = true
    """
    script = ROOT / "visualizer" / "app.py"
    with serving("streamlit", "run", script, ring.write_ring(tmp_path), settings=settings) as app:
        assert app.host.startswith("127.0.0.1:")
        with socket.socket() as client:
            client.settimeout(PATIENCE)
            assert client.connect_ex(("127.0.0.2", int(app.host.rpartition(":")[2]))) != 0
        for headers in (
            {"Origin": "http://evil.example"},
            {"Host": "evil.example", "Origin": "http://evil.example"},
            {"Host": "evil.example"},
        ):
            assert app.ask("/_stcore/stream", headers=UPGRADE | headers).status == 403
            assert "Access-Control-Allow-Origin" not in app.ask("/_stcore/health", headers=headers).headers
        assert app.ask("/_stcore/stream", headers=UPGRADE | {"Origin": f"http://{app.host}"}).status == 101
        # Nothing tells the browser to tell Streamlit's makers.
        with app.session({}) as connection:
            drawn = shown(connection, "kernels")
        assert "ring_put" in drawn and "config {" in drawn
        assert "gather_usage_stats: true" not in drawn
        # It changes what it holds only for pages that read its cookie.
        assert app.ask("/_stcore/upload_file/a/b", "PUT").status == 403
