import { type JsonSchema, schemaOfField } from './json-schema.ts';

/**
 * Follows a JSON path of fields and map keys (`.spec.limits['cpu']`) through a schema: the schema at its end, or why there is none,
 * in the server's words.
 */
export function schemaAtPath(
  schema: JsonSchema,
  jsonPath: string,
  options: { allowBrackets?: boolean } = {},
): { schema: JsonSchema; fields: string[] } | { problem: string } {
  const fields: string[] = [];
  let at: JsonSchema | undefined = schema;
  for (let rest = jsonPath; rest !== ''; ) {
    const step = /^\.([^.[\]]+)|^\['((?:\\.|[^'\\])*)'\]/.exec(rest);
    if (rest.startsWith('[') && options.allowBrackets === false) return { problem: 'array notation is not allowed' };
    if (!step) return { problem: problemAt(rest) };
    const name = step[1] ?? (step[2] ?? '').replaceAll(/\\(.)/g, '$1');
    at = schemaOfField(at, name);
    if (!at) return { problem: 'does not refer to a valid field' };
    fields.push(name);
    rest = rest.slice(step[0].length);
  }
  return { schema: at, fields };
}

function problemAt(rest: string): string {
  if (rest === '.' || rest === '[') return 'unexpected end of JSON path';
  if (rest.startsWith('[')) return `expected single quoted string but got ${rest.slice(1).split(/[.[\]]/)[0] ?? ''}`;
  return `expected [ or . but got: ${rest.split(/[.[\]]/)[0] ?? ''}`;
}
