// The version before `capstan install` existed, built from this repository's history: the start of an upgrade.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = new URL('../../../', import.meta.url).pathname;
/** The last commit without `capstan install`. */
const COMMIT = '91a6ba7';

/** Why it cannot be built here; undefined when it can. */
export function noPreviousVersion(): string | undefined {
  try {
    execFileSync('git', ['cat-file', '-e', `${COMMIT}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return undefined;
  } catch {
    return `the commit ${COMMIT} is not here; fetch the whole history of the repository to run this test`;
  }
}

/** Builds its package below `folder`, and returns where it is. */
export function buildPreviousVersion(folder: string): string {
  const source = join(folder, 'previous-source');
  mkdirSync(source);
  const tar = execFileSync('git', ['archive', '--format=tar', COMMIT], { cwd: ROOT, maxBuffer: 512 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', source], { input: tar });
  linkModules(source);
  execFileSync(process.execPath, [join(source, 'scripts/build.ts')], { cwd: source, stdio: 'pipe' });
  const bundle = join(source, 'dist', 'capstan');
  symlinkSync(join(ROOT, 'node_modules'), join(bundle, 'node_modules'));
  return bundle;
}

/** Dependencies as they are here, workspaces as they were there. */
function linkModules(source: string): void {
  const [from, to] = [join(ROOT, 'node_modules'), join(source, 'node_modules')];
  mkdirSync(join(to, '@capstan'), { recursive: true });
  for (const name of readdirSync(from)) if (name !== '@capstan') symlinkSync(join(from, name), join(to, name));
  const names: Record<string, string> = { cli: 'apps/capstan', console: 'apps/console', bench: 'bench' };
  for (const name of readdirSync(join(from, '@capstan'))) {
    const places = [names[name] ?? '', `packages/${name}`, `operators/${name}`];
    const place = places.find((one) => one !== '' && existsSync(join(source, one)));
    if (place !== undefined) symlinkSync(join(source, place), join(to, '@capstan', name));
  }
}
