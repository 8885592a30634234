import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMap, defineKind, object, Secret, string } from '@capstan/kube';
import { apply, operator, plan, reconciler } from '@capstan/reconcile';
import { watchedAccount } from './account.ts';
import { createStage } from './stage.ts';
import { chosenServer } from './stage-server.ts';

const Note = defineKind({
  group: 'stage.capstan.dev',
  version: 'v1',
  kind: 'Note',
  scope: 'Namespaced',
  spec: object({ text: string() }),
});
const notes = reconciler({
  name: 'note',
  resource: Note,
  reads: [],
  writes: [ConfigMap],
  reconcile: ({ object: { metadata, spec } }) =>
    plan({
      children: [
        apply(ConfigMap, {
          metadata: { name: metadata.name ?? '', namespace: metadata.namespace ?? '' },
          data: { text: spec.text },
        }),
      ],
    }),
});
const operators = [operator({ name: 'notes', kinds: [Note], reconcilers: [notes] })];
const ref = { namespace: 'default', name: 'n' };
const note = { apiVersion: Note.apiVersion, kind: Note.kind, metadata: ref, spec: { text: 'one' } };

test('a stage settles on what the program writes under its own role, and the next one begins empty', async () => {
  for (const text of ['one', 'two']) {
    const stage = await createStage({ operators });
    assert.equal(await stage.client.find(ConfigMap, ref), undefined);
    await stage.client.create(Note, { ...note, spec: { text } });
    await stage.settle();
    assert.equal((await stage.client.get(ConfigMap, ref)).data?.['text'], text);
    await stage.end();
  }
});

for (const propagationPolicy of ['Background', 'Foreground'] as const)
  test(`the dependents of a deleted object are gone once the server has collected them (${propagationPolicy})`, async () => {
    const stage = await createStage({ operators });
    await stage.client.create(Note, note);
    await stage.settle();
    await stage.client.delete(Note, ref, { propagationPolicy });
    await stage.collected();
    assert.equal(await stage.client.find(Note, ref), undefined);
    assert.equal(await stage.client.find(ConfigMap, ref), undefined);
    await stage.end();
  });

test('a request that the role does not cover fails the test that made it', async () => {
  const stage = await createStage({ operators });
  const { transport, check } = watchedAccount(stage.transport);
  check();
  const answer = await transport.request({ method: 'GET', path: `/api/v1/namespaces/default/${Secret.plural}` });
  assert.equal(answer.status, 403);
  assert.throws(check, /denied .*GET \/api\/v1\/namespaces\/default\/secrets; declare it/);
  await assert.rejects(stage.end(), /denied/);
});

test('the server is chosen by the environment, and by nothing that it does not know', () => {
  assert.equal(chosenServer({}), 'embedded');
  assert.equal(chosenServer({ CAPSTAN_TEST_SERVER: 'real' }), 'real');
  assert.throws(() => chosenServer({ CAPSTAN_TEST_SERVER: 'mine' }), /CAPSTAN_TEST_SERVER=mine.*embedded, real/);
});
