import type { Flag } from '@capstan/reconcile/command-line';
import { SHUTDOWN_DEFAULTS } from '../shutdown/shutdown.ts';

export const READY_FILE = {
  type: 'string',
  value: 'FILE',
  default: SHUTDOWN_DEFAULTS.readyFile,
  help: 'Created when connections are closed.',
} as const satisfies Flag;

export const ADMIN_ADDRESS = {
  type: 'string',
  value: 'PATH',
  default: SHUTDOWN_DEFAULTS.adminAddress,
  help: 'Unix socket of Envoy’s admin interface.',
} as const satisfies Flag;
