#!/usr/bin/env python3
"""Asks the real server the questions of questions.py, through the Python SDK of the protocol, over stdio.

    ask.py --bin target/release/haloscope [--forged ../shared/traces/forged] [--without compare]

Every question is answered with at most three calls, every structured answer follows the tool's output schema (the SDK checks
that), and no answer is larger than its budget. The SDK comes from PyPI where this Python has none. The forged runs are not part of the project:
where their folder is absent only the questions about fixtures are asked, and that is said.
"""
import argparse
import asyncio
import json
import pathlib
import sys

from questions import FIXTURES, FORGED
from sdk import again

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_CALLS = 3
BYTES_A_TOKEN = 3.5
DEFAULT_TOKENS = 2000


def truths(folder):
    return {path.parent.name: json.loads(path.read_text()) for path in sorted(folder.glob("*/truth.json"))}


def same(found, right, within):
    if isinstance(found, (int, float)) and isinstance(right, (int, float)) and not isinstance(right, bool):
        return abs(found - right) <= within * abs(right)
    return found == right


def size(result):
    """Bytes of an answer as it is sent."""
    text = json.dumps("".join(part.text for part in result.content), ensure_ascii=False)
    return len(text.encode()) + len(json.dumps(result.structuredContent, ensure_ascii=False, separators=(",", ":")).encode())


async def call(session, tool, arguments):
    result = await session.call_tool(tool, arguments)
    if result.isError:
        raise AssertionError("".join(part.text for part in result.content))
    limit = arguments.get("max_tokens", DEFAULT_TOKENS) * BYTES_A_TOKEN
    if size(result) > limit:
        raise AssertionError(f"{tool}: {size(result)} bytes, expected at most {limit:.0f}")
    return result.structuredContent


async def ask(session, question, truth, ids):
    """What is wrong with the answer, or nothing."""
    if len(question.calls) > MOST_CALLS:
        return f"{len(question.calls)} calls"
    answers = []
    try:
        for tool, arguments in question.calls:
            # A fixture is known by its folder; its session has a name of its own.
            named = {key: ids.get(text, text) if key in ("run", "other", "run_a", "run_b") else text for key, text in arguments.items()}
            answers.append(await call(session, tool, named))
        found = question.find(answers)
    except (AssertionError, KeyError, IndexError, StopIteration, TypeError) as error:
        return f"no answer: {type(error).__name__} {error}"
    right = question.right(truth)
    return None if same(found, right, question.within) else f"found {found}, expected {right} within {question.within:.1%}"


async def ask_all(binary, folder, questions, without):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    truth = truths(folder)
    asked = wrong = 0
    server = StdioServerParameters(command=str(binary), args=["mcp", str(folder)])
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        await session.list_tools()
        runs = (await call(session, "xprof_list_runs", {"max_tokens": 20000}))["runs"]
        ids = {run.split("/")[0]: run for run in runs}
        for question in questions:
            if question.needs in without:
                print(f"skipped  {question.name}: without {question.needs}")
                continue
            why = await ask(session, question, truth, ids)
            asked, wrong = asked + 1, wrong + (why is not None)
            print(f"{'ok' if why is None else 'WRONG':8} {question.name:22} {question.text}", flush=True)
            if why is not None:
                print(f"         {why}")
    return asked, wrong


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True, type=pathlib.Path)
    options.add_argument("--forged", type=pathlib.Path, default=ROOT.parent / "shared" / "traces" / "forged")
    options.add_argument("--without", action="append", default=[], help="leave out the questions that need this")
    a = options.parse_args()
    code = again(__file__)
    if code is not None:
        return code
    sets = [(ROOT / "fixtures" / "runs", FIXTURES)]
    if a.forged.is_dir():
        sets.append((a.forged, FORGED))
    else:
        print(f"skipped: {len(FORGED)} questions about forged runs, which are not at {a.forged}")
    asked = wrong = 0
    for folder, questions in sets:
        one, bad = asyncio.run(ask_all(a.bin.resolve(), folder, questions, a.without))
        asked, wrong = asked + one, wrong + bad
    print(f"questions: {asked} asked, {wrong} wrong")
    return 1 if wrong or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
