import { type Stage, testKeptCaptures } from '@capstan/testing';
import { DeploymentRuntimeConfig } from '../../src/kinds/index.ts';
import { allReady, example, operatorWith, patch, runtimeConfig, startOfStage, using } from '../fixtures.ts';

/** Certificates are created in the thread pool. */
async function settle(stage: Stage): Promise<void> {
  await stage.settle();
  for (let turn = 0; turn < 2000 && !stage.program.runtime.isIdle; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    await stage.settle();
  }
}

const args = (level: string) => ({
  deploymentTemplate: {
    spec: {
      selector: {},
      template: { spec: { containers: [{ name: 'package-runtime', args: [`--log=${level}`] }] } },
    },
  },
});

testKeptCaptures({
  folder: new URL('.', import.meta.url),
  operators: () => [operatorWith({ registry: example().registry, settings: { now: startOfStage } })],
  captures: {
    'an-edited-runtime': {
      async given(client) {
        for (const [kind, object] of [runtimeConfig('logs', args('info')), using('logs')])
          await client.create(kind, object);
      },
      async act(stage) {
        await settle(stage);
        await allReady(stage);
        await settle(stage);
        await patch(stage, DeploymentRuntimeConfig, 'logs', { spec: args('debug') });
        await settle(stage);
      },
    },
  },
});
