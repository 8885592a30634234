// `capstan rbac --explain`: the far-reaching rights of an operator with their reasons, then every rule that permits more than is declared.
import { type Operator, type WideRule, wideRulesOf } from '@capstan/reconcile';
import { count, table } from '@capstan/reconcile/command-line';
import { type InherentRight, inherentRightsOf } from './inherent-rights.ts';

export interface ExplainedRights {
  readonly name: string;
  readonly inherent: readonly InherentRight[];
  /** The rules that could not be narrowed. */
  readonly wide: readonly WideRule[];
}

export interface ExplainOptions {
  /** The role of the cluster for the operator; undefined: the cluster that it runs in. */
  readonly role: string | undefined;
  readonly watchNamespaces: readonly string[] | undefined;
}

export function explainRights(operator: Operator, { role, watchNamespaces }: ExplainOptions): ExplainedRights {
  const wide = wideRulesOf(operator, role);
  return {
    name: operator.name,
    inherent: role === undefined ? inherentRightsOf(operator, watchNamespaces) : [],
    // In namespaces that the user names the rules are as narrow as they can be.
    wide: watchNamespaces === undefined ? wide : wide.filter(({ reason }) => reason !== 'AnyNamespace'),
  };
}

/** A word for each reason; the legend below the tables has the sentence. */
const WORDS: Readonly<Record<WideRule['reason'], string>> = {
  AnyNamespace: 'namespaces',
  Bounded: 'bound',
  CreatedNames: 'new names',
  FieldsOnly: 'fields',
  GrantedToOthers: 'grants',
  MetadataOnly: 'metadata',
  OwnObjectsOnly: 'owners',
  PatchedFields: 'changes',
  ReferencedNames: 'references',
  SelectedByLabel: 'labels',
};

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', '*'];

export function formatRights(all: readonly ExplainedRights[]): string {
  const reasons = new Map(all.flatMap(({ wide }) => wide.map(({ reason, message }) => [reason, message] as const)));
  const legend = [...reasons]
    .map(([reason, message]) => [WORDS[reason], message] as const)
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
  return [
    ...all.map(formatOne),
    ...(legend.length === 0 ? [] : [`RBAC cannot express less:\n${table(['BECAUSE OF', ''], legend)}`]),
  ].join('\n');
}

function formatOne({ name, inherent, wide }: ExplainedRights): string {
  const rules = rulesOf(wide);
  const rows = rules.map(({ group, resource, place, verbs, reasons }) => [
    group === '' ? resource : `${resource}.${group}`,
    VERBS.filter((verb) => verbs.includes(verb)).join(','),
    place,
    reasons.map((reason) => WORDS[reason]).join(', '),
  ]);
  return [
    ...(inherent.length === 0
      ? []
      : [`${name}: ${count(inherent.length, 'far-reaching right')}\n`, ...inherent.map(inherentLine), '\n']),
    `${name}: ${count(rows.length, 'rule')} could not be narrowed\n`,
    rows.length === 0 ? '' : table(['RESOURCE', 'VERBS', 'WHERE', 'BECAUSE OF'], rows),
  ].join('');
}

const inherentLine = ({ right, reason }: InherentRight) => `  ${right}:\n    ${reason}\n`;

interface Rule extends Pick<WideRule, 'group' | 'resource' | 'place'> {
  verbs: readonly string[];
  reasons: readonly WideRule['reason'][];
}

/** One entry for each resource and place, with all reasons. */
function rulesOf(wide: readonly WideRule[]): readonly Rule[] {
  const found = new Map<string, Rule>();
  for (const { group, resource, place, verbs, reason } of wide) {
    const key = JSON.stringify([group, resource, place]);
    const known = found.get(key) ?? { group, resource, place, verbs: [], reasons: [] };
    found.set(key, {
      ...known,
      verbs: [...new Set([...known.verbs, ...verbs])],
      reasons: [...new Set([...known.reasons, reason])],
    });
  }
  return [...found.values()];
}
