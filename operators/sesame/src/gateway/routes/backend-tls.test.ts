import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendTLSPolicy, BackendTLSPolicySpec } from '../api/objects.ts';
import { certificate, lookupOf } from '../gateway.test-support.ts';
import { backendTls, byPrecedence, policyAuthorities, policyFor } from './backend-tls.ts';

const target = (name: string, sectionName?: string) => ({
  group: '',
  kind: 'Service',
  name,
  ...(sectionName && { sectionName }),
});

function policy(name: string, more: Partial<BackendTLSPolicySpec> = {}, creationTimestamp = '2026-01-01T00:00:00Z') {
  return {
    metadata: { name, namespace: 'default', creationTimestamp },
    spec: {
      targetRefs: [target('shop')],
      validation: { hostname: 'shop.test', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'ca' }] },
      ...more,
    },
  } as BackendTLSPolicy;
}

suite('BackendTLSPolicy', () => {
  test('one for a port wins over one for the Service, and the oldest over the others', () => {
    const whole = policy('whole');
    const port = policy('port', { targetRefs: [target('shop', 'https')] }, '2026-02-01T00:00:00Z');
    const late = policy('a-late', {}, '2026-03-01T00:00:00Z');
    const sorted = [late, port, whole].toSorted(byPrecedence);
    const chosen = (portName: string) => policyFor(sorted, 'shop', portName)?.metadata.name;
    assert.equal(chosen('https'), 'port');
    assert.equal(chosen('other'), 'whole');
    assert.equal(chosen(''), 'whole');
    assert.equal(policyFor(sorted, 'other', ''), undefined);
  });

  test('the backend is verified by its host name, or by other names where the policy has some', async () => {
    const { ca } = await certificate('x');
    const lookup = lookupOf({ configMaps: { 'default/ca': { 'ca.crt': ca } } });
    const plain = backendTls(policy('p'), lookup);
    assert.equal(plain?.sni, 'shop.test');
    assert.deepEqual(plain?.validation.subjectNames, ['shop.test']);
    const validation = {
      ...policy('p').spec.validation,
      subjectAltNames: [
        { type: 'Hostname' as const, hostname: 'other.test' },
        { type: 'URI' as const, uri: 'spiffe://x' },
      ],
    };
    const named = backendTls(policy('p', { validation }), lookup);
    assert.deepEqual(named?.validation.subjectNames, ['other.test']);
    assert.deepEqual(named?.validation.subjectUris, ['spiffe://x']);
    assert.equal(named?.sni, 'shop.test');
  });

  test('authorities that cannot be used are reported, and without any the backend is not reached', async () => {
    const { ca } = await certificate('x');
    const lookup = lookupOf({ configMaps: { 'default/ca': { 'ca.crt': ca }, 'default/bad': { 'ca.crt': 'x' } } });
    const check = (...refs: object[]) => {
      const spec = { ...policy('p').spec, validation: { hostname: 'x', caCertificateRefs: refs as never } };
      const { certificates, problem } = policyAuthorities(spec, 'default', lookup);
      return [certificates !== undefined, problem?.reason];
    };
    assert.deepEqual(check({ group: '', kind: 'ConfigMap', name: 'ca' }), [true, undefined]);
    assert.deepEqual(check({ group: '', kind: 'ConfigMap', name: 'none' }), [false, 'InvalidCACertificateRef']);
    assert.deepEqual(check({ group: '', kind: 'ConfigMap', name: 'bad' }), [false, 'InvalidCACertificateRef']);
    assert.deepEqual(check({ group: '', kind: 'Service', name: 'ca' }), [false, 'InvalidKind']);
    assert.deepEqual(
      check({ group: '', kind: 'ConfigMap', name: 'none' }, { group: '', kind: 'ConfigMap', name: 'ca' }),
      [true, 'InvalidCACertificateRef'],
    );
    const broken = policy('p', { validation: { hostname: 'x', caCertificateRefs: [] } });
    assert.equal(backendTls(broken, lookup), undefined);
  });

  test('well-known authorities are those of the system', () => {
    const spec = policy('p', { validation: { hostname: 'x', wellKnownCACertificates: 'System' } });
    assert.equal(backendTls(spec, lookupOf())?.validation.ca, 'system');
  });
});
