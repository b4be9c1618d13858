"""What the hunt asks of the server's HTTP API. Every request has a connection of its own, closed with the answer, so that
nothing of it is left when the next one counts."""

import http.client
import json
import urllib.error
import urllib.request

from bench.problem import Problem

ANSWER_SECONDS = 10
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the server is on this machine, whatever http_proxy says
CHECK_SECONDS = 120  # under valgrind, with much to look at


class Api:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}"

    def get(self, path, seconds=ANSWER_SECONDS):
        """(status, parsed JSON). A Problem when there is no answer, or none that can be read."""
        try:
            with OPENER.open(self.base + path, timeout=seconds) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            try:
                return error.code, json.load(error)
            except ValueError:
                return error.code, {}
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Problem(f"GET {path}: {error}") from None

    def objects(self):
        """{class: {"subsystem", "live", "bytes", "high_water", "high_water_bytes", "made"}}"""
        status, body = self.get("/api/v1/objects")
        if status != 200:
            raise Problem(f"GET /api/v1/objects: HTTP {status}; is this server too old to be hunted in?")
        return {row["class"]: row for row in body["objects"]}

    def memory(self):
        status, body = self.get("/api/v1/memory", CHECK_SECONDS)
        if status != 200 or "data" not in body:
            raise Problem(f"GET /api/v1/memory: HTTP {status}: {body.get('error') or body}")
        return body["data"]

    def leak_tool(self):
        """Name of the tool behind /api/v1/leaks, None when this build has none."""
        status, body = self.get("/api/v1/leaks/capabilities")
        return body.get("data", {}).get("tool") if status == 200 else None

    def leaks(self, check):
        """The data of a leak check; the server stands still meanwhile."""
        status, body = self.get(f"/api/v1/leaks?check={check}", CHECK_SECONDS)
        if status != 200 or "data" not in body:
            raise Problem(f"GET /api/v1/leaks?check={check}: HTTP {status}: {body.get('error') or body}")
        return body["data"]
