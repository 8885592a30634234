// The whole as a product on its own: `capstan up` with the demonstration. The remote clusters are logical ones beside the first.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createClient, silentLogger, systemClock } from '@capstan/kube';
import { playWhole } from './whole.ts';
import { FLAGS, ROOT } from './world.ts';

playWhole('capstan up with the demonstration of gimbal', false, async (folder) => {
  const stop = await startUp(folder);
  const kubeconfig = join(folder, 'kubeconfig');
  const open = async (context: string) =>
    createClient({ transport: await connect({ kubeconfig, context }), clock: systemClock, logger: silentLogger });
  const [hub, east] = [await open('capstan'), await open('east')];
  return {
    world: {
      hub,
      east,
      kubeconfig,
      eastKubeconfig: readFileSync(join(folder, 'data/demo/gimbal/east.kubeconfig'), 'utf8'),
      towardsWest: (text) => text.replaceAll('/clusters/east', '/clusters/west'),
    },
    async stop() {
      await hub.close();
      await east.close();
      await stop();
    },
  };
});

/** The process `capstan up`; what ends it. */
async function startUp(folder: string): Promise<() => Promise<void>> {
  const data = join(folder, 'data');
  const args = ['up', '--demo', '--operators', 'gimbal', '--data', data, '--listen', '127.0.0.1:0'];
  const out = ['--kubeconfig-out', join(folder, 'kubeconfig')];
  const child = spawn(process.execPath, [...FLAGS, 'apps/capstan/src/main.ts', ...args, ...out], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()));
  let output = '';
  const ready = new Promise<void>((resolve) => {
    const hear = (text: Buffer) => {
      output += text.toString();
      if (output.includes('Capstan is ready.')) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
  });
  const early = ended.then(() => {
    throw new Error(`the cluster ended before it was ready:\n${output}`);
  });
  await Promise.race([ready, early]);
  early.catch(() => undefined);
  return () => {
    child.kill('SIGTERM');
    return ended;
  };
}
