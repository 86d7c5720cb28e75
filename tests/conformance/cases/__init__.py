"""The cases: one function a profile, one module an area. Each restates a unit test of XProf's in our own words and numbers."""
import importlib
import pathlib
import urllib.parse

CASES = []


class Case:
    def __init__(self, name, make, asks, hosts):
        self.name, self.make, self.hosts = name, make, hosts
        self.asks = [parse(ask) for ask in asks]

    @property
    def several(self):
        return len(self.hosts) > 1

    def spaces(self):
        made = self.make()
        return made if isinstance(made, dict) else dict(zip(self.hosts, [made]))


def parse(ask):
    """A tool and its parameters, as in an address. A `=` in front asks XProf's converter itself, whose server does not hand on
    every parameter that the converter takes."""
    tool, _, query = ask.lstrip("=").partition("?")
    return tool, dict(urllib.parse.parse_qsl(query)), ask.startswith("=")


def case(*asks, hosts=("host0",), name=None):
    """Registers a function that makes a Space, or a dict of them by host, with the questions to ask of it."""

    def register(make):
        area = make.__module__.rsplit(".", 1)[-1]
        CASES.append(Case(f"{area}.{name or make.__name__}", make, asks, hosts))
        return make

    return register


for path in sorted(pathlib.Path(__file__).parent.glob("[a-z]*.py")):
    importlib.import_module(f"{__name__}.{path.stem}")
