// The package as npm run build makes it, in a folder of its own.
import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const ROOT = new URL('../../../', import.meta.url).pathname;

export async function packProgram(): Promise<{ folder: string; tarball: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-bench-install-'));
  const from = join(folder, 'package');
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts'), '--to', from], { stdio: 'pipe' });
  const name = execFileSync('npm', ['pack', from, '--pack-destination', folder, '--silent'], {
    encoding: 'utf8',
  }).trim();
  return { folder, tarball: join(folder, name) };
}

/** Into an empty folder, as a user does; from npm's cache where it can be. */
export function installTarball(tarball: string, into: string): void {
  const args = [
    'install',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--loglevel=error',
    '--prefix',
    into,
    tarball,
  ];
  execFileSync('npm', args, { stdio: 'pipe' });
}
