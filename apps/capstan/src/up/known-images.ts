import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { execPath } from 'node:process';
import { localProxyImages } from '@capstan/kroxylicious/local';
import type { KnownImage } from '@capstan/node';

/**
 * The images that the local node runs as processes: Capstan itself, and what `npm run setup:real` has brought to this
 * machine. Whoever has other programs to run adds them here.
 */
export function knownImages(env: Readonly<Record<string, string | undefined>>): readonly KnownImage[] {
  const program = (file: string) => [
    execPath,
    '--disable-warning=ExperimentalWarning',
    resolve(import.meta.dirname, '..', file),
  ];
  const capstan = program('main.ts');
  const gimbal = program('programs/gimbal.mjs');
  const submariner = program('programs/submariner.ts');
  const sesame = program('programs/sesame.ts');
  const real = env['CAPSTAN_REAL'] ?? join(env['HOME'] ?? homedir(), '.cache', 'capstan', 'real');
  return [
    {
      match: 'capstan',
      entrypoint: capstan,
      programs: { capstan, gimbal, sesame, submariner },
      // Gateways leave the network of this machine alone: their cables are simulated, and marked as such.
      env: { SUBMARINER_CABLES: 'simulated' },
      kubeconfig: true,
      // Every pod has an address of its own here, and no interface of its own.
      substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }],
    },
    ...localProxyImages(join(real, 'kroxylicious')),
  ];
}
