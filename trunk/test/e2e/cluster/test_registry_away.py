"""Nodes of a cluster whose registry is away or is not there: what they publish meanwhile is claimed later.

A slow answer of Redis changes nothing in these tests, so they run beside others, unlike those of test_registry.py.
"""

from redis_server import Redis
from test_registry import is_away, node, publishing, redis, status  # noqa: F401 (fixtures)
from weir import free_port, wait_until


def test_publishers_who_come_while_redis_is_away_are_claimed_later(node, redis):
    a, b = node("a", redis.url), node("b", redis.url)
    redis.end()
    wait_until(lambda: is_away(a) and is_away(b), 10, "Redis is away")
    with publishing(a, "cam") as (_, let_in), publishing(b, "other") as (_, too):
        assert let_in and too
        assert status(a)["claims"]["provisional"] == 1
        redis.start()
        wait_until(lambda: {name: node for name, (node, *_) in redis.records().items()} ==
                   {"live/cam": "a", "live/other": "b"}, 10, "both names are claimed")
        wait_until(lambda: status(a)["claims"] == {"held": 1, "provisional": 0, "won": 0, "refused": 0, "lost": 0}, 10,
                   "a has heard that the name is its own")


def test_of_two_that_came_meanwhile_one_stays(node, redis):
    a, b = node("a", redis.url), node("b", redis.url)
    redis.end()
    wait_until(lambda: is_away(a) and is_away(b), 10, "Redis is away")
    with publishing(a, "cam") as (_, let_in), publishing(b, "cam") as (_, too):
        assert let_in and too
        redis.start()
        wait_until(lambda: status(a)["claims"]["lost"] + status(b)["claims"]["lost"] == 1, 15, "one gives way")
        winner = redis.records()["live/cam"][0]
        assert status({"a": b, "b": a}[winner])["claims"]["lost"] == 1


def test_a_node_starts_without_redis(node, folder):
    port = free_port()
    a = node("a", f"redis://127.0.0.1:{port}", wait=False)
    a.wait_log("cluster registry=away")
    with publishing(a, "cam") as (_, let_in):
        assert let_in
        with Redis(folder, port=port) as redis:
            wait_until(lambda: redis.records().get("live/cam", ("",))[0] == "a", 10, "the stream is claimed")


def test_without_a_registry_there_is_nothing_to_list(weir):
    assert status(weir)["enabled"] is False
    assert weir.api("/api/v1/nodes")["http_status"] == 404
    assert weir.api("/api/v1/cluster/streams")["http_status"] == 404
