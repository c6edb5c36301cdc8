"""``split`` and ``splitlines`` of texts whose characters the program reads."""

_SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"


def words(text):
    parts = []
    begin = -1
    for place in range(len(text)):
        if text[place] in _SPACES:
            if begin >= 0:
                parts.append(text[begin:place])
                begin = -1
        elif begin < 0:
            begin = place
    if begin >= 0:
        parts.append(text[begin:])
    return parts


def parts_between(text, separator):
    parts = []
    begin = place = 0
    while place + len(separator) <= len(text):
        if text[place : place + len(separator)] == separator:
            parts.append(text[begin:place])
            place += len(separator)
            begin = place
        else:
            place += 1
    parts.append(text[begin:])
    return parts


def lines(text):
    parts = []
    begin = place = 0
    while place < len(text):
        if text[place] in _BREAKS:
            parts.append(text[begin:place])
            place += 2 if text[place : place + 2] == "\r\n" else 1
            begin = place
        else:
            place += 1
    if begin < len(text):
        parts.append(text[begin:])
    return parts
