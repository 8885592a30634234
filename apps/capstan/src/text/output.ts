// How commands print: reports for people and for programs, and manifests.
import { type Flag, json } from '@capstan/reconcile/command-line';

/** `-o` of commands that print manifests. */
export const MANIFEST_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: ['yaml', 'json'],
  help: 'How to print it; default yaml, for kubectl apply -f -.',
} as const satisfies Flag;

/** `-o` of commands that print a report. */
export const REPORT_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: ['table', 'wide', 'json', 'yaml', 'name'],
  default: 'table',
  help: 'How to print it; wide leaves nothing out, name prints KIND/NAME only.',
} as const satisfies Flag;

export type ReportOutput = (typeof REPORT_OUTPUT)['oneOf'][number];

export interface ReportForms {
  /** For programs; its schema is in docs/cli-output.schema.json. */
  readonly value: object;
  /** For people. */
  text(isWide: boolean): string;
  /** `kind.group/name`, as kubectl writes it. */
  names(): readonly string[];
}

/** A report as `-o` asks for it. */
export async function printed(output: ReportOutput, { value, text, names }: ReportForms): Promise<string> {
  if (output === 'json') return json(value);
  if (output === 'yaml') return yamlOf([value]);
  if (output === 'name')
    return names()
      .map((name) => `${name}\n`)
      .join('');
  return text(output === 'wide');
}

/** Several documents of YAML, or one List in JSON: kubectl takes both. */
export async function manifests(objects: readonly object[], output: string | undefined): Promise<string> {
  if (output === 'json') return json({ apiVersion: 'v1', kind: 'List', items: objects });
  return yamlOf(objects, '---\n');
}

async function yamlOf(values: readonly object[], before = ''): Promise<string> {
  // Most reports are printed as text: they need not wait for it.
  const { yamlText } = await import('./yaml-text.ts');
  return values.map((value) => `${before}${yamlText(value)}`).join('');
}

/** `deployment.apps/x`, as `kubectl -o name` prints it; from a kind as `Kind.group` or `Kind`. */
export function objectName(kindId: string, name: string): string {
  return `${kindId.toLowerCase()}/${name}`;
}
