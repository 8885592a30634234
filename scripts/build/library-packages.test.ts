// The libraries as another project has them: packed, installed into an empty folder, type-checked there, and running the example
// operator and its tests.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isFullRun } from '@capstan/testing';
import { apiReferences, DOCUMENTED, publicNames } from './api-reference.ts';
import { buildLibraryPackages } from './library-packages.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
const skip = isFullRun ? false : 'takes half a minute: npm test -- --full runs it';

test('another project installs the libraries, type-checks against them and runs the example operator', {
  skip,
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'capstan-project-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const packages = buildLibraryPackages(ROOT, join(folder, 'packages'));
  for (const [name, text] of apiReferences(ROOT, join(folder, 'packages')))
    assert.equal(
      readFileSync(join(ROOT, 'docs/api', name), 'utf8'),
      text,
      `npm run generate:api brings ${name} up to date`,
    );
  const project = join(folder, 'project');
  execFileSync('mkdir', [project]);
  const tarballs = packages.map((from) =>
    join(
      folder,
      execFileSync('npm', ['pack', from, '--pack-destination', folder, '--silent'], { encoding: 'utf8' }).trim(),
    ),
  );
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'mine', private: true, type: 'module' }));
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', ...tarballs];
  execFileSync('npm', install, { cwd: project, stdio: 'pipe' });
  assert.ok(!existsSync(join(project, 'node_modules/@capstan/kube/src')));
  const examples = readdirSync(join(ROOT, 'docs/examples')).filter((file) => file.endsWith('.ts'));
  for (const file of examples) copyFileSync(join(ROOT, 'docs/examples', file), join(project, file));
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        target: 'esnext',
        module: 'nodenext',
        strict: true,
        noEmit: true,
        // The declarations are checked as well.
        skipLibCheck: false,
        allowImportingTsExtensions: true,
        types: ['node'],
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      // All of them compile: the public exports are sufficient.
      files: examples,
    }),
  );
  const checked = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project], { encoding: 'utf8' });
  assert.equal(checked.stdout.split('\n').slice(0, 20).join('\n'), '');
  const ran = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--test', 'website-operator.test.ts'],
    {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    },
  );
  assert.equal(ran.status, 0, ran.stdout);
});

for (const library of DOCUMENTED)
  test(`the reference of @capstan/${library} has every public name`, () => {
    const names = publicNames(readFileSync(join(ROOT, 'packages', library, 'src/public.ts'), 'utf8'));
    const reference = readFileSync(join(ROOT, 'docs/api', `${library}.md`), 'utf8');
    const described = [...reference.matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name);
    assert.deepEqual(described.toSorted(), names.toSorted());
    assert.ok(names.length > 30);
  });
