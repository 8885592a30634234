// All operators that come with Capstan in one process: on one runtime, or on one each. Reports its resident memory on stdout
// when it has come to rest, and ends.
import { readFileSync } from 'node:fs';
import crossplane from '@capstan/crossplane';
import gimbal from '@capstan/gimbal';
import kroxylicious from '@capstan/kroxylicious';
import { silentLogger, sleep, systemClock } from '@capstan/kube';
import { createManager, type Manager, type Operator } from '@capstan/reconcile';
import sesame from '@capstan/sesame';
import submariner from '@capstan/submariner';
import { heapAfterGc } from '../../measure/heap.ts';
import { until } from '../until.ts';

const [kubeconfig = '', how = ''] = process.argv.slice(2);
const operators: readonly Operator[] = [kroxylicious, crossplane, gimbal, submariner, sesame];
const groups = how === 'one' ? [operators] : operators.map((operator) => [operator]);
const stopping = new AbortController();
const managers = groups.map((group) =>
  createManager({ operators: group, kubeconfig, leaderElection: false, logger: silentLogger, env: {} }),
);
const running = managers.map((manager) => manager.run(stopping.signal));
await Promise.race([until(() => managers.every(isAtRest)), ...running]);
// Collects the garbage of the lists, and returns the memory to the system.
for (let round = 0; round < 5; round++) {
  heapAfterGc();
  await sleep(systemClock, 200);
}
const status = readFileSync('/proc/self/status', 'utf8');
const megabytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
process.stdout.write(
  `${JSON.stringify({ resident: megabytes('VmRSS'), own: megabytes('RssAnon'), heap: heapAfterGc() / 1e6 })}\n`,
);
stopping.abort();
await Promise.all(running);

function isAtRest({ runtime }: Manager): boolean {
  return runtime?.isSynced === true && runtime.isIdle && runtime.unsettled === 0;
}
