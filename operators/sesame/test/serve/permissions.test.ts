// The grants of an instance's Sesame cover the needs of its operators, as the generated rules define them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PolicyRule } from '@capstan/kube';
import { systemClock } from '@capstan/kube';
import { createRegistry, type Operator, rulesOf } from '@capstan/reconcile';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { clusterRole, ownRole } from '../../src/deployment/rbac.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createServeOperator } from '../../src/program/serve.ts';
import { DEFAULT_SETTINGS } from '../../src/settings.ts';

const instance = {
  name: 'edge',
  namespace: 'ingress',
  spec: {},
  configuration: defaultConfiguration(),
  settings: DEFAULT_SETTINGS,
};

const grantsOf = (rules: readonly PolicyRule[]) =>
  new Set(
    rules.flatMap(({ apiGroups = [], resources = [], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}.${group}`)),
      ),
    ),
  );

function needs(operator: Operator): { everywhere: string[]; own: string[] } {
  const { everywhere, cluster, own } = rulesOf(operator);
  // Each runs with a digest key of its own, which is stored nowhere.
  const stored = (need: string) =>
    !/ (secrets|customresourcedefinitions)\./.test(need) || /^(get|list|watch) secrets/.test(need);
  return {
    everywhere: [...grantsOf([...everywhere, ...cluster] as PolicyRule[])].filter(stored),
    own: [...grantsOf(own as PolicyRule[])].filter(stored),
  };
}

test('everything that routes need is in the ClusterRole', () => {
  const { operator } = dataPathComponents({}, defaultConfiguration(), () => {});
  const granted = grantsOf([...(clusterRole(instance).rules ?? [])]);
  const own = grantsOf([...(ownRole(instance).rules ?? [])]);
  const { everywhere } = needs(operator);
  assert.deepEqual(
    everywhere.filter((need) => !granted.has(need) && !own.has(need)),
    [],
  );
});

test('everything that the configuration needs is in the Role of its own namespace', () => {
  const { operator } = createServeOperator({
    choice: {
      namespace: 'ingress',
      name: 'sesame',
      flags: new Map(),
      watchNamespaces: undefined,
      invalidPolicy: 'stop',
    },
    pod: 'pod',
    client: () => assert.fail('nothing is written'),
    dataPath: { start: () => assert.fail('nothing is started') },
    view: () => undefined,
    clock: systemClock,
    registry: createRegistry(),
    signal: new AbortController().signal,
    setLogLevel: () => {},
    setKubernetesLogLevel: () => {},
    useElection: () => {},
    onLockProblem: () => {},
    errorMode: 'wait',
    changeMode: 'apply',
    exit: () => {},
  });
  const granted = grantsOf([...(ownRole(instance).rules ?? []), ...(clusterRole(instance).rules ?? [])]);
  const { everywhere, own } = needs(operator);
  assert.deepEqual(
    [...everywhere, ...own].filter((need) => !granted.has(need)),
    [],
  );
});
