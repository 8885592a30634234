// The npm package `capstan`: the programs, their launchers, the demonstrations.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { BUILT_IN_OPERATORS, type StatusOperator, statusOperator } from '@capstan/cli/install';
import { buildPage } from '@capstan/console/page';
import { isPrimary } from '@capstan/reconcile';
import { bundle } from './bundle.ts';
import { BUILT_EXAMPLES, installedExample, installedForm } from './installed-docs.ts';
import { licenceFile, modulesOf } from './licences.ts';

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: object;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const LICENCES = 'THIRD-PARTY-LICENSES.txt';
/** The folder in which the console finds its page. */
const PAGE = 'packages/console/page';

/** Writes the package into a folder, which is emptied first. */
export async function buildProgramPackage(root: string, folder: string): Promise<void> {
  const workspace = readManifest(join(root, 'package.json'));
  const cli = readManifest(join(root, 'apps/capstan/package.json'));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const programs = Object.entries(cli.bin).map(([name, file]) => [name, join(root, 'apps/capstan', file)] as const);
  const demos = readdirSync(join(root, 'operators')).filter((name) => existsSync(demoOf(root, name)));
  const prepared = demos.filter((name) => existsSync(join(demoOf(root, name), 'prepare.ts')));
  const sources = await bundle({
    entries: Object.fromEntries([
      ...programs,
      ...prepared.map((name) => [`demo-${name}`, join(demoOf(root, name), 'prepare.ts')] as const),
    ]),
    folder: join(folder, 'lib'),
    folderAt: (path) => `../${relative(root, path)}/`,
    constants: { CAPSTAN_STATUS_OPERATORS: await statusOperators() },
  });
  cpSync(join(import.meta.dirname, 'launcher.mjs'), join(folder, 'launcher.js'));
  for (const [name] of programs)
    writeFileSync(
      join(folder, 'bin', `${name}.js`),
      `#!/usr/bin/env node\nimport { launch } from '../launcher.js';\n\nawait launch('${name}');\n`,
      { mode: 0o755 },
    );
  for (const name of demos) {
    const to = demoOf(folder, name);
    cpSync(demoOf(root, name), to, { recursive: true, filter: (path) => !path.endsWith('.ts') });
    if (prepared.includes(name))
      writeFileSync(join(to, 'prepare.js'), `export { default } from '../../../lib/demo-${name}.js';\n`);
  }
  // The ready screen of `capstan up` names them.
  mkdirSync(join(folder, 'docs'));
  for (const name of readdirSync(join(root, 'docs')).filter((name) => /\.(?:md|json)$/.test(name))) {
    const [from, to] = [join(root, 'docs', name), join(folder, 'docs', name)];
    if (name.endsWith('.md')) writeFileSync(to, installedForm(name, readFileSync(from, 'utf8'), cli.version));
    else cpSync(from, to);
  }
  const examples = await copyExamples(join(root, 'docs/examples'), join(folder, 'docs/examples'));
  writeFileSync(
    join(folder, 'README.md'),
    installedForm('README.md', readFileSync(join(root, 'README.md'), 'utf8'), cli.version),
  );
  for (const file of ['LICENSE', 'NOTICE', 'SECURITY.md', 'CHANGELOG.md'])
    if (existsSync(join(root, file))) cpSync(join(root, file), join(folder, file));
  const page = await buildPage();
  for (const { path, bytes } of page.files) {
    const to = join(folder, PAGE, path);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, bytes);
  }
  // Paths are relative to where the build was started.
  const bundled = [...sources, ...examples, ...page.inputs].map((file) => relative(root, resolve(file)));
  writeFileSync(join(folder, LICENCES), licenceFile(modulesOf(root, bundled)));
  const manifest = {
    name: 'capstan',
    version: cli.version,
    description: workspace.description,
    license: workspace.license,
    type: 'module',
    engines: workspace.engines,
    bin: Object.fromEntries(programs.map(([name]) => [name, `bin/${name}.js`])),
    optionalDependencies: workspace.optionalDependencies,
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/**
 * Copies the sources of the examples for readers, and builds them: Node.js runs no TypeScript in node_modules, and the libraries of the
 * examples are packages of their own. Resolves with the files that were bundled.
 */
async function copyExamples(from: string, to: string): Promise<readonly string[]> {
  const names = readdirSync(from).filter((name) => name.endsWith('.ts') && !/\.test(?:-support)?\.ts$/.test(name));
  mkdirSync(to);
  for (const name of names) writeFileSync(join(to, name), installedExample(readFileSync(join(from, name), 'utf8')));
  const folder = join(to, BUILT_EXAMPLES);
  return bundle({
    entries: Object.fromEntries(names.map((name) => [name.replace(/\.ts$/, ''), join(from, name)])),
    folder,
    folderAt: (path) => `../../../${relative(dirname(dirname(from)), path)}/`,
    constants: {},
  });
}

/** The facts about the operators that `capstan status` needs, so that it need not load them. */
async function statusOperators(): Promise<readonly StatusOperator[]> {
  const operators = await Promise.all(BUILT_IN_OPERATORS.map(async ({ load }) => (await load()).default));
  return operators.map((operator) => statusOperator(operator, isPrimary));
}

function demoOf(root: string, operator: string): string {
  return join(root, 'operators', operator, 'demo');
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8')) as Manifest;
}
