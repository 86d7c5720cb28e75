"""Performance as a test: `haloscope_check(run, baseline)` fails the test if a check does not hold.

    def test_step_time(haloscope_check):
        haloscope_check("logs/new", "logs/baseline")
        haloscope_check("logs/new", claim="step_time<=85ms")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from ._asked import Baselines, DocumentLike, RunLike, Texts
    from ._report import Report


class Check(Protocol):
    """`haloscope.check`, which fails the test unless all checks hold."""

    def __call__(
        self,
        run: RunLike,
        baseline: Baselines = None,
        *,
        claim: Texts = None,
        budget: DocumentLike = None,
        **more: Any,
    ) -> Report: ...


@pytest.fixture
def haloscope_check() -> Check:
    """Fails the test if a run fails a check against a baseline, claims or a budget. A check that could not be decided also fails."""

    def held(run: Any, baseline: Any = None, **more: Any) -> Report:
        # Not before it is asked for: pytest loads this file in projects that have nothing to do with it.
        import haloscope

        report = haloscope.check(run, baseline, **more)
        if report.passed is not True:
            words = "does not hold" if report.passed is False else "could not be decided"
            pytest.fail(f"haloscope check {words}\n\n{report.to_text(width=100)}", pytrace=False)
        return report

    return held
