import { resolve } from 'node:path';
import { execPath } from 'node:process';
import type { KnownImage } from '@capstan/node';

/** The images that the local node runs as processes: Capstan itself. Whoever has other programs to run adds them here. */
export function knownImages(): readonly KnownImage[] {
  const capstan = [execPath, '--disable-warning=ExperimentalWarning', resolve(import.meta.dirname, '../main.ts')];
  return [
    {
      match: 'capstan',
      entrypoint: capstan,
      programs: { capstan },
      kubeconfig: true,
      // Every pod has an address of its own here, and no interface of its own.
      substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }],
    },
  ];
}
