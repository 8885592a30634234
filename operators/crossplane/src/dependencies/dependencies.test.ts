import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseVersion, pinnedVersion } from './choose-version.ts';
import { bySource, checkDependencies, type Dependency, type InstalledPackage } from './dependency-check.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const wants = (source: string, constraints = '*', kind = 'Provider'): Dependency => ({ kind, source, constraints });
const installed = (source: string, version: string, dependencies: Dependency[] = []): InstalledPackage => ({
  kind: 'Provider',
  name: `${source}-1`,
  package: `${source}-package`,
  source,
  version: version.split('@')[0] ?? '',
  ...(version.includes('sha256:') && { digest: version.split('@').at(-1) }),
  dependencies,
});
const check = (dependencies: Dependency[], ...there: InstalledPackage[]) =>
  checkDependencies({ source: 'self', dependencies }, bySource(there));

describe('dependencies', () => {
  const cases: [string, ReturnType<typeof check>, [number, number, number], RegExp | undefined][] = [
    ['none', check([]), [0, 0, 0], undefined],
    ['there', check([wants('a', '>=1.0.0')], installed('a', 'v1.2.0')), [1, 1, 0], undefined],
    ['there by digest', check([wants('a', DIGEST)], installed('a', DIGEST)), [1, 1, 0], undefined],
    ['another digest', check([wants('a', DIGEST)], installed('a', 'v1.0.0')), [1, 1, 1], /must be sha256:a+, and/],
    [
      'missing',
      check([wants('a', '>=1.0.0')]),
      [1, 0, 0],
      /missing dependencies: "a" \(>=1\.0\.0\); each is installed automatically/,
    ],
    [
      'many missing',
      check(['a', 'b', 'c', 'd', 'e'].map((name) => wants(name))),
      [5, 0, 0],
      /"a" \(\*\), "b" \(\*\), "c" \(\*\) and 2 more;/,
    ],
    [
      'missing of a dependency',
      check([wants('a')], installed('a', 'v1.0.0', [wants('b')])),
      [2, 1, 0],
      /missing dependencies: "b"/,
    ],
    [
      'too old',
      check([wants('a', '>=2.0.0')], installed('a', 'v1.0.0')),
      [1, 1, 1],
      /what is installed is version v1\.0\.0; change spec\.package of the Provider a-package$/,
    ],
    [
      'a version beside its digest',
      check([wants('a', '>=1.0.0')], installed('a', `v1.2.0@${DIGEST}`)),
      [1, 1, 0],
      undefined,
    ],
    [
      'a digest beside its version',
      check([wants('a', DIGEST)], installed('a', `v1.2.0@${DIGEST}`)),
      [1, 1, 0],
      undefined,
    ],
    [
      'another kind',
      check([wants('a', '*', 'Function')], installed('a', 'v1.0.0')),
      [1, 1, 1],
      /is to be a Function, and is installed as the Provider a-package; correct spec\.dependsOn/,
    ],
    [
      'a version that is a digest',
      check([wants('a', '>=1.0.0')], installed('a', DIGEST)),
      [1, 1, 1],
      /must be >=1\.0\.0/,
    ],
    [
      'a circle',
      check([wants('a')], installed('a', 'v1.0.0', [wants('self')])),
      [1, 1, 0],
      /form a cycle: self → a → self/,
    ],
  ];
  for (const [name, found, counts, problem] of cases)
    test(name, () => {
      assert.deepEqual([found.found, found.installed, found.invalid], counts);
      if (problem === undefined) assert.equal(found.problem, undefined);
      else assert.match(found.problem ?? '', problem);
    });

  test('a circle elsewhere is no endless walk', () => {
    const found = check([wants('a')], installed('a', 'v1', [wants('b')]), installed('b', 'v1', [wants('a')]));
    assert.deepEqual([found.found, found.problem], [2, undefined]);
  });
});

describe('the version of a dependency', () => {
  const tags = ['v1.0.0', 'v1.4.0', 'v2.0.0', 'v2.1.0-rc.1', 'latest'];
  const by = (...constraints: string[]) => constraints.map((text, index) => ({ by: `p${index}`, constraints: text }));
  test('is the highest that serves everybody', () => {
    assert.deepEqual(chooseVersion(tags, by('>=1.0.0')), { version: 'v2.0.0' });
    assert.deepEqual(chooseVersion(tags, by('>=1.0.0', '<2.0.0')), { version: 'v1.4.0' });
  });
  test('is the lowest that is no older than what is there, for the one that has it already', () => {
    assert.deepEqual(chooseVersion(tags, by('>=1.0.0'), 'v1.0.0'), { version: 'v1.0.0' });
    assert.deepEqual(chooseVersion(tags, by('>=1.2.0'), 'v1.0.0'), { version: 'v1.4.0' });
  });
  test('is none where nothing serves, and it is said who asked for what', () => {
    const choice = chooseVersion(tags, by('<2.0.0', '>=2.0.0'));
    assert.match(
      'problem' in choice ? choice.problem : '',
      /of 5 tags none serves all: <2\.0\.0 \(p0\), >=2\.0\.0 \(p1\)/,
    );
  });
  test('is the digest where one is asked for, and none where two are', () => {
    assert.deepEqual(pinnedVersion(by(DIGEST, DIGEST)), { version: DIGEST });
    assert.equal(pinnedVersion(by('>=1.0.0')), undefined);
    const torn = pinnedVersion(by(DIGEST, '>=1.0.0'));
    assert.ok(torn !== undefined && 'problem' in torn);
  });
});
