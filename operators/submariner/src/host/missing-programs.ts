// The programs that cables need and the image of a gateway lacks. They are found before they are called: the error of a call would
// name a symptom, and not the image.
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { DriverName } from '../policy/driver-names.ts';
import { HostErrors } from './errors.ts';
import type { Programs } from './host.ts';

const NEEDED: Readonly<Record<DriverName, readonly (keyof Programs)[]>> = {
  vxlan: ['ip', 'bridge'],
  // wireguard-go is needed only where the kernel has no WireGuard: the driver reports it.
  wireguard: ['ip', 'wg'],
  ipsec: ['ip', 'charon'],
  'vxlan+ipsec': ['ip', 'bridge', 'charon'],
  none: [],
};

const DEFAULT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns the command of a program that is not installed; undefined for one that is. */
export function missingProgram(
  programs: Programs,
  name: keyof Programs,
  path = process.env['PATH'],
): string | undefined {
  const [command = ''] = programs[name];
  const folders = isAbsolute(command) ? [''] : (path ?? DEFAULT_PATH).split(delimiter);
  return folders.some((folder) => isExecutable(join(folder, command))) ? undefined : command;
}

/** Throws with the name of the first program that a driver needs and that is not installed. */
export function requirePrograms(programs: Programs, driver: DriverName): void {
  for (const name of NEEDED[driver]) {
    const missing = missingProgram(programs, name);
    if (missing !== undefined) throw HostErrors.ProgramMissing(missing);
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
