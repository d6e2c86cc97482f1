"""Writes a page and its resources, for browsers: page.py FOLDER

The compressed sizes are those of the web. In the HTTP Archive's Web Almanac of 2024 (chapter "Page Weight"), the median
desktop page makes 71 requests and weighs 2,652 KB: 2 HTML files (18 KB in all), 8 style sheets (78 KB), 24 scripts
(613 KB), 18 images (1,054 KB), 4 fonts (131 KB), and others. This page has a sixth of those files, each with the median
size. The contents are random, so that the files have these sizes after compression.
"""
import base64
import random
import struct
import sys
import zlib
from pathlib import Path

KB = 1000
HTML, STYLE, SCRIPT, IMAGE, FONT = 18 * KB, 78 * KB // 8, 613 * KB // 24, 1054 * KB // 18, 131 * KB // 4
SCRIPTS, IMAGES = 4, 3

HEAD = """<!doctype html>
<title>Huginn</title>
<link rel="icon" href="/icon.png">
<link rel="stylesheet" href="/style.css">
"""
STYLE_RULES = """@font-face { font-family: noise; src: url(/font.woff2) }
p { font-family: noise, sans-serif }
"""
REQUESTS = """<script>
fetch("/items.json").then(() => fetch("/seen", { method: "POST", body: "page=1" }));
</script>
"""


def main():
    folder, noise = Path(sys.argv[1]), random.Random(1)
    scripts = ''.join(f'<script src="/script-{n}.js" defer></script>\n' for n in range(SCRIPTS))
    images = ''.join(f'<img src="/image-{n}.png" alt="">\n' for n in range(IMAGES))
    files = {
        'index.html': f'{HEAD}{scripts}<p>A page.\n{images}{REQUESTS}<!-- {text(noise, HTML)} -->\n',
        'style.css': f'{STYLE_RULES}/* {text(noise, STYLE)} */\n',
        'items.json': '{"items": []}\n',
        'icon.png': png(noise, 16, 16),
        'font.woff2': noise.randbytes(FONT),
    }
    for n in range(SCRIPTS):
        files[f'script-{n}.js'] = f'window.loaded = {n}; // {text(noise, SCRIPT)}\n'
    for n in range(IMAGES):
        files[f'image-{n}.png'] = png(noise, IMAGE // 400, 400)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def text(noise, length):
    """Random text of about this many bytes after compression: base64 carries six bits in a byte."""
    return base64.b64encode(noise.randbytes(length)).decode()


def png(noise, width, height):
    """A greyscale picture of random pixels."""
    rows = b''.join(b'\0' + noise.randbytes(width) for _ in range(height))
    header = struct.pack('>IIBBBBB', width, height, 8, 0, 0, 0, 0)
    chunks = (b'IHDR', header), (b'IDAT', zlib.compress(rows)), (b'IEND', b'')
    return b'\x89PNG\r\n\x1a\n' + b''.join(chunk(*named) for named in chunks)


def chunk(name, content):
    return struct.pack('>I', len(content)) + name + content + struct.pack('>I', zlib.crc32(name + content))


main()
