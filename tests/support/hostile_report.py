"""A trace with names made to become markup, to steer a terminal or to turn text round, in all that a report shows."""

from __future__ import annotations

from tests.support.encoder import START_NS, TraceBuilder

NAME = "</td></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}{% raw %}\x00\x1b[31m\u202e"


def builder(names: int, length: int) -> TraceBuilder:
    """As many of everything, with names as long, all with markup."""
    filler = "</p><b x=\"'&" * (length // 12)
    trace = TraceBuilder([*range(8)])
    process = trace.header["process"]
    process |= {"program": NAME, "host": NAME + filler, "command": [NAME + filler]}
    for gpu in trace.header["gpus"]:
        gpu |= {"name": NAME + filler, "pci": NAME, "uuid": gpu["uuid"] + NAME}
    for number in range(names):
        name = f"{number} {NAME}{filler}"
        function = trace.function(name)
        line = trace.line(f"/{name}", number + 1)
        site = trace.site(function, "STG.E", "store", 4, line=line)
        trace.site(function, f"TEX{NAME}", "load", 0, line=line, measured=False)
        launch = trace.launch(function, number % 8, group=number + 1)
        trace.count(launch, site, (number + 1) % 8, 10 + number, 320, 99)
        trace.copy(number % 8, (number + 1) % 8, 4096, gpu=number % 8, call=name)
        trace.collective(number + 1, name, 7, gpu=number % 8, type=NAME)
        made = trace.allocation("device", 4096 + number, number % 8, number, call=name, name=trace.string(name))
        trace.memory_use(number % 8, number, 4096 * made)
        trace.add("call_totals", time=START_NS, call=trace.string(name), gpu=0, calls=1, total=9, least=9, most=9)
        trace.add("call_errors", call=trace.string(name), gpu=0, code=1, name=trace.string(name), calls=1)
        trace.notice(name)
    return trace
