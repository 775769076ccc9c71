// Writes src/schema.ts, the types of the OpenAPI document's schemas. An open list (x-extensible-enum)
// becomes its values and any other string, so that editors offer what there is.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const here = (path) => new URL(path, import.meta.url);
const { factory } = ts;
const anyString = factory.createIntersectionTypeNode([
  factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
  factory.createTypeLiteralNode([]),
]);

const { openapi, info, components } = JSON.parse(await readFile(here("../../../api/openapi.json"), "utf8"));
const types = await openapiTS({ openapi, info, components: { schemas: components.schemas } }, {
  transform(schema) {
    const values = schema["x-extensible-enum"];
    if (!values) return undefined;
    const known = values.map((value) => factory.createLiteralTypeNode(factory.createStringLiteral(value)));
    return factory.createUnionTypeNode([...known, factory.createParenthesizedType(anyString)]);
  },
});
await writeFile(here("../src/schema.ts"), astToString(types));
