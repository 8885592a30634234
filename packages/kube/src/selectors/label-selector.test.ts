import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { InvalidValueError } from '../errors.ts';
import {
  compileLabelSelector,
  formatLabelSelector,
  noLabels,
  parseLabelSelector,
  selectorOfLabels,
} from './label-selector.ts';

function problemOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof InvalidValueError) return error.problem;
    throw error;
  }
  return assert.fail('it was accepted');
}

describe('a label selector as text', () => {
  const labels = { app: 'web', tier: 'front', empty: '', size: '12' };
  const matching = [
    '',
    '  ',
    'app=web',
    'app==web',
    'app = web , tier = front',
    'app!=db',
    'missing!=x',
    'app in (web, db)',
    'app in (web)',
    'app notin (db,cache)',
    'missing notin (x)',
    'app',
    '!missing',
    'empty=',
    'empty in ()',
    'empty in (a,)',
    'empty in (,a)',
    'empty in (a,,b)',
    'size>11',
    'size < 13',
    'example.com/x!=y',
    '!in',
    'in!=notin',
    'notin notin (notin,in)',
    'app\tin\n(web)',
    'app=web\0!!!',
  ];
  const refusing = [
    'app=db',
    'app!=web',
    'app in (db)',
    'app notin (web)',
    'missing',
    '!app',
    'missing in (,a)',
    'missing=',
    'size>12',
    'size<12',
    'app>1',
    'app=web,tier=back',
  ];

  it('matches what it says', () => {
    for (const text of matching) assert.equal(parseLabelSelector(text).matches(labels), true, text);
    for (const text of refusing) assert.equal(parseLabelSelector(text).matches(labels), false, text);
  });

  it('counts missing labels as missing', () => {
    assert.equal(parseLabelSelector('!app').matches(undefined), true);
    assert.equal(parseLabelSelector('app').matches(undefined), false);
    assert.equal(parseLabelSelector('constructor').matches({}), false, 'only own members are labels');
  });

  it('has a canonical form, whatever order and spelling it came in', () => {
    for (const [text, canonical] of [
      ['', ''],
      ['b==2 , a=1', 'a=1,b=2'],
      ['a in (z,y,z)', 'a in (y,z)'],
      ['a in (z)', 'a=z'],
      ['a notin (z)', 'a!=z'],
      ['!b,a,c notin (2,1)', 'a,!b,c notin (1,2)'],
      ['a=1,a=1', 'a=1'],
      ['a in ()', 'a='],
      ['a in (b,)', 'a in (,b)'],
      ['a>1,a<5', 'a<5,a>1'],
    ] as const) {
      assert.equal(parseLabelSelector(text).canonical, canonical, text);
      assert.equal(parseLabelSelector(canonical).canonical, canonical);
    }
  });

  it('shows its terms to an index', () => {
    assert.deepEqual(parseLabelSelector('b in (2,1),a=1,!c').terms, [
      { key: 'a', operator: 'In', values: ['1'] },
      { key: 'b', operator: 'In', values: ['1', '2'] },
      { key: 'c', operator: 'DoesNotExist', values: [] },
    ]);
  });

  it('is refused in the words of kube-apiserver', () => {
    const name =
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    const value =
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    for (const [text, problem] of [
      ['=a', "found '=', expected: !, identifier, or 'end of string'"],
      [',a', "found ',', expected: !, identifier, or 'end of string'"],
      ['a,', "found '', expected: identifier after ','"],
      ['a,,b', "found ',', expected: identifier after ','"],
      ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
      ['a=b c', "found 'c', expected: ',' or 'end of string'"],
      ['!a=b', "found '=', expected: ',' or 'end of string'"],
      ['!', "unable to parse requirement: found '', expected: identifier"],
      ['!!a', "unable to parse requirement: found '!', expected: identifier"],
      ['a=(b', "unable to parse requirement: found '(', expected: identifier"],
      ['a===b', "unable to parse requirement: found '=', expected: identifier"],
      ['a in b', "unable to parse requirement: found 'b' expected: '('"],
      ['a in (=)', "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
      ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
      ['a in (b', "unable to parse requirement: found '', expected: ',' or ')'"],
      ['a in (b,', "unable to parse requirement: found '', expected: ',', or identifier"],
      ['-a=b', `unable to parse requirement: <nil>: Invalid value: "-a": ${name}`],
      ['a=-b', `unable to parse requirement: values[0][a]: Invalid value: "-b": ${value}`],
      ['a in (b,-c)', `unable to parse requirement: values[0][a]: Invalid value: "-c": ${value}`],
      [
        'a>b',
        `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
      ],
      [
        'a>9223372036854775808',
        `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": for 'Gt', 'Lt' operators, the value must be an integer`,
      ],
    ] as const) {
      assert.equal(
        problemOf(() => parseLabelSelector(text)),
        problem,
        text,
      );
    }
  });

  it('names the selector and a remedy in the error that users see', () => {
    assert.throws(
      () => parseLabelSelector('a b'),
      /^InvalidValueError: the label selector "a b" is not valid: .*; separate by commas: key=value/,
    );
  });
});

describe('a label selector as an object', () => {
  it('matches everything when empty and nothing when missing', () => {
    assert.equal(compileLabelSelector({}).matches({ a: '1' }), true);
    assert.equal(compileLabelSelector({}).canonical, '');
    for (const nothing of [undefined, null]) {
      assert.equal(compileLabelSelector(nothing).matches({ none: '' }), false);
      assert.equal(compileLabelSelector(nothing).matches({}), false);
    }
    assert.equal(parseLabelSelector(noLabels().canonical).matches({ a: '1' }), false, 'on a server too');
  });

  it('joins matchLabels and matchExpressions', () => {
    const selector = {
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['b', 'a'] },
        { key: 'old', operator: 'DoesNotExist' },
        { key: 'env', operator: 'NotIn', values: ['dev'] },
        { key: 'zone', operator: 'Exists' },
      ],
    };
    assert.equal(formatLabelSelector(selector), 'app=web,env!=dev,!old,tier in (a,b),zone');
    assert.equal(compileLabelSelector(selector).matches({ app: 'web', tier: 'a', zone: '' }), true);
    assert.equal(compileLabelSelector(selector).matches({ app: 'web', tier: 'a' }), false);
  });

  it('is refused when it cannot mean anything', () => {
    const problem = (key: string, operator: string, values: string[]) =>
      problemOf(() => compileLabelSelector({ matchExpressions: [{ key, operator, values }] }));
    assert.equal(problem('a', 'Like', []), '"Like" is not a valid label selector operator');
    assert.equal(
      problem('a', 'In', []),
      "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
    );
    assert.equal(
      problem('a', 'Exists', ['b']),
      'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
    );
    assert.match(problem('-', 'In', []), /^\[key: Invalid value: "-": .*, values: Invalid value: \[\]: /);
  });

  it('survives being written as text and read again', () => {
    const word = fc.constantFrom('a', 'b', 'in', 'notin', 'x.y/z', 'C-1');
    const value = fc.constantFrom('', 'a', 'in', 'B_2', '7');
    const expression = fc.oneof(
      fc.record({
        key: word,
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.array(value, { minLength: 1, maxLength: 4 }),
      }),
      fc.record({ key: word, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
    );
    const selectors = fc.record({
      matchLabels: fc.dictionary(word, value, { maxKeys: 3 }),
      matchExpressions: fc.array(expression, { maxLength: 4 }),
    });
    fc.assert(
      fc.property(selectors, fc.dictionary(word, value, { maxKeys: 5 }), (selector, labels) => {
        const compiled = compileLabelSelector(selector);
        const again = parseLabelSelector(compiled.canonical);
        assert.equal(again.canonical, compiled.canonical);
        assert.deepEqual(again.terms, compiled.terms);
        assert.equal(again.matches(labels), compiled.matches(labels));
      }),
    );
  });
});

describe('the selector of a map of labels', () => {
  it('asks for all of them', () => {
    const selector = selectorOfLabels({ b: '2', a: '1' });
    assert.equal(selector.canonical, 'a=1,b=2');
    assert.equal(selector.matches({ a: '1', b: '2', c: '3' }), true);
    assert.equal(selector.matches({ a: '1' }), false);
  });
});
