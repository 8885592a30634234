// Starts the programs of the single executable. Modules, workers and child processes are files: they are unpacked into the user's
// cache at the first start, and checked at every other. The name that the executable is called by selects the program.
import { chmodSync, lstatSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createRequire, enableCompileCache } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { getAssetKeys, getRawAsset } from 'node:sea';
import { setFlagsFromString } from 'node:v8';

const PROGRAMS = `programs-${Buffer.from(getRawAsset('VERSION')).toString('utf8')}`;
const files = getAssetKeys().filter((name) => name !== 'VERSION');
const { folder, name, args } = requested(process.argv.slice(2));
enableCompileCache(join(folder, 'compile-cache'));
// Help and hints name the commands as they can be pasted.
if (process.argv0.includes('/')) process.env['CAPSTAN_CALLED_AS'] = process.argv0;
process.argv = [process.execPath, process.execPath, ...args];
const { launch } = createRequire(join(folder, 'package.json'))('./launcher.js') as {
  launch(name: string): Promise<void>;
};
launch(name).catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

/** A child process is started as on Node.js: options, the file, its arguments. */
function requested(given: readonly string[]): { folder: string; name: string; args: readonly string[] } {
  const at = given.findIndex((argument) => !argument.startsWith('--'));
  const file = given[at] ?? '';
  const folder = dirname(dirname(file));
  if (basename(folder) === PROGRAMS && basename(dirname(file)) === 'lib' && file.endsWith('.js')) {
    for (const flag of given.slice(0, at)) if (!flag.startsWith('--disable-warning')) setFlagsFromString(flag);
    return { folder, name: basename(file, '.js'), args: given.slice(at + 1) };
  }
  const called = basename(process.argv0);
  const name = files.includes(`bin/${called}.js`) ? called : 'capstan';
  return { folder: unpacked(), name, args: given };
}

function unpacked(): string {
  const { XDG_CACHE_HOME: cache } = process.env;
  const user = process.getuid?.() ?? 0;
  const places = [
    cache ? join(cache, 'capstan') : join(homedir(), '.cache', 'capstan'),
    join(tmpdir(), `capstan-${user}`),
  ];
  const problems: string[] = [];
  for (const place of places) {
    const to = join(place, PROGRAMS);
    try {
      mkdirSync(to, { recursive: true, mode: 0o700 });
      const { uid, mode } = lstatSync(to);
      // The files in it are executed.
      if (uid !== user || (mode & 0o022) !== 0)
        throw new Error(`${to}: belongs to another user, or others may write to it`);
      for (const file of files) unpack(file, to);
      return to;
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error));
    }
  }
  console.error(
    `capstan: its programs cannot be unpacked (${problems.join('; ')}); set XDG_CACHE_HOME to a folder that you may write to`,
  );
  process.exit(1);
}

function unpack(file: string, to: string): void {
  const path = join(to, file);
  const bytes = new Uint8Array(getRawAsset(file));
  if (statSync(path, { throwIfNoEntry: false })?.size === bytes.length) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  // Another process may unpack at the same time: files come whole.
  const part = `${path}.${process.pid}`;
  writeFileSync(part, bytes);
  if (file.startsWith('bin/')) chmodSync(part, 0o755);
  renameSync(part, path);
}
