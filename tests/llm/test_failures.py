"""What a failed request means, and whether it is worth another try."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.llm.failures import Asked, Failure, explain

ASKED = Asked("openai/fake", "MY_LOGIN", 30.0)


class RateLimitError(Exception):
    """Named as litellm's is."""

    def __init__(self, text: str, after: str | None = None) -> None:
        super().__init__(text)
        self.response = SimpleNamespace(headers={} if after is None else {"retry-after": after})


def found(error: Exception, tries: int = 0, retries: int = 5) -> Failure:
    """What an error is told as."""
    return explain(error, ASKED, tries, retries)


def test_rate_limits_are_waited_for_longer_and_longer() -> None:
    """Without a word of the provider 1, 2, 4 ... s, up to a minute, and no more often than allowed."""
    error = RateLimitError("Rate limit reached")
    assert [found(error, tries, 20).wait for tries in (0, 1, 2, 10)] == [1.0, 2.0, 4.0, 60.0]
    assert found(error, 5).wait is None


@pytest.mark.parametrize(("after", "wait"), [("7", 7.0), ("0", 0.0), ("3600", None), ("-1", None), ("soon", 1.0)])
def test_what_the_provider_asks_for(after: str, wait: float | None) -> None:
    """The provider's own wish is kept, unless it is longer than anybody would wait."""
    assert found(RateLimitError("slow down", after)).wait == wait


def test_a_quota_that_is_used_up_does_not_come_back() -> None:
    """An empty account is not asked again and again."""
    failure = found(RateLimitError("You exceeded your current quota, please check your plan"))
    assert (failure.trouble, failure.wait) == ("rate", None)


def test_wrappers_words_are_left_out() -> None:
    """What litellm puts around a message is not told, and a message without words has its kind."""
    text = "litellm.RateLimitError: RateLimitError: slow down Original exception: Error: slow down"
    assert found(RateLimitError(text)).reason.endswith("(slow down)")
    assert found(RateLimitError("")).reason.endswith("(RateLimitError)")


def test_key_at_the_edge_of_a_long_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is taken out before a message is cut, so that no part of it is left at the edge."""
    monkeypatch.setenv("MY_LOGIN", "hunter2-hunter2")
    for before in range(280, 300):
        assert "hunter" not in found(RateLimitError("x" * before + "hunter2-hunter2")).reason
