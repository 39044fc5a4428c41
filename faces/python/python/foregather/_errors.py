"""Why a call failed."""


class Error(RuntimeError):
    """A call failed; the sentence names the culprit and the remedy."""

    def __init__(self, sentence: str, carries: int | None = None) -> None:
        super().__init__(sentence)
        self._carries = carries

    def __reduce__(self) -> tuple[type, tuple[str, int | None]]:
        return type(self), (str(self), self._carries)


class _OfRank(Error):
    @property
    def rank(self) -> int | None:
        """The rank in question, if it is one alone."""
        return self._carries


class TimedOut(_OfRank, TimeoutError):
    """The time was over first. Nothing is lost: the next call goes on."""


class PeerLost(_OfRank):
    """The process of a rank has died. A writer raises it once for each reader: the message was sent to the others."""


class PeerFailed(_OfRank):
    """A rank has left its work because of an error."""


class Closed(_OfRank, EOFError):
    """The others have left in order: nothing more comes."""


class Replaced(_OfRank):
    """Another process has the place of this reader, which was taken for dead."""


class Skipped(Error):
    """This reader was overtaken. The next call goes on with the oldest message that is left."""

    @property
    def messages(self) -> int:
        """How many messages it has missed."""
        return self._carries or 0


class BadMessage(Error):
    """A message could not be unpickled, and was passed. The next call gets the next one; `__cause__` says why."""

    @property
    def message(self) -> int:
        """The number of the message, which counts from 1: `Reader.received` at that moment."""
        return self._carries or 0
