import { type Flag, json } from '@capstan/reconcile/command-line';
import { stringify } from 'yaml';

/** `-o` of commands that print manifests. */
export const MANIFEST_OUTPUT = {
  type: 'string',
  short: 'o',
  oneOf: ['yaml', 'json'],
  help: 'How to print it; default yaml, for kubectl apply -f -.',
} as const satisfies Flag;

/** Several documents of YAML, or one List in JSON: kubectl takes both. */
export function manifests(objects: readonly object[], output: string | undefined): string {
  if (output === 'json') return json({ apiVersion: 'v1', kind: 'List', items: objects });
  // Without anchors and folded lines: they are legal, and hard to read.
  return objects.map((object) => `---\n${stringify(object, { aliasDuplicateObjects: false, lineWidth: 0 })}`).join('');
}
