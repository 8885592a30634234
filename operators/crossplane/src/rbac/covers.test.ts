import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '@capstan/kube';
import { refusedParts } from './covers.ts';

const rule = (groups: string[], resources: string[], verbs: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  apiGroups: groups,
  resources,
  verbs,
  ...more,
});

const cases: [string, PolicyRule[], PolicyRule, string[]][] = [
  ['nothing allowed', [], rule([''], ['pods'], ['get']), ['get pods']],
  ['the same', [rule([''], ['pods'], ['get'])], rule([''], ['pods'], ['get']), []],
  ['everything', [rule(['*'], ['*'], ['*'])], rule(['apps'], ['deployments/status'], ['delete']), []],
  [
    'one verb too many',
    [rule(['apps'], ['*'], ['get'])],
    rule(['apps'], ['deployments'], ['get', 'delete']),
    ['delete deployments.apps'],
  ],
  ['another group', [rule([''], ['*'], ['*'])], rule(['apps'], ['deployments'], ['get']), ['get deployments.apps']],
  [
    'from two rules',
    [rule([''], ['pods'], ['get']), rule([''], ['pods'], ['list'])],
    rule([''], ['pods'], ['get', 'list']),
    [],
  ],
  ['a subresource by star', [rule([''], ['*/status'], ['get'])], rule([''], ['pods/status'], ['get']), []],
  ['a star is more than its parts', [rule([''], ['pods'], ['get'])], rule([''], ['*'], ['get']), ['get *']],
  [
    'names that are allowed',
    [rule([''], ['secrets'], ['get'], { resourceNames: ['a'] })],
    rule([''], ['secrets'], ['get'], { resourceNames: ['a'] }),
    [],
  ],
  [
    'all names where one is allowed',
    [rule([''], ['secrets'], ['get'], { resourceNames: ['a'] })],
    rule([''], ['secrets'], ['get']),
    ['get secrets'],
  ],
  [
    'another name',
    [rule([''], ['secrets'], ['get'], { resourceNames: ['a'] })],
    rule([''], ['secrets'], ['get'], { resourceNames: ['b'] }),
    ['get secrets b'],
  ],
  [
    'a URL below',
    [{ nonResourceURLs: ['/metrics/*'], verbs: ['get'] }],
    { nonResourceURLs: ['/metrics/x'], verbs: ['get'] },
    [],
  ],
  [
    'another URL',
    [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    { nonResourceURLs: ['/healthz'], verbs: ['get'] },
    ['get /healthz'],
  ],
];
for (const [name, allowed, request, refused] of cases)
  test(`a permission request: ${name}`, () => assert.deepEqual(refusedParts(allowed, request), refused));
