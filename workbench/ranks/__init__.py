"""Code that runs inside rank processes: the zygote, judge ranks and candidate ranks.

Only this package imports torch. Its modules need nothing but the standard library and torch, since the ranks may run
under another interpreter than pkwb itself. :mod:`.channel`, :mod:`.failures` and :mod:`.shared` are torch-free and
serve the parent too.
"""
