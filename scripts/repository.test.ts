// The repository is fit for others: it has no paths of a developer's machine, no dead links, no undocumented dependency, and no command in
// the documentation that does not exist.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { filesOfWorkspace, readManifest, root } from './workspace-files.ts';

const files = filesOfWorkspace();
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const documents = files.filter((file) => file.endsWith('.md'));
const CHANGELOG_LINES = [
  /^## \[(?:Unreleased|\d+\.\d+\.\d+)\](?: - \d{4}-\d\d-\d\d)?$/,
  /^### (?:Command line and installation|Console|Runtime and libraries|Embedded cluster)$/,
  /^### (?:Sesame|Submariner|Kroxylicious|Gimbal|Crossplane)$/,
  /^- .{10,220}$/,
];

describe('the repository', () => {
  test('holds no path of a developer’s machine', () => {
    const found = files.flatMap((file) => matches(file, machinePaths()));
    assert.deepEqual(found, []);
  });

  test('holds no address of a package registry, so that every clone uses its own', () => {
    const hosts =
      /registry\.npmjs\.org|registry\.yarnpkg\.com|npm\.pkg\.github\.com|proxy\.golang\.org|artifactory\.|\bnexus\./;
    const found = files.flatMap((file) => matches(file, [hosts]));
    assert.deepEqual(found, []);
    assert.doesNotMatch(read('package-lock.json'), /"resolved": "https?:/);
    assert.doesNotMatch(read('.npmrc'), /registry\s*=|_auth|:_password/i);
  });

  test('names one version of Node.js for all platforms and for the image', () => {
    const { optionalDependencies = {} } = readManifest('package.json');
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version?: string }> };
    const names = Object.keys(optionalDependencies).filter((name) => /^node-(?:bin-)?(?:linux|darwin)-/.test(name));
    const versions = names.flatMap((name) => [optionalDependencies[name], packages[`node_modules/${name}`]?.version]);
    assert.equal(names.length, 4);
    const [, image] = /node:(\d+\.\d+\.\d+)-/.exec(read('Containerfile')) ?? [];
    assert.deepEqual([...new Set([...versions, image])], ['26.10.0']);
  });

  test('has scripts for CI that can be executed', () => {
    for (const script of ['.ci/run', '.ci/full']) assert.ok(statSync(join(root, script)).mode & 0o100, script);
  });
});

describe('the documentation', () => {
  test('names only npm scripts that exist', () => {
    const scripts = readManifest('package.json').scripts ?? {};
    const commands = ['README.md', 'CONTRIBUTING.md'].flatMap((file) => npmScripts(read(file)));
    assert.ok(commands.includes('test') && commands.includes('start'), 'the README says how to run and how to test');
    const missing = commands.filter((command) => scripts[command] === undefined);
    assert.deepEqual(missing, []);
  });

  test('has no link to a file that does not exist', () => {
    const dead = documents.flatMap((file) =>
      linkedFiles(read(file))
        .filter((link) => !existsSync(join(root, dirname(file), link)))
        .map((link) => `${file}: ${link}`),
    );
    assert.deepEqual(dead, []);
  });

  test('gives a reason for every dependency', () => {
    const decisions = documents
      .filter((file) => file.startsWith('docs/decisions/'))
      .map(read)
      .join('\n');
    const unexplained = dependencies().filter((name) => !decisions.includes(`\`${name}\``));
    assert.deepEqual(unexplained, [], 'name each in docs/decisions, in backquotes, with why it is needed');
  });

  test('lists every decision', () => {
    const index = read('docs/decisions/README.md');
    const records = files
      .filter((file) => /^docs\/decisions\/\d{4}-/.test(file))
      .map((file) => file.slice('docs/decisions/'.length));
    assert.ok(records.length > 0);
    assert.deepEqual(
      records.filter((record) => !index.includes(`](${record})`)),
      [],
    );
    const numbers = records.map((record) => record.slice(0, 4));
    assert.equal(new Set(numbers).size, numbers.length, 'each number is used once');
  });

  test('has decisions of half a page with their number and a status', () => {
    const wrong = files
      .filter((file) => /^docs\/decisions\/\d{4}-/.test(file))
      .filter((file) => {
        const text = read(file);
        const [number] = /\d{4}/.exec(file) ?? [];
        return (
          !new RegExp(`^# ${number}: .+\n\nStatus: (?:in force|replaced by \\[)`).test(text) || text.length > 2_600
        );
      });
    assert.deepEqual(wrong, []);
  });

  test('has a changelog with one line per change below a version and its operator', () => {
    const wrong = read('CHANGELOG.md')
      .split('\n')
      .slice(3)
      .filter(
        (line) => line !== '' && line !== 'The first version.' && !CHANGELOG_LINES.some((form) => form.test(line)),
      );
    assert.deepEqual(wrong, []);
  });

  test('names only paths of libraries that the published packages export', () => {
    const pages = documents.filter((file) => /^packages\/[^/]+\/README\.md$|^docs\/[^/]+\.md$/.test(file));
    const missing = ['kube', 'reconcile', 'testing'].flatMap((name) => {
      const { publishConfig = {} } = readManifest(`packages/${name}/package.json`);
      const paths = new RegExp(`@capstan/${name}/([a-z]+(?:-[a-z]+)*)`, 'g');
      const named = pages.flatMap((file) => [...read(file).matchAll(paths)].map(([, path]) => path));
      const exported = Object.keys(publishConfig.exports ?? {});
      assert.ok(exported.includes('.'), `${name} is published`);
      return named.filter((path) => !exported.includes(`./${path}`)).map((path) => `@capstan/${name}/${path}`);
    });
    assert.deepEqual([...new Set(missing)], []);
  });

  test('lists every page of the documentation', () => {
    const index = linkedFiles(read('docs/README.md'));
    const pages = files
      .filter((file) => /^docs\/(?:api\/)?[^/]+\.md$/.test(file) && file !== 'docs/README.md')
      .map((file) => file.slice('docs/'.length));
    assert.ok(pages.length > 20);
    assert.deepEqual(
      pages.filter((page) => !index.includes(page)),
      [],
    );
  });
});

test('the checks themselves find what they look for', () => {
  assert.deepEqual(npmScripts('`npm start`, `npm run bench -- x`, npm test'), ['start', 'bench', 'test']);
  assert.deepEqual(linkedFiles('[a](b.md#c) [d](https://example.com) [e](#f)'), ['b.md']);
  const [checkout] = machinePaths();
  assert.match(`see ${root}/notes`, checkout ?? /never/);
});

/**
 * Returns the paths of this checkout and of this user's home. A home that any user could have, as root's in a container, does not count.
 */
function machinePaths(): RegExp[] {
  const home = homedir();
  const paths = home.split('/').length > 2 ? [root, home] : [root];
  return paths.map((path) => new RegExp(`(?<![\\w.-])${RegExp.escape(path)}(?![\\w-])`));
}

function matches(file: string, patterns: readonly RegExp[]): string[] {
  const lines = read(file).split('\n');
  return lines.flatMap((line, index) =>
    patterns.some((pattern) => pattern.test(line)) ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
  );
}

function npmScripts(text: string): string[] {
  const commands = text.matchAll(/\bnpm (?:run (?:-s )?(?<run>[a-z][\w:-]*)|(?<own>test|start)\b)/g);
  return [...commands].flatMap(({ groups }) => groups?.['run'] ?? groups?.['own'] ?? []);
}

function linkedFiles(text: string): string[] {
  return [...text.matchAll(/\]\((?<link>[^)\s]+)\)/g)]
    .flatMap(({ groups }) => groups?.['link'] ?? [])
    .filter((link) => !/^(?:[a-z]+:|#)/.test(link))
    .map((link) => link.replace(/#.*$/, ''));
}

function dependencies(): string[] {
  const manifests = files.filter((file) => file.endsWith('package.json') && !file.includes('/test/'));
  const names = manifests.flatMap((file) => {
    const { dependencies, devDependencies, optionalDependencies } = readManifest(file);
    return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
  });
  return [...new Set(names)].filter((name) => !name.startsWith('@capstan/'));
}
