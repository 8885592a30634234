// Counts that an autoscaler sets, and rollouts where there is one node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Client, DaemonSet, Deployment, type Kind } from '@capstan/kube';
import { SesameDeployment } from '../../src/index.ts';
import { at, deployment, rollOut, staged } from './fixtures.ts';

const AUTOSCALED = { envoy: { workloadType: 'Deployment' } };
const NAMES = ['sesame-edge', 'envoy-edge'];

/** As an autoscaler writes it. */
async function scale(client: Client, kind: Kind, name: string, replicas: number): Promise<void> {
  await client.patch(kind, at(name), 'merge', { spec: { replicas } }, { subresource: 'scale', fieldManager: 'hpa' });
}

async function counts(client: Client) {
  return Promise.all(NAMES.map(async (name) => (await client.get(Deployment, at(name))).spec?.replicas));
}

test('counts that autoscalers set stay through an unrelated edit and a restart', () =>
  staged([deployment(AUTOSCALED)], async (stage) => {
    await stage.settle();
    assert.deepEqual(await counts(stage.client), [2, 2]);
    for (const name of NAMES) await scale(stage.client, Deployment, name, name === 'sesame-edge' ? 5 : 7);
    await stage.settle();
    assert.deepEqual(await counts(stage.client), [5, 7]);
    const unrelated = { envoy: { logLevel: 'debug' }, sesame: { logLevel: 'debug' } };
    await stage.client.patch(SesameDeployment, at('edge'), 'merge', { spec: unrelated });
    await stage.settle();
    assert.deepEqual(await counts(stage.client), [5, 7]);
    await stage.restart();
    await stage.settle();
    assert.deepEqual(await counts(stage.client), [5, 7]);
  }));

test('counts that the user gives win over those that are set on the Deployments', () =>
  staged(
    [deployment({ replicas: 3, envoy: { workloadType: 'Deployment', deployment: { replicas: 4 } } })],
    async (stage) => {
      await stage.settle();
      for (const name of NAMES) await scale(stage.client, Deployment, name, 9);
      await stage.settle();
      assert.deepEqual(await counts(stage.client), [3, 4]);
    },
  ));

test('a SesameDeployment is scaled through its own subresource', () =>
  staged([deployment({ replicas: 2 })], async (stage) => {
    await stage.settle();
    await scale(stage.client, SesameDeployment, 'edge', 4);
    await stage.settle();
    const sesame = await stage.client.get(Deployment, at('sesame-edge'));
    assert.equal(sesame.spec?.replicas, 4);
    await rollOut(stage);
    const { status } = await stage.client.get(SesameDeployment, at('edge'));
    assert.deepEqual([status?.replicas, status?.selector], [4, 'app=sesame-edge']);
  }));

test('a new Envoy is ready before the old one of its node ends', () =>
  staged([deployment()], async (stage) => {
    await stage.settle();
    const { spec } = await stage.client.get(DaemonSet, at('envoy-edge'));
    assert.deepEqual(spec?.updateStrategy?.rollingUpdate, { maxSurge: '10%', maxUnavailable: 0 });
  }));
