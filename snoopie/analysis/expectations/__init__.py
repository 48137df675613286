"""Expectations: assertions on a trace's traffic, such as "bytes(GPU 0 -> GPU 1) == 3*N*4" (docs/expect.md).

`grammar` reads them (nothing is ever evaluated as Python), `judge` says whether they hold, `verdict` how that is told.
What a quantity is in a trace, `snoopie.api.expect` says.
"""
