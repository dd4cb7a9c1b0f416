// Writes src/generated.ts: a TypeScript type for each schema of the API document, and for
// the filters of lists.
// With --check it writes nothing and fails if the file is stale.
import { readFileSync, writeFileSync } from "node:fs";

const documentFile = new URL("../../../api/openapi.json", import.meta.url);
const outputFile = new URL("../src/generated.ts", import.meta.url);
const { components, paths } = JSON.parse(readFileSync(documentFile, "utf8"));

/** Schemas whose names are taken by the platform or say too little on their own. */
const names = {
  Document: "ScheduleDocument",
  Headers: "HeaderMap",
  Key: "ApiKey",
  Query: "QueryMap",
  Report: "CompletionReport",
};

/** Schemas of forms, which this client does not send, and constraints without a type. */
const leftOut = new Set(["JobForm", "NoConflict", "KeyInPath"]);

/** Types that the document's patterns express better than its types. */
const written = {
  AmountAndUnit: '[number, Unit]',
  Query: "{ [name: string]: QueryValue } | string",
  QueryValue: "string | number | boolean | null | (string | number | boolean | null)[] | { [name: string]: QueryValue }",
};

const isIdentifier = (name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
const nameOf = (schema) => names[schema] ?? schema;
const indent = (text) => text.replaceAll("\n", "\n  ");
const isObject = (value) => typeof value === "object" && value !== null;

function comment(schema) {
  const text = schema.description?.trim().replaceAll("*/", "*\\/");
  if (!text) return "";
  const lines = text.split("\n");
  return lines.length === 1 ? `/** ${text} */\n` : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join("\n")}\n */\n`;
}

function union(types) {
  const all = [...new Set(types.filter((type) => type !== undefined))];
  const plain = all.filter((type) => type !== "null");
  if (plain.includes("unknown")) return "unknown";
  return [...plain, ...(all.includes("null") ? ["null"] : [])].join(" | ") || "unknown";
}

const grouped = (type) => (type.includes(" | ") || type.includes(" & ") ? `(${type})` : type);

/** The type of an object's members; extra has properties that a branch of oneOf refines. */
function objectType(schema, extra = {}) {
  const properties = { ...schema.properties, ...extra };
  const required = new Set([...(schema.required ?? []), ...Object.keys(extra)]);
  const members = Object.entries(properties).map(([name, property]) => {
    const key = isIdentifier(name) ? name : JSON.stringify(name);
    return `${comment(property)}${key}${required.has(name) ? "" : "?"}: ${typeOf(property)};`;
  });
  const rest = schema.additionalProperties;
  if (isObject(rest)) members.push(`[name: string]: ${members.length ? "unknown" : typeOf(rest)};`);
  else if (rest === true || members.length === 0) members.push("[name: string]: unknown;");
  return `{\n  ${indent(members.join("\n"))}\n}`;
}

function ofType(type, schema) {
  switch (type) {
    case "object":
      return objectType(schema);
    case "array":
      if (schema.prefixItems) return `[${schema.prefixItems.map(typeOf).join(", ")}]`;
      return `${grouped(typeOf(schema.items ?? {}))}[]`;
    case "integer":
      return "number";
    default:
      return type; // string, number, boolean, null
  }
}

/** Whether a schema only constrains what another one describes. */
const isConstraint = (schema) =>
  leftOut.has(schema.$ref?.split("/").at(-1)) ||
  !("$ref" in schema || "type" in schema || "anyOf" in schema || "oneOf" in schema || "enum" in schema || "const" in schema || "allOf" in schema);

function typeOf(schema) {
  if (!isObject(schema)) return "unknown";
  if (schema.$ref) return nameOf(schema.$ref.split("/").at(-1));
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  const branches = schema.oneOf ?? schema.anyOf;
  if (schema.properties && branches?.every((branch) => branch.properties)) {
    // An object with variants: each branch refines some properties.
    return union(branches.map((branch) => objectType({ ...schema, required: [...(schema.required ?? []), ...(branch.required ?? [])] }, branch.properties)));
  }
  // Beside an enum, a pattern permits its values in other cases; the type has one.
  const isOtherCase = (part, parts) => "pattern" in part && parts.some((other) => "enum" in other);
  const described = (parts) => parts.filter((part) => !isConstraint(part) && !isOtherCase(part, parts));
  if (branches && !schema.properties) return union(described(branches).map((branch) => grouped(typeOf(branch))));
  const merged = described(schema.allOf ?? []);
  if (merged.length > 0) return merged.map((part) => grouped(typeOf(part))).join(" & ");
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => ofType(type, schema)));
  if (schema.type) return ofType(schema.type, schema);
  return schema.properties ? objectType(schema) : "unknown";
}

const parts = [
  "// Written by scripts/generate.mjs from api/openapi.json. Do not edit.\n",
  "/** A unit of time. */\nexport type Unit = \"second\" | \"seconds\" | \"minute\" | \"minutes\" | \"hour\" | \"hours\" | \"day\" | \"days\" | \"week\" | \"weeks\";\n",
];
for (const [name, schema] of Object.entries(components.schemas)) {
  if (leftOut.has(name)) continue;
  const type = written[name] ?? typeOf(schema);
  const isInterface = type.startsWith("{") && type.indexOf("\n}") === type.length - 2;
  parts.push(`${comment(schema)}export ${isInterface ? `interface ${nameOf(name)} ${type}` : `type ${nameOf(name)} = ${type};`}\n`);
}
/** The lists whose filters have a type, which is called so. */
const filters = { JobParameters: "/api/jobs/counts", LogParameters: "/api/logs/export" };

/** A parameter as a member; one that may be repeated takes one value too. */
function parameter({ $ref }) {
  const { name, description, schema } = components.parameters[$ref.split("/").at(-1)];
  const type = schema.type === "array" ? `${typeOf(schema.items)} | readonly ${grouped(typeOf(schema.items))}[]` : typeOf(schema);
  return `${comment({ description })}${name}?: ${type};`;
}

for (const [name, path] of Object.entries(filters)) {
  const members = paths[path].get.parameters.filter(({ $ref }) => !$ref.endsWith("/Mask")).map(parameter);
  parts.push(`/** The filters of \`GET ${path}\`. */\nexport interface ${name} {\n  ${indent(members.join("\n"))}\n}\n`);
}
const text = parts.join("\n");

if (process.argv.includes("--check")) {
  if (readFileSync(outputFile, "utf8") !== text) {
    console.error("src/generated.ts is stale: run npm run generate in clients/typescript");
    process.exit(1);
  }
} else {
  writeFileSync(outputFile, text);
}
