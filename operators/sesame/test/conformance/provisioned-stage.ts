// The whole product: `capstan up` with the operator, which gives each Gateway a Sesame and an Envoy of its own as pods.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, createClient } from '@capstan/kube';
import { createClass, installGatewayApi, type Stage, type StageOptions } from './stage.ts';

const main = resolve(import.meta.dirname, '../../../../apps/capstan/src/main.ts');

export async function provisionedStage({ folder, logs, peer }: StageOptions): Promise<Stage> {
  const kubeconfig = join(folder, 'kubeconfig');
  const args = ['up', '-o', 'json', '--data', folder, '--listen', '127.0.0.1:0'];
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', main, ...args, '--kubeconfig-out', kubeconfig, '--operators', 'sesame'],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  child.stderr.pipe(createWriteStream(logs === undefined ? '/dev/null' : join(logs, 'capstan.log')));
  const ended = once(child, 'exit');
  await isReady(child.stdout);
  const client = createClient({ transport: await connect({ env: {}, kubeconfig, homeDir: '/' }) });
  await installGatewayApi(client, peer);
  await createClass(client, {
    replicas: 1,
    envoy: { workloadType: 'Deployment', deployment: { replicas: 1 } },
  });
  return {
    kubeconfig,
    client,
    refused: () => [],
    async end() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function isReady(output: NodeJS.ReadableStream): Promise<void> {
  for await (const line of createInterface({ input: output })) {
    if (line.includes('"event":"ready"')) {
      output.resume();
      return;
    }
  }
  throw new Error('capstan up ended before it was ready; see capstan.log');
}
