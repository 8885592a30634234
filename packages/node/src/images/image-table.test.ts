import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findImage } from './image-table.ts';

test('images are known by name, with any tag unless the table names one', () => {
  const cases: [string, string, boolean][] = [
    ['capstan', 'capstan', true],
    ['capstan', 'capstan:0.1.0', true],
    ['capstan', 'capstan@sha256:abc', true],
    ['capstan', 'capstan-other', false],
    ['capstan', 'quay.io/capstan', false],
    ['capstan:1', 'capstan:1', true],
    ['capstan:1', 'capstan:2', false],
    ['envoyproxy/envoy', 'docker.io/envoyproxy/envoy:v1.30', true],
    ['docker.io/envoyproxy/envoy', 'envoyproxy/envoy', true],
    ['nginx', 'docker.io/library/nginx:1', true],
    ['envoyproxy/envoy:v1.3*', 'envoyproxy/envoy:v1.31.2', true],
    ['envoyproxy/envoy:v1.3*', 'envoyproxy/envoy:v1.29', false],
    ['*/kroxylicious*', 'quay.io/x/kroxylicious-proxy:1', true],
    ['localhost:5000/a', 'localhost:5000/a:1', true],
    ['a.b', 'axb', false],
  ];
  for (const [match, image, isKnown] of cases) {
    assert.equal(findImage([{ match, entrypoint: [] }], image) !== undefined, isKnown, `${match} ${image}`);
  }
});
