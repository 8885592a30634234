// The API server with nothing around it, as a program. The difference to `capstan up` is the cost of its other parts (command line,
// controllers, node). Arguments: the data folder, the file for the kubeconfig.
import { enableCompileCache } from 'node:module';

enableCompileCache();
const { startCluster, writeKubeconfig } = await import('@capstan/apiserver');
const { systemClock } = await import('@capstan/kube');

const [data = '', kubeconfig = ''] = process.argv.slice(2);
const cluster = await startCluster({ clock: systemClock, random: Math.random, data, port: 0 });
await writeKubeconfig(kubeconfig, cluster.kubeconfig);
process.once('SIGTERM', () => {
  void cluster.close().then(() => process.exit(0));
});
process.stdout.write(`${JSON.stringify({ event: 'started' })}\n`);
