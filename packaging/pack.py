#!/usr/bin/env python3
"""Packs a folder so that the same files give the same bytes: pack.py FOLDER ARCHIVE

The archive is a .tar.gz or a .zip with the folder at its top. Names are sorted, the owner is root,
times are SOURCE_DATE_EPOCH. Files that can be run keep that; other rights are the same for all.
"""

import gzip
import io
import os
import sys
import tarfile
import time
import zipfile
from pathlib import Path


def entries(folder):
    """Each folder and file with its name in the archive, sorted by that."""
    found = [folder, *folder.rglob("*")]
    return sorted((path.relative_to(folder.parent).as_posix(), path) for path in found)


def mode(path):
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


def pack_tar(folder, archive, epoch):
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for name, path in entries(folder):
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.mode = epoch, mode(path)
                entry.uname = entry.gname = "root"
                if path.is_dir():
                    entry.type = tarfile.DIRTYPE
                    tar.addfile(entry)
                else:
                    content = path.read_bytes()
                    entry.size = len(content)
                    tar.addfile(entry, io.BytesIO(content))


def pack_zip(folder, archive, epoch):
    moment = max(time.gmtime(epoch)[:6], (1980, 1, 1, 0, 0, 0))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, path in entries(folder):
            kind = 0o040000 if path.is_dir() else 0o100000
            entry = zipfile.ZipInfo(name + "/" * path.is_dir(), moment)
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (kind | mode(path)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, b"" if path.is_dir() else path.read_bytes())


def main():
    folder, archive = map(Path, sys.argv[1:])
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", 315532800))
    pack = pack_zip if archive.suffix == ".zip" else pack_tar
    pack(folder, archive, epoch)


if __name__ == "__main__":
    main()
