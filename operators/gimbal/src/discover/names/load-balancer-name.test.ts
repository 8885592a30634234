import assert from 'node:assert/strict';
import { it } from 'node:test';
import { validateLabelValue } from '@capstan/kube';
import * as fc from 'fast-check';
import { loadBalancerLabel } from './load-balancer-name.ts';

it('names of load balancers become label values as Gimbal makes them', () => {
  for (const [name, label] of [
    ['', ''],
    ['bar:8080', 'bar-8080'],
    ['foo!@#$%^&*()_+bar', 'foo----------_-bar'],
    ['foo-bar_BAZ.123', 'foo-bar_BAZ.123'],
    ['foo!', 'foo-lb'],
    ['!foo', 'lb-foo'],
    ['!foo!', 'lb-foo-lb'],
    ['foo-', 'foo-lb'],
    ['foo_', 'foo_lb'],
    ['foo.', 'foo.lb'],
    ['a😀b', 'a-b'],
    ['😀', 'lb-lb'],
  ] as const) {
    assert.equal(loadBalancerLabel(name), label);
  }
});

it('whatever a load balancer is called, its label is valid', () => {
  fc.assert(fc.property(fc.string(), (name) => assert.deepEqual(validateLabelValue(loadBalancerLabel(name)), [])));
});
