// Label selectors, from their text (`app=web,tier in (a,b),!canary`) or from a LabelSelector object, to something that
// matches labels. All terms must hold. A selector is identified by its canonical text: terms sorted, `==` and sets of one
// written as `=` or `!=`; it is a valid selector itself, so it can be sent to a server.
import type { LabelSelector, LabelSelectorRequirement } from '../builtin/index.ts';
import { ValueErrors } from '../errors.ts';
import { parseLabelTerms } from './label-selector-syntax.ts';
import { formatTerm, int64, type LabelTerm, termProblem } from './label-term.ts';

export type { LabelOperator, LabelTerm } from './label-term.ts';

export interface CompiledLabelSelector {
  matches(labels: Readonly<Record<string, string>> | undefined): boolean;
  /** The terms for an index, sorted by key. Empty if everything matches. */
  readonly terms: readonly LabelTerm[];
  readonly canonical: string;
}

/** Reads the text form, as in `kubectl -l`; throws InvalidValueError with kube-apiserver's words. */
export function parseLabelSelector(text: string): CompiledLabelSelector {
  const parsed = parseLabelTerms(text);
  if ('problem' in parsed) throw ValueErrors.LabelSelector(text, parsed.problem);
  return compile(parsed.terms);
}

/** Reads a LabelSelector object. As in Kubernetes, an empty one matches everything and a missing one nothing. */
export function compileLabelSelector(selector: LabelSelector | null | undefined): CompiledLabelSelector {
  if (selector === null || selector === undefined) return noLabels();
  const terms = Object.entries(selector.matchLabels ?? {}).map(([key, value]) => equality(key, value));
  for (const expression of selector.matchExpressions ?? []) terms.push(termOf(expression));
  for (const term of terms) {
    const problem = termProblem(term);
    if (problem !== undefined) throw ValueErrors.LabelSelector(terms.map(formatTerm).join(','), problem);
  }
  return compile(terms);
}

/** The selector of a Service or of a map of labels: all of them must be there with these values. */
export function selectorOfLabels(labels: Readonly<Record<string, string>>): CompiledLabelSelector {
  return compile(Object.entries(labels).map(([key, value]) => equality(key, value)));
}

/** The text form of a LabelSelector object, canonical. */
export function formatLabelSelector(selector: LabelSelector | null | undefined): string {
  return compileLabelSelector(selector).canonical;
}

/** Matches nothing, in a form that every server understands too. */
export function noLabels(): CompiledLabelSelector {
  return compile([
    { key: 'none', operator: 'Exists', values: [] },
    { key: 'none', operator: 'DoesNotExist', values: [] },
  ]);
}

function compile(given: readonly LabelTerm[]): CompiledLabelSelector {
  const byText = new Map(given.map(normalise).map((term) => [formatTerm(term), term]));
  const sorted = [...byText].toSorted(([a, one], [b, other]) => compare(one.key, other.key) || compare(a, b));
  const terms = sorted.map(([, term]) => term);
  const tests = terms.map(testOf);
  return {
    terms,
    canonical: sorted.map(([text]) => text).join(','),
    matches: (labels = NO_LABELS) => tests.every((test) => test(labels)),
  };
}

const NO_LABELS: Readonly<Record<string, string>> = {};

function testOf({ key, operator, values }: LabelTerm): (labels: Readonly<Record<string, string>>) => boolean {
  // Own members only: a label may be called `constructor`.
  const has = (labels: Readonly<Record<string, string>>) => Object.hasOwn(labels, key);
  switch (operator) {
    case 'Exists':
      return has;
    case 'DoesNotExist':
      return (labels) => !has(labels);
    case 'In': {
      const wanted = new Set(values);
      return (labels) => has(labels) && wanted.has(labels[key] ?? '');
    }
    case 'NotIn': {
      const unwanted = new Set(values);
      return (labels) => !has(labels) || !unwanted.has(labels[key] ?? '');
    }
    default: {
      const bound = int64(values[0] ?? '');
      return (labels) => {
        const value = has(labels) ? int64(labels[key] ?? '') : undefined;
        if (value === undefined || bound === undefined) return false;
        return operator === 'Gt' ? value > bound : value < bound;
      };
    }
  }
}

function termOf({ key, operator, values = [] }: LabelSelectorRequirement): LabelTerm {
  switch (operator) {
    case 'In':
    case 'NotIn':
    case 'Exists':
    case 'DoesNotExist':
      return { key, operator, values };
    default:
      throw ValueErrors.LabelSelector(key, `${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

function equality(key: string, value: string): LabelTerm {
  return { key, operator: 'In', values: [value] };
}

function normalise(term: LabelTerm): LabelTerm {
  return term.values.length < 2 ? term : { ...term, values: [...new Set(term.values)].toSorted(compare) };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
