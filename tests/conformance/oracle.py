"""Asks PyPI's xprof, in its own Python: `oracle.py MANIFEST`, with the answers written where the manifest says.

A question goes through the plugin's own handler, as `GET /data?tag=TOOL&...` of a running server would. Every case has its own
log folder, because xprof writes caches beside profiles.
"""
import json
import logging
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
logging.disable(logging.CRITICAL)

from werkzeug.test import EnvironBuilder  # noqa: E402
from werkzeug.wrappers import Request  # noqa: E402
from xprof import profile_plugin_loader, server, version  # noqa: E402
from xprof.convert import _pywrap_profiler_plugin, raw_to_tool_data  # noqa: E402


def plugin(logdir):
    provider = server.DataProvider(logdir)
    context = server.TBContext(logdir, provider, server.TBContext.Flags(False))
    return profile_plugin_loader.ProfilePluginLoader().load(context)


def request(**query):
    return Request(EnvironBuilder(query_string=query).get_environ())


def convert(question):
    """The answer of the converter behind the plugin, to parameters that the plugin knows nothing of."""
    words = {"true": True, "false": False}
    options = {k: words.get(v, v) for k, v in question["params"].items()}
    options["host_name"] = options.pop("host")
    body, whole = _pywrap_profiler_plugin.xspace_to_tools_data(question["files"], question["tool"], options)
    if not whole:
        raise ValueError(body.decode("utf-8", "replace"))
    return body


def main():
    manifest = json.load(open(sys.argv[1]))
    plugins = {}
    for question in manifest:
        logdir = question["logdir"]
        if logdir not in plugins:
            plugins[logdir] = plugin(logdir)
            # As the page does first; it also lays out the HLO modules that memory_viewer and graph_viewer read.
            plugins[logdir].hlo_module_list_impl(request(run="run"))
        query = {"run": "run", "tag": question["tool"], **question["params"]}
        try:
            if question["tool"] == "tool_names":
                body, kind = ",".join(raw_to_tool_data.xspace_to_tool_names(question["files"])), "text/plain"
            elif question["direct"]:
                body, kind = convert(question), "application/octet-stream"
            else:
                body, kind, _ = plugins[logdir].data_impl(request(**query))
            status = "nothing" if body is None else "answer"
        except Exception as error:  # whatever it raises, its server answers with
            body, kind, status = str(error), "text/plain", "error"
        body = body.encode() if isinstance(body, str) else body or b""
        with open(question["out"], "wb") as out:
            out.write(body)
        with open(question["out"] + ".status", "w") as out:
            json.dump({"status": status, "kind": kind, "xprof": version.__version__}, out)


main()
