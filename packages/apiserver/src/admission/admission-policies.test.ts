import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { UnknownObject } from '@capstan/kube';
import { CONFIG_MAPS, configMap, DEPLOYMENTS, deployment, testServer } from '../server.test-support.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const BINDINGS = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';

type Server = ReturnType<typeof testServer>;

const rules = (group: string, ...resources: string[]) => ({
  resourceRules: [{ apiGroups: [group], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources }],
});

async function given(test: Server, spec: object, binding: object = {}): Promise<void> {
  await test.ok('POST', POLICIES, { metadata: { name: 'p' }, spec });
  await test.ok('POST', BINDINGS, {
    metadata: { name: 'b' },
    spec: { policyName: 'p', validationActions: ['Deny'], ...binding },
  });
}

describe('validating admission policies', () => {
  it('refuse a write that does not fulfil an expression, with the message and the reason of the policy', async () => {
    const test = testServer();
    await given(test, {
      matchConstraints: rules('apps', 'deployments'),
      variables: [
        { name: 'replicas', expression: 'object.spec.replicas' },
        { name: 'limit', expression: 'variables.replicas > 3 ? 5 : 3' },
      ],
      validations: [
        {
          expression: 'variables.replicas <= variables.limit',
          messageExpression: "'at most ' + string(variables.limit) + ' replicas'",
        },
        { expression: "object.metadata.name != 'forbidden'", reason: 'Forbidden', message: 'not this name' },
      ],
    });
    await test.ok('POST', DEPLOYMENTS, deployment('good'));
    const many = await test.refused('POST', DEPLOYMENTS, withReplicas('many', 6));
    assert.equal(many.code, 422);
    assert.equal(many.reason, 'Invalid');
    assert.equal(
      many.message,
      "deployments.apps \"many\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: at most 5 replicas",
    );
    const named = await test.refused('POST', DEPLOYMENTS, deployment('forbidden'));
    assert.equal(named.code, 403);
    assert.match(named.message ?? '', /denied request: not this name$/);
    // An update is judged too, and a policy that is deleted judges no more.
    await test.refused('PATCH', `${DEPLOYMENTS}/good`, { spec: { replicas: 9 } }, MERGE);
    await test.ok('DELETE', `${POLICIES}/p`);
    await test.ok('PATCH', `${DEPLOYMENTS}/good`, { spec: { replicas: 9 } }, MERGE);
  });

  it('judge only what rules, selectors, conditions and the binding choose', async () => {
    const test = testServer();
    const never = [{ expression: 'false' }];
    await given(
      test,
      {
        matchConstraints: {
          ...rules('', 'configmaps'),
          objectSelector: { matchLabels: { judged: 'yes' } },
          excludeResourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['*'],
              operations: ['*'],
              resources: ['configmaps'],
              resourceNames: ['spared'],
            },
          ],
        },
        matchConditions: [{ name: 'not-system', expression: "!request.userInfo.username.startsWith('system:')" }],
        validations: never,
      },
      { matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } } },
    );
    const judged = (name: string): UnknownObject => ({
      ...configMap(name),
      metadata: { ...configMap(name).metadata, labels: { judged: 'yes' } },
    });
    await test.ok('POST', CONFIG_MAPS, configMap('without-label'));
    await test.ok('POST', CONFIG_MAPS, judged('spared'));
    const { message } = await test.refused('POST', CONFIG_MAPS, judged('a'));
    assert.match(message ?? '', /denied request: failed expression: false$/);
    await test.ok('POST', '/api/v1/namespaces', { metadata: { name: 'other' } });
    await test.ok('POST', '/api/v1/namespaces/other/configmaps', {
      ...judged('a'),
      metadata: { name: 'a', labels: { judged: 'yes' } },
    });
  });

  it('warn instead of refusing where the binding says so', async () => {
    const test = testServer();
    await given(
      test,
      {
        matchConstraints: rules('', 'configmaps'),
        validations: [{ expression: "has(object.data) && 'a' in object.data" }],
      },
      { validationActions: ['Warn', 'Audit'] },
    );
    const { headers } = await test.send('POST', CONFIG_MAPS, { metadata: { name: 'empty' } });
    assert.match(
      headers['warning'] ?? '',
      /Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed/,
    );
  });

  it('take parameters from objects of any kind, by name or by labels', async () => {
    const test = testServer();
    const params = (name: string, limit: string) => ({
      metadata: { name, labels: { limits: 'yes' } },
      data: { limit },
    });
    await test.ok('POST', CONFIG_MAPS, params('low', '2'));
    await test.ok('POST', CONFIG_MAPS, params('high', '4'));
    await given(
      test,
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConstraints: rules('apps', 'deployments'),
        validations: [{ expression: 'params == null || object.spec.replicas <= int(params.data.limit)' }],
      },
      { paramRef: { name: 'low', parameterNotFoundAction: 'Deny' } },
    );
    await test.refused('POST', DEPLOYMENTS, withReplicas('three', 3));
    const bind = (paramRef: object) => test.ok('PATCH', `${BINDINGS}/b`, { spec: { paramRef } }, MERGE);
    await bind({ name: 'high' });
    await test.ok('POST', DEPLOYMENTS, withReplicas('three', 3));
    await bind({ name: null, selector: { matchLabels: { limits: 'yes' } } });
    await test.refused('POST', DEPLOYMENTS, withReplicas('four', 3));
    await bind({ name: 'absent', selector: null });
    const { message } = await test.refused('POST', DEPLOYMENTS, withReplicas('four', 3));
    assert.match(message ?? '', /failed to configure binding: no params found for policy binding with `Deny`/);
    await bind({ parameterNotFoundAction: 'Allow' });
    await test.ok('POST', DEPLOYMENTS, withReplicas('four', 3));
  });

  it('an expression that fails refuses, or not, as the failurePolicy says', async () => {
    const test = testServer();
    const validations = [{ expression: "object.data['missing'] == 'x'" }];
    await given(test, { matchConstraints: rules('', 'configmaps'), validations });
    const { message } = await test.refused('POST', CONFIG_MAPS, configMap('a'));
    assert.match(
      message ?? '',
      /denied request: expression 'object\.data\['missing'\] == 'x'' resulted in error: no such key/,
    );
    await test.ok('PATCH', `${POLICIES}/p`, { spec: { failurePolicy: 'Ignore' } }, MERGE);
    await test.ok('POST', CONFIG_MAPS, configMap('a'));
  });

  it('are refused when their expressions do not compile, and report the generation that is in force', async () => {
    const test = testServer();
    const spec = (change: object) => ({
      metadata: { name: 'p' },
      spec: { matchConstraints: rules('', 'configmaps'), validations: [{ expression: 'true' }], ...change },
    });
    const cases: [change: object, message: RegExp][] = [
      [
        { validations: [{ expression: 'object.' }] },
        /spec\.validations\[0\]\.expression: Invalid value: .*Syntax error/s,
      ],
      [{ validations: [{ expression: '1 + 1' }] }, /must evaluate to bool/],
      [{ validations: [{ expression: 'variables.none' }] }, /undefined field 'none'/],
      [{ validations: [{ expression: 'params.x' }] }, /undeclared reference to 'params'/],
      [{ validations: [] }, /spec\.validations: Required value: validations or auditAnnotations must contain/],
      [{ matchConstraints: undefined }, /spec\.matchConstraints: Required value/],
      [
        { variables: [{ name: '1a', expression: 'true' }] },
        /spec\.variables\[0\]\.name: .*must be a valid CEL identifier/,
      ],
    ];
    for (const [change, message] of cases) {
      const refusal = await test.refused('POST', POLICIES, spec(change));
      assert.equal(refusal.code, 422);
      assert.match(refusal.message ?? '', message);
    }
    await test.ok('POST', POLICIES, spec({}));
    await test.server.idle();
    const { status } = (await test.ok('GET', `${POLICIES}/p`)) as unknown as { status: object };
    assert.deepEqual(status, { observedGeneration: 1, typeChecking: {} });
    const both = { policyName: 'p', validationActions: ['Deny', 'Warn'] };
    const binding = await test.refused('POST', BINDINGS, { metadata: { name: 'b' }, spec: both });
    assert.match(binding.message ?? '', /must not contain both Deny and Warn/);
  });
});

const MERGE = { contentType: 'application/merge-patch+json' };

function withReplicas(name: string, replicas: number): UnknownObject {
  const object = deployment(name) as UnknownObject & { spec: object };
  return { ...object, spec: { ...object.spec, replicas } };
}
