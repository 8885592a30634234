import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { curlOf, explainCommandOf, parseRequest, splitTest } from './tested-request.ts';

describe('a tested request', () => {
  it('is read from a URL with or without a scheme, and from lines of headers', () => {
    assert.deepEqual(parseRequest('GET', 'store.test/basket?a=1', 'X-User: anna\n\n'), {
      host: 'store.test',
      path: '/basket?a=1',
      method: 'GET',
      headers: { 'x-user': 'anna' },
    });
  });

  it('is a sentence where it cannot be read', () => {
    for (const [url, headers] of [
      ['', ''],
      ['http://', ''],
      ['ftp://a.test/', ''],
      ['a.test', 'no colon'],
    ] as const)
      assert.equal(typeof parseRequest('GET', url, headers), 'string');
  });

  it('is kept in the address', () => {
    assert.deepEqual(splitTest('POST http://a.test/'), ['POST', 'http://a.test/']);
    assert.deepEqual(splitTest('http://a.test/'), ['GET', 'http://a.test/']);
  });

  it('becomes a command whose quotes are safe', () => {
    const request = parseRequest('POST', 'http://a.test/', "x: it's");
    assert.ok(typeof request !== 'string');
    assert.equal(explainCommandOf(request), String.raw`sesame explain 'a.test/' --method POST --header 'x: it'\''s'`);
    assert.equal(curlOf('POST', 'http://a.test/', request), String.raw`curl -X POST -H 'x: it'\''s' 'http://a.test/'`);
  });
});
