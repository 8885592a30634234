import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySpec } from '../api/objects.ts';
import { GATEWAY_GROUP } from '../api/references.ts';
import { certificate, type Fixture, gatewaySpec, listener, lookupOf } from '../gateway.test-support.ts';
import { gatewayState } from './listener-state.ts';

const state = (spec: GatewaySpec, fixture: Fixture = {}) => gatewayState(spec, 'default', lookupOf(fixture));

/** `Type=Reason` of the conditions that are not as they should be. */
function problems(spec: GatewaySpec, fixture: Fixture = {}): Record<string, string[]> {
  return Object.fromEntries(
    state(spec, fixture).listeners.map(({ name, conditions }) => [
      name,
      conditions
        .filter(({ type, status }) => (status === 'True') === (type === 'Conflicted'))
        .map(({ type, reason }) => `${type}=${reason}`),
    ]),
  );
}

const tls = (name: string, more: object = {}) => ({ tls: { certificateRefs: [{ name, ...more }] } });
const https = (name: string, ref: object) => listener(name, { protocol: 'HTTPS', port: 443, ...ref });

suite('listeners of a Gateway', () => {
  test('an ordinary one is accepted, programmed and takes HTTPRoutes and GRPCRoutes', () => {
    assert.deepEqual(problems(gatewaySpec(listener('http'))), { http: [] });
    const [http] = state(gatewaySpec(listener('http', { hostname: 'Shop.Test' }))).listeners;
    assert.deepEqual(http?.kinds, ['HTTPRoute', 'GRPCRoute']);
    assert.equal(http?.host, 'shop.test');
  });

  test('a protocol that is not supported is refused, the others are served', () => {
    assert.deepEqual(problems(gatewaySpec(listener('udp', { protocol: 'UDP' }), listener('http'))), {
      udp: ['Accepted=UnsupportedProtocol', 'Programmed=Invalid'],
      http: [],
    });
  });

  test('kinds that the protocol cannot route are reported, and the rest is allowed', () => {
    const kinds = (...names: string[]) => ({ allowedRoutes: { kinds: names.map((kind) => ({ kind })) } });
    const spec = gatewaySpec(
      listener('some', kinds('HTTPRoute', 'TCPRoute')),
      listener('none', { port: 81, ...kinds('TCPRoute') }),
    );
    assert.deepEqual(problems(spec), {
      some: ['ResolvedRefs=InvalidRouteKinds'],
      none: ['Programmed=Invalid', 'ResolvedRefs=InvalidRouteKinds'],
    });
    assert.deepEqual(
      state(spec).listeners.map((each) => each.kinds),
      [['HTTPRoute'], []],
    );
  });

  test('certificates must exist, be Secrets, load, and be granted across namespaces', async () => {
    const { secret } = await certificate('good');
    const other = { ...secret, namespace: 'other' };
    const broken = { ...secret, name: 'broken', data: { ...secret.data, 'tls.crt': Buffer.from('x') } };
    const fixture = { secrets: [secret, other, broken] };
    const from = { group: GATEWAY_GROUP, kind: 'Gateway', namespace: 'default' };
    const granted = { ...fixture, grants: { other: [{ from: [from], to: [{ group: '', kind: 'Secret' }] }] } };
    const refused = (reason: string) => ({ https: ['Programmed=Invalid', `ResolvedRefs=${reason}`] });
    assert.deepEqual(problems(gatewaySpec(https('https', tls('good'))), fixture), { https: [] });
    for (const ref of [
      tls('missing'),
      tls('broken'),
      tls('good', { kind: 'ConfigMap' }),
      tls('good', { group: 'x' }),
      {},
    ])
      assert.deepEqual(problems(gatewaySpec(https('https', ref)), fixture), refused('InvalidCertificateRef'));
    const across = gatewaySpec(https('https', tls('good', { namespace: 'other' })));
    assert.deepEqual(problems(across, fixture), refused('RefNotPermitted'));
    assert.deepEqual(problems(across, granted), { https: [] });
  });

  test('listeners that cannot be distinguished on a port are in conflict; HTTPS and TLS share one by name', async () => {
    const { secret } = await certificate('good');
    const fixture = { secrets: [secret] };
    const conflict = (reason: string) => [`Accepted=${reason}`, 'Programmed=Invalid', `Conflicted=${reason}`];
    assert.deepEqual(problems(gatewaySpec(listener('a'), listener('b'))), {
      a: conflict('HostnameConflict'),
      b: conflict('HostnameConflict'),
    });
    assert.deepEqual(
      problems(gatewaySpec(listener('a'), listener('b', { protocol: 'TCP' }), listener('c', { port: 81 }))),
      {
        a: conflict('ProtocolConflict'),
        b: conflict('ProtocolConflict'),
        c: [],
      },
    );
    const pass = listener('pass', { port: 443, protocol: 'TLS', hostname: 'b.test', tls: { mode: 'Passthrough' } });
    const own = https('own', { hostname: 'a.test', ...tls('good') });
    assert.deepEqual(problems(gatewaySpec(own, pass), fixture), { own: [], pass: [] });
  });

  test('clients are verified with authorities of ConfigMaps, by port before the default', async () => {
    const { secret, ca } = await certificate('good');
    const fixture = { secrets: [secret], configMaps: { 'default/ca': { 'ca.crt': ca }, 'default/empty': {} } };
    const refs = (...caCertificateRefs: object[]) => ({ validation: { caCertificateRefs } as never });
    const config = (kind: string, name: string) => ({ group: '', kind, name });
    const spec = (perPort: object, mode?: string): GatewaySpec => ({
      ...gatewaySpec(https('one', tls('good')), https('two', { ...tls('good'), port: 8443 })),
      tls: {
        frontend: {
          default: { validation: { caCertificateRefs: [config('ConfigMap', 'ca')], mode: mode as never } },
          perPort: [{ port: 8443, tls: perPort }],
        },
      },
    });
    const good = state(spec(refs(config('ConfigMap', 'ca'))), fixture);
    assert.deepEqual(
      good.listeners.map(({ isServed, clientValidation }) => [isServed, clientValidation?.isRequired]),
      [
        [true, true],
        [true, true],
      ],
    );
    const bad: [object, string][] = [
      [config('ConfigMap', 'missing'), 'InvalidCACertificateRef'],
      [config('ConfigMap', 'empty'), 'InvalidCACertificateRef'],
      [config('Service', 'ca'), 'InvalidCACertificateKind'],
      [{ ...config('ConfigMap', 'ca'), namespace: 'other' }, 'RefNotPermitted'],
    ];
    for (const [ref, reason] of bad)
      assert.deepEqual(problems(spec(refs(ref)), fixture), {
        one: [],
        two: ['Accepted=NoValidCACertificate', 'Programmed=Invalid', `ResolvedRefs=${reason}`],
      });
    assert.equal(state(spec({}), fixture).listeners[1]?.clientValidation, undefined);
    assert.equal(state(spec({}, 'AllowInsecureFallback'), fixture).hasInsecureValidation, true);
  });
});
