import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Client, ConfigMap, createClient, Event, Secret, silentLogger, systemClock } from '@capstan/kube';
import { createTestCluster } from '../cluster.ts';
import { createRandom } from '../random.ts';
import { canariesOf } from './canaries.ts';
import { createSecretsAudit, type SecretsAudit } from './secrets-audit.ts';

const VALUE = 'hunter2-hunter2';
const ref = { namespace: 'default', name: 'one' };
const secret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: ref,
  stringData: { password: VALUE, username: 'administrator' },
};
const map = (text: string, annotations = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...ref, annotations },
  data: { text },
});

/** Acts as the program on a cluster with a Secret of the user, and returns the report of the audit. */
async function audited(act: (program: Client, audit: SecretsAudit) => Promise<unknown>): Promise<string> {
  const random = createRandom(1);
  const cluster = await createTestCluster({ clock: systemClock, random, operators: [] });
  try {
    await cluster.client.create(Secret, secret);
    const audit = createSecretsAudit();
    const transport = audit.over(cluster.transport());
    await act(createClient({ transport, clock: systemClock, random, logger: silentLogger }), audit);
    try {
      audit.check();
      return 'nothing';
    } catch (error) {
      return (error as Error).message;
    }
  } finally {
    await cluster.close();
  }
}

describe('the audit of Secrets on a stage', () => {
  for (const [how, read] of [
    ['asked for', (program: Client) => program.get(Secret, ref)],
    ['listed', (program: Client) => program.list(Secret, { namespace: 'default' })],
    [
      'created',
      (program: Client) => program.create(Secret, { ...secret, metadata: { namespace: 'default', name: 'two' } }),
    ],
  ] as const)
    test(`finds the value of a Secret that the program ${how === 'created' ? 'created' : `has ${how}`} in another object`, async () => {
      const found = await audited(async (program) => {
        await read(program);
        await program.create(ConfigMap, map(`the password is ${VALUE}`));
      });
      assert.match(
        found,
        /password of Secret default\/(?:one|two) is in POST \/api\/v1\/namespaces\/default\/configmaps/,
      );
      assert.doesNotMatch(found, /hunter/);
    });

  for (const [where, text] of [
    ['as it stands', VALUE],
    ['in base64', Buffer.from(VALUE).toString('base64')],
  ])
    test(`finds a value ${where} in an annotation, an Event and a log line`, async () => {
      const found = await audited(async (program, audit) => {
        await program.get(Secret, ref);
        await program.create(ConfigMap, map('', { checksum: text }));
        await program.create(Event, {
          apiVersion: Event.apiVersion,
          kind: Event.kind,
          metadata: ref,
          eventTime: '2026-01-01T00:00:00.000000Z',
          reportingController: 'test',
          reportingInstance: 'test',
          reason: 'Test',
          action: 'Test',
          type: 'Normal',
          note: text,
          regarding: { kind: 'Secret', ...ref },
        });
        const logger = audit.logging(silentLogger).with({ operator: 'test' });
        logger.debug('login failed', { error: new Error('no', { cause: new Error(`401 for ${text}`) }) });
      });
      assert.match(found, /configmaps, .*events, .*a log line/);
    });

  test('takes names of Secrets, public values and values that were not read for no leak', async () => {
    const found = await audited(async (program) => {
      await program.create(ConfigMap, map(VALUE));
      await program.get(Secret, ref);
      await program.apply(ConfigMap, map('administrator of Secret one'), { fieldManager: 'test', force: true });
    });
    assert.equal(found, 'nothing');
  });
});

test('of a kubeconfig and of a key, only the secret parts count', () => {
  const kubeconfig = 'clusters:\n- server: https://10.0.0.1:6443\nusers:\n- user:\n    token: abcdefgh.ijkl\n';
  assert.deepEqual(canariesOf('kubeconfig', kubeconfig), ['abcdefgh.ijkl']);
  const lines = ['A'.repeat(64), 'B'.repeat(20)];
  const key = `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`;
  assert.deepEqual(canariesOf('tls.key', key), lines);
  assert.deepEqual(canariesOf('tls.crt', key), []);
  assert.deepEqual(canariesOf('password', 'short'), []);
});
