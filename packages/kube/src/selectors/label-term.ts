import { validateLabelValue, validateQualifiedName } from '../names.ts';

export type LabelOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';

/** One condition on one label; equality is In with one value. NotIn also holds where the label is missing. */
export interface LabelTerm {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, without duplicates; one integer for Gt and Lt; empty for Exists and DoesNotExist. */
  readonly values: readonly string[];
}

/** Returns the problem of an invalid term, in kube-apiserver's words. */
export function termProblem(term: LabelTerm): string | undefined {
  const problems = validateQualifiedName(term.key).map((problem) => `key: ${invalid(term.key, problem)}`);
  const { operator, values } = term;
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0)
      problems.push("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      problems.push(
        `values: Invalid value: ${JSON.stringify(values)}: values set must be empty for exists and does not exist`,
      );
    }
  } else {
    for (const [index, value] of values.entries()) {
      if (int64(value) !== undefined) continue;
      problems.push(`values[${index}]: ${invalid(value, "for 'Gt', 'Lt' operators, the value must be an integer")}`);
    }
  }
  for (const [index, value] of values.entries()) {
    const wrong = validateLabelValue(value);
    if (wrong.length > 0) problems.push(`values[${index}][${term.key}]: ${invalid(value, wrong.join('; '))}`);
  }
  if (problems.length === 0) return undefined;
  return problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`;
}

/** One term as text. */
export function formatTerm({ key, operator, values }: LabelTerm): string {
  switch (operator) {
    case 'Exists':
      return key;
    case 'DoesNotExist':
      return `!${key}`;
    case 'Gt':
      return `${key}>${values[0]}`;
    case 'Lt':
      return `${key}<${values[0]}`;
    case 'In':
      return values.length === 1 ? `${key}=${values[0]}` : `${key} in (${values.join(',')})`;
    default:
      return values.length === 1 ? `${key}!=${values[0]}` : `${key} notin (${values.join(',')})`;
  }
}

/** As Go reads a 64-bit integer: a sign, digits, nothing else, and within range. */
export function int64(text: string): bigint | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}

function invalid(value: string, problem: string): string {
  return `Invalid value: ${JSON.stringify(value)}: ${problem}`;
}
