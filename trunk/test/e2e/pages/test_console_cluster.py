"""The console of a cluster and of a server of several processes, in headless Chromium: what a person sees of nodes, of the
streams of all of them, of processes, and of what is wrong. And /live.json of several processes."""

import contextlib
import http.client
import json
import signal
import socket
import urllib.error
import urllib.request

import pytest

from browser import Browser
from flv import HttpFlv
from media import publisher
from processes import COUNT, all_run, kill, pids, process_of, start
from rtmp import RtmpPlayer
from test_console import BAD_NAME, PATIENT, STAY, SURE, TEXT, page, shows
from test_registry import SHORT, Publisher, node, publishing, redis, status, wait_heard  # noqa: F401 (fixtures)
from test_life import wait_end
from tls import blind_context, certificate
from weir import free_port, wait_until

# Rows of a table as a person reads them.
ROWS = "[...document.querySelectorAll('#{} tbody tr')].map((row) => row.innerText.replace(/\\s+/g, ' '))"
VISIBLE = "(() => {{ const one = document.getElementById('{}'); return one?.checkVisibility() ? one.innerText : ''; }})()"
INSIDE = ("[...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).every((one) => "
          "{ const box = one.getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth; })")


def console(server):
    return f"http://127.0.0.1:{server.api_port}/console/"


def rows(browser, table):
    return browser.evaluate(ROWS.format(table))


def row(browser, table, *words, seconds=15):
    """The row that has all these words, when it is there."""
    def found():
        return next((text for text in rows(browser, table) if all(word in text for word in words)), None)
    try:
        return wait_until(found, seconds, "")
    except AssertionError:
        raise AssertionError(f"no row of {table} with {words}: {rows(browser, table)}; {browser.console[-3:]}") from None


def button(*names):
    """That is called so."""
    return ("[...document.querySelectorAll('button')].find((one) => one.checkVisibility() && "
            f"{json.dumps(names)}.includes(one.ariaLabel ?? one.textContent))")


def click(browser, name):
    browser.evaluate(button(name) + ".click()")


def end(browser, name, whom):
    """Both clicks on a button that asks first, or the second where it has asked."""
    browser.evaluate(SURE.format(button(f"{name} {whom}", f"Sure? {whom}")))


def says(browser, element, text, seconds=15):
    wait_until(lambda: text in browser.evaluate(VISIBLE.format(element)), seconds,
               f"{text!r} stands in {element}; there was {browser.evaluate(VISIBLE.format(element))!r}")


def test_one_machine_sees_nothing_of_clusters_and_processes(weir, folder):
    with publisher(weir.rtmp(), folder), page(folder, console(weir), f"http://127.0.0.1:{weir.api_port}/") as browser:
        shows(browser, "127.0.0.1 by rtmp")
        wait_until(lambda: rows(browser, "clients"), 10, "clients are listed")
        text = browser.evaluate(TEXT).lower()
        assert not [word for word in ("cluster", "node", "processes", "process ", "registry", "drain") if word in text], text


@pytest.mark.parametrize("width", [1100, 360])
def test_the_cluster_is_shown_and_a_publisher_is_kicked_wherever_it_is(redis, node, folder, width):  # noqa: F811
    first, second = (node(name, redis.url, top=STAY) for name in ("media-a", "media-b"))
    wait_heard(redis, 2)
    api = f"http://127.0.0.1:{second.api_port}/"
    with publisher(first.rtmp("live/cam"), folder) as sender, publishing(first, "other") as (_, may):
        assert may
        first.wait_live("cam")
        with HttpFlv(second.http_port, "/live/cam.flv", timeout=20) as player, page(folder, api + "console/", api) as browser:
            player.reader().tags(1)
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
            row(browser, "nodes", "media-a", f"http://127.0.0.1:{first.http_port}", "serving")
            assert "(this one)" in row(browser, "nodes", "media-b") and "(this one)" not in row(browser, "nodes", "media-a")
            row(browser, "cluster-streams", "live/cam", "media-a", "media-b")
            assert "media-b" not in row(browser, "cluster-streams", "live/other"), "nobody pulls it"
            listed = second.api("/api/v1/cluster/streams")["streams"]
            assert {one["name"]: one["edges"] for one in listed} == {"cam": ["media-b"], "other": []}
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits the window"
            assert browser.evaluate(INSIDE), "no button is outside of the window"
            browser.screenshot(folder / f"cluster-{width}.png")
            shows(browser, "from node media-a")
            browser.evaluate("const field = document.getElementById('cluster-stream'); field.value = 'cam';"
                             "field.dispatchEvent(new Event('input'))")
            wait_until(lambda: len(rows(browser, "cluster-streams")) == 1, 10, "the field finds one")
            says(browser, "cluster-count", "1 to 1 of 1")
            click(browser, "Kick the publisher of live/cam at media-a")
            browser.evaluate("new Promise((done) => setTimeout(done, 300))")
            assert "cam" in [one["name"] for one in first.streams()], "the first click only asks"
            end(browser, "Kick", "the publisher of live/cam at media-a")
            sender.wait(20)
            wait_until(lambda: not rows(browser, "cluster-streams"), 15, "it is off the list")
            assert [one["name"] for one in first.streams() if one["publish"]["active"]] == ["other"]


def test_a_stream_of_another_node_stands_on_the_page_and_plays(redis, node, folder):  # noqa: F811
    first, second = (node(name, redis.url, top=STAY) for name in ("media-a", "media-b"))
    wait_heard(redis, 2)
    with publisher(first.rtmp("live/cam"), folder), page(folder, second.http("/"), second.http("/")) as browser:
        shows(browser, "live/cam", 20)
        shows(browser, "published at another node of this cluster")
        assert live_by_name(second)["live/cam"].get("elsewhere") is True and "elsewhere" not in live_by_name(first)["live/cam"]
        assert not any("media-a" in json.dumps(one) for one in live_by_name(second).values()), "nodes are not told to strangers"
        browser.evaluate("document.querySelector('.card button.play').click()")
        wait_until(lambda: browser.evaluate("document.querySelector('.card').dataset.state") == "playing", 20, "it plays here")
        wait_until(lambda: "elsewhere" not in live_by_name(second)["live/cam"], 10, "it is a stream of this node, too")
        assert len(live_by_name(second)) == 1


def live_by_name(server):
    return {f"{one['app']}/{one['name']}": one for one in live(server)["streams"]}


def test_the_button_of_a_stream_from_elsewhere_ends_its_publisher_there(redis, node, folder):  # noqa: F811
    first, second = (node(name, redis.url, top=STAY) for name in ("media-a", "media-b"))
    wait_heard(redis, 2)
    with publisher(first.rtmp("live/cam"), folder) as sender, HttpFlv(second.http_port, "/live/cam.flv", timeout=20) as player, \
            page(folder, console(second), f"http://127.0.0.1:{second.api_port}/") as browser:
        player.reader().tags(1)
        shows(browser, "from node media-a")
        row(browser, "cluster-streams", "live/cam")
        end(browser, "End", "the publisher of live/cam")
        sender.wait(20)
        wait_until(lambda: not [one for one in first.streams() if one["publish"]["active"]], 10, "nobody publishes it")


def test_a_source_that_is_kicked_backs_off(redis, node, new_weir, folder):  # noqa: F811
    origin = new_weir("", "origin").start()
    with publisher(origin.rtmp("live/cam"), folder):
        first = node("media-a", redis.url, top=f"source {origin.rtmp('live/cam')} {{ stream live/cam; }}")
        second = node("media-b", redis.url)
        wait_heard(redis, 2)
        wait_until(lambda: second.api("/api/v1/cluster/streams")["streams"], 10, "the source publishes at media-a")
        assert second.api("/api/v1/cluster/streams?app=live&stream=cam", method="DELETE")["http_status"] == 200
        wait_until(lambda: first.api("/api/v1/sources")["sources"][0]["failures"] == 1, 20, "its run has ended")
        first.wait_live("cam")
        assert "ended by the API" in first.log()


def test_names_of_strangers_and_of_redis_are_text(redis, node, folder):  # noqa: F811
    server = node("media-a", redis.url)
    boot = status(server)["boot"]
    api = f"http://127.0.0.1:{server.api_port}/"
    name = "".join(f"%{ord(each):02X}" if not each.isalnum() and each not in "-._~" else each for each in BAD_NAME)
    redis.command("SET", f"{{weir}}:s:{name}/live/{name}", f"media-a {boot} 7 7")
    redis.command("SET", f"{{weir}}:n:{BAD_NAME}", "0123456789abcdef http://10.0.0.1 m serving 0 0 1")
    redis.command("SET", "{weir}:n:liar", f"0123456789abcdef http://10.0.0.1 m serving 0 0 {BAD_NAME}")
    redis.command("SET", "{weir}:n:honest", "0123456789abcdef http://10.0.0.1 rack serving 500 2000000 1.0 1")
    redis.command("SET", "{weir}:r:honest", f"0123456789abcdef {name} {name}/live/{name} {name}/live/{name} {BAD_NAME}")
    redis.command("SET", f"{{weir}}:r:{BAD_NAME}", f"0123456789abcdef {name}/live/{name}")
    redis.command("SET", "{weir}:r:media-a", "x" * 100_000)
    assert [one["edges"] for one in server.api("/api/v1/cluster/streams")["streams"]] == [["honest"]]
    with publishing(server, BAD_NAME), page(folder, api + "console/", api) as browser:
        assert "50 %" in row(browser, "nodes", "honest", "rack", "2.0 Mbit/s")
        wait_until(lambda: len(rows(browser, "cluster-streams")) == 2, 15, "both streams are listed")
        own = next(text for text in rows(browser, "cluster-streams") if f"({BAD_NAME})" not in text)
        assert f"live/{BAD_NAME} " in own and "honest" not in own
        assert row(browser, "cluster-streams", f"({BAD_NAME})", "honest").count("honest") == 1, "an edge is named once"
        assert len(rows(browser, "nodes")) == 2 and len(rows(browser, "cluster-streams")) == 2
        assert browser.evaluate("window.hurt === undefined && document.querySelector('main img:not(.poster)') === null")


def test_banners_say_that_the_registry_is_away_and_that_the_server_drains(redis, node, folder):  # noqa: F811
    server = node("media-a", redis.url, top=STAY)
    # No page(): the browser has words of its own on answers with 503.
    with publisher(server.rtmp("live/cam"), folder), HttpFlv(server.http_port, "/live/cam.flv") as player, Browser(folder) as browser:
        player.reader().tags(1)
        browser.open(console(server))
        row(browser, "nodes", "media-a", "serving")
        wait_until(lambda: browser.evaluate(VISIBLE.format("registry-notice")) == "", 15, "there is no banner")
        redis.end()
        says(browser, "registry-notice", f"redis://127.0.0.1:{redis.port}")
        said = browser.evaluate(VISIBLE.format("registry-notice"))
        assert "does not answer since " in said and "go on" in said, said
        assert rows(browser, "nodes"), "what was known stays"
        redis.start()
        wait_until(lambda: browser.evaluate(VISIBLE.format("registry-notice")) == "", 15, "the banner goes")
        row(browser, "nodes", "media-a", "serving")
        row(browser, "cluster-streams", "live/cam", "media-a")
        assert browser.evaluate(VISIBLE.format("drain-notice")) == ""
        server.process.send_signal(signal.SIGQUIT)
        says(browser, "drain-notice", "drains")
        says(browser, "drain-notice", "1 publish, 1 watch")
        row(browser, "nodes", "media-a", "draining")
    assert wait_end(server, 20) == 0


def test_two_nodes_with_one_name_are_told_from_the_page(redis, node, folder):  # noqa: F811
    node("twin", redis.url, lease=SHORT)
    other = node("twin-2", redis.url, wait=False, lease=SHORT)
    other.stop()
    other.config_path.write_text(other.config_path.read_text().replace("node twin-2;", "node twin;"))
    other.start()
    with Browser(folder) as browser:
        browser.open(console(other))
        says(browser, "registry-notice", "is named twin as well", 20)


def test_a_node_that_goes_is_not_just_missing(redis, node, folder):  # noqa: F811
    server, killed, drained = (node(name, redis.url, lease=SHORT) for name in ("media-a", "media-b", "media-c"))
    with Browser(folder) as browser, RtmpPlayer(drained.rtmp_port, play=False) as client:
        browser.open(console(server))
        for name in ("media-a", "media-b", "media-c"):
            row(browser, "nodes", name, "serving")
        killed.kill()
        assert "last seen 0:" in row(browser, "nodes", "media-b", "gone")
        drained.process.send_signal(signal.SIGQUIT)
        row(browser, "nodes", "media-c", "draining")
        client.socket.close()
        assert wait_end(drained, 20) == 0
        row(browser, "nodes", "media-c", "ended after its drain")


# ---- several processes


def live(server, path="/live.json", port=None):
    with urllib.request.urlopen(f"http://127.0.0.1:{port or server.http_port}{path}", timeout=20) as answer:
        return json.load(answer)


def named(answer):
    return [one["name"] for one in answer["streams"]]


def list_of_one(server):
    """Who answers at the API's port, by its pid, and the names in its list."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.api_port, timeout=20)) as connection:
        said = []
        for path in ("/api/v1/versions", "/live.json"):  # a connection stays where it is
            connection.request("GET", path)
            said.append(json.load(connection.getresponse()))
    return int(said[0]["pid"]), named(said[1])


def test_the_list_of_streams_is_that_of_all_processes_whichever_answers(new_weir, folder):
    """A list lacks a process that does not answer in time, so what it is to say is waited for."""
    many = start(new_weir, PATIENT)
    names = [f"s{number:02}" for number in range(12)]

    def all_publish():
        streams = many.streams()
        return streams if len(streams) == len(names) else None

    def lists_of_each():
        with contextlib.suppress(urllib.error.HTTPError):
            return [named(live(many, f"/live.json?process={one}", many.api_port)) for one in range(COUNT)]
        return None

    with contextlib.ExitStack() as stack:
        for name in names:
            assert stack.enter_context(Publisher(many.rtmp_port, name).ask()).answer()
        streams = wait_until(all_publish, 20, "all publish")
        assert len({one["process"] for one in streams}) > 1, "they are in several processes"
        wait_until(lambda: named(live(many)) == names, 20, "all are listed")
        processes, whole = pids(many), set()

        def each_lists_all():
            process, listed = list_of_one(many)
            if listed == names:
                whole.add(process)
            return whole == set(processes.values())
        wait_until(each_lists_all, 20, "whichever process answers")
        of_each = wait_until(lists_of_each, 20, "each says what it has")
        assert sorted(sum(of_each, [])) == names and max(map(len, of_each)) < len(names), of_each
        wait_until(lambda: named(live(many, "/live.json?process=0")) == names, 20, "on the public port the parameter means nothing")
        health = live(many, "/live.json?history=1")["health"]
        wait_until(lambda: live(many)["health"]["live"] == len(names), 20, "figures are those of all")
        assert len(health["history"]["cpu"]) == len(health["history"]["time_ms"])
        left = sorted(one["name"] for one in streams if one["process"] != 0)
        kill(many, 0)
        wait_until(lambda: pids(many).get(0, processes[0]) != processes[0] and all_run(many), 20, "it begins again")
        wait_until(lambda: named(live(many)) == left, 20, "what has gone is off the list")
    wait_until(lambda: named(live(many)) == [], 20, "nothing is live")


@contextlib.contextmanager
def watched_in_several(new_weir, folder, viewers=12):
    """A server of several processes, and viewers who cannot go to their stream: it comes to them."""
    certificate(folder)
    port = free_port()
    many = start(new_weir, f"ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key; {PATIENT}", tls_port=port)
    with publisher(many.rtmp("live/cam"), folder), contextlib.ExitStack() as stack:
        many.wait_live("cam")
        for _ in range(viewers):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            stream = stack.enter_context(blind_context().wrap_socket(raw, server_hostname="localhost"))
            stream.sendall(b"GET /live/cam.flv HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert stream.recv(1000).startswith(b"HTTP/1.1 200")
        wait_until(lambda: len(process_of(many, "player")) >= viewers, 20, "all play")
        wait_until(lambda: len([one for one in many.streams() if one["name"] == "cam"]) > 1, 20, "it is in several processes")
        yield many


def test_a_stream_in_several_processes_is_one_with_all_its_viewers(new_weir, folder):
    with watched_in_several(new_weir, folder) as many:
        def one_with_all():
            streams = live(many)["streams"]
            return len(streams) == 1 and streams[0]["players"] == 12 and streams[0]["video"] == "H264"
        wait_until(one_with_all, 10, "one stream, twelve viewers")
        api = f"http://127.0.0.1:{many.api_port}/"
        with page(folder, api + "console/", api) as browser:
            shows(browser, "1 live, 12 watching")
            at = process_of(many, "publisher")[0]
            shows(browser, f"process {at})")
            end(browser, "End", "the publisher of live/cam")
            wait_until(lambda: not live(many)["streams"], 15, "it has ended, not one of its relays")


@pytest.mark.parametrize("who", ["publisher", "players"])
def test_the_api_ends_a_stream_in_all_processes(new_weir, folder, who):
    with watched_in_several(new_weir, folder) as many:
        stream = next(one for one in many.streams() if one["name"] == "cam")
        answer = many.api(f"/api/v1/streams/{stream['id']}?who={who}", "DELETE")
        assert answer["http_status"] == 200, answer
        if who == "publisher":
            wait_until(lambda: not live(many)["streams"], 15, "it has ended, not one of its relays")
        else:
            assert answer["kicked"] >= 12, answer
            wait_until(lambda: not [one for one in many.clients() if one["type"] == "flv-play"], 10, "nobody watches")
            wait_until(lambda: live(many)["streams"], 10, "it is still published")
        assert many.api("/api/v1/streams/nothing", "DELETE")["http_status"] == 404


def test_the_console_shows_processes_and_who_is_in_which(new_weir, folder):
    many = start(new_weir, PATIENT)
    api = f"http://127.0.0.1:{many.api_port}/"
    names = ["one", "two", "three", "four"]
    with contextlib.ExitStack() as stack:
        for name in names:
            assert stack.enter_context(Publisher(many.rtmp_port, name).ask()).answer()
        with Browser(folder) as browser:
            browser.open(api + "console/")
            for process in range(COUNT):
                assert "running" in row(browser, "processes", f"{process} running", "never")
            shows(browser, f"{len(names)} live")
            for client in many.clients():
                text = row(browser, "clients", client["id"])
                assert text.replace(" Kick", "").endswith(f" {client['process']}"), (client, text)
            wait_until(lambda: browser.evaluate("[...document.querySelectorAll('#processes tbody tr')].reduce((sum, row) => "
                                                "sum + Number(row.querySelector('[data-name=streams]').textContent), 0)")
                       == len(names), 10, "their streams are counted")
            victim = many.clients()[0]["process"]
            kill(many, victim)
            assert "once" in row(browser, "processes", f"{victim} running", "once")
            browser.call("Emulation.setDeviceMetricsOverride", width=360, height=900, deviceScaleFactor=1, mobile=True)
            assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), "it fits the window"
            browser.screenshot(folder / "processes-360.png")
            assert "cluster" not in browser.evaluate(TEXT).lower()


def test_processes_in_a_cluster_are_nodes_of_this_server(redis, new_weir, folder):  # noqa: F811
    many = start(new_weir, f"cluster {{ node big; registry {redis.url}; secret 0123456789abcdef-of-all-nodes; lease 30s;\n"
                           f"allow_nodes 127.0.0.0/8; }} {PATIENT}", count=2)
    wait_heard(redis, 2)
    with publishing(many, "cam") as (_, may), Browser(folder) as browser:
        assert may
        browser.open(console(many))
        for process in range(2):
            assert "(this server)" in row(browser, "nodes", f"big-p{process}")
        at = f"big-p{process_of(many, 'publisher')[0]}"
        row(browser, "cluster-streams", "live/cam", at)
        end(browser, "Kick", f"the publisher of live/cam at {at}")
        wait_until(lambda: not many.clients(), 10, "the publisher is gone")


def test_a_redis_that_lies_in_bulk_is_listed_within_bounds(redis, node, folder):  # noqa: F811
    """Thousands of nodes with as much as a record may have: the list is made in time, and edges are named 100 at most."""
    server = node("media-a", redis.url)
    boot = status(server)["boot"]
    redis.command("SET", "{weir}:s:v/live/cam", f"media-a {boot} 7 7")
    filler = " ".join(f"v/live/{number:05}" for number in range(2_000))
    for number in range(300):
        redis.command("SET", f"{{weir}}:n:n{number}", "0123456789abcdef - - serving 0 0 - 1")
        redis.command("SET", f"{{weir}}:r:n{number}", f"0123456789abcdef v/live/cam {filler}"[:32_000])
    answer = server.api("/api/v1/cluster/streams?app=live")
    assert answer["http_status"] == 200, answer
    only = next(one for one in answer["streams"] if one["vhost"] == "v")
    assert only["edge_count"] == 300 and len(only["edges"]) == 100
    assert server.api("/api/v1/cluster/streams?app=nothing")["total"] == 0
    assert server.api("/api/v1/cluster/streams?node=media-a&stream=cam&vhost=v")["total"] == 1
    with Browser(folder) as browser:
        browser.open(console(server))
        row(browser, "cluster-streams", "live/cam (v)", "n0, n1, n10", "200 more")
        says(browser, "nodes-count", "200 of 301")
