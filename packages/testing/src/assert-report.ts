import assert from 'node:assert/strict';
import { objectValidator, prune, type Schema } from '@capstan/kube';

/** Fails unless a report that a command printed has the documented schema, and no field more. */
export function assertReport({ json }: Schema, report: unknown, name = 'report'): void {
  // The validator is for objects: a list is checked as the field of one.
  const [schema, value] = [{ type: 'object', properties: { report: json } } as const, { report }];
  assert.deepEqual(objectValidator(schema)(value), [], name);
  const documented = prune(schema, structuredClone(value)).value;
  assert.deepEqual(documented, value, `${name} has fields that are not documented`);
}
