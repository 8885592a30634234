// The operator of page-operator.ts as a program of its own. Arguments: the kubeconfig, the namespace to watch, the milliseconds of work in
// each reconcile, and `open` for a program that does not freeze shared values.
import { enableCompileCache } from 'node:module';
import { setFlagsFromString } from 'node:v8';

enableCompileCache();
// With the first module the space for new objects begins to grow, and never shrinks: see ManagerOptions.compactHeap.
setFlagsFromString('--semi-space-growth-factor=1');
const { createManager } = await import('@capstan/reconcile');
const { createPageOperator } = await import('./page-operator.ts');

const [kubeconfig = '', namespace = '', workMs = '0', guard] = process.argv.slice(2);
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());
await createManager({
  operators: [createPageOperator(Number(workMs))],
  kubeconfig,
  watchNamespaces: [namespace],
  leaderElection: false,
  // As in a pod.
  compactHeap: true,
  freeze: guard !== 'open',
  onEvent({ type }) {
    if (type === 'ready') process.stdout.write('{"event":"started"}\n');
  },
}).run(stopping.signal);
