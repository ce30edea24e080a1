"""Texts of a trace as people see them: they come from the program that was recorded, and must not
act on a terminal or in a notebook."""
import html
import unicodedata

# Controls, what turns the order of a line round or has no form, and line separators.
ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")


def harmless(text: str) -> str:
    """With a `?` for each character that acts, as the command prints it."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("?" if unicodedata.category(letter) in ACTING else letter for letter in text)


def markup(text: str) -> str:
    """The same as HTML."""
    return html.escape(harmless(text))
