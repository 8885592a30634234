// The whole as a product on its own: `capstan up` with the demonstration. The remote clusters are logical ones beside the first.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createClient, silentLogger, systemClock } from '@capstan/kube';
import { startClusterProcess } from '@capstan/testing/tutorial';
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

function startUp(folder: string): Promise<() => Promise<void>> {
  const data = join(folder, 'data');
  const args = ['up', '--demo', '--operators', 'gimbal', '--data', data, '--listen', '127.0.0.1:0'];
  const out = ['--kubeconfig-out', join(folder, 'kubeconfig')];
  return startClusterProcess(process.execPath, [...FLAGS, 'apps/capstan/src/main.ts', ...args, ...out], { cwd: ROOT });
}
