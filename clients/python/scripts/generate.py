"""Writes the generated files of src/punctual; --check only fails if one is stale.

- types.py: a TypedDict for each schema of the API document.
- _async_resources.py: an asynchronous class for each class of the synchronous
  resources, whose methods run the synchronous ones in a thread.
"""

from __future__ import annotations

import ast
import json
import keyword
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "punctual"
DOCUMENT = ROOT.parent.parent / "api" / "openapi.json"
HEADER = '"""{}"""\n\n# Written by scripts/generate.py. Do not edit.\n\nfrom __future__ import annotations\n\n'

# Schemas whose names say too little on their own; the TypeScript client has the same.
NAMES = {"Document": "ScheduleDocument", "Headers": "HeaderMap", "Key": "ApiKey", "NewKey": "NewApiKey", "Query": "QueryMap", "Report": "CompletionReport"}
# Forms, which this client does not send, and constraints without a type.
LEFT_OUT = {"JobForm", "NoConflict", "KeyInPath", "JobEdit", "ScheduleEdit"}
# Types for which Python has values of its own, or that are recursive.
WRITTEN = {
    "When": "Union[str, int, float, datetime]",
    "Duration": "Union[int, float, timedelta, AmountAndUnit]",
    "Interval": "Union[int, float, timedelta, AmountAndUnit]",
    "AmountAndUnit": "Sequence[Union[int, float, Unit]]",
    "QueryMap": "Union[Dict[str, Any], str]",
    "QueryValue": "Any",
}
UNITS = ["second", "minute", "hour", "day", "week"]
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

Schema = Dict[str, Any]


def union(types: List[str]) -> str:
    unique = list(dict.fromkeys(types))
    if "Any" in unique or not unique:
        return "Any"
    plain = [one for one in unique if one != "None"]
    if not plain:
        return "None"
    joined = plain[0] if len(plain) == 1 else f"Union[{', '.join(plain)}]"
    return f"Optional[{joined}]" if "None" in unique else joined


def literal(values: List[Any]) -> str:
    plain = [value for value in values if value is not None]
    texts = [json.dumps(value) if isinstance(value, str) else repr(value) for value in plain]
    return union([f"Literal[{', '.join(texts)}]"] * bool(texts) + ["None"] * (len(plain) < len(values)))


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.replace("$", "").replace("-", "_").split("_"))


class Types:
    """Collects definitions; objects inside of others get names of their own."""

    def __init__(self, schemas: Dict[str, Schema]) -> None:
        self.schemas = schemas
        self.classes: List[str] = []
        self.aliases: List[str] = []
        self.used: set = set()

    def define(self, name: str, schema: Schema) -> None:
        own = NAMES.get(name, name)
        optional = "null" in str(schema.get("type", "")) or {"type": "null"} in schema.get("anyOf", [])
        kind = WRITTEN.get(own) or self.type_of(schema, own + "Value" if optional else own)
        if kind != own:
            self.aliases.append(f"{comment(schema)}{own} = {kind}\n")

    def type_of(self, schema: Any, name: str) -> str:
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            target = schema["$ref"].rsplit("/", 1)[-1]
            return NAMES.get(target, target)
        if "const" in schema:
            return literal([schema["const"]])
        if "enum" in schema:
            return literal(schema["enum"])
        branches = schema.get("oneOf") or schema.get("anyOf")
        if branches and "properties" in schema and all("properties" in one for one in branches):
            return self.variants(schema, branches, name)
        if branches and "properties" not in schema:
            described = [one for one in branches if not self.is_constraint(one)]
            enum = next((one for one in described if "enum" in one), None)
            if enum is not None and any("pattern" in one for one in described):
                # The pattern permits the enum's values in other cases.
                both = {"enum": [value for one in enum["enum"] for value in (one, one.upper())]}
                described = [both if one is enum else one for one in described if "pattern" not in one]
            return union([self.type_of(one, name if one.get("type") == "object" else f"{name}{n}") for n, one in enumerate(described, 1)])
        if "allOf" in schema:
            parts = [one for one in schema["allOf"] if not self.is_constraint(one)]
            if len(parts) == 1 and "$ref" in parts[0]:
                if not any("properties" in one for one in schema["allOf"] if one is not parts[0]):
                    return self.type_of(parts[0], name)
            return self.object_type(self.merged(schema), name)
        kinds = schema.get("type", "object" if "properties" in schema else None)
        if kinds is None:
            return "Any"
        return union([self.of_type(one, schema, name) for one in ([kinds] if isinstance(kinds, str) else kinds)])

    def of_type(self, kind: str, schema: Schema, name: str) -> str:
        if kind == "object":
            return self.object_type(schema, name)
        if kind == "array":
            return f"List[{self.type_of(schema.get('items', {}), name + 'Item')}]"
        return PLAIN[kind]

    def is_constraint(self, schema: Schema) -> bool:
        if schema.get("$ref", "").rsplit("/", 1)[-1] in LEFT_OUT:
            return True
        return not any(word in schema for word in ("$ref", "type", "anyOf", "oneOf", "enum", "const", "allOf", "properties"))

    def merged(self, schema: Schema) -> Schema:
        """One object of all the parts of an allOf."""
        if "$ref" in schema:
            return self.merged(self.schemas[schema["$ref"].rsplit("/", 1)[-1]])
        whole: Schema = {"properties": {}, "required": []}
        for part in [self.merged(one) for one in schema.get("allOf", [])] + [schema]:
            for key, value in part.get("properties", {}).items():
                if not (isinstance(value, dict) and self.is_constraint(value) and key in whole["properties"]):
                    whole["properties"][key] = value
            whole["required"] += part.get("required", [])
        return whole

    def variants(self, schema: Schema, branches: List[Schema], name: str) -> str:
        names = []
        for number, branch in enumerate(branches, 1):
            properties = {**schema["properties"], **branch["properties"]}
            required = [*schema.get("required", []), *branch.get("required", []), *branch["properties"]]
            names.append(self.object_type({"properties": properties, "required": required}, f"{name}{number}", name))
        return union(names)

    def object_type(self, schema: Schema, name: str, inner: Optional[str] = None) -> str:
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties")
        if not properties:
            return f"Dict[str, {self.type_of(rest, name + 'Value') if isinstance(rest, dict) else 'Any'}]"
        if name in self.used:
            return name  # the same member of another variant
        self.used.add(name)
        required = set(schema.get("required", []))
        members = {key: self.type_of(value, (inner or name) + camel(key)) for key, value in properties.items()}
        self.write_class(name, schema, members, required)
        return name

    def write_class(self, name: str, schema: Schema, members: Dict[str, str], required: set) -> None:
        doc = docstring(schema)
        described = {key: schema["properties"][key] for key in members}
        must = {key: kind for key, kind in members.items() if key in required}
        may = {key: kind for key, kind in members.items() if key not in required}
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in members):
            base = "TypedDict"
            if must and may:
                base = f"_{name}"
                self.classes.append(f"class {base}(TypedDict):\n{fields(must, described)}")
            body = fields(may or must, described)
            self.classes.append(f"class {name}({base}{', total=False' if may else ''}):\n{doc}{body}")
            return
        bases = []
        for suffix, group, total in (("Required", must, ""), ("Optional", may, ", total=False")):
            if group:
                bases.append(f"_{name}{suffix}")
                inside = "".join(f'    {json.dumps(key)}: "{kind}",\n' for key, kind in ((k, v.replace('"', "'")) for k, v in group.items()))
                self.classes.append(f'{bases[-1]} = TypedDict("{bases[-1]}", {{\n{inside}}}{total})\n')
        self.classes.append(f"class {name}({', '.join(bases)}):\n{doc or '    pass' + chr(10)}")


def docstring(schema: Schema) -> str:
    text = schema.get("description", "").strip().replace("\\", "\\\\").replace('"""', "'''")
    if not text:
        return ""
    lines = text.split("\n")
    if len(lines) == 1 and not text.endswith('"'):
        return f'    """{text}"""\n\n'
    return '    """' + "\n".join(f"    {line}".rstrip() for line in lines).lstrip() + '\n    """\n\n'


def comment(schema: Schema) -> str:
    text = schema.get("description", "").strip()
    return "".join(f"# {line}".rstrip() + "\n" for line in text.split("\n")) if text else ""


def fields(members: Dict[str, str], described: Dict[str, Schema]) -> str:
    lines = []
    for key, kind in members.items():
        text = comment(described[key] if isinstance(described[key], dict) else {})
        lines += [f"    {line}" for line in text.splitlines()] + [f"    {key}: {kind}"]
    return "\n".join(lines) + "\n"


def changes_of(schemas: Dict[str, Schema]) -> Schema:
    """The fields of an edit: those of a job, all optional."""
    properties = {key: value for key, value in schemas["JobRequest"]["properties"].items() if key != "idempotency_key"}
    return {"description": "Fields to change; None removes one, what is absent stays.", "properties": properties}


def in_order(aliases: List[str]) -> str:
    """Aliases are evaluated when the module is imported: each comes after what it names."""
    ready: set = set()
    pending = [(text, text.split("\n")[-2].split(" = ", 1)[0]) for text in aliases]
    unknown = {name for _, name in pending}
    written: List[str] = []
    while pending:
        for item in list(pending):
            text, name = item
            words = set(ast_names(text.split("\n")[-2].split(" = ", 1)[1]))
            if words & unknown - ready - {name} == set():
                written.append(text)
                ready.add(name)
                pending.remove(item)
                break
        else:
            raise SystemExit(f"types refer to each other: {[name for _, name in pending]}")
    return "\n".join(written)


def ast_names(expression: str) -> List[str]:
    return [node.id for node in ast.walk(ast.parse(expression.strip(), mode="eval")) if isinstance(node, ast.Name)]


def types_file() -> str:
    schemas: Dict[str, Schema] = json.loads(DOCUMENT.read_text(encoding="utf-8"))["components"]["schemas"]
    types = Types(schemas)
    types.aliases.append(f"# A unit of time.\nUnit = {literal([one + many for one in UNITS for many in ('', 's')])}\n")
    for name, schema in schemas.items():
        if name not in LEFT_OUT:
            types.define(name, schema)
    types.define("Changes", changes_of(schemas))
    # Classes come first: their annotations are not evaluated, those of aliases are.
    imports = "from datetime import datetime, timedelta\nfrom typing import Any, Dict, List, Literal, Optional, Sequence, TypedDict, Union\n\n\n"
    return HEADER.format("The types of the API, from api/openapi.json.") + imports + "\n\n".join(types.classes) + "\n\n" + in_order(types.aliases)


RESOURCES = ["_jobs", "_schedules", "_operations", "_logs", "_runs", "_settings", "_account", "completion"]


def annotation(node: Optional[ast.expr]) -> str:
    return ast.unparse(node) if node is not None else "None"


def call_of(method: ast.FunctionDef) -> str:
    """The arguments, passed on as they are."""
    parts = [one.arg for one in method.args.args[1:]]
    if method.args.vararg:
        parts.append(f"*{method.args.vararg.arg}")
    parts += [f"{one.arg}={one.arg}" for one in method.args.kwonlyargs]
    if method.args.kwarg:
        parts.append(f"**{method.args.kwarg.arg}")
    return ", ".join(parts)


def async_method(method: ast.FunctionDef, overloaded: bool) -> str:
    result = annotation(method.returns)
    decorators = [annotation(one) for one in method.decorator_list]
    head = "".join(f"    @{one}\n" for one in decorators)
    doc = ast.get_docstring(method, clean=False)
    text = f'        """{doc}"""\n' if doc else ""
    arguments = ast.unparse(method.args)
    if "overload" in decorators:
        return f"{head}    async def {method.name}({arguments}) -> {result}: ...\n"
    if result.startswith("RecordList["):
        return f"{head}    def {method.name}({arguments}) -> Async{result}:\n{text}        return AsyncRecordList(self._runner, self._sync.{method.name}({call_of(method)}))\n"
    if result.startswith("Iterator["):
        return f"{head}    def {method.name}({arguments}) -> Async{result}:\n{text}        return self._runner.stream(lambda: self._sync.{method.name}({call_of(method)}))\n"
    if method.name == "wait":
        return f"{head}    async def wait({arguments}) -> {result}:\n{text}        return await self._runner.poll(self._sync._what, lambda: self._sync.get({method.args.args[1].arg}), self._sync._is_final, within, on_progress)\n"
    return f"{head}    async def {method.name}({arguments}) -> {result}:\n{text}        return await self._runner.run(lambda: self._sync.{method.name}({call_of(method)}))\n"


def async_class(node: ast.ClassDef) -> str:
    bases = ", ".join(annotation(one).replace("Resource", "AsyncResource").replace("_Named", "_AsyncNamed") for one in node.bases)
    name = f"_Async{node.name[1:]}" if node.name.startswith("_") else f"Async{node.name}"
    doc = ast.get_docstring(node, clean=False)
    generic = "Any" if node.name == "_Named" else f"_sync.{node.name}"
    body = [f'    """{doc}"""\n' if doc else "", f"    _sync: {generic if generic == 'Any' else node.name}\n"]
    if node.name == "Completion":
        bases = "AsyncResource"
        body.append("\n    def __init__(self, address: str, **options: Any) -> None:\n        super().__init__(Runner(1), Completion(address, **options))\n")
    seen: Dict[str, int] = {}
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            seen[member.name] = seen.get(member.name, 0) + 1
            body.append("\n" + async_method(member, seen[member.name] > 1))
    return f"class {name}({bases or 'AsyncResource'}):\n{''.join(body)}"


def async_file() -> str:
    imports: List[str] = []
    classes: List[str] = []
    for module in RESOURCES:
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        names = []
        for node in tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                text = ast.unparse(node)
                if not text.startswith("from __future__") and "_transport" not in text and "_lines" not in text:
                    imports.append(text)
            if isinstance(node, ast.Assign) and annotation(node.targets[0]) in ("Stored", "Given", "Single"):
                imports.append(f"from .{module} import {annotation(node.targets[0])}")
            if isinstance(node, ast.ClassDef):
                names.append(node.name)
                classes.append(async_class(node))
        imports += [f"from .{module} import {name}" for name in names]
    used = "\n".join(classes)
    wanted = import_lines(imports + ["from ._async import AsyncRecordList, AsyncResource, Runner", "from typing import Any, AsyncIterator"], used)
    return HEADER.format("The resources for asyncio, from their synchronous modules.") + wanted + "\n\n\n" + "\n\n".join(classes)


def import_lines(texts: List[str], used: str) -> str:
    """The imports of the names that the code uses."""
    names = {node.id for node in ast.walk(ast.parse("from __future__ import annotations\n" + used)) if isinstance(node, ast.Name)}
    found: Dict[Tuple[str, int], set] = {}
    for text in texts:
        statement = ast.parse(text).body[0]
        if isinstance(statement, ast.ImportFrom):
            wanted = {one.name for one in statement.names if one.name in names}
            if wanted:
                found.setdefault((statement.module or "", statement.level), set()).update(wanted)
    lines = [f"from {'.' * level}{module} import {', '.join(sorted(wanted))}" for (module, level), wanted in sorted(found.items(), key=lambda one: (one[0][1], one[0][0]))]
    return "\n".join(lines)


def main() -> int:
    stale = []
    for name, make in (("types.py", types_file), ("_async_resources.py", async_file)):
        file = PACKAGE / name
        text = make()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        print(f"stale: {', '.join(stale)}; run python3 scripts/generate.py in clients/python", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
