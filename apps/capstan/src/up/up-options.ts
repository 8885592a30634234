import { resolve } from 'node:path';
import { DEFAULT_CLUSTER, DEFAULT_PORT } from '@capstan/apiserver';
import type { LogLevel } from '@capstan/reconcile';
import type { Options, Values } from '../cli/command.ts';
import { UsageErrors } from '../cli/errors.ts';
import type { Io } from '../cli/io.ts';
import { splitList } from '../cli/load-operators.ts';

export const UP_OPTIONS = {
  data: { type: 'string', value: 'DIR', help: 'Where everything is kept; default .capstan.' },
  listen: { type: 'string', value: 'HOST:PORT', help: 'Default 127.0.0.1:6443; port 0 takes any that is free.' },
  'kubeconfig-out': { type: 'string', value: 'FILE', help: 'Where to write the kubeconfig; default DIR/kubeconfig.' },
  clusters: { type: 'string', value: 'LIST', help: 'Logical clusters, with commas; default one, capstan.' },
  demo: { type: 'boolean', help: 'Apply what the operators bring to look at (demo/*.yaml).' },
  'log-format': { type: 'string', oneOf: ['json', 'text'], help: 'Default text.' },
  'log-level': { type: 'string', oneOf: ['debug', 'info', 'warn', 'error'], help: 'Default info.' },
} as const satisfies Options;

export interface UpSettings {
  /** Absolute. */
  readonly data: string;
  readonly kubeconfig: string;
  readonly host: string;
  readonly port: number;
  readonly clusters: readonly string[];
  readonly demo: boolean;
  readonly logFormat: 'json' | 'text';
  readonly logLevel: LogLevel;
}

export function upSettings(flags: Values<typeof UP_OPTIONS>, io: Io): UpSettings {
  const data = resolve(io.cwd, flags.data ?? '.capstan');
  const clusters = splitList(flags.clusters) ?? [DEFAULT_CLUSTER];
  if (clusters.length === 0) throw UsageErrors.BadValue('--clusters', flags.clusters ?? '', 'name at least one');
  return {
    data,
    kubeconfig: resolve(io.cwd, flags['kubeconfig-out'] ?? resolve(data, 'kubeconfig')),
    ...listenAddress(flags.listen ?? `127.0.0.1:${DEFAULT_PORT}`),
    clusters,
    demo: flags.demo ?? false,
    // Both are checked against the values above when they are parsed.
    logFormat: (flags['log-format'] as 'json' | 'text' | undefined) ?? 'text',
    logLevel: (flags['log-level'] as LogLevel | undefined) ?? 'info',
  };
}

/** `:0` is this machine only, unlike elsewhere: nobody should open his laptop to the network by leaving something out. */
function listenAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) {
    throw UsageErrors.BadValue('--listen', text, 'write HOST:PORT, as in 127.0.0.1:6443, or :0 for any free port');
  }
  const host = bracketed ?? plain ?? '';
  return { host: host === '' ? '127.0.0.1' : host, port };
}
