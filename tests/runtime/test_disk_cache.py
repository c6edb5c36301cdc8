"""What is kept on disk: found again as it was, or not at all."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from phlox.runtime import disk_cache
from phlox.runtime.disk_cache import DiskCache

KEY, OTHER = "5f" * 32, "60" * 32
posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


@pytest.fixture
def kept(tmp_path):
    return DiskCache(tmp_path / "kept", limit=1 << 20)


def file_of(kept, key=KEY):
    return next(entry.path for entry in kept.entries() if entry.key == key)


def test_what_is_put_is_found(kept):
    assert kept.get(KEY) is None and kept.entries() == []
    for data in (b"", b"code", b"other code", bytes(range(256)) * 1000):
        kept.put(KEY, data)
        assert kept.get(KEY) == data and kept.get(OTHER) is None
    assert [entry.key for entry in kept.entries()] == [KEY]
    assert kept.clear() == 1 and kept.get(KEY) is None and os.listdir(kept.folder) == []


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: data[:20],
    lambda data: data[:60] + b"?" + data[61:], lambda data: b"?" + data[1:], lambda data: b"code",
])  # fmt: skip
def test_what_is_damaged_is_not_there(kept, damage):
    kept.put(KEY, b"some code that was compiled")
    path = file_of(kept)
    path.write_bytes(damage(path.read_bytes()))
    assert kept.get(KEY) is None
    kept.put(KEY, b"again")
    assert kept.get(KEY) == b"again"


def test_labels(kept):
    kept.put(KEY, b"code\nof two lines", "what\nit is, ä")
    assert kept.label(KEY) == "what it is, ä" and kept.get(KEY) == b"code\nof two lines" and kept.label(OTHER) is None


def test_an_entry_under_another_name_is_not_there(kept):
    kept.put(KEY, b"code")
    os.rename(file_of(kept), kept.folder / f"{OTHER}.phlox")
    assert kept.get(OTHER) is None


@posix
def test_nobody_else_can_read_or_write(kept):
    kept.put(KEY, b"code")
    assert stat.S_IMODE(kept.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file_of(kept).stat().st_mode) == 0o600


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_can_write_is_not_there(kept, mode):
    kept.put(KEY, b"code")
    file_of(kept).chmod(mode)
    assert kept.get(KEY) is None


@posix
def test_a_folder_that_others_can_write_is_not_used(kept):
    kept.put(KEY, b"code")
    kept.folder.chmod(0o777)
    assert kept.get(KEY) is None
    kept.put(OTHER, b"code")
    assert [entry.key for entry in kept.entries()] == [KEY]


@posix
def test_what_belongs_to_another_user_is_not_there(kept, monkeypatch):
    kept.put(KEY, b"code")
    owner = file_of(kept).stat().st_uid
    if owner == 0:
        pytest.skip("the administrator's files are everybody's")
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert kept.get(KEY) is None


@posix
def test_links_and_pipes_are_not_read(kept, tmp_path):
    kept.put(KEY, b"code")
    path = file_of(kept)
    os.rename(path, tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert kept.get(KEY) is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert kept.get(KEY) is None
    path.unlink()
    path.mkdir()
    assert kept.get(KEY) is None


def test_a_folder_that_cannot_be_made_or_written_costs_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path(os.devnull) / "kept"):
        kept = DiskCache(folder, limit=1 << 20)
        kept.put(KEY, b"code")
        assert kept.get(KEY) is None and kept.entries() == []


def test_a_full_disk_leaves_nothing_behind(kept, monkeypatch):
    kept.put(OTHER, b"before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk_cache.os, "replace", full)
    kept.put(KEY, b"code")
    assert kept.get(KEY) is None and len(os.listdir(kept.folder)) == 1


def test_the_least_recently_used_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "_LOOKED_AT_EACH", 0)
    kept = DiskCache(tmp_path / "kept", limit=10_000)
    keys = [f"{number:064x}" for number in range(9)]
    for age, key in enumerate(keys):
        kept.put(key, bytes(1000))
        os.utime(file_of(kept, key), (10.0**9 - age,) * 2)
    assert kept.get(keys[-1]) is not None  # the oldest, which is used now
    kept.put(OTHER, bytes(2000))
    left = {entry.key for entry in kept.entries()}
    assert {OTHER, keys[-1]} <= left and keys[-2] not in left and keys[0] in left
    assert sum(entry.size for entry in kept.entries()) <= 7500


def test_unfinished_files_of_others_are_left_and_old_ones_go(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "_LOOKED_AT_EACH", 0)
    kept = DiskCache(tmp_path / "kept", limit=10_000)
    kept.put(KEY, b"code")
    for name, age in (("new.part", 10), ("old.part", 10_000)):
        (kept.folder / name).write_bytes(b"unfinished")
        time = os.stat(kept.folder / name).st_mtime - age
        os.utime(kept.folder / name, (time, time))
    kept.put(OTHER, b"code")
    assert sorted(one for one in os.listdir(kept.folder) if one.endswith(".part")) == ["new.part"]


def test_many_threads_and_processes(kept):
    program = (
        "import sys; from pathlib import Path; from phlox.runtime.disk_cache import DiskCache\n"
        "kept = DiskCache(Path(sys.argv[1]), 1 << 20)\n"
        "for number in range(200):\n"
        "    key = f'{number % 5:064x}'\n"
        "    kept.put(key, key.encode() * 50)\n"
        "    assert kept.get(key) in (None, key.encode() * 50)\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, str(kept.folder)]) for _ in range(2)]

    def work():
        for number in range(200):
            key = f"{number % 5:064x}"
            kept.put(key, key.encode() * 50)
            found.append(kept.get(key) in (None, key.encode() * 50))

    found = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(process.wait(60) == 0 for process in processes) and all(found) and len(found) == 800
    assert len(kept.entries()) == 5


@pytest.mark.parametrize(
    ("name", "value", "folder"),
    [
        ("PHLOX_CACHE_DIR", "/somewhere/else", "/somewhere/else"), ("XDG_CACHE_HOME", "/caches", "/caches/phlox"),
        ("XDG_CACHE_HOME", "", "/home/of/user/.cache/phlox"),
    ],
)  # fmt: skip
@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_where_it_is(monkeypatch, name, value, folder):
    monkeypatch.delenv("PHLOX_CACHE_DIR", raising=False)
    monkeypatch.setenv("HOME", "/home/of/user")
    monkeypatch.setenv(name, value)
    assert str(disk_cache.standard_folder()) == folder


def test_settings(monkeypatch, tmp_path):
    found = disk_cache.disk_cache.__wrapped__
    monkeypatch.setenv("PHLOX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PHLOX_CACHE", "0")
    assert found() is None
    monkeypatch.setenv("PHLOX_CACHE", "1")
    monkeypatch.setenv("PHLOX_CACHE_BYTES", "1000")
    assert found().folder == tmp_path and found().limit == 1000
    monkeypatch.setenv("PHLOX_CACHE_BYTES", "a lot")
    with pytest.raises(ValueError, match="PHLOX_CACHE_BYTES requires a number of bytes, 0 or more; given 'a lot'"):
        found()
