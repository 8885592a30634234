// Starts a program of Capstan: in this process where Node.js is new enough, else on the Node.js that came with the package. It
// is plain JavaScript that any Node.js from 20 on understands.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NEEDED = 24;

export async function launch(name) {
  nameByNpx();
  const program = fileURLToPath(new URL(`./lib/${name}.js`, import.meta.url));
  if (Number(process.versions.node.split('.')[0]) >= NEEDED) {
    quietAboutExperiments();
    // Before anything is loaded, so that everything is in it.
    module.enableCompileCache();
    process.argv[1] = program;
    await import(`./lib/${name}.js`);
    return;
  }
  const node = ownNode();
  if (node === undefined) {
    console.error(
      `Capstan needs Node.js ${NEEDED} and found ${process.version}: the package with Node.js ${NEEDED} for ${process.platform}-${process.arch} is not installed. Install Node.js ${NEEDED} or newer, or install Capstan again without --omit=optional.`,
    );
    process.exit(1);
  }
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', program, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  // The child decides how to stop, and we end with it. Ctrl-C at a terminal reaches it by itself.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
    });
  }
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

/** Help and hints name the commands as they can be pasted: npx puts no program on the PATH. */
function nameByNpx() {
  if (process.env.npm_lifecycle_event !== 'npx') return;
  try {
    const { _npx } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
    if (_npx.packages.length === 1) process.env.CAPSTAN_CALLED_AS = `npx ${_npx.packages[0]}`;
  } catch {
    // A folder that npx did not make.
  }
}

function ownNode() {
  const require = createRequire(import.meta.url);
  for (const prefix of ['node', 'node-bin']) {
    try {
      const folder = dirname(require.resolve(`${prefix}-${process.platform}-${process.arch}/package.json`));
      const file = join(folder, 'bin', 'node');
      if (existsSync(file)) return file;
    } catch {
      // Another platform's, or left out.
    }
  }
  return undefined;
}

/** As --disable-warning=ExperimentalWarning does, which cannot be given any more. */
function quietAboutExperiments() {
  const warn = process.emitWarning;
  process.emitWarning = (warning, ...rest) => {
    const type = typeof rest[0] === 'string' ? rest[0] : rest[0]?.type;
    if (type !== 'ExperimentalWarning') warn.call(process, warning, ...rest);
  };
}
