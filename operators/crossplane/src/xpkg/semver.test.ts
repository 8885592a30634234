import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  type Constraint,
  compareVersions,
  highestSatisfying,
  lowestSatisfying,
  parseConstraint,
  parseVersion,
  satisfies,
  type Version,
} from './semver.ts';

const version = (text: string): Version => parseVersion(text) ?? assert.fail(`${text} is no version`);
const constraint = (text: string): Constraint => parseConstraint(text) ?? assert.fail(`${text} is no constraint`);

describe('a version', () => {
  for (const [text, is] of [
    ['1.2.3', [1, 2, 3, '']],
    ['v1.2.3', [1, 2, 3, '']],
    ['1', [1, 0, 0, '']],
    ['v1.2', [1, 2, 0, '']],
    ['1.2-5', [1, 2, 0, '5']],
    ['1.2.3-rc.1+build.7', [1, 2, 3, 'rc.1']],
    ['1.2.3-0abc', [1, 2, 3, '0abc']],
    ['01.1.1', [1, 1, 1, '']],
    ['20221209-update', [20_221_209, 0, 0, 'update']],
  ] as const)
    test(`${text} is read`, () => {
      const { major, minor, patch, prerelease } = version(text);
      assert.deepEqual([major, minor, patch, prerelease], is);
    });

  for (const text of [
    '',
    'foo',
    'latest',
    '1.2.beta',
    '1.2.3.4',
    '1.2.3-beta.01',
    '1.2.3-a..b',
    '1.2.3-a_b',
    '1.2.3+a+b',
    ' 1.2',
    'V1',
    '-1',
    '1.2.3\n',
    '99999999999999999999.0.0',
    `1.${'9'.repeat(500)}`,
  ])
    test(`${JSON.stringify(text.slice(0, 30))} is none`, () => assert.equal(parseVersion(text), undefined));

  test('is ordered as SemVer says', () => {
    const ordered = ['1.0.0-0', '1.0.0-2', '1.0.0-11', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta'];
    ordered.push('1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0', '1.0.1', '1.1.0', '2.0.0');
    const shuffled = ordered.toReversed().toSorted((a, b) => compareVersions(version(a), version(b)));
    assert.deepEqual(shuffled, ordered);
    assert.equal(compareVersions(version('1.0.0+a'), version('v1+b')), 0);
  });
});

describe('a constraint', () => {
  const cases: [text: string, within: string, without: string][] = [
    ['1.2.3', '1.2.3 v1.2.3 1.2.3+x', '1.2.4 1.2.3-a'],
    ['=2.0', '2.0.0 2.0.9', '2.1.0 1.9.9'],
    ['1.x', '1.0.0 1.9.9', '0.9.9 2.0.0 1.1.0-a'],
    ['1.2.X', '1.2.0 1.2.9', '1.3.0'],
    ['1.x.3', '1.0.0 1.7.1', '2.0.3'],
    ['*', '0.0.0 9.9.9', '1.0.0-a'],
    ['!=4.1.0', '4.1.1 5.0.0', '4.1.0'],
    ['!=4.1', '4.2.0 5.1.0', '4.1.0 4.1.7'],
    ['!=4.x', '5.1.0 3.0.0', '4.1.0 4.0.0'],
    ['>11', '12.0.0', '11.0.0 11.1.0'],
    ['>11.1', '11.2.0', '11.1.0 11.1.1 11.0.0'],
    ['>1.1.0', '1.1.1', '1.1.0'],
    ['<11', '10.9.9', '11.0.0'],
    ['<=11', '11.9.9 1.0.0', '12.0.0'],
    ['<=1.1', '1.1.9 0.1.0', '1.2.0'],
    ['=<2.0.0', '2.0.0', '2.0.1'],
    ['=>1.14', '1.14.0 2.0.0', '1.13.9'],
    ['^1.2.3', '1.2.3 1.9.0', '2.0.0 1.2.2 2.0.0-a'],
    ['^0.2.3', '0.2.9', '0.3.0 1.0.0'],
    ['^0.0.3', '0.0.3', '0.0.4'],
    ['^0.0', '0.0.9', '0.1.0'],
    ['^0', '0.9.9', '1.0.0'],
    ['~1.2.3', '1.2.3 1.2.9', '1.3.0 1.2.2'],
    ['~>1.2', '1.2.0 1.2.9', '1.3.0'],
    ['~1', '1.9.9', '2.0.0'],
    ['~0.0.0', '0.0.0 7.0.0', '7.0.0-a'],
    ['1.2 - 1.4', '1.2.0 1.4.9', '1.5.0 1.1.9'],
    ['1.2.0 - 1.4.5', '1.2.0 1.4.5', '1.4.6'],
    ['1.0.0 - 2.0.0, !=1.5.0', '1.4.0 2.0.0', '1.5.0 2.0.1'],
    ['>=1.2.3, <2.0', '1.2.3 1.9.9', '2.0.0 1.2.2'],
    ['>=1.2.3 <2.0', '1.2.3 1.9.9', '2.0.0 1.2.2'],
    ['>= 1.2.3 , < 2.0', '1.2.3', '2.0.0'],
    ['>=1.2.3, <2.0 || >= 3', '1.5.0 3.0.0', '2.5.0'],
    ['<1||>2', '0.9.0 3.0.0', '1.5.0 2.0.0'],
    // Prereleases only where the group names one itself, and then for all of its comparisons.
    ['>=1.14.0-0', '1.14.0-rc.1 1.15.0-alpha', '1.13.9'],
    ['>=1.1.0-0, <2.0.0', '1.2.0-a 1.9.9', '2.0.0'],
    ['>=1.1.0', '1.1.0', '1.2.0-a'],
    ['>=3.0.0 || >=1.0.0-0 <2', '1.2.0-a', '3.1.0-a'],
    ['^1.1.2-alpha', '1.2.1-beta.1 1.1.2', '2.0.0-a 1.1.2-a'],
    ['!=4.1-alpha', '4.1.0 5.0.0-a', '4.1.0-alpha'],
  ];
  for (const [text, within, without] of cases)
    test(`${text} takes ${within} and not ${without}`, () => {
      for (const inside of within.split(' ')) assert.ok(satisfies(version(inside), constraint(text)), inside);
      for (const outside of without.split(' ')) assert.ok(!satisfies(version(outside), constraint(text)), outside);
    });

  for (const text of [
    '',
    ' ',
    '||',
    '1.0 ||',
    '>= bar',
    'BAR >= 1.2.3',
    '12.3.4.1234',
    '12.3.34~ 1.2.3',
    'v1.2.3-beta.01',
    '1.2.3,',
    ',1.2.3',
    '1,,2',
    '>>1',
    '1.2.3<2',
    '!1.2',
    'sha256:abc',
    '1 - ',
    `>=1${' '.repeat(5000)}`,
  ])
    test(`${JSON.stringify(text.slice(0, 20))} is none`, () => assert.equal(parseConstraint(text), undefined));

  test('chooses the highest or the lowest of tags, and passes over those that are no versions', () => {
    const tags = ['latest', 'v1.0.0', 'v1.10.0', 'v1.9.0', 'v2.0.0-rc.1', 'v2.0.0', 'sha256-abc.sig'];
    assert.equal(highestSatisfying(tags, constraint('>=1.0.0 <2')), 'v1.10.0');
    assert.equal(lowestSatisfying(tags, constraint('>1.0.0')), 'v1.9.0');
    assert.equal(highestSatisfying(tags, constraint('>=3')), undefined);
    assert.equal(highestSatisfying(tags, constraint('<2.0.0-0')), 'v1.10.0');
  });
});

describe('versions and constraints, generated', () => {
  const number = fc.nat(4);
  const some = fc
    .tuple(number, number, number, fc.option(fc.constantFrom('0', 'a', 'a.1', 'rc.2', '1'), { nil: undefined }))
    .map(([a, b, c, pre]) => `${a}.${b}.${c}${pre === undefined ? '' : `-${pre}`}`);

  test('hold the laws of order', () => {
    fc.assert(
      fc.property(some, some, some, (a, b, c) => {
        const [x, y, z] = [version(a), version(b), version(c)];
        assert.equal(Math.sign(compareVersions(x, y)) + Math.sign(compareVersions(y, x)), 0);
        if (compareVersions(x, y) <= 0 && compareVersions(y, z) <= 0) assert.ok(compareVersions(x, z) <= 0);
      }),
    );
  });

  test('a caret and a tilde are the ranges that they abbreviate', () => {
    fc.assert(
      fc.property(number, number, number, some, (a, b, c, text) => {
        const it = version(text);
        const same = (left: string, right: string) =>
          assert.equal(
            satisfies(it, constraint(left)),
            satisfies(it, constraint(right)),
            `${left} / ${right} / ${text}`,
          );
        if (a > 0) same(`^${a}.${b}.${c}`, `>=${a}.${b}.${c}, <${a + 1}.0.0`);
        else if (b > 0) same(`^0.${b}.${c}`, `>=0.${b}.${c} <0.${b + 1}.0`);
        else same(`^0.0.${c}`, `=0.0.${c}`);
        if (a + b + c > 0) same(`~${a}.${b}.${c}`, `>=${a}.${b}.${c}, <${a}.${b + 1}.0`);
        same(`${a}.${b}`, `~${a}.${b}`);
        same(`!=${a}.${b}.${c}`, `<${a}.${b}.${c} || >${a}.${b}.${c}`);
      }),
    );
  });

  test('any text is read or refused, in time that does not run away', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123.x*-+ ,|<>=~^!va'.split('')), maxLength: 300 }), (text) => {
        const read = parseConstraint(text);
        if (read !== undefined) satisfies(version('1.2.3'), read);
      }),
    );
    for (const hostile of ['1-'.repeat(900), '1 - '.repeat(400), '1-a.'.repeat(480), `1-${'a'.repeat(1900)}!`])
      parseConstraint(hostile);
  });
});
