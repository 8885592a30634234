// Random edits of a SesameDeployment: each is previewed, made and compared.
// On the embedded server only: minutes pass at once there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertForetold,
  createRandom,
  foretoldRuns,
  type RandomEdit,
  type SeededRandom,
  toRest,
} from '@capstan/testing';
import { SesameDeployment } from '../../src/index.ts';
import { at, deployment, staged } from './fixtures.ts';

function randomSpec(random: SeededRandom): object {
  const some = (fields: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(fields).filter(() => random.chance(0.4)));
  return some({
    replicas: random.integer(1, 3),
    nodePlacement: { nodeSelector: { role: random.pick(['control', 'edge']) } },
    envoy: some({ logLevel: random.pick(['debug', 'info']) }),
    sesame: some({ disabledFeatures: ['tlsroutes'] }),
    configuration: some({
      health: { port: random.integer(8100, 8102) },
      envoy: some({
        http: { port: random.integer(9080, 9082) },
        timeouts: { requestTimeout: random.pick(['8s', '9s']) },
        managed: { networkPublishing: { type: random.pick(['NodePortService', 'LoadBalancerService']) } },
      }),
    }),
  });
}

for (const { seed, edits } of foretoldRuns(10))
  test(`${edits} random edits of a SesameDeployment do what their previews show (seed ${seed})`, async () => {
    const random = createRandom(seed);
    const next = (): RandomEdit =>
      random.chance(0.1)
        ? { kind: SesameDeployment, gone: at('edge') }
        : { kind: SesameDeployment, object: deployment(randomSpec(random)) };
    await staged([deployment()], async (stage) => {
      await stage.settle();
      await toRest(stage);
      const { writes } = await assertForetold({ stage, edits, next });
      assert.ok(writes > edits, 'the edits do something');
    });
  });
