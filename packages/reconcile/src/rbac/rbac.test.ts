import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole as ClusterRoleKind,
  ConfigMap,
  Deployment,
  defineKind,
  Namespace,
  object,
  Role,
  Secret,
  Service,
} from '@capstan/kube';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type Reconciler, type ReconcilerDefinition, reading, reconciler, writing } from '../reconciler.ts';
import { rbacManifests } from './manifests.ts';
import { namespacedPart, namespacedParts } from './namespaced.ts';
import { type PolicyRule, rulesOf } from './rules.ts';

const Site = defineKind({
  group: 'test.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({}),
  status: object({}),
  aliases: [{ group: 'old.dev', kind: 'Page' }],
});
const Fleet = defineKind({
  group: 'test.dev',
  version: 'v1',
  kind: 'Fleet',
  scope: 'Cluster',
  spec: object({}),
  status: object({}),
});

const NODES = [{ apiGroups: [''], resources: ['nodes'], verbs: ['list'], resourceNames: ['one'] }];

const named = (definition: Partial<ReconcilerDefinition<never>>): Reconciler =>
  reconciler({
    name: 'site',
    resource: ConfigMap,
    reconcile: () => plan(),
    ...definition,
  } as ReconcilerDefinition<never>);
const operatorOf = (...reconcilers: Reconciler[]) => operator({ name: 'sites', kinds: [], reconcilers });
/** Rules in one line each: `group/resource,resource: verbs [names]`. */
const lines = (rules: readonly PolicyRule[] = []) =>
  rules.map(
    ({ apiGroups, resources, verbs, resourceNames }) =>
      `${apiGroups.join()}/${resources.join()}: ${verbs.join()}${resourceNames ? ` [${resourceNames.join()}]` : ''}`,
  );
const rulesFor = (definition: Partial<ReconcilerDefinition<never>>) => rulesOf(operatorOf(named(definition)));
const READ = 'list,watch';
const GET = `get,${READ}`;
const EVENTS = 'events.k8s.io/events: create,patch';
const LEASE = [
  'coordination.k8s.io/leases: create',
  'coordination.k8s.io/leases: get,watch,update,patch [capstan-sites]',
];

describe('an operator may', () => {
  for (const [mode, verbs] of [
    ['apply', 'create,patch,delete'],
    ['createOnly', 'create,delete'],
    ['mint', 'create,update,delete'],
    ['share', 'create,patch'],
    ['patch', 'patch'],
    ['remove', 'delete'],
  ] as const)
    test(`do what ${mode} takes, and no more`, () => {
      const { cluster } = rulesFor({ writes: [writing(Namespace, mode)] });
      assert.deepEqual(lines(cluster), [`/namespaces: ${GET},${verbs}`]);
    });

  test('delete no children that stay when they are no longer planned', () => {
    const { cluster } = rulesFor({ writes: [writing(Namespace, ['createOnly', 'patch'], { prunes: false })] });
    assert.deepEqual(lines(cluster), [`/namespaces: ${GET},create,patch`]);
  });

  test('reach no further than the namespaces that it names', () => {
    const within = { namespaces: ['certs'] };
    const { everywhere, named } = rulesFor({
      reads: [reading(Secret, 'referenced', within), reading(Service, 'everywhere', within)],
      writes: [writing(Secret, 'mint', within)],
    });
    assert.deepEqual(lines(everywhere), [`/configmaps: ${GET},patch`, '/configmaps/finalizers: update', EVENTS]);
    assert.deepEqual(lines(named['certs']), [`/secrets: ${GET},create,update,delete`, `/services: ${READ}`]);
  });

  test('read no other names than those that it declares', () => {
    const { everywhere } = rulesFor({
      reads: [reading(Secret, 'referenced', { names: ['b', 'a'] }), reading(Service, 'everywhere', { names: ['c'] })],
    });
    assert.ok(lines(everywhere).includes(`/secrets: ${GET} [a,b]`), lines(everywhere).join('\n'));
    assert.ok(lines(everywhere).includes(`/services: ${READ} [c]`), lines(everywhere).join('\n'));
  });

  test('hold what it grants, and grant nothing beyond that', () => {
    const namespaced = [
      { apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'], verbs: ['get', 'update'] },
    ];
    const { everywhere, cluster } = rulesFor({
      resource: Fleet as never,
      writes: [
        writing(Role, 'apply', { grants: { namespaced } }),
        writing(ClusterRoleKind, 'apply', { grants: { cluster: NODES } }),
      ],
    });
    assert.ok(lines(everywhere).includes('apps/deployments,deployments/scale: get,update'));
    assert.ok(lines(cluster).includes('/nodes: list [one]'));
    assert.doesNotMatch([...lines(everywhere), ...lines(cluster)].join(), /escalate|bind\b/);
  });

  test('hold no objects where it declares that it does not', () => {
    const { everywhere } = rulesFor({ writes: [writing(Service, 'patch')], finalizer: false });
    assert.deepEqual(lines(everywhere), [`/configmaps: ${READ}`, `/services: ${GET},patch`, EVENTS]);
  });

  test('read what it reconciles, and write nothing of it, when it plans no more than a status', () => {
    const { everywhere, cluster, own, system } = rulesFor({});
    assert.deepEqual(lines(everywhere), [`/configmaps: ${READ}`, EVENTS]);
    assert.deepEqual(lines(cluster), []);
    assert.deepEqual(lines(own), []);
    assert.deepEqual(lines(system), LEASE);
  });

  test('patch the status of a kind that has one, under every name that it is written by', () => {
    assert.deepEqual(lines(rulesFor({ resource: Site as never }).everywhere), [
      EVENTS,
      `old.dev/pages: ${GET}`,
      'old.dev/pages/status: patch',
      `test.dev/sites: ${GET}`,
      'test.dev/sites/status: patch',
    ]);
  });

  test('leave the status alone of what it only looks at', () => {
    const { everywhere } = rulesFor({ resource: Site as never, writesStatus: false });
    assert.deepEqual(lines(everywhere), [EVENTS, `old.dev/pages: ${READ}`, `test.dev/sites: ${READ}`]);
  });

  test('read what a reconciler declares to read, aliases included', () => {
    const { everywhere } = rulesFor({ reads: [Service, Site] });
    assert.deepEqual(lines(everywhere), [
      `/configmaps,services: ${READ}`,
      EVENTS,
      `old.dev/pages: ${READ}`,
      `test.dev/sites: ${READ}`,
    ]);
  });

  test('read no further than its own namespace where that is declared', () => {
    const { everywhere, own, cluster } = rulesFor({
      reads: [reading(Service, 'inNamespace'), reading(Fleet, 'inNamespace')],
    });
    assert.deepEqual(lines(everywhere), [`/configmaps: ${READ}`, EVENTS]);
    assert.deepEqual(lines(own), [`/services: ${READ}`]);
    assert.deepEqual(lines(cluster), [`test.dev/fleets: ${READ}`]);
  });

  test('make children, hold their owners, and be named as theirs', () => {
    const { everywhere } = rulesFor({ resource: Site as never, writes: [Deployment] });
    assert.deepEqual(lines(everywhere), [
      `apps/deployments: ${GET},create,patch,delete`,
      EVENTS,
      `old.dev/pages: ${GET},patch`,
      'old.dev/pages/finalizers: update',
      'old.dev/pages/status: patch',
      `test.dev/sites: ${GET},patch`,
      'test.dev/sites/finalizers: update',
      'test.dev/sites/status: patch',
    ]);
  });

  test('patch, share and remove others’ objects, and never replace them', () => {
    const { everywhere } = rulesFor({ writes: [writing(Service, ['share', 'patch', 'remove'])] });
    assert.deepEqual(lines(everywhere), [`/configmaps: ${GET},patch`, `/services: ${GET},create,patch,delete`, EVENTS]);
  });

  test('hold its objects when it has something to release', () => {
    const { everywhere } = rulesFor({ release: () => plan() });
    assert.deepEqual(lines(everywhere), [`/configmaps: ${GET},patch`, EVENTS]);
  });

  test('grant rules that are not known beforehand by a bound role, and never by escalate or bind', () => {
    const most = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'most' } };
    const definition = { writes: [writing(ClusterRoleKind, 'apply', { bound: { role: 'most', roles: [most] } })] };
    const { everywhere, cluster } = rulesFor(definition);
    const all = [...lines(everywhere), ...lines(cluster)].filter((line) => line.includes('roles'));
    assert.deepEqual(all, [`rbac.authorization.k8s.io/clusterroles: ${GET},create,patch,delete`]);
    const manifests = rbacManifests(operatorOf(named(definition)), { namespace: 'edge' });
    assert.deepEqual(
      manifests.filter(({ metadata }) => metadata.name === 'most' || metadata.name === 'capstan-sites:most'),
      [
        most,
        {
          apiVersion: most.apiVersion,
          kind: 'ClusterRoleBinding',
          metadata: { name: 'capstan-sites:most' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'most' },
          subjects: [{ kind: 'ServiceAccount', name: 'capstan-sites', namespace: 'edge' }],
        },
      ],
    );
  });

  test('make and read its digest key exactly if it can see a secret', () => {
    const key = ['/secrets: create', '/secrets: get [capstan-sites-digest-key]'];
    for (const definition of [{ reads: [Secret] }, { writes: [Secret] }, { resource: Secret as never }]) {
      assert.deepEqual(lines(rulesFor(definition).system).slice(0, 2), key);
    }
    assert.deepEqual(lines(rulesFor({ reads: [Service] }).system), LEASE);
  });

  test('an operator has the rights of all its reconcilers, each once', () => {
    const one = named({ name: 'one', reads: [Service] });
    const two = named({ name: 'two', writes: [Service], reads: [Service, Deployment] });
    assert.deepEqual(lines(rulesOf(operatorOf(one, two)).everywhere), [
      `/configmaps: ${GET},patch`,
      '/configmaps/finalizers: update',
      `/services: ${GET},create,patch,delete`,
      `apps/deployments: ${READ}`,
      EVENTS,
    ]);
  });

  test('the same whatever order its declarations come in', () => {
    const [a, b] = [
      [Service, Deployment],
      [Deployment, Service],
    ].map((reads) => rulesFor({ reads }));
    assert.deepEqual(a, b);
  });
});

describe('manifests', () => {
  const SYSTEM = { namespace: 'system', systemNamespace: 'system' };
  const sites = operatorOf(named({ resource: Fleet as never, reads: [Service], writes: [Namespace] }));
  const shape = (manifests: ReturnType<typeof rbacManifests>) =>
    manifests.map(
      ({ kind, metadata }) => `${kind} ${metadata.namespace ? `${metadata.namespace}/` : ''}${metadata.name}`,
    );
  const roleIn = (manifests: ReturnType<typeof rbacManifests>, kind: string, namespace?: string) =>
    lines(
      (
        manifests.find((each) => each.kind === kind && each.metadata.namespace === namespace) as
          | { rules?: PolicyRule[] }
          | undefined
      )?.rules,
    );

  test('grant namespaced kinds everywhere by default', () => {
    const created = rbacManifests(sites, SYSTEM);
    assert.deepEqual(shape(created), [
      'ServiceAccount system/capstan-sites',
      'ClusterRole capstan-sites',
      'ClusterRoleBinding capstan-sites',
      'Role system/capstan-sites',
      'RoleBinding system/capstan-sites',
    ]);
    assert.ok(roleIn(created, 'ClusterRole').includes(`/services: ${READ}`));
    assert.deepEqual(roleIn(created, 'Role', 'system'), LEASE);
  });

  test('grant them by Roles in the watched namespaces alone when those are given', () => {
    const created = rbacManifests(sites, { ...SYSTEM, watchNamespaces: ['a', 'system', 'a'], name: 'x' });
    assert.deepEqual(
      shape(created).filter((line) => line.startsWith('Role ')),
      ['Role system/x', 'Role a/x', 'Role default/x'],
    );
    assert.equal(
      roleIn(created, 'ClusterRole').some((line) => line.startsWith('/services')),
      false,
    );
    assert.deepEqual(roleIn(created, 'Role', 'a'), [`/services: ${READ}`, EVENTS]);
    assert.deepEqual(roleIn(created, 'Role', 'system'), [...LEASE, `/services: ${READ}`, EVENTS]);
  });

  test('grant the Lease in capstan-system, wherever the operator itself runs', () => {
    const created = rbacManifests(sites, { namespace: 'elsewhere' });
    assert.deepEqual(roleIn(created, 'Role', 'capstan-system'), LEASE);
    assert.deepEqual(shape(created).slice(3), [
      'Role capstan-system/capstan-sites',
      'RoleBinding capstan-system/capstan-sites',
    ]);
  });

  test('let events about cluster-scoped objects be written where they live', () => {
    const options = { ...SYSTEM, watchNamespaces: ['a'] };
    assert.deepEqual(roleIn(rbacManifests(sites, options), 'Role', 'default'), [EVENTS]);
    const local = operatorOf(named({}));
    assert.deepEqual(roleIn(rbacManifests(local, options), 'Role', 'default'), []);
  });

  test('need no ClusterRole when nothing is cluster-scoped and namespaces are given', () => {
    const created = rbacManifests(operatorOf(named({})), { ...SYSTEM, watchNamespaces: ['system'] });
    assert.deepEqual(shape(created), [
      'ServiceAccount system/capstan-sites',
      'Role system/capstan-sites',
      'RoleBinding system/capstan-sites',
    ]);
  });

  test('bring the namespaces that declarations name, with Roles in them, unless others are watched', () => {
    const reads = [reading(Secret, 'referenced', { namespaces: ['certs'] })];
    const local = operatorOf(named({ reads }));
    const created = rbacManifests(local, SYSTEM);
    assert.deepEqual(
      shape(created).filter((line) => line.includes('certs')),
      ['Namespace certs', 'Role certs/capstan-sites', 'RoleBinding certs/capstan-sites'],
    );
    assert.deepEqual(roleIn(created, 'Role', 'certs'), [`/secrets: ${GET}`]);
    const restricted = shape(rbacManifests(local, { ...SYSTEM, watchNamespaces: ['a'] }));
    assert.doesNotMatch(restricted.join(), /certs/);
  });

  test('bind each role to the account of the operator', () => {
    for (const created of rbacManifests(sites, { ...SYSTEM, watchNamespaces: ['a'] })) {
      if (!created.kind.endsWith('Binding')) continue;
      const { roleRef, subjects } = created as unknown as {
        roleRef: { name: string; kind: string };
        subjects: unknown[];
      };
      assert.deepEqual(
        [roleRef.name, subjects],
        ['capstan-sites', [{ kind: 'ServiceAccount', name: 'capstan-sites', namespace: 'system' }]],
      );
      assert.equal(created.kind, `${roleRef.kind}Binding`);
    }
  });
});

test('the parts of an operator that work with Roles alone need nothing at the cluster scope but what is optional', () => {
  const [plain, wide, calm] = [
    named({ name: 'plain', reads: [Secret] }),
    named({ name: 'wide', reads: [Namespace] }),
    named({ name: 'calm', reads: [reading(Namespace, 'everywhere', { optional: true })] }),
  ];
  const whole = operatorOf(plain, wide, calm);
  assert.deepEqual(namespacedParts(whole), {
    working: ['plain', 'calm'],
    failing: [{ reconciler: 'wide', needs: ['list,watch namespaces'] }],
  });
  assert.deepEqual(
    namespacedPart(whole).reconcilers.map(({ name }) => name),
    ['plain', 'calm'],
  );
});
