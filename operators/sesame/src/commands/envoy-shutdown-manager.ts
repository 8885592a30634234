import { systemClock } from '@capstan/kube/values';
import { command, wholeNumber } from '@capstan/reconcile/command-line';
import { createLogger } from '@capstan/reconcile/logging';
import { MANAGER_DEFAULTS, serveShutdownManager } from '../shutdown/shutdown-manager.ts';
import { socketPath } from '../shutdown/socket-path.ts';
import { BIND_VARIABLE, boundAddress } from '../xds/listener-place.ts';
import { machineFiles } from './machine-files.ts';
import { ADMIN_ADDRESS, READY_FILE } from './shutdown-flags.ts';

export default command({
  usage: 'envoy shutdown-manager',
  description:
    'Holds the end of Envoy’s container until its connections are closed: GET /shutdown answers when the ready file is there.',
  examples: ['sesame envoy shutdown-manager'],
  options: {
    'serve-port': {
      type: 'string',
      value: 'PORT',
      default: String(MANAGER_DEFAULTS.port),
      parse: wholeNumber(0, 65_535),
      help: 'Port.',
    },
    'serve-address': { type: 'string', value: 'ADDRESS', default: MANAGER_DEFAULTS.address, help: 'Address.' },
    'ready-file': READY_FILE,
    'admin-address': ADMIN_ADDRESS,
  },
  async run({ flags }, io) {
    const { signal, clock = systemClock } = io;
    const { exists, remove } = machineFiles(io);
    const logger = createLogger({ clock, format: 'text', write: io.stderr });
    const { closed, port } = await serveShutdownManager(
      {
        address: boundAddress(flags['serve-address'], io.env[BIND_VARIABLE]),
        port: flags['serve-port'],
        readyFile: flags['ready-file'],
        adminAddress: socketPath(flags['admin-address'], io.cwd),
      },
      { clock, signal, logger, exists, remove },
    );
    logger.info('the shutdown manager listens', { port });
    await closed;
    return 0;
  },
});
