// Random edits of a SesameDeployment: each is previewed, made and compared.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertForetold,
  createRandom,
  podsBecomeReady,
  type RandomEdit,
  runs,
  type SeededRandom,
} from '@capstan/testing';
import { SesameDeployment } from '../../src/index.ts';
import { at, deployment, staged } from './fixtures.ts';

const EDITS = runs(15, 150, 'FORETOLD_EDITS');
const SEED = Number(process.env['FORETOLD_SEED'] ?? 1);

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

test(`${EDITS} random edits of a SesameDeployment do what their previews show`, async () => {
  const random = createRandom(SEED);
  const next = (): RandomEdit =>
    random.chance(0.1)
      ? { kind: SesameDeployment, gone: at('edge') }
      : { kind: SesameDeployment, object: deployment(randomSpec(random)) };
  await staged([deployment()], async (stage) => {
    await stage.settle();
    while (await podsBecomeReady(stage)) await stage.settle();
    const { writes } = await assertForetold({ stage, edits: EDITS, next });
    assert.ok(writes > EDITS, 'the edits do something');
  });
});
