// The known differences that docs/embedded-differences.md lists, and the values that are random on a real server, where Go's maps have no
// order. Every other difference is an error.

import type { Answer, DiffRequest } from './sequence.ts';

interface Known {
  /** A line of the document, or where chance comes in. */
  readonly why: string;
  hide(text: string): string;
}

const KNOWN: readonly Known[] = [
  { why: 'chance: which undeclared fields are reported', hide: withoutChance },
  {
    why: 'chance: where an undeclared field is looked for first',
    hide: (text) => text.replaceAll(/: [^ ]+: field not declared in schema/g, ': <path>: field not declared in schema'),
  },
  {
    why: 'the text of a document in a message about a patch',
    hide: (text) =>
      text
        .replaceAll(/patch: Invalid value: "\{.*\}": /gs, 'patch: Invalid value: <document>: ')
        .replaceAll(/^Invalid value: "\{\\".*\}": /gs, 'Invalid value: <document>: '),
  },
  {
    why: 'what is wrong with a body in YAML',
    hide: (text) => text.replaceAll(/(\byaml: line )\d+: .*?(?= \([0-9a-f]+ \.\.\.\)|$)/g, '$1<problem>'),
  },
  {
    why: 'an update of a pod that may not change',
    hide: (text) => text.replaceAll(/(previously negative\))\n@@ .*$/gs, '$1'),
  },
  {
    why: 'empty lists in the text of a definition in a message',
    hide: (text) => text.replaceAll(/("[A-Z]\w+"):\[\]/g, '$1:null'),
  },
];

/** A definition over which the real server panics, and closes the connection; here it is refused. */
export function isPanic(request: DiffRequest, real: Answer | undefined, embedded: Answer | undefined): boolean {
  const text = JSON.stringify(request.body) ?? '';
  const isDefinition = request.path.includes('/customresourcedefinitions');
  return real?.status === 0 && embedded?.status === 422 && isDefinition && /"selectableFields":\[\{/.test(text);
}

/** A refusal for which the real server answers with 500, as for an error of its own; here it is 400, with the same message. */
export function isBlamedOnServer(real: Answer | undefined, embedded: Answer | undefined): boolean {
  if (real?.status !== 500 || embedded?.status !== 400) return false;
  return messageOf(real).replace(/^Internal error occurred: /, '') === messageOf(embedded);
}

const messageOf = ({ body }: Answer) => (body as { message?: string } | undefined)?.message ?? '';

/** Removes the known differences from the text. */
export function withoutKnown(text: string): string {
  return KNOWN.reduce((rest, { hide }) => hide(rest), text);
}

/** It is random whether the text after an undeclared field is checked too. */
function withoutChance(text: string): string {
  const [head, lines] = text.split(': errors:\n  ');
  if (lines === undefined) return text;
  const all = lines.split('\n  ').toSorted();
  return `${head}: ${all.find((line) => line.endsWith('field not declared in schema')) ?? all.join('; ')}`;
}

/** Descriptions of columns in a Table: sentences of Kubernetes there, our own here. */
export function withoutDescription<T extends object>(column: T): T {
  return { ...column, description: '<description>' };
}
