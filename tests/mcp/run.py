#!/usr/bin/env python3
"""The clients that agents use reach our tools: the official Python SDK over stdio and HTTP, and the official inspector's CLI.

    run.py --bin target/release/haloscope [FOLDER...]

Lists everything, calls every tool on every run below each FOLDER (fixtures/runs unless given) with every choice that its schema
has for what is answered, and holds each answer against the tool's output schema and against its budget. The SDK gets a virtual
environment of its own (HALOSCOPE_MCP_PYTHON names a Python that has it), the inspector comes with npx; --no-inspector leaves
it out. --quick asks each run only with the default arguments and one budget, and lets the inspector call three tools.
"""
import argparse
import asyncio
import contextlib
import json
import math
import os
import pathlib
import subprocess
import sys

from sdk import again

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSPECTOR = "@modelcontextprotocol/inspector"
# The arguments whose words decide which report is given.
CHOICES = ["analysis", "what"]
# What tools that need a run beside the first take.
OTHERS = ["run_a", "run_b"]


def tokens(size):
    """As the server counts: 3.5 bytes each."""
    return math.ceil(size * 2 / 7)


def cost(result):
    """Bytes of what a model may be given of a result: its texts and its structured answer."""
    texts = [part.text for part in result.content if part.type == "text"]
    structured = result.structuredContent
    size = 0 if structured is None else len(json.dumps(structured, separators=(",", ":"), ensure_ascii=False).encode())
    return size + sum(len(text.encode()) for text in texts)


def calls(tool, run):
    """What is asked of a tool about a run: without choices, and with each word of those that it has."""
    properties = tool.inputSchema.get("properties", {})
    about = {name: run for name in ["run", *OTHERS] if name in properties}
    yield about
    for key in CHOICES:
        for word in properties.get(key, {}).get("enum", []):
            yield {**about, key: word}


class Count:
    """What was asked, and what was wrong."""

    def __init__(self):
        self.asked = self.answered = self.refused = 0
        self.wrong = []

    def say(self, what):
        self.wrong.append(what)
        print(f"WRONG  {what}", flush=True)


async def judge(session, tool, arguments, budget, validator, count):
    """Calls a tool once and looks at what comes back."""
    takes_budget = "max_tokens" in tool.inputSchema.get("properties", {})
    given = {**arguments, "max_tokens": budget} if takes_budget else arguments
    shown = f"{tool.name} {json.dumps(given)}"
    count.asked += 1
    # The SDK itself refuses a structured answer that does not follow the output schema.
    try:
        result = await session.call_tool(tool.name, given)
    except Exception as error:
        return count.say(f"{shown}: {error}")
    if result.isError:
        text = "".join(part.text for part in result.content)
        count.refused += 1
        if "next: " not in text or tokens(len(text.encode())) > 200 or "this is a bug" in text:
            count.say(f"{shown}: a refusal without a next step, a long one, or a bug: {text[:300]}")
        return None
    count.answered += 1
    if result.structuredContent is None:
        return count.say(f"{shown}: no structured answer")
    problem = next(validator.iter_errors(result.structuredContent), None)
    if problem:
        count.say(f"{shown}: {problem.message[:300]}")
    limit = budget if takes_budget else tool.inputSchema.get("properties", {}).get("max_tokens", {}).get("default", 2000)
    if tokens(cost(result)) > limit:
        count.say(f"{shown}: {tokens(cost(result))} tokens, the budget is {limit}")
    return result.structuredContent


async def everything(session, ids, quick, count):
    """Lists all there is and asks every tool about every run."""
    import jsonschema

    await session.initialize()
    tools = (await session.list_tools()).tools
    prompts = (await session.list_prompts()).prompts
    resources = (await session.list_resources()).resources
    templates = (await session.list_resource_templates()).resourceTemplates
    print(f"{len(tools)} tools, {len(prompts)} prompts, {len(resources)} resources, {len(templates)} templates")
    validators = {}
    for tool in tools:
        for schema in (tool.inputSchema, tool.outputSchema):
            jsonschema.Draft202012Validator.check_schema(schema)
        validators[tool.name] = jsonschema.Draft202012Validator(tool.outputSchema)
    for resource in resources[:3]:
        json.loads((await session.read_resource(resource.uri)).contents[0].text)
    for prompt in prompts:
        if not (await session.get_prompt(prompt.name, {"run": ids[0]} if ids else {})).messages:
            count.say(f"the prompt {prompt.name} says nothing")
    for run in ids or [None]:
        before = count.answered
        for tool in tools:
            for arguments in [next(calls(tool, run))] if quick else calls(tool, run):
                for budget in (2000,) if quick else (200, 2000):
                    await judge(session, tool, arguments, budget, validators[tool.name], count)
        print(f"  {run}: {count.answered - before} answers", flush=True)


def listed(address):
    """Ids of the runs that a server lists."""
    import urllib.request

    with urllib.request.urlopen(f"{address}api/runs", timeout=60) as answer:
        return [run["id"] for run in json.load(answer)["runs"]]


@contextlib.contextmanager
def serving(binary, folder):
    """A server of the folder; its address."""
    command = [binary, "serve", str(folder), "--port", "0", "--no-token"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        line = process.stdout.readline()
        if "http://" not in line:
            raise SystemExit(f"run.py: {' '.join(command)} said `{line.strip()}`")
        yield line.split("serving at ")[1].strip()
    finally:
        process.terminate()
        process.wait()


async def over_stdio(binary, folder, ids, quick, count):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(command=str(binary), args=["mcp", str(folder)])
    with open(os.devnull, "w") as nowhere:
        async with stdio_client(server, errlog=nowhere) as (read, write), ClientSession(read, write) as session:
            await everything(session, ids, quick, count)


async def over_http(address, ids, quick, count):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(f"{address}mcp") as (read, write, _), ClientSession(read, write) as session:
        await everything(session, ids, quick, count)


def inspect(target, method, *more):
    """What the inspector's CLI prints."""
    command = ["npx", "-y", INSPECTOR, "--cli", *target, "--method", method, *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise SystemExit(f"run.py: {' '.join(command)}: {done.stdout[-500:]} {done.stderr[-1500:]}")
    return json.loads(done.stdout)


def inspector(target, ids, quick, count):
    """The inspector lists all there is and calls every tool once."""
    tools = inspect(target, "tools/list")["tools"]
    inspect(target, "resources/list")
    inspect(target, "resources/templates/list")
    inspect(target, "prompts/list")
    for tool in tools[:3] if quick else tools:
        properties = tool["inputSchema"].get("properties", {})
        about = [f"{name}={ids[0]}" for name in ["run", *OTHERS] if name in properties]
        demanded = [name for name in tool["inputSchema"].get("required", []) if name not in ["run", *OTHERS]]
        if demanded:
            print(f"  not called by the inspector: {tool['name']} demands {demanded}")
            continue
        arguments = [word for pair in about for word in ("--tool-arg", pair)]
        result = inspect(target, "tools/call", "--tool-name", tool["name"], *arguments)
        count.asked += 1
        count.refused += bool(result.get("isError"))
        count.answered += not result.get("isError")
        if not result.get("content"):
            count.say(f"inspector: {tool['name']}: {json.dumps(result)[:300]}")
    print(f"  inspector, {target[-1]}: {len(tools)} tools")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bin", required=True)
    options.add_argument("--no-inspector", action="store_true")
    options.add_argument("--quick", action="store_true")
    options.add_argument("folders", nargs="*", type=pathlib.Path, default=[ROOT / "fixtures" / "runs"])
    a = options.parse_args()
    code = again(__file__)
    if code is not None:
        return code
    count = Count()
    for folder in a.folders:
        with serving(a.bin, folder) as address:
            ids = listed(address)
            print(f"{folder}: {len(ids)} runs")
            if not ids:
                count.say(f"{folder} holds no run")
                continue
            print("Python SDK over stdio")
            asyncio.run(over_stdio(a.bin, folder, ids, a.quick, count))
            print("Python SDK over HTTP")
            asyncio.run(over_http(address, ids, a.quick, count))
            if not a.no_inspector:
                inspector([a.bin, "mcp", str(folder)], ids, a.quick, count)
                inspector([f"{address}mcp", "--transport", "http"], ids, a.quick, count)
    print(f"mcp: {count.asked} calls, {count.answered} answered, {count.refused} refused, {len(count.wrong)} wrong")
    return 1 if count.wrong or not count.answered else 0


if __name__ == "__main__":
    sys.exit(main())
