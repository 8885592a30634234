import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse, EvaluateRule, RuleInput, RuleOutcome } from '@capstan/kube';
import { createRuleEvaluator, systemClock } from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { longestTurn } from '../event-loop.test-support.ts';
import { testServer } from '../server.test-support.ts';
import { evaluateInSteps } from './stepped-rules.ts';

test('each rule is evaluated once, with one budget for all of them, and the outcomes are those of one walk', () => {
  let clock = 0;
  const evaluated: unknown[] = [];
  const evaluate: EvaluateRule = ({ self, budget }) => {
    clock += 6;
    evaluated.push(self);
    if (budget) budget.remaining -= 10;
    return self === 3 ? { error: `budget ${budget?.remaining}` } : { holds: true };
  };
  const walk = (evaluator: EvaluateRule): RuleOutcome[] => {
    const budget = { remaining: 100 };
    return [1, 2, 3, 4, 5].map((self) => evaluator({ self, budget } as unknown as RuleInput));
  };
  const steps = evaluateInSteps(walk, evaluate, () => clock);
  let pauses = 0;
  let next = steps.next();
  for (; next.done !== true; next = steps.next()) pauses += 1;
  assert.equal(pauses, 2);
  assert.deepEqual(walk(next.value), [
    { holds: true },
    { holds: true },
    { error: 'budget 70' },
    { holds: true },
    { holds: true },
  ]);
  assert.deepEqual(evaluated, [1, 2, 3, 4, 5]);
});

test('thousands of rules that do not hold do not occupy the event loop', async () => {
  const { server, ok } = testServer({ clock: systemClock, evaluateRule: createRuleEvaluator() });
  const count = 1_000;
  const field = {
    type: 'string',
    maxLength: 30,
    'x-kubernetes-validations': [1, 2, 3, 4, 5].map((size) => ({
      rule: `self.startsWith('a') && self.size() < ${size} || self.matches('^[a-z]{1,20}$')`,
    })),
  };
  const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, field]));
  const spec = { type: 'object', properties };
  const openAPIV3Schema = { type: 'object', properties: { spec } };
  await ok('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'rules.example.dev' },
    spec: {
      group: 'example.dev',
      scope: 'Namespaced',
      names: { plural: 'rules', singular: 'rule', kind: 'Rule', listKind: 'RuleList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  });
  const path = '/apis/example.dev/v1/namespaces/default/rules';
  const write = async (method: 'POST' | 'PUT', at: string, value: string, resourceVersion?: string) => {
    const values = Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, value]));
    const metadata = { name: 'a', ...(resourceVersion !== undefined && { resourceVersion }) };
    const body = { apiVersion: 'example.dev/v1', kind: 'Rule', metadata, spec: values };
    return (await server.handle({ method, path: at, body }, { user: ADMIN, isPaced: true })) as ApiResponse;
  };
  // The first evaluation compiles the rules.
  const { status, body } = await write('POST', path, 'a');
  assert.equal(status, 201);
  const { resourceVersion } = (body as { metadata: { resourceVersion: string } }).metadata;
  const longest = await longestTurn(async () => {
    const refused = await write('PUT', `${path}/a`, 'b'.repeat(25), resourceVersion);
    assert.equal(refused.status, 422);
    const { causes } = (refused.body as { details: { causes: { field: string }[] } }).details;
    assert.ok(causes.length >= 1_000, String(causes.length));
  });
  assert.ok(longest < 100, `${Math.round(longest)} ms`);
  await server.close();
});
