import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import { ruleLines } from '@capstan/testing';
import { defaultConfiguration } from '../../src/configuration/index.ts';
import { GRANTED_AT_CLUSTER, GRANTED_IN_NAMESPACES } from '../../src/deployment/rbac.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createServeOperator } from '../../src/program/serve.ts';

/** Returns the rules that the program declares: for its routes, and for the object that it serves by. */
function declared() {
  const routes = dataPathComponents(
    { notify() {} },
    { ...defaultConfiguration(), gateway: { controllerName: 'a' } },
    () => {},
  );
  const unused = (): never => assert.fail('nothing runs');
  const serve = createServeOperator({
    choice: { namespace: 'a', name: 'sesame', flags: new Map(), watchNamespaces: undefined, invalidPolicy: 'stop' },
    pod: 'a',
    client: unused,
    dataPath: { start: unused },
    view: unused,
    clock: systemClock,
    registry: { expose: unused },
    signal: new AbortController().signal,
    setLogLevel: unused,
    setKubernetesLogLevel: unused,
    useElection: unused,
    onLockProblem: unused,
    errorMode: 'wait',
    changeMode: 'apply',
    exit: unused,
  });
  return { routes: rulesOf(routes.operator), own: rulesOf(serve.operator) };
}

suite('the rights of a Sesame', () => {
  test('are cluster-wide those that its routes declare', () => {
    const { routes } = declared();
    assert.deepEqual(ruleLines(GRANTED_AT_CLUSTER), ruleLines(routes.cluster));
  });

  test('are in namespaces those that its routes and its configuration declare, and those of its Leases', () => {
    const { routes, own } = declared();
    // The lock is created and renewed, the record of an instance is applied: both by the program itself.
    const leases = [
      {
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        verbs: ['create', 'get', 'patch', 'update', 'watch'],
      },
    ];
    const wanted = [...routes.everywhere, ...routes.own, ...own.everywhere, ...own.own, ...leases];
    assert.deepEqual(ruleLines(GRANTED_IN_NAMESPACES), ruleLines(wanted));
  });
});
