// The programs of cables that `npm run setup:real -- cables` brought to this machine, for gateways in network namespaces.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { INSTALLED_PROGRAMS, type Programs } from '../host/index.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Where the fetched programs are, whether or not they were fetched. */
export function programsRoot(env: Env = process.env): string {
  const real = env['CAPSTAN_REAL'] ?? join(env['HOME'] ?? homedir(), '.cache', 'capstan', 'real');
  return join(real, 'cables', 'root');
}

export function hasFetchedPrograms(env: Env = process.env): boolean {
  return existsSync(join(programsRoot(env), 'usr/bin/wireguard-go'));
}

/** The fetched programs; charon finds its plugins under /usr only, so it sees them there. */
export function fetchedPrograms(env: Env = process.env): Programs {
  const root = programsRoot(env);
  return {
    ip: ['ip'],
    bridge: ['bridge'],
    wg: [join(root, 'usr/bin/wg')],
    wireguardGo: [join(root, 'usr/bin/wireguard-go')],
    charon: [
      'unshare',
      '--mount',
      'sh',
      '-ec',
      `mount -t overlay overlay -o lowerdir=${root}/usr:/usr /usr; exec charon-systemd`,
    ],
    ping: [join(root, 'bin/ping')],
  };
}

/** The fetched programs where they are there, else those that are installed. */
export function localPrograms(env: Env = process.env): Programs {
  return hasFetchedPrograms(env) ? fetchedPrograms(env) : INSTALLED_PROGRAMS;
}
