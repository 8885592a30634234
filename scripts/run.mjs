// Runs a program of this workspace on the locked Node.js, after installing missing packages. It is plain JavaScript so that any Node.js from
// 20 on can start it: all other programs here are TypeScript, which Node.js runs by itself from 24 on.
// Usage: node scripts/run.mjs [node options] FILE [arguments]
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'node_modules', '.capstan-installed');

if (!isInstalled()) await install();

const node = lockedNode();
if (node === undefined) {
  console.error(
    `Capstan needs Node.js 24 or newer and found ${process.version}: npm has no Node.js package for ${process.platform}-${process.arch}. Install Node.js 26, then run this again.`,
  );
  process.exit(1);
}
const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...process.argv.slice(2)], {
  stdio: 'inherit',
  // glibc: few areas for threads, and large buffers given back. A cluster at rest takes ten megabytes less.
  env: {
    MALLOC_ARENA_MAX: '2',
    MALLOC_MMAP_THRESHOLD_: '65536',
    MALLOC_TRIM_THRESHOLD_: '131072',
    ...process.env,
    PATH: `${join(root, 'node_modules', '.bin')}:${process.env.PATH ?? ''}`,
  },
});
// The child decides how to stop, and we end with it. Ctrl-C at a terminal reaches the child by itself: passing it on would
// be a second one, which programs take for impatience.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on('exit', (code, signal) => {
  // The code of the loader when a library is missing; it has named the library.
  if (code === 127)
    console.error(
      'Node.js 26 could not start. If libatomic.so.1 is missing, install it (Debian and Ubuntu: apt-get install libatomic1; Fedora: dnf install libatomic; Alpine: apk add libatomic), then run this again.',
    );
  process.exit(code ?? (signal ? 1 : 0));
});

/** Installed means: from the lock file that is here now, on this platform (a checkout may be mounted into a container). */
function isInstalled() {
  if (!existsSync(stamp)) return false;
  return readFileSync(stamp, 'utf8') === lockStamp();
}

function lockStamp() {
  return createHash('sha256')
    .update(`${process.platform}-${process.arch}`)
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

async function install() {
  const title = 'Installing dependencies (npm install) ...';
  console.error(title);
  const began = Date.now();
  // npm prints nothing while it waits for a registry, and it waits for minutes.
  const timer = setInterval(() => console.error(`${title} (${Math.round((Date.now() - began) / 1000)} s)`), 1300);
  // Not `npm ci`: it fails where a registry lacks the package of a platform that is not even this one.
  const args = ['install', '--no-save', '--no-fund', '--no-audit', '--loglevel=error'];
  const retries = ['--fetch-retries=2', '--fetch-retry-mintimeout=2000', '--fetch-retry-maxtimeout=8000'];
  const npm = spawn('npm', [...args, ...retries], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  const status = await new Promise((resolve) => {
    npm.once('error', () => resolve(1));
    npm.once('exit', resolve);
  });
  clearInterval(timer);
  if (status !== 0) {
    console.error(
      'npm install did not succeed; its message is above. Check the network and the npm registry, then run this again.',
    );
    process.exit(1);
  }
  writeFileSync(stamp, lockStamp());
}

/** The Node.js that npm installed, else this one if it is new enough. */
function lockedNode() {
  for (const name of ['node', 'node-bin'].map((prefix) => `${prefix}-${process.platform}-${process.arch}`)) {
    const candidate = join(root, 'node_modules', name, 'bin', 'node');
    if (existsSync(candidate)) return candidate;
  }
  return Number(process.versions.node.split('.')[0]) >= 24 ? process.execPath : undefined;
}
