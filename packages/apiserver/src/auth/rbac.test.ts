import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiRequest, ApiResponse, UnknownObject } from '@capstan/kube';
import { loadBuiltins } from '../builtin/builtin.ts';
import { ADMIN, type UserInfo } from '../core.ts';
import type { Status } from '../errors.ts';
import {
  CONFIG_MAPS,
  configMap,
  DEPLOYMENTS,
  deployment,
  type TestServer,
  testServer,
} from '../server.test-support.ts';

import { missingRules, rulesOf } from './policy-rule.ts';
import { serviceAccountUser } from './rbac.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const alice: UserInfo = { name: 'alice', groups: ['team', 'system:authenticated'] };

function rbacServer() {
  const test = testServer({ authorization: 'RBAC' });
  const as =
    (user: UserInfo) =>
    (
      method: ApiRequest['method'],
      path: string,
      body?: unknown,
      query?: Record<string, string>,
      contentType?: string,
    ): Promise<ApiResponse> =>
      test.server.transport({ user }).request({
        method,
        path,
        ...(body !== undefined && { body }),
        ...(query && { query }),
        ...(contentType !== undefined && { contentType }),
      });
  return { ...test, as };
}

const rule = (apiGroups: string[], resources: string[], verbs: string[], resourceNames?: string[]) => ({
  apiGroups,
  resources,
  verbs,
  ...(resourceNames && { resourceNames }),
});

const role = (name: string, ...rules: object[]) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: { name },
  rules,
});

const clusterRole = (name: string, ...rules: object[]) => ({ ...role(name, ...rules), kind: 'ClusterRole' });

const binding = (name: string, kind: string, of: string, subject: object) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: of },
  subjects: [subject],
});

const clusterBinding = (name: string, of: string, subject: object) => ({
  ...binding(name, 'ClusterRole', of, subject),
  kind: 'ClusterRoleBinding',
});

const user = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name });
const group = (name: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name });

async function grant(test: TestServer, to: object, ...rules: object[]): Promise<void> {
  await test.ok('POST', `${RBAC}/namespaces/default/roles`, role('granted', ...rules));
  await test.ok('POST', `${RBAC}/namespaces/default/rolebindings`, binding('granted', 'Role', 'granted', to));
}

const message = (answer: ApiResponse) => (answer.body as Status).message;

describe('RBAC', () => {
  it('refuses in the words of Kubernetes', async () => {
    const { as } = rbacServer();
    const cases: [Promise<ApiResponse>, string][] = [
      [
        as(alice)('GET', DEPLOYMENTS),
        'deployments.apps is forbidden: User "alice" cannot list resource "deployments" in API group "apps" in the namespace "default"',
      ],
      [
        as(alice)('GET', '/api/v1/nodes/one'),
        'nodes "one" is forbidden: User "alice" cannot get resource "nodes" in API group "" at the cluster scope',
      ],
      [
        as(alice)('PATCH', `${DEPLOYMENTS}/x/scale`, {}),
        'deployments.apps "x" is forbidden: User "alice" cannot patch resource "deployments/scale" in API group "apps" in the namespace "default"',
      ],
      [
        as(alice)('DELETE', CONFIG_MAPS),
        'configmaps is forbidden: User "alice" cannot deletecollection resource "configmaps" in API group "" in the namespace "default"',
      ],
      [as(alice)('GET', '/metrics'), 'forbidden: User "alice" cannot get path "/metrics"'],
    ];
    for (const [answer, expected] of cases) {
      const { status, body } = await answer;
      assert.equal(status, 403);
      assert.equal((body as Status).reason, 'Forbidden');
      assert.equal((body as Status).message, expected);
    }
  });

  it('lets everybody discover, and members of system:masters do everything', async () => {
    const { as, ok } = rbacServer();
    for (const path of ['/api', '/apis', '/apis/apps/v1', '/openapi/v3', '/version', '/healthz']) {
      assert.equal((await as(alice)('GET', path)).status, 200, path);
    }
    const anonymous = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    assert.equal((await as(anonymous)('GET', '/version')).status, 200);
    assert.equal((await as(anonymous)('GET', '/api')).status, 403);
    await ok('POST', CONFIG_MAPS, configMap('a'));
  });

  it('grants by user, by group and by service account, in one namespace or everywhere', async () => {
    const test = rbacServer();
    await grant(test, group('team'), rule([''], ['configmaps'], ['get', 'list']));
    assert.equal((await test.as(alice)('GET', CONFIG_MAPS)).status, 200);
    assert.equal((await test.as(alice)('GET', '/api/v1/configmaps')).status, 403);
    assert.equal((await test.as(alice)('GET', CONFIG_MAPS, undefined, { watch: 'true' })).status, 403);
    const account = serviceAccountUser('default', 'robot');
    const subject = { kind: 'ServiceAccount', name: 'robot', namespace: 'default' };
    await test.ok('POST', `${RBAC}/clusterrolebindings`, clusterBinding('robots', 'view', subject));
    await test.server.idle();
    assert.equal((await test.as(account)('GET', '/api/v1/configmaps')).status, 200);
    assert.equal((await test.as(account)('GET', '/api/v1/secrets')).status, 403);
    await test.ok('DELETE', `${RBAC}/clusterrolebindings/robots`);
    assert.equal((await test.as(account)('GET', '/api/v1/configmaps')).status, 403);
  });

  it('knows names, subresources and wildcards', async () => {
    const test = rbacServer();
    await grant(
      test,
      user('alice'),
      rule([''], ['configmaps'], ['get', 'list', 'watch'], ['a']),
      rule(['apps'], ['*/scale'], ['get']),
      rule(['*'], ['services'], ['*']),
    );
    await test.ok('POST', CONFIG_MAPS, configMap('a'));
    await test.ok('POST', DEPLOYMENTS, deployment('d'));
    const get = test.as(alice);
    assert.equal((await get('GET', `${CONFIG_MAPS}/a`)).status, 200);
    assert.equal((await get('GET', `${CONFIG_MAPS}/b`)).status, 403);
    assert.equal((await get('GET', CONFIG_MAPS)).status, 403);
    assert.equal((await get('GET', CONFIG_MAPS, undefined, { fieldSelector: 'metadata.name=a' })).status, 200);
    assert.equal((await get('GET', `${DEPLOYMENTS}/d/scale`)).status, 200);
    assert.equal((await get('GET', `${DEPLOYMENTS}/d`)).status, 403);
    assert.equal((await get('DELETE', '/api/v1/namespaces/default/services')).status, 200);
    assert.equal((await get('GET', '/api/v1/namespaces/default/services/x/status')).status, 403);
  });

  it('names a binding whose role is missing', async () => {
    const test = rbacServer();
    await test.ok(
      'POST',
      `${RBAC}/namespaces/default/rolebindings`,
      binding('b', 'ClusterRole', 'gone', user('alice')),
    );
    assert.match(
      message(await test.as(alice)('GET', CONFIG_MAPS)) ?? '',
      /in the namespace "default": RBAC: clusterrole\.rbac\.authorization\.k8s\.io "gone" not found$/,
    );
  });

  it('aggregates roles by label, through several steps, and follows changes', async () => {
    const test = rbacServer();
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    const extra = clusterRole('widgets', rule(['example.com'], ['widgets'], ['get']));
    await test.ok('POST', `${RBAC}/clusterroles`, { ...extra, metadata: { name: 'widgets', labels } });
    await test.server.idle();
    const has = async (name: string) => {
      const { rules } = (await test.ok('GET', `${RBAC}/clusterroles/${name}`)) as UnknownObject & { rules: object[] };
      return JSON.stringify(rules).includes('example.com');
    };
    for (const name of ['view', 'edit', 'admin']) assert.equal(await has(name), true, name);
    await test.ok('DELETE', `${RBAC}/clusterroles/widgets`);
    await test.server.idle();
    for (const name of ['view', 'edit', 'admin']) assert.equal(await has(name), false, name);
  });
});

it('two who apply the same new object at once both succeed, though the first needs validating admission', async () => {
  const { as } = rbacServer();
  const admin = as({ name: 'admin', groups: ['system:masters'] });
  const path = '/api/v1/namespaces/shared';
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } };
  const contentType = 'application/apply-patch+yaml';
  const answers = await Promise.all(
    ['one', 'two'].map((fieldManager) => admin('PATCH', path, body, { fieldManager }, contentType)),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 201]));
});

it('an apply that creates needs the right to create beside the right to patch', async () => {
  const test = rbacServer();
  const path = `${CONFIG_MAPS}/one`;
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one' } };
  const apply = () => test.as(alice)('PATCH', path, body, { fieldManager: 'alice' }, 'application/apply-patch+yaml');
  await grant(test, user('alice'), rule([''], ['configmaps'], ['patch']));
  const refused = await apply();
  assert.equal(refused.status, 403);
  assert.equal(
    message(refused),
    'configmaps "one" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "default"',
  );
  await test.as(ADMIN)('POST', CONFIG_MAPS, body);
  assert.equal((await apply()).status, 200);
});

describe('users cannot grant what they do not hold', () => {
  const manager = [rule(['rbac.authorization.k8s.io'], ['*'], ['create', 'update', 'get', 'patch'])];

  it('neither in a role', async () => {
    const test = rbacServer();
    await grant(test, user('alice'), ...manager, rule([''], ['configmaps'], ['get']));
    const path = `${RBAC}/namespaces/default/roles`;
    const fine = await test.as(alice)('POST', path, role('fine', rule([''], ['configmaps'], ['get'])));
    assert.equal(fine.status, 201);
    const greedy = role('greedy', rule([''], ['secrets', 'configmaps'], ['get', 'list']));
    const refused = await test.as(alice)('POST', path, greedy);
    assert.equal(refused.status, 403);
    assert.equal(
      message(refused),
      'roles.rbac.authorization.k8s.io "greedy" is forbidden: user "alice" (groups=["team" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["configmaps"], Verbs:["list"]}\n' +
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
    );
    const wider = await test.as(alice)('PUT', `${path}/fine`, role('fine', rule(['*'], ['*'], ['*'])));
    assert.equal(wider.status, 403);
  });

  it('nor by a binding', async () => {
    const test = rbacServer();
    await grant(test, user('alice'), ...manager);
    const path = `${RBAC}/namespaces/default/rolebindings`;
    const refused = await test.as(alice)('POST', path, binding('b', 'ClusterRole', 'cluster-admin', user('alice')));
    assert.equal(refused.status, 403);
    assert.match(message(refused) ?? '', /^rolebindings\.rbac\.authorization\.k8s\.io "b" is forbidden: user "alice" /);
    assert.match(message(refused) ?? '', /\n\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}/);
    const missing = await test.as(alice)('POST', path, binding('b', 'Role', 'nothing', user('alice')));
    assert.equal(missing.status, 404);
  });

  it('unless he may escalate or bind', async () => {
    const test = rbacServer();
    await grant(
      test,
      user('alice'),
      ...manager,
      rule(['rbac.authorization.k8s.io'], ['roles'], ['escalate']),
      rule(['rbac.authorization.k8s.io'], ['clusterroles'], ['bind'], ['view']),
    );
    const made = await test.as(alice)(
      'POST',
      `${RBAC}/namespaces/default/roles`,
      role('any', rule(['*'], ['*'], ['*'])),
    );
    assert.equal(made.status, 201);
    const path = `${RBAC}/namespaces/default/rolebindings`;
    assert.equal((await test.as(alice)('POST', path, binding('v', 'ClusterRole', 'view', user('bob')))).status, 201);
    assert.equal((await test.as(alice)('POST', path, binding('e', 'ClusterRole', 'edit', user('bob')))).status, 403);
  });
});

describe('access reviews', () => {
  const review = (kind: string, spec: object) => ({ apiVersion: 'authorization.k8s.io/v1', kind, spec });
  const status = (answer: ApiResponse) => (answer.body as { status: Record<string, unknown> }).status;

  it('answer for oneself and for others, with the reason', async () => {
    const test = rbacServer();
    await grant(test, user('alice'), rule([''], ['configmaps'], ['get']));
    const attributes = { namespace: 'default', verb: 'get', resource: 'configmaps' };
    const self = await test.as(alice)(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      review('SelfSubjectAccessReview', { resourceAttributes: attributes }),
    );
    assert.equal(self.status, 201);
    assert.deepEqual(status(self), {
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "granted/default" of Role "granted" to User "alice"',
    });
    const other = await test.ok(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      review('SubjectAccessReview', { user: 'bob', resourceAttributes: attributes }),
    );
    assert.deepEqual(other['status'], { allowed: false });
    const elsewhere = await test.refused(
      'POST',
      '/apis/authorization.k8s.io/v1/namespaces/kube-system/localsubjectaccessreviews',
      review('LocalSubjectAccessReview', { user: 'bob', resourceAttributes: attributes }),
    );
    assert.equal(elsewhere.code, 422);
    const both = await test.refused(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      review('SubjectAccessReview', { user: 'bob' }),
    );
    assert.match(both.message ?? '', /exactly one of nonResourceAttributes or resourceAttributes must be specified/);
  });

  it('list the rules of a user', async () => {
    const test = rbacServer();
    await grant(test, user('alice'), rule([''], ['configmaps'], ['get']));
    const answer = await test.as(alice)(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      review('SelfSubjectRulesReview', { namespace: 'default' }),
    );
    const { resourceRules, nonResourceRules, incomplete } = status(answer) as {
      resourceRules: object[];
      nonResourceRules: object[];
      incomplete: boolean;
    };
    assert.ok(resourceRules.some((one) => JSON.stringify(one).includes('"configmaps"')));
    assert.ok(nonResourceRules.some((one) => JSON.stringify(one).includes('/healthz')));
    assert.equal(incomplete, false);
  });

  it('are created and nothing else', async () => {
    const test = rbacServer();
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    assert.equal((await test.refused('GET', path)).code, 405);
    assert.equal((await test.refused('POST', path, { kind: 'Pod' })).code, 400);
    const { resources } = (await test.ok('GET', '/apis/authorization.k8s.io/v1')) as UnknownObject & {
      resources: { name: string }[];
    };
    assert.ok(resources.some(({ name }) => name === 'selfsubjectaccessreviews'));
  });
});

describe('the roles that every cluster has', () => {
  /** Written by controllers, or by who may give rights away. */
  const NOT_EDITED = new Set([
    'bindings',
    'controllerrevisions',
    'endpoints',
    'endpointslices',
    'limitranges',
    'podtemplates',
    'resourcequotas',
    'rolebindings',
    'roles',
  ]);

  it('let an editor write every namespaced kind that people write, and a viewer read it', async () => {
    const { ok, server } = testServer({ authorization: 'RBAC' });
    await server.idle();
    const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const [edit, view] = [rulesOf(await ok('GET', `${path}/edit`)), rulesOf(await ok('GET', `${path}/view`))];
    const written = loadBuiltins().resources.filter(
      ({ namespaced, verbs, plural }) => namespaced && verbs.includes('update') && !NOT_EDITED.has(plural),
    );
    assert.ok(written.some(({ plural }) => plural === 'jobs'));
    for (const { group, plural } of written) {
      const wanted = (verb: string) => [{ apiGroups: [group], resources: [plural], verbs: [verb] }];
      assert.deepEqual(missingRules(edit, wanted('create')), [], plural);
      if (plural !== 'secrets' && plural !== 'leases') assert.deepEqual(missingRules(view, wanted('list')), [], plural);
    }
    assert.deepEqual(missingRules(edit, [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['create', 'get'] }]), []);
  });
});
