// Cluster selectors in every form that the design shows, brought to a LabelSelector: a LabelSelector itself, a plain map of
// labels, and in both `!value` for "any other value, or none".
import {
  type CompiledLabelSelector,
  compileLabelSelector,
  type FieldError,
  invalidField,
  invalidFieldWithoutValue,
  isJsonObject,
  type JsonObject,
  type LabelSelector,
  parseLabelSelector,
  reasonOf,
} from '@capstan/kube';
import { CLUSTER_ID_LABEL, ORIGIN_LABEL } from '../kinds/index.ts';

export interface ClusterSelector {
  /** Canonical: two spellings of the same selector are equal. */
  readonly selector: LabelSelector;
  readonly compiled: CompiledLabelSelector;
}

export const ANY_CLUSTER: ClusterSelector = { selector: {}, compiled: compileLabelSelector({}) };

/** Reads a selector. Errors are added to `problems`, and the result is then of no use. */
export function readSelector(given: unknown, path: string, problems: FieldError[]): ClusterSelector {
  if (given === undefined || given === null) return ANY_CLUSTER;
  if (!isJsonObject(given)) {
    problems.push(invalidField(path, given, 'must be a map of labels or a LabelSelector'));
    return ANY_CLUSTER;
  }
  const formal = Object.keys(given).filter((key) => key === 'matchLabels' || key === 'matchExpressions');
  if (formal.length === 0) return fromTerms(termsOfLabels(given, path, problems), path, problems);
  if (formal.length < Object.keys(given).length) {
    problems.push(invalidFieldWithoutValue(path, 'cannot combine matchLabels/matchExpressions with plain labels'));
    return ANY_CLUSTER;
  }
  const labels = given['matchLabels'] ?? {};
  const expressions = given['matchExpressions'] ?? [];
  if (!isJsonObject(labels)) problems.push(invalidField(`${path}.matchLabels`, labels, 'must be a map of labels'));
  if (!Array.isArray(expressions))
    problems.push(invalidField(`${path}.matchExpressions`, expressions, 'must be a list'));
  const terms = isJsonObject(labels) ? termsOfLabels(labels, `${path}.matchLabels`, problems) : [];
  for (const [index, each] of (Array.isArray(expressions) ? expressions : []).entries())
    terms.push(...termOfExpression(each, `${path}.matchExpressions[${index}]`, problems));
  return fromTerms(terms, path, problems);
}

/** Reads the text form of commands: `env=production,tier!=dev`, `env in (a,b)`, and the design's `env: !production`. */
export function parseSelectorText(text: string): LabelSelector {
  const plain = text
    // env: !production, env:!production, env=!production
    .replaceAll(/([A-Za-z0-9_./-]+)\s*(?:==?|:)\s*!\s*([A-Za-z0-9_.-]+)/g, '$1!=$2')
    .replaceAll(/([A-Za-z0-9_./-]+)\s*:\s*([A-Za-z0-9_.-]*)/g, '$1=$2');
  return canonical(parseLabelSelector(plain));
}

/** For people: `*` selects any cluster. */
export function formatSelector({ compiled }: ClusterSelector): string {
  return compiled.canonical === '' ? '*' : compiled.canonical;
}

interface Expression {
  key: string;
  operator: string;
  values: string[];
}

function termsOfLabels(labels: JsonObject, path: string, problems: FieldError[]): Expression[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    if (typeof value !== 'string') {
      const tag = 'without quotes a value such as !production is a YAML tag on an empty value';
      const detail =
        value === null
          ? `must be a string; ${tag}: quote it, as in ${key}: "!production"`
          : 'must be a string; quote it';
      problems.push(invalidField(`${path}[${key}]`, value, detail));
      return [];
    }
    const negated = value.startsWith('!');
    return [{ key, operator: negated ? 'NotIn' : 'In', values: [negated ? value.slice(1).trim() : value] }];
  });
}

function termOfExpression(given: unknown, path: string, problems: FieldError[]): Expression[] {
  const { key, operator, values = [] } = isJsonObject(given) ? given : {};
  if (typeof key !== 'string' || typeof operator !== 'string' || !isTextList(values)) {
    problems.push(invalidFieldWithoutValue(path, 'must have a key, an operator and a list of values'));
    return [];
  }
  return [{ key, operator, values: [...values] }];
}

function fromTerms(terms: readonly Expression[], path: string, problems: FieldError[]): ClusterSelector {
  const matchExpressions = terms.map((term) => ({
    ...term,
    // Only copies carry the origin label: both ends must see the same, so it stands for the id of the cluster.
    key: term.key === ORIGIN_LABEL ? CLUSTER_ID_LABEL : term.key,
  }));
  let compiled: CompiledLabelSelector;
  try {
    compiled = compileLabelSelector({ matchExpressions });
  } catch (error) {
    problems.push(invalidFieldWithoutValue(path, reasonOf(error)));
    return ANY_CLUSTER;
  }
  if (isContradiction(compiled)) problems.push(invalidFieldWithoutValue(path, 'selector can never match'));
  return { selector: canonical(compiled), compiled };
}

/** No labels can satisfy all terms of one key. */
function isContradiction({ terms }: CompiledLabelSelector): boolean {
  return Map.groupBy(terms, ({ key }) => key)
    .values()
    .some((ofKey) => {
      const positive = ofKey.filter(({ operator }) => operator === 'In');
      const isNeeded = positive.length > 0 || ofKey.some(({ operator }) => operator === 'Exists');
      if (isNeeded && ofKey.some(({ operator }) => operator === 'DoesNotExist')) return true;
      const excluded = new Set(ofKey.filter(({ operator }) => operator === 'NotIn').flatMap(({ values }) => values));
      const [first, ...others] = positive;
      if (first === undefined) return false;
      return !first.values.some(
        (value) => !excluded.has(value) && others.every(({ values }) => values.includes(value)),
      );
    });
}

/** Equalities as matchLabels, the rest as matchExpressions, both in the order of keys. */
function canonical({ terms }: CompiledLabelSelector): LabelSelector {
  const matchLabels: Record<string, string> = {};
  const matchExpressions: { key: string; operator: string; values?: string[] }[] = [];
  for (const { key, operator, values } of terms) {
    const [only] = values;
    if (operator === 'In' && values.length === 1 && only !== undefined && !Object.hasOwn(matchLabels, key))
      matchLabels[key] = only;
    else matchExpressions.push({ key, operator, ...(values.length > 0 && { values: [...values] }) });
  }
  return {
    ...(Object.keys(matchLabels).length > 0 && { matchLabels }),
    ...(matchExpressions.length > 0 && { matchExpressions }),
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
