import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatProblem, jsonField } from './access-log-format.ts';

test('every operator that Contour and Envoy accept is accepted', () => {
  for (const format of [
    '%GRPC_STATUS%',
    '%GRPC_STATUS(CAMEL_STRING)%',
    '%GRPC_STATUS(SNAKE_STRING)%',
    '%GRPC_STATUS(NUMBER)%',
    '%DOWNSTREAM_DIRECT_REMOTE_PORT%',
    '%HOSTNAME%',
    '%DYNAMIC_METADATA(envoy.filters.http.ext_authz:user)%',
    '%FILTER_STATE(key:PLAIN)%',
    '%START_TIME(%s.%3f)%',
    '%REQ(X-A?:PATH):12%',
  ])
    assert.equal(formatProblem(format), undefined, format);
  assert.deepEqual(jsonField('downstream_direct_remote_port'), {
    isOk: true,
    value: { name: 'downstream_direct_remote_port', format: '%DOWNSTREAM_DIRECT_REMOTE_PORT%' },
  });
});

test('a format that Envoy would refuse is refused, with the remedy', () => {
  for (const [format, problem] of [
    ['%GRPC_STATUS(LOUD)%', /unknown form %GRPC_STATUS\(LOUD\)%; use one of CAMEL_STRING, SNAKE_STRING, NUMBER/],
    ['%UPSTREAM_FILTER_STATE%', /without arguments/],
    ['%FILTER_STATE(key:LOUD)%', /use KEY, KEY:PLAIN or KEY:TYPED/],
    ['%DURATION(1)%', /with arguments, which it does not take/],
  ] as const)
    assert.match(formatProblem(format) ?? '', problem);
});
