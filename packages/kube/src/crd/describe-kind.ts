import { goJson } from '../schema/go-text.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import type { DefinedKind } from './define-kind.ts';

/** Returns the reference page of a kind as Markdown: its names, and a table of its fields. */
export function describeKind(kind: DefinedKind): string {
  const facts: [string, string][] = [
    [
      'API version',
      kind.versions
        .filter(({ served }) => served)
        .map(({ name }) => `\`${kind.group}/${name}\``)
        .join(', '),
    ],
    ['Names', [kind.plural, kind.singular, ...kind.shortNames].map((name) => `\`${name}\``).join(', ')],
    ['Scope', kind.scope],
    ['Aliases', kind.aliases.map((alias) => `\`${alias.kind.kind}\` of \`${alias.kind.apiVersion}\``).join(', ')],
  ];
  const { properties = {}, required = [] } = kind.schema;
  const rows: string[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    if (['apiVersion', 'kind', 'metadata'].includes(name)) continue;
    describeField(name, schema, required.includes(name), rows);
  }
  return [
    `# ${kind.kind}`,
    '',
    ...(kind.description === undefined ? [] : [kind.description, '']),
    ...facts.filter(([, value]) => value !== '').map(([name, value]) => `- ${name}: ${value}`),
    '',
    '| field | type | required | default | description |',
    '|---|---|---|---|---|',
    ...rows,
    ...describeRules(kind.schema),
    '',
  ].join('\n');
}

function describeField(path: string, schema: JsonSchema, isRequired: boolean, rows: string[]): void {
  // Bookkeeping of the runtime, of no use to people.
  if (path === 'status.memory') return;
  const description = [schema.description ?? '', ...limitsOf(schema)].filter((text) => text !== '').join(' ');
  const value = schema.default === undefined ? '' : code(goJson(schema.default));
  const cells = [code(path), typeOf(schema), isRequired ? 'yes' : '', value, cell(description)];
  rows.push(`| ${cells.join(' | ')} |`);
  describeBelow(path, schema, rows);
}

function describeBelow(path: string, schema: JsonSchema, rows: string[]): void {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    describeField(`${path}.${name}`, property, schema.required?.includes(name) ?? false, rows);
  }
  if (schema.items) describeBelow(`${path}[]`, schema.items, rows);
  if (typeof schema.additionalProperties === 'object') describeBelow(`${path}.*`, schema.additionalProperties, rows);
}

function typeOf(schema: JsonSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'integer or string';
  if (schema['x-kubernetes-embedded-resource']) return 'Kubernetes object';
  const { type, items, additionalProperties, format } = schema;
  if (type === 'array') return `list of ${items ? typeOf(items) : 'any'}`;
  if (typeof additionalProperties === 'object') return `map of ${typeOf(additionalProperties)}`;
  if (type === undefined) return 'any';
  return format === undefined ? type : `${type} (${format})`;
}

function limitsOf(schema: JsonSchema): string[] {
  const limits: string[] = [];
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  if (schema.enum)
    limits.push(
      `One of ${schema.enum.map((value) => code(typeof value === 'string' ? value : goJson(value))).join(', ')}.`,
    );
  if (minimum !== undefined) limits.push(`${schema.exclusiveMinimum ? 'More than' : 'At least'} ${minimum}.`);
  if (maximum !== undefined) limits.push(`${schema.exclusiveMaximum ? 'Less than' : 'At most'} ${maximum}.`);
  if (minLength !== undefined && minLength > 1) limits.push(`At least ${minLength} characters.`);
  if (minLength === 1) limits.push('Not empty.');
  if (maxLength !== undefined) limits.push(`At most ${maxLength} characters.`);
  if (minItems !== undefined) limits.push(`At least ${minItems} items.`);
  if (maxItems !== undefined) limits.push(`At most ${maxItems} items.`);
  if (pattern !== undefined) limits.push(`Matches ${code(pattern)}.`);
  const keys = schema['x-kubernetes-list-map-keys'];
  if (keys) limits.push(`One item for each ${keys.map(code).join(' and ')}.`);
  if (schema['x-kubernetes-list-type'] === 'set') limits.push('No item twice.');
  if (schema.nullable) limits.push('May be null.');
  return limits;
}

function describeRules(schema: JsonSchema): string[] {
  const rules: string[] = [];
  collectRules('', schema, rules);
  return rules.length === 0 ? [] : ['', '## Rules', '', ...rules];
}

function collectRules(path: string, schema: JsonSchema, rules: string[]): void {
  for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
    rules.push(
      `- ${path === '' ? 'The object' : code(path)}: ${message?.trim() ?? 'must satisfy'} (\`${rule.trim()}\`)`,
    );
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    collectRules(path === '' ? name : `${path}.${name}`, property, rules);
  }
  if (schema.items) collectRules(`${path}[]`, schema.items, rules);
  if (typeof schema.additionalProperties === 'object') collectRules(`${path}.*`, schema.additionalProperties, rules);
}

function code(text: string): string {
  return text.includes('`') ? `\`\` ${cell(text)} \`\`` : `\`${cell(text)}\``;
}

// Inside a table a bar ends the cell, even within code.
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ');
}
