import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  ClusterRole,
  ConfigMap,
  Deployment,
  defineKind,
  type KubeObject,
  object,
  Secret,
  type ValidatingAdmissionPolicy,
} from '@capstan/kube';
import { operator } from '../operator.ts';
import { plan } from '../plan/index.ts';
import { type PodPower, reconciler, type WriteDeclaration, writing } from '../reconciler.ts';
import { writePolicies } from './write-policies.ts';

const Site = defineKind({
  group: 'test.dev',
  version: 'v1',
  kind: 'Site',
  scope: 'Namespaced',
  spec: object({}),
  status: object({}),
});

const operatorOf = (name: string, ...writes: WriteDeclaration[]) =>
  operator({
    name,
    kinds: [Site],
    reconcilers: [reconciler({ name: 'site', resource: ConfigMap, writes, reconcile: () => plan() })],
  });
const specOf = (policies: readonly KubeObject[], name: string) =>
  (policies as readonly ValidatingAdmissionPolicy[]).find(
    ({ kind, metadata }) => kind === 'ValidatingAdmissionPolicy' && metadata.name === name,
  )?.spec;
const expressionsOf = (policies: readonly KubeObject[], name: string) =>
  (specOf(policies, name)?.validations ?? []).map(({ expression }) => expression);

describe('the policy of an account', () => {
  test('is about the account of the operator and no other', () => {
    const policies = writePolicies([operatorOf('sites', writing(Secret, 'mint'))], { namespace: 'home' });
    assert.deepEqual(specOf(policies, 'capstan-sites-secrets')?.matchConditions, [
      { name: 'account', expression: "request.userInfo.username == 'system:serviceaccount:home:capstan-sites'" },
    ]);
    assert.equal(policies.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding').length, 1);
  });

  test('allows the Secrets of the reconcilers that declare them, and of original programs', () => {
    const policies = writePolicies([operatorOf('sites', writing(Secret, 'mint'))], { namespace: 'home' });
    const [creates = '', changes = ''] = expressionsOf(policies, 'capstan-sites-secrets');
    for (const expression of [creates, changes]) assert.match(expression, /'\^\(sites-site\)-\[0-9a-f\]\{20\}\$'/);
    assert.match(changes, /ownerReferences\.exists\(one, one\.apiVersion\.split\('\/'\)\[0\] in \['test\.dev'\]\)/);
  });

  test('allows everything in namespaces that the declaration names, and nothing elsewhere', () => {
    const policies = writePolicies([operatorOf('sites', writing(Secret, 'mint', { namespaces: ['certs'] }))], {
      namespace: 'home',
    });
    const [creates = '', changes = ''] = expressionsOf(policies, 'capstan-sites-secrets');
    assert.match(changes, /request\.namespace in \['certs'\] \|\| false \|\| false$/);
    assert.match(creates, /object\.metadata\.name in \['capstan-sites-digest-key'\]/);
    assert.doesNotMatch(creates, /sites-site/);
  });

  test('leaves changes of Secrets of others to an operator that declares them', () => {
    const policies = writePolicies([operatorOf('sites', writing(Secret, 'patch'))], { namespace: 'home' });
    assert.equal(expressionsOf(policies, 'capstan-sites-secrets').length, 2);
  });

  test('the policy of several operators in one program allows the Secrets of each', () => {
    const policies = writePolicies(
      [operatorOf('sites', writing(Secret, 'mint')), operatorOf('other', writing(Secret, 'apply'))],
      { namespace: 'home', account: 'capstan-operators' },
    );
    assert.match(expressionsOf(policies, 'capstan-operators-secrets')[0] ?? '', /\^\(other-site\|sites-site\)-/);
  });

  test('allows pods under declared accounts alone, unless another operator of the program leaves them to its users', () => {
    const sites = operatorOf('sites', writing(Deployment, 'apply', { podAccounts: '^site-' }));
    const [, , accounts = ''] = expressionsOf(writePolicies([sites], { namespace: 'home' }), 'capstan-sites-pods');
    assert.match(accounts, /variables\.account\.matches\('\(\^site-\)'\)/);
    const free = operatorOf('free', writing(Deployment, 'apply'));
    const together = writePolicies([sites, free], { namespace: 'home', account: 'capstan-operators' });
    const messages = (specOf(together, 'capstan-operators-pods')?.validations ?? []).map(({ message }) => message);
    assert.equal(messages.filter((message) => message?.includes('accounts')).length, 0);
  });

  test('allows the powers over a node that a declaration lists, and no others', () => {
    const refusedBy = (...podPowers: PodPower[]) => {
      const sites = operatorOf('sites', writing(Deployment, 'apply', { podAccounts: '^site-', podPowers }));
      const { validations = [] } = specOf(writePolicies([sites], { namespace: 'home' }), 'capstan-sites-pods') ?? {};
      return validations.slice(3).map(({ message }) => message?.replace('this account runs no pods ', ''));
    };
    const [privileges, folders, ports] = refusedBy();
    assert.match(privileges ?? '', /^with privileges/);
    assert.equal(folders, 'with folders of their node');
    assert.equal(ports, 'with ports of their node');
    assert.deepEqual(refusedBy('privileges', 'hostPorts'), [folders]);
  });

  test('allows updates of workloads that the operator takes over by name, and no deletion of them', () => {
    const sites = operatorOf('sites', writing(Deployment, 'apply', { podAccounts: '^web$', adopts: ['web'] }));
    const [creates = '', changes = ''] = expressionsOf(
      writePolicies([sites], { namespace: 'home' }),
      'capstan-sites-pods',
    );
    assert.doesNotMatch(creates, /'web'/);
    assert.match(changes, /\|\| \(request\.operation == 'UPDATE' && request\.name in \['web'\]\)$/);
  });

  test('allows accounts that a resource of the namespace names, and the default account', () => {
    const mark = { label: 'made-by', value: 'sites' };
    const account = { kind: Site, field: ['spec', 'account'], label: 'site', mark };
    const sites = operatorOf('sites', writing(Deployment, 'apply', { podAccounts: account }));
    const policies = writePolicies([sites], { namespace: 'home' });
    const named = specOf(policies, 'capstan-sites-pods-named');
    assert.deepEqual(named?.matchConstraints?.objectSelector, { matchLabels: { 'made-by': 'sites' } });
    assert.deepEqual(named?.paramKind, { apiVersion: 'test.dev/v1', kind: 'Site' });
    assert.match(
      named?.validations?.[0]?.expression ?? '',
      /has\(params\.spec\.account\) && params\.spec\.account == /,
    );
    const binding = policies.findLast(({ metadata }) => metadata.name === 'capstan-sites-pods-named');
    assert.deepEqual((binding as unknown as { spec: { paramRef: unknown } }).spec.paramRef, {
      selector: {},
      parameterNotFoundAction: 'Deny',
    });
  });

  test('keeps an account from the use of rights that it holds to grant them', () => {
    const bound = { role: 'most' };
    const policies = writePolicies(
      [
        operatorOf(
          'sites',
          writing(ClusterRole, 'apply', { bound }),
          writing(Secret, 'mint', { namespaces: ['certs'] }),
        ),
      ],
      {
        namespace: 'home',
      },
    );
    const [expression = ''] = expressionsOf(policies, 'capstan-sites-grants');
    assert.match(expression, /'rbac\.authorization\.k8s\.io\/clusterroles'/);
    assert.match(expression, /'certs \/secrets'/);
    assert.doesNotMatch(expression, /'\/secrets'/);
    assert.deepEqual(
      writePolicies([operatorOf('sites')], { namespace: 'home' }).map(({ metadata }) => metadata.name),
      ['capstan-sites-secrets', 'capstan-sites-secrets'],
    );
  });
});
