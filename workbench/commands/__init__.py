"""The subcommands of pkwb: one module each with ``add_arguments(parser)`` and ``run(arguments) -> int``.

A module is imported only when its command runs, so that ``pkwb --help`` and ``pkwb list`` answer at once.
"""
