// Compares the rights that the generated roles of the operators grant with those that their tests used. `npm test` collects the
// used ones from every stage (packages/testing/src/rights) and fails on a right that no test of its operator used: it is either
// not needed, or not tested.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operator } from '@capstan/reconcile';
import { describeRight, rightsOf } from '@capstan/testing';

/** Rights that no test on a stage can use, with the reason. A right that is used all the same must not be listed. */
export const EXCEPTIONS: ReadonlyMap<string, string> = new Map([
  [
    'crossplane cluster: create namespaces',
    'the namespace comes with the Roles in it; it is created by the operator only where a user runs it without an installation',
  ],
  ['crossplane cluster: get namespaces', 'asked for before the creation above'],
]);

/** Lines about rights that were not used, and about exceptions that are no longer needed. */
export function rightsProblems(
  operators: readonly Operator[],
  used: ReadonlySet<string>,
  exceptions: ReadonlyMap<string, string> = EXCEPTIONS,
): readonly string[] {
  return operators.flatMap((operator) => {
    const granted = rightsOf(operator, { namespace: 'default' }).map(describeRight);
    const unused = granted.filter((right) => !used.has(right) && !exceptions.has(right));
    const excused = [...exceptions.keys()].filter((right) => right.startsWith(`${operator.name} `));
    return [
      ...unused.map((right) => `${right} is granted, and no test used it; narrow the declaration, or add a test`),
      ...excused
        .filter((right) => used.has(right) || !granted.includes(right))
        .map((right) => `${right} is an exception in scripts/rights.ts that is not needed; remove it`),
    ];
  });
}

/** The rights that the stages of a run recorded in a folder. */
export function usedRights(folder: string): ReadonlySet<string> {
  return new Set(readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n')));
}
