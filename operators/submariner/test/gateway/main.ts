// A gateway as a process of its own, with the programs of the cache folder, as `submariner gateway` runs in a pod.
import { systemClock } from '@capstan/kube';
import { createLogger } from '@capstan/reconcile';
import { readConfiguration } from '../../src/gateway/configuration.ts';
import { runGateway } from '../../src/gateway/run-gateway.ts';
import { realPrograms } from '../cables/underlay.ts';

const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());
const { env } = process;
const networkNamespace = env['TEST_NAMESPACE'];
await runGateway({
  configuration: readConfiguration(env),
  env,
  clock: systemClock,
  logger: createLogger({ clock: systemClock, format: 'text', write: (line) => void process.stderr.write(line) }),
  signal: stopping.signal,
  version: 'test',
  programs: realPrograms,
  isSimulated: networkNamespace === undefined,
  // Shorter than in a cluster. Gateways see a change up to a second after each other, and later on a busy machine.
  drainMs: 3000,
  ...(networkNamespace !== undefined && { networkNamespace }),
  ...(env['TEST_RUN_DIR'] !== undefined && { runDir: env['TEST_RUN_DIR'] }),
  ...(env['TEST_WIREGUARD_DEVICE'] !== undefined && { wireguardDevice: env['TEST_WIREGUARD_DEVICE'] }),
});
process.exit(0);
