// The output of commands: one report, in each format of `-o`.
import type { Flag } from './flag.ts';
import { json } from './table.ts';

export const REPORT_FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** `-o` of commands that print a report. */
export const REPORT_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: REPORT_FORMATS,
  default: 'table',
  help: 'How to print it; wide leaves nothing out, name prints KIND/NAME only.',
} as const satisfies Flag;

/** `-o` of commands that print manifests. */
export const MANIFEST_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: ['yaml', 'json'],
  help: 'How to print it; default yaml, for kubectl apply -f -.',
} as const satisfies Flag;

/** `-o` of commands that run until they are stopped. */
export const EVENT_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: ['text', 'json'],
  help: 'How to print events; default text.',
} as const satisfies Flag;

export interface Report {
  /** For programs; its schema is in docs/cli-output.schema.json. */
  readonly value: object;
  /** For people. */
  text(isWide: boolean): string;
  /** `kind.group/name`, as kubectl writes it. */
  names(): readonly string[];
}

/** A report as `-o` asks for it. */
export async function formatReport(format: ReportFormat, { value, text, names }: Report): Promise<string> {
  if (format === 'json') return json(value);
  if (format === 'yaml') return yamlDocuments([value]);
  if (format === 'name') return [...new Set(names())].map((name) => `${name}\n`).join('');
  return text(format === 'wide');
}

/** Several documents of YAML, or one List in JSON: kubectl takes both. */
export async function formatManifests(objects: readonly object[], output: string | undefined): Promise<string> {
  if (output === 'json') return json({ apiVersion: 'v1', kind: 'List', items: objects });
  return yamlDocuments(objects, '---\n');
}

export async function yamlDocuments(values: readonly object[], before = ''): Promise<string> {
  // Most reports are printed as text: they need not wait for it.
  const { yamlText } = await import('./yaml-text.ts');
  return values.map((value) => `${before}${yamlText(value)}`).join('');
}

/** `deployment.apps/x`, as `kubectl -o name` prints it; from a kind as `Kind.group` or `Kind`. */
export function objectName(kindId: string, name: string): string {
  return `${kindId.toLowerCase()}/${name}`;
}
