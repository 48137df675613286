"""Writes the corpus of each target of the collector's fuzzing:  make_corpus.py FOLDER

What the compiler made of the programs in tests/data, its code function by function, and files that are odd, each named
for what is odd about it.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
EM_CUDA, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_REL = 190, 2, 3, 4, 9
FUNCTION = 2

# Name, type, info, link, content.
Section = tuple[str, int, int, int, bytes]


def elf(sections: list[Section], **header: int) -> bytes:
    """A cubin of these sections, behind an empty one and that of their names."""
    names, places = b"\0.shstrtab\0", []
    for name, *_ in sections:
        places.append(len(names))
        names += name.encode() + b"\0"
    whole = [("", 0, 0, 0, b""), (".shstrtab", SHT_STRTAB, 0, 0, names), *sections]
    contents, table = b"", b""
    for (_, kind, info, link, content), place in zip(whole, [0, 1, *places], strict=True):
        table += struct.pack("<IIQQQQIIQQ", place, kind, 0, 0, 64 + len(contents), len(content), link, info, 1, 0)
        contents += content
    said = {"shoff": 64 + len(contents), "shentsize": 64, "shnum": len(whole), "shstrndx": 1} | header
    return (
        struct.pack("<4sBBBBQHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 51, 0, 2, EM_CUDA, 1, 0, 0, said["shoff"], 0, 64, 0,
                    0, said["shentsize"], said["shnum"], said["shstrndx"])
        + contents
        + table
    )  # fmt: skip


def symbols(*entries: tuple[int, int, int, int]) -> bytes:
    """Name, section, address and size of functions."""
    rows = [struct.pack("<IBBHQQ", name, FUNCTION, 0, section, at, size) for name, section, at, size in entries]
    return bytes(24) + b"".join(rows)


def uleb(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def unit(
    program: bytes, *, version: int = 2, line_range: int = 14, opcode_base: int = 10, files: bytes = b"x.cu\0\0\0\0\0"
) -> bytes:
    """A unit of .debug_line."""
    operands = bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])[: max(opcode_base - 1, 0)].ljust(max(opcode_base - 1, 0), b"\1")
    head = struct.pack("<BBbBB", 1, 1, -5, line_range, opcode_base) + operands + b"/src\0\0" + files + bytes(4)
    body = struct.pack("<HI", version, len(head)) + head + program
    return struct.pack("<I", len(body)) + body


def with_lines(lines: bytes, relocated: int | None = None) -> bytes:
    """A cubin of one function with this line table, whose address is relocated at a place of it."""
    text, names = ".text.k", b"\0k\0g\0"
    place = lines.find(b"\0\x09\x02") + 3 if relocated is None else relocated
    relocations = struct.pack("<QQ", place, 1 << 32 | 2)
    return elf(
        [
            (text, 1, 0, 0, bytes(128)),
            (".debug_line", 1, 0, 0, lines),
            (".debug_str", 1, 0, 0, b"_Z1gv\0_Z1hv\0"),
            (".strtab", SHT_STRTAB, 0, 0, names),
            (".symtab", SHT_SYMTAB, 2, 5, symbols((1, 2, 0, 128), (3, 0, 0, 0))),
            (".rel.debug_line", SHT_REL, 3, 6, relocations),
        ]
    )


BEGIN = b"\0\x09\x02" + bytes(8)
END = b"\0\x01\x01"


def inlined(context: int, name: int = 0) -> bytes:
    operands = b"\x90" + uleb(context) + uleb(name)
    return b"\0" + uleb(len(operands)) + operands


def line_tables() -> Iterator[tuple[str, bytes]]:
    row = b"\x02\x10\x01"
    yield "one-row", with_lines(unit(BEGIN + row + END))
    yield "inlined-at-itself", with_lines(unit(BEGIN + inlined(1) + row + row + END))
    yield "inlined-at-a-later-row", with_lines(unit(BEGIN + inlined(7) + row * 3 + END))
    deep = b"".join(inlined(row) + b"\x02\x01\x01\x03\x01" for row in range(200))
    yield "inlined-deep", with_lines(unit(BEGIN + deep + END))
    yield "inlined-name-outside", with_lines(unit(BEGIN + inlined(0, 1 << 40) + row + END))
    yield "no-line-range", with_lines(unit(BEGIN + row + END, line_range=0))
    yield "no-opcodes", with_lines(unit(BEGIN + row + END, opcode_base=0))
    yield "many-opcodes", with_lines(unit(BEGIN + row + END, opcode_base=255))
    yield "version-5", with_lines(unit(BEGIN + row + END, version=5))
    yield "endless-number", with_lines(unit(BEGIN + b"\x02" + b"\xff" * 300))
    yield "number-of-65-bits", with_lines(unit(BEGIN + b"\x03" + b"\xff" * 9 + b"\x7f" + row + END))
    yield "line-below-zero", with_lines(unit(BEGIN + b"\x03\x80\x7f" + row + END))
    yield "file-that-is-none", with_lines(unit(BEGIN + b"\x04\x63" + row + END))
    yield "no-end-of-sequence", with_lines(unit(BEGIN + row))
    yield "no-address", with_lines(unit(row + END))
    yield "address-goes-back", with_lines(unit(BEGIN + b"\x02\x40\x01" + BEGIN + row + END))
    yield "extended-of-nothing", with_lines(unit(BEGIN + b"\0\0" + row + END))
    yield "extended-too-long", with_lines(unit(BEGIN + b"\0" + uleb(1 << 62) + row))
    yield "unit-too-long", with_lines(b"\xf0\xff\xff\xff" + unit(BEGIN + row + END)[4:])
    yield "unit-of-64-bits", with_lines(b"\xff\xff\xff\xff" + unit(BEGIN + row + END))
    yield "directory-that-is-none", with_lines(unit(BEGIN + row + END, files=b"x.cu\0\x7f\0\0\0"))
    yield "relocated-outside", with_lines(unit(BEGIN + row + END), relocated=1 << 40)


def cubins() -> Iterator[tuple[str, bytes]]:
    text, strings = (".text.k", 1, 0, 0, bytes(64)), (".strtab", SHT_STRTAB, 0, 0, b"\0k\0")
    table = (".symtab", SHT_SYMTAB, 0, 3, symbols((1, 2, 0, 64)))
    yield "empty", b""
    yield "half-a-header", elf([])[:40]
    yield "no-sections", elf([], shnum=0, shstrndx=0)
    yield "names-in-no-section", elf([text], shstrndx=99)
    yield "other-entry-size", elf([text], shentsize=40)
    yield "table-outside", elf([text], shoff=1 << 40)
    yield "table-at-the-end-of-numbers", elf([text], shoff=(1 << 64) - 8)
    yield "more-sections-than-there-are", elf([text], shnum=60000)
    known = [text, strings, table]
    no_symbol, outside = struct.pack("<QQ", 0, 9 << 32), struct.pack("<QQq", 1 << 60, 1 << 32, -1)
    huge = symbols((1, 2, 0, 1 << 63))
    yield "one-function", elf(known)
    yield "symbols-in-no-section", elf([text, strings, (".symtab", SHT_SYMTAB, 0, 3, symbols((1, 0xFFF1, 0, 64)))])
    yield "symbols-without-names", elf([text, strings, (".symtab", SHT_SYMTAB, 0, 77, symbols((1, 2, 0, 64)))])
    yield "symbol-name-outside", elf([text, strings, (".symtab", SHT_SYMTAB, 0, 3, symbols((1 << 31, 2, 0, 64)))])
    yield "symbol-larger-than-its-section", elf([text, strings, (".symtab", SHT_SYMTAB, 0, 3, huge)])
    yield "half-a-symbol", elf([text, strings, (".symtab", SHT_SYMTAB, 0, 3, symbols((1, 2, 0, 64))[:-5])])
    yield "relocation-of-no-symbol", elf([*known, (".rel.text.k", SHT_REL, 2, 4, no_symbol)])
    yield "relocation-outside", elf([*known, (".rela.text.k", SHT_RELA, 2, 4, outside)])
    called = struct.pack("<8I", 0, 0xFFFFFFFF, 1, 1, 1, 99, 0, 0xFFFFFFFC)
    yield "calls-itself", elf([*known, (".nv.callgraph", 1, 0, 0, called)])
    yield "half-a-call", elf([*known, (".nv.callgraph", 1, 0, 0, called[:-6])])


def parameter_tables() -> Iterator[tuple[str, bytes]]:
    def info(*attributes: bytes) -> bytes:
        return elf([(".nv.info.k", 0x70000000, 0, 0, b"".join(attributes))])

    def area(base: int, size: int) -> bytes:
        return struct.pack("<BBHIHH", 4, 0x0A, 8, 1, base, size)

    def parameter(ordinal: int, offset: int, size: int, said: int = 12) -> bytes:
        return struct.pack("<BBHIHHI", 4, 0x17, said, 0, ordinal, offset, size << 18 & 0xFFFFFFFF)

    yield "two-parameters", info(area(0x210, 16), parameter(1, 8, 8), parameter(0, 0, 8))
    yield "no-area", info(parameter(0, 0, 8))
    yield "no-parameters", info(area(0x210, 0))
    yield "one-is-missing", info(area(0x210, 16), parameter(1, 8, 8))
    yield "beyond-the-area", info(area(0x210, 16), parameter(0, 12, 8))
    yield "same-number-twice", info(area(0x210, 16), parameter(0, 0, 8), parameter(0, 8, 8))
    yield "attribute-too-long", info(area(0x210, 16), parameter(0, 0, 8, said=0xFFFF))
    yield "attribute-too-short", info(area(0x210, 16), parameter(0, 0, 8, said=2))
    yield "unknown-forms", info(bytes([1, 2, 3, 4]) * 9, area(0x210, 8), parameter(0, 0, 8))


def functions(name: str) -> Iterator[tuple[str, bytes]]:
    """The code of each function in a listing of tests/data, as far as is quickly followed."""
    own: list[str] = []
    number = 0
    for line in [*(DATA / name).read_text().splitlines(), "#"]:
        if line.startswith("!"):
            continue
        if not line.startswith("#"):
            own.append(line.split(" ", 2 if name == "listing.txt" else 1)[-1])
            continue
        if own:
            yield f"{name}-{number}", "\n".join(own[:60]).encode()
            number += 1
        own = []


def sass() -> Iterator[tuple[str, bytes]]:
    yield from functions("roots.txt")
    yield from functions("listing.txt")
    lines = {
        "no-operands": ["EXIT", "", ";", "@P0", "@", "@!", "@!UP0 BRA", "@P9 EXIT", "@PT EXIT ;"],
        "brackets-open": ["LDG.E R0, desc[UR4][R2.64", "LDG.E R0, ]]]", "STG.E [[[[R2", "IADD3 R0, (((R1"],
        "registers-that-are-none": ["MOV R255, R256", "MOV R-1", "LDG.E.128 R254, [R255.64]", "MOV R9999999999, RZ"],
        "registers-at-the-end": ["LDG.E.128 R252, desc[UR63][R254.64+-0x800000]", "IMAD.WIDE.U32 R254, R254, 4, R254"],
        "modifiers-without-end": ["STG" + ".E" * 500 + " [R2], R3", "X" * 3000, "LDG.E.x9 R0, [R0.64]"],
        "immediates-too-large": ["IADD3 R0, R0, 0xfffffffffffffffff, RZ", "MOV R0, -0x", "BRA 0xffffffff", "BRA 0x"],
        "jumps-into-itself": ["BRA 0x0", "BRA 0x10", "BRX R2 -0x10", "CALL.REL 0x0", "RET.REL.NODEC R2 0x0"],
        "constants-that-are-none": ["MOV R0, c[0x0][0x210]", "MOV R0, c[0x0", "LDC R0, c[0x0][R1]", "MOV R0, c[][]"],
        "tensor-copies": ["UTMALDG.2D [UR8], [UR4]", "UBLKCP.T.S [UR4], [UR6], UR8", "UTMAPF [UR4]", "UTMALDG"],
        "loops-of-pointers": [
            *("LDC.64 R2, c[0x0][0x210]", "IADD3 R2, R2, R4, RZ", "IADD3 R4, R4, R2, RZ", "LDG.E R0, [R2.64]"),
            *("ISETP.NE.AND P0, PT, R0, RZ, PT", "@P0 BRA 0x10", "STG.E [R4.64], R0", "EXIT"),
        ],
    }
    for name, texts in lines.items():
        yield name, "\n".join(texts).encode()


SETTINGS = {
    "all-at-once": "KERNEL_NAME=all\nSAMPLE_SIZE=4\nLAUNCH_SAMPLE=2\nBLOCKS=x:0-3;y:1,3\nHOST_MEMORY=1\nCALLS=all\n"
    "PROBES=live\nCODE_ATTRIBUTION=1\nSOURCE=0\nCODE_CONTEXT=1\nDATA_OBJECT_ATTRIBUTION=0\nSNOOPIE_OUTPUT=%h-%p.zst\nPACKING=4\nPATIENCE=0\nSTALL=exit",
    "numbers-too-large": "SAMPLE_SIZE=4294967296\nBLOCKS=0-18446744073709551616\nPATIENCE=-1\n"
    "SNOOPIE_CACHE_SIZE=99999999T",
    "spaces": "SAMPLE_SIZE= 4 \nKERNEL_NAME=  \nBLOCKS=\t",
    "launchers": "SLURM_JOB_ID=1\nSLURM_STEP_ID=4294967290\nPMIX_NAMESPACE=a b\n"
    "TORCHELASTIC_RUN_ID=none\nSNOOPIE_RUN=x@y",
    "output-ends-in-percent": "SNOOPIE_OUTPUT=a%",
    "output-of-slashes": "SNOOPIE_OUTPUT=///",
    "run-with-odd-letters": "SNOOPIE_RUN=\xff\xfe",
}
KERNELS = {
    "plain": "k\nvoid n::k<int>(float*)\n_Z1kv",
    "lambda": "*lambda*\nvoid a::{lambda(int)#1}::operator()<b::c<1, (d)2> >(int, e (*)(f)) const [clone .kd]\n_ZN1a",
    "operators": "operator<<,operator>\nvoid operator< <int>(a, b)\n_Zls",
    "open-brackets": "k<((\nvoid k<((<<(\nk",
    "many-stars": "*a*a*a*a*a*a*a*b\n" + "a" * 400 + "\nk",
    "open-class": "[a-\n[a-]\n[",
    "empty-names": "all,,nccl\n\n",
    "anonymous": "(anonymous namespace)::k\n(anonymous namespace)::k(int)\n_ZN",
    "libraries": "nccl,nvshmem\nncclDevKernel_AllReduce(ncclDevKernelArgsStorage<4096ul>)\nnccl",
}
TEXTS = {
    "plain": b"plain",
    "controls": bytes(range(32)) + b'"\\\x7f',
    "not-utf8": b"\xc0\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xff \xe2\x82",
    "utf8": "é → \N{GRINNING FACE} \N{RIGHT-TO-LEFT OVERRIDE}".encode(),
}
SOURCES = {
    "call-over-lines": b"int a;\n  put<<<4,\n 128>>>(a, // (\n  b);\n",
    "quotes-open": b"f(\"abc\n\\', +\"', (\n",
    "no-end-of-line": b"(" * 500,
    "python": b"x = f(1,\n  [2,\n  3]) # )\ny = '\\\n",
    "long-letters": "é".encode() * 300,
    "nul": b"a\0b\n\n\n",
}
BLOCKS = {
    "linear": b"0-7,12",
    "axes": b"x:0-3;y:1,3",
    "more-than-fit": b",".join([b"1"] * 40),
    "an-axis-twice": b"x:1;x:2",
    "a-size": b"64K",
}
WORK = {
    "one-batch": bytes([1, 0, 9, 0]) + bytes(64),
    "jumps-outside": bytes([9, 0, 9, 0]) + bytes(32) + b"\1\0\0\0" * 9,
}


def entry(content: bytes) -> bytes:
    """A frame of zstd with the content as it is."""
    head = b"\x28\xb5\x2f\xfd" + bytes([0xA0]) + struct.pack("<I", len(content))
    return head + (len(content) << 3 | 1).to_bytes(3, "little") + content


def cache_entries() -> Iterator[tuple[str, bytes]]:
    yield "whole", entry(struct.pack("<Q", 5) + b"helloworld")
    listing = b"/*0000*/ MOV R20, 0x0 ;\n/*0010*/ @P0 UMOV UR8, 0x1 ;\n/*0020*/ CALL.ABS.NOINC 0x0 ;"
    code = b"".join(struct.pack("<QQ", word, 0) for word in (0x7F12_00147802, 0x7F12_00087882, 0x7F12_00FF7943))
    yield "listing-and-code", entry(struct.pack("<Q", len(listing)) + listing + code)
    yield "size-too-large", entry(struct.pack("<Q", 1 << 63) + b"hello")
    yield "half-a-size", entry(b"\1\0\0")
    yield "not-a-frame", b"hello"
    yield "no-bytes", b""
    yield "two-frames", entry(bytes(8)) * 2
    yield "frame-that-does-not-end", entry(bytes(30))[:-3]
    again = (1 << 20 | 3).to_bytes(3, "little") + b"x"
    yield "one-byte-repeated", b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", 1 << 17) + again


def interpreters() -> Iterator[tuple[str, bytes]]:
    """Bytes as fuzz/python.cpp lays them out; words that are large lead into the memory."""
    code, text, pointer = 0xC0DE, 0x7E87, 1 << 40

    def memory(words: dict[int, int]) -> bytes:
        return b"".join(struct.pack("<Q", words.get(place, 0)) for place in range(0, max(words) + 8, 8))

    # The thread at 0, its control at 256, a frame at 512, its code at 1024 and the name of that at 2048.
    thread = {56: pointer + 256, 256: pointer + 512, 264: pointer + 512}
    old = thread | {1032: code, 2056: text, 2064: 5, 2080: 0xE4}
    frame = {512: pointer + 1024, 520: pointer + 512, 544: pointer + 1024, 560: pointer + 512, 568: pointer + 1216}
    names = {1136: pointer + 2048, 1152: pointer + 2048, 1096: 3, 2088: 0x6F6C6C6568, 2096: 0x6F6C6C6568}
    for minor in (11, 12):
        yield f"3.{minor}-frame-before-itself", bytes([minor - 10, 0]) + memory(old | frame | names)
    for minor in (13, 14):
        table = b"".join(struct.pack("<Q", 8 * (place % 12)) for place in range(124))
        yield f"3.{minor}-frame-before-itself", bytes([minor - 10, 0]) + table + memory(old | frame | names)
    yield "3.12-text-without-end", bytes([2, 0]) + memory(old | frame | names | {2064: 1 << 62})
    yield "3.12-text-of-4096", bytes([2, 0]) + memory(old | frame | names | {2064: 4096, 2080: 0xF0})
    yield "3.12-thread-is-its-frame", bytes([2, 0]) + memory({56: pointer, 0: pointer, 8: code})


def corpora() -> Iterator[tuple[str, str, bytes]]:
    compiled = [(path.name, path.read_bytes()) for path in sorted(DATA.glob("*.cubin"))]
    for target, files in (
        ("cubin", [*compiled, *cubins()]),
        ("launch_tables", [*compiled, *parameter_tables()]),
        ("line_table", [*compiled, *line_tables()]),
        ("sass", list(sass())),
        ("options", [(name, text.encode("latin-1")) for name, text in SETTINGS.items()]),
        ("kernel_filter", [(name, text.encode()) for name, text in KERNELS.items()]),
        ("blocks", list(BLOCKS.items())),
        ("json", list(TEXTS.items())),
        ("source", list(SOURCES.items())),
        ("cache", list(cache_entries())),
        ("python", list(interpreters())),
        ("nccl_work", list(WORK.items())),
    ):
        for name, content in files:
            yield target, name, content


def main() -> None:
    folder = Path(sys.argv[1])
    for target, name, content in corpora():
        path = folder / target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    main()
