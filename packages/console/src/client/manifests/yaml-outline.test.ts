import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { yamlLines, yamlText } from './yaml-lines.ts';
import { outlineOf } from './yaml-outline.ts';

const paths = (text: string) => outlineOf(text).flatMap(({ lines }) => lines.map(({ path }) => path.join('.')));

describe('the outline of YAML', () => {
  it('finds the path of each line, in lists with and without more indentation', () => {
    assert.deepEqual(paths('a:\n- b: 1\n  c: 2\n- d\ne:\n  - f:\n      g: 3\n'), [
      'a',
      'a.0.b',
      'a.0.c',
      'a.1',
      'e',
      'e.0.f',
      'e.0.f.g',
    ]);
  });

  it('separates documents and names their kinds', () => {
    const found = outlineOf('# first\napiVersion: v1\nkind: Secret\n---\nkind: "Service"\napiVersion: v1\n');
    assert.deepEqual(
      found.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
      ['v1 Secret', 'v1 Service'],
    );
  });

  it('skips the text of block scalars and comments', () => {
    assert.deepEqual(paths('a: |\n  b: no\n\n  c: no\n# d: no\ne: x # f: no\n'), ['a', 'e']);
  });

  it('finds every key of what yamlLines writes', () => {
    const key = fc.stringMatching(/^[a-z]{1,4}$/);
    const { tree } = fc.letrec((tie) => ({
      tree: fc.dictionary(key, tie('value'), { minKeys: 1, maxKeys: 3 }),
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.integer(),
        tie('tree'),
        fc.array(tie('tree'), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (object) => {
        const lines = yamlLines(object).filter((line) => line.key !== undefined);
        const wanted = lines.map(({ path }) => path.replaceAll(/\[(\d+)\]/g, '.$1'));
        assert.deepEqual(paths(yamlText(yamlLines(object))), wanted);
      }),
      { numRuns: 60 },
    );
  });

  it('never throws, whatever is typed', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', ':', ' ', '-', '\n', '"', "'", '|', '{', '#') }),
        (text) => void outlineOf(text),
      ),
    );
  });
});
