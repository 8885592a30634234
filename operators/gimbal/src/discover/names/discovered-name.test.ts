import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { validateDns1035Label, validateDns1123Subdomain } from '@capstan/kube';
import * as fc from 'fast-check';
import { discoveredName, labelValue, sliceName } from './discovered-name.ts';

const LONG = 'a-really-long-cluster-name-that-does-not-really-make-sense-and-is-not-useful-at-all';
const LONG_SERVICE = 'the-really-long-kube-service-name-that-is-exactly-63-characters';
const LIMIT = 'name-that-is-exactly-at-d-limit';

describe('a discovered name', () => {
  it('is what Gimbal gives, in every vector of its tests', () => {
    for (const [backend, service, name] of [
      ['cluster1', 'service1', 'cluster1-service1'],
      ['cluster1', LONG_SERVICE, 'cluster1-the-really-long-kube-serv1feeec'],
      [LONG, 'service1', 'a-really-long-cluster-namfb8867-service1'],
      [LONG, LONG_SERVICE, 'a-really-long-cluster-namfb8867-the-really-long-kube-serv1feeec'],
      [LIMIT, LIMIT, `${LIMIT}-${LIMIT}`],
      ['cluster1', 's'.repeat(53), `cluster1-${'s'.repeat(53)}`],
      ['cluster1', 's'.repeat(54), `cluster1-${'s'.repeat(25)}bcc39b`],
      [
        'cluster-name-that-is-definitely-too-long-to-be-useful',
        '5a5c3d9e-e679-43ec-b9fc-9bc51132541e',
        'cluster-name-that-is-defib224b3-5a5c3d9e-e679-43ec-b9fc-9f5b1ae',
      ],
    ] as const) {
      assert.equal(discoveredName(backend, service), name);
    }
  });

  it('is a name that a Service may have, for every valid backend and service', () => {
    const label = fc.stringMatching(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
    fc.assert(
      fc.property(label, label, (backend, service) => {
        const name = discoveredName(backend, service);
        assert.deepEqual(validateDns1035Label(name), []);
        assert.deepEqual(validateDns1123Subdomain(sliceName(name, 'any')), []);
      }),
    );
  });

  it('can be the same for two backends, which is why owners are looked at', () => {
    assert.equal(discoveredName('a-b', 'c'), discoveredName('a', 'b-c'));
  });
});

describe('a label value', () => {
  it('is cut as Gimbal cuts it', () => {
    assert.equal(labelValue(LONG), 'a-really-long-cluster-name-that-does-not-really-make-sensfb8867');
    assert.equal(labelValue('cluster1'), 'cluster1');
  });

  it('never has more than 63 characters', () => {
    fc.assert(fc.property(fc.string(), (text) => labelValue(text).length <= 63));
  });
});
