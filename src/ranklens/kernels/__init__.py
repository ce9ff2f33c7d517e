"""Pure functions of arrays, written against the array API standard.

A kernel checks nothing, warns of nothing and imports no array library: it runs in the namespace and on the
device of what it is given. Validation, chunking by memory and result types are the callers' work.
"""
