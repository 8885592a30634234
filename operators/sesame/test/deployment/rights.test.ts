import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type PolicyRule, systemClock } from '@capstan/kube';
import { rulesOf } from '@capstan/reconcile';
import { ruleLines } from '@capstan/testing';
import { defaultConfiguration, type EffectiveConfiguration } from '../../src/configuration/index.ts';
import {
  clusterRole,
  GRANTED_AT_CLUSTER,
  GRANTED_IN_NAMESPACES,
  ownRole,
  watchedRoles,
} from '../../src/deployment/rbac.ts';
import { type ContourLease, DEFAULT_CONTOUR_LEASE } from '../../src/kinds/contour.ts';
import type { SesameDeploymentSpec } from '../../src/kinds/index.ts';
import { dataPathComponents } from '../../src/program/data-path.ts';
import { createServeOperator } from '../../src/program/serve.ts';
import { DEFAULT_SETTINGS } from '../../src/settings.ts';

/** Returns the rules that the program declares: for its routes, and for the object that it serves by. */
function declared(gateway: EffectiveConfiguration['gateway'], contour: ContourLease | undefined) {
  const routes = dataPathComponents({ notify() {}, contour }, { ...defaultConfiguration(), gateway }, () => {});
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
    const { routes } = declared({ controllerName: 'a' }, DEFAULT_CONTOUR_LEASE);
    assert.deepEqual(ruleLines(GRANTED_AT_CLUSTER), ruleLines(routes.cluster));
  });

  test('are in namespaces those that its routes and its configuration declare, and those of its Leases', () => {
    const { routes, own } = declared({ controllerName: 'a' }, DEFAULT_CONTOUR_LEASE);
    const wanted = [...routes.everywhere, ...routes.own, ...own.everywhere, ...own.own, ...LEASES];
    assert.deepEqual(ruleLines(GRANTED_IN_NAMESPACES), ruleLines(wanted));
  });

  interface Served {
    readonly gateway?: EffectiveConfiguration['gateway'];
    readonly sesame?: SesameDeploymentSpec['sesame'];
    readonly contour?: ContourLease;
  }
  const configurations: Readonly<Record<string, Served>> = {
    'without a Gateway': {},
    'with a Gateway that has no name': { gateway: { gatewayRef: { namespace: 'a' } } },
    'with an empty controller': { gateway: { controllerName: '' } },
    'with the Gateways of a controller': { gateway: { controllerName: 'a' } },
    'with one Gateway': { gateway: { gatewayRef: { namespace: 'a', name: 'b' } } },
    'with one Gateway and a controller': {
      gateway: { controllerName: 'a', gatewayRef: { namespace: 'a', name: 'b' } },
    },
    'with the objects of Contour': { sesame: { contourCompat: true }, contour: DEFAULT_CONTOUR_LEASE },
    'with the objects of a Contour of another name': {
      sesame: { contourCompat: true, contourLease: 'edge/contour' },
      contour: { namespace: 'edge', name: 'contour' },
    },
  };
  for (const [title, { gateway = {}, sesame = {}, contour }] of Object.entries(configurations))
    test(`are exactly those that it declares ${title}`, () => {
      const { routes, own } = declared(gateway, contour);
      const instanceOf = (spec: SesameDeploymentSpec) => ({
        name: 'edge',
        namespace: 'ingress',
        spec,
        configuration: { ...defaultConfiguration(), gateway },
        settings: DEFAULT_SETTINGS,
      });
      const everywhere = instanceOf({ sesame });
      const inNamespaces = [...routes.everywhere, ...routes.own, ...own.everywhere, ...own.own, ...LEASES];
      assert.deepEqual(
        ruleLines([...(clusterRole(everywhere).rules ?? []), ...(ownRole(everywhere).rules ?? [])]),
        ruleLines([...routes.cluster, ...inNamespaces]),
      );
      const narrow = instanceOf({ sesame: { ...sesame, watchNamespaces: ['team'] } });
      assert.deepEqual(ruleLines(clusterRole(narrow).rules ?? []), ruleLines(routes.cluster));
      const [watched] = watchedRoles(narrow).roles;
      assert.deepEqual(
        ruleLines([...(watched?.rules ?? []), ...(ownRole(narrow).rules ?? [])]),
        ruleLines(inNamespaces),
      );
    });
});

/** The lock is created and renewed, the record of an instance is applied: both by the program itself. */
const LEASES: readonly PolicyRule[] = [
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create', 'get', 'patch', 'update', 'watch'] },
];
