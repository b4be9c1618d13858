"""`weir -t` opens what a start opens, and knows the files of other servers."""

import subprocess

import pytest

from weir import BINARY


def check(path):
    done = subprocess.run([BINARY, "-t", "-c", path], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


@pytest.mark.parametrize("line, words", [
    ("log_file no/such/folder/weir.log;", "log_file"),
    ("pid no/such/folder/weir.pid;", "pid "),
])
def test_a_folder_that_is_not_there(folder, line, words):
    path = folder / "a.conf"
    path.write_text(f"listen 127.0.0.1:0;\nhttp_server {{ enabled off; }} http_api {{ enabled off; }}\n{line}\n")
    code, said = check(path)
    assert code == 1 and words in said and "does the folder exist" in said, said
    started = subprocess.run([BINARY, "-c", path], capture_output=True, text=True, timeout=20)
    assert started.returncode == 1, "the start fails as well"


def test_the_check_leaves_nothing_behind(folder):
    path = folder / "a.conf"
    path.write_text("log_file weir.log;\npid weir.pid;\n")
    assert check(path)[0] == 0
    assert sorted(each.name for each in folder.iterdir()) == ["a.conf"]
    (folder / "weir.log").write_text("kept\n")
    (folder / "weir.pid").write_text("77\n")
    assert check(path)[0] == 0
    assert (folder / "weir.log").read_text() == "kept\n" and (folder / "weir.pid").read_text() == "77\n"


def test_a_folder_of_pages_that_is_not_there_is_a_warning(folder):
    path = folder / "a.conf"
    path.write_text("http_server { dir no-pages; }\n")
    code, said = check(path)
    assert code == 0 and "no-pages: there is no such folder" in said, said


def test_folders_that_are_not_there_are_warnings(folder):
    path = folder / "a.conf"
    path.write_text("record { enabled on; path no-tape; }\n"
                    "vhost __defaultVhost__ { application a { hls { path no-disk; } } application b { hls { path .; } } }\n")
    code, said = check(path)
    assert code == 0
    for words in ("no-tape: there is no such folder, so nothing is recorded", "no-disk: there is no such folder, so no segments"):
        assert said.count(words) == 1, said
    assert said.count("warning: record path ") + said.count("warning: hls path ") == 2, said


def test_a_program_that_is_not_there_is_a_warning(folder):
    path = folder / "a.conf"
    (folder / "mine").write_text("#!/bin/sh\n")
    path.write_text("exec_push no-such-encoder -i x;\nvhost __defaultVhost__ { application a { exec_push ./mine; exec_push sh -c x; } }\n")
    code, said = check(path)
    assert code == 0
    assert "exec_push no-such-encoder: there is no such program in PATH, so it is not run: install it, or write its whole path" in said
    assert "exec_push ./mine: there is no such program, so" in said, "it may not be run"
    assert said.count("there is no such program") == 2, said


@pytest.mark.parametrize("line, words", [
    ("exec_push ffmpeg -i rtmp://h/$app/$nme;", "1:21: found the unknown variable $nme (did you mean $name?) in exec_push"),
    ("source http://h/a.m3u8 { stream live/a; }", "found a source that is a playlist (HLS or DASH), which is not read"),
    ("http_api { crossdomain on; }", "here one writes http_api { allow_origin SCHEME://HOST; }"),
    ("record { keep 30m; }", "found '30m', which could be minutes or megabytes: write 30min or 30mb"),
])
def test_slips_are_refused_with_what_to_do(folder, line, words):
    path = folder / "a.conf"
    path.write_text(f"{line}\n")
    code, said = check(path)
    assert code == 1 and words in said, said


@pytest.mark.parametrize("text, words", [
    ("rtmp { server { listen 1935; application live { live on; } } }\n", "nginx with its RTMP module"),
    ("listen 1935;\ndaemon off;\nvhost __defaultVhost__ { hls { enabled on; } }\n", "SRS"),
    ("listen 1935;\nvhost __defaultVhost__ { http_remux { enabled on; } }\n", "SRS"),
])
def test_files_of_other_servers_are_known(folder, text, words):
    path = folder / "theirs.conf"
    path.write_text(text)
    code, said = check(path)
    assert code == 1 and f'looks like a configuration of {words}: "weir --explain {path}"' in said, said


def test_what_is_not_in_this_version_is_said(folder):
    path = folder / "a.conf"
    path.write_text("vhost __defaultVhost__ {\n dash { }\n dvr { }\n}\n"
                    "gb28181 { }\nhls_path /x;\n")
    code, said = check(path)
    assert code == 1
    for words in ("2:2: found 'dash': here one writes hls { }: every stream has DASH", "3:2: found 'dvr': here one writes record { enabled on;",
                  "5:1: found 'gb28181': GB28181 is not in this version", "6:1: found 'hls_path': here one writes hls { path FOLDER; }"):
        assert words in said, f"{words}\n{said}"
    assert "looks like" not in said, "one of ours, with wishes"
