// The compiler checks these: a line that it no longer refuses is an error of its own.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Cluster, HttpFilter, Route, RouteMatch, VirtualHost } from './gen/types.ts';
import { typed } from './tables.ts';

suite('types of messages', () => {
  test('a field that Envoy does not have is refused, wherever it is', () => {
    // @ts-expect-error It is `domains`.
    const host: VirtualHost = { name: 'shop', domain: ['shop.test'] };
    // @ts-expect-error It is `num_retries`.
    const route: Route = { route: { cluster: 'a', retry_policy: { number_retries: 3 } } };
    assert.ok(host && route);
  });

  test('a value that an enum does not have is refused', () => {
    // @ts-expect-error It is `ROUND_ROBIN`.
    const cluster: Cluster = { lb_policy: 'ROUNDROBIN' };
    assert.ok(cluster);
  });

  test('a value of another type is refused', () => {
    // @ts-expect-error Durations are texts.
    const cluster: Cluster = { connect_timeout: 2 };
    assert.ok(cluster);
  });

  test('two fields of a oneof are refused', () => {
    // @ts-expect-error A route matches by one of them.
    const match: RouteMatch = { prefix: '/', path: '/a' };
    assert.ok(match);
  });

  test('the configuration of an extension is that of its type', () => {
    const cors = 'envoy.extensions.filters.http.cors.v3.CorsPolicy';
    // @ts-expect-error It is `allow_methods`.
    const policy = typed(cors, { allow_method: 'GET' });
    // @ts-expect-error It is `allow_methods`.
    const filter: HttpFilter = { typed_config: { '@type': `type.googleapis.com/${cors}`, allow_method: 'GET' } };
    // @ts-expect-error There is no such message.
    const unknown = typed('envoy.extensions.filters.http.cors.v3.CorsPolicies');
    assert.ok(policy && filter && unknown);
  });

  test('no field is hidden from the compiler in an object that is spread', () => {
    const folder = join(import.meta.dirname, '..');
    const found = globSync(['routing/**/*.ts', 'gateway/**/*.ts'], { cwd: folder }).flatMap((file) => {
      if (file.includes('.test')) return [];
      const text = readFileSync(join(folder, file), 'utf8');
      return [...text.matchAll(HIDDEN)].map(([line]) => `${file}: ${line}; write FIELD: CONDITION ? VALUE : undefined`);
    });
    assert.deepEqual(found, []);
  });
});

/** `...(isSet && { some_field: 1 })`: the compiler does not look for unknown fields there. */
const HIDDEN = /\.\.\.\([^[;{]*?(?:&&|\?|:)\s*\{\s*[a-z]+_[a-z_]+:/g;
