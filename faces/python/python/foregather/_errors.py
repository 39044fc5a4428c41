"""The exceptions that calls raise."""


class Error(RuntimeError):
    """The base class of all errors. The message states the cause and what to do."""

    def __init__(self, sentence: str, carries: int | None = None) -> None:
        super().__init__(sentence)
        self._carries = carries

    def __reduce__(self) -> tuple[type, tuple[str, int | None]]:
        return type(self), (str(self), self._carries)


class _OfRank(Error):
    @property
    def rank(self) -> int | None:
        """The rank that the error is about, or `None` if there is not exactly one."""
        return self._carries


class TimedOut(_OfRank, TimeoutError):
    """The timeout expired. Nothing is lost; call again to resume the wait."""


class PeerLost(_OfRank):
    """The process of a rank has died.

    A writer raises it once for each dead reader, after sending the message to the others.
    """


class PeerFailed(_OfRank):
    """A peer failed, for example because its `with` block raised an exception."""


class Closed(_OfRank, EOFError):
    """The other side closed the queue normally; there are no more messages."""


class Replaced(_OfRank):
    """This reader was presumed dead, and another process has replaced it."""


class Skipped(Error):
    """The writer dropped messages before this reader received them.

    The next call returns the oldest message still available.
    """

    @property
    def messages(self) -> int:
        """The number of messages that this reader missed."""
        return self._carries or 0


class BadMessage(Error):
    """A message could not be unpickled, and was skipped.

    The next call returns the next message; `__cause__` is the reason.
    """

    @property
    def message(self) -> int:
        """The number of the message, starting at 1: `Reader.received` when the error was raised."""
        return self._carries or 0
