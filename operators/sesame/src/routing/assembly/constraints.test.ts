// Values that Envoy's constraints refuse never leave Sesame, and harm nothing else.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { testSettings } from '../default-settings.ts';
import { endpointsResource } from '../envoy/endpoints-message.ts';
import { secretResource } from '../envoy/secret-message.ts';
import { type Assembly, createAssembly } from './assembly.ts';
import { Piece } from './piece.ts';

const origin = (name: string) => ({ kind: 'Service', namespace: 'default', name, path: 'spec.ports' });

function endpoints(name: string, port: number) {
  const groups = [{ weight: 1, endpoints: [{ address: '10.0.0.1', port }] }];
  return endpointsResource({ name: `default/${name}`, groups, origin: origin(name) });
}

/** Endpoints are served while a cluster needs them. */
function started(...names: string[]): Assembly {
  const assembly = createAssembly(testSettings());
  assembly.take(names.map((name) => ({ key: `uses/${name}`, after: usesOf(name) })));
  return assembly;
}

function usesOf(name: string): Piece {
  const required = endpoints(name, 80).key;
  const cluster = { ...endpoints(name, 80), type: 'cds', key: `cds/${name}`, requires: [required] };
  return new Piece({ resources: [Object.assign(cluster, { version: () => name }) as never] });
}

const refusedBy = (assembly: Assembly) => [...assembly.refused()].map(({ key, message }) => [key, message]);

suite('endpoints that Envoy would refuse', () => {
  const take = (assembly: Assembly, name: string, port: number) =>
    assembly.take([{ key: `default/${name}`, after: new Piece({ endpoints: [endpoints(name, port)] }) }]);

  test('endpoints with a port that does not exist are not sent, and the field is named', () => {
    const assembly = started('shop', 'other');
    assert.equal(take(assembly, 'shop', 70_000).get('eds/default/shop'), undefined);
    assert.ok(take(assembly, 'other', 80).get('eds/default/other'));
    assert.deepEqual(refusedBy(assembly), [
      [
        'eds/default/shop',
        'it would refuse eds/default/shop (endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value is 70000; it must be at most 65535), which is not sent; correct the value that it comes from',
      ],
    ]);
    assert.deepEqual(
      [...assembly.refused()].flatMap(({ origins }) => origins),
      ['Service default/shop'],
    );
  });

  test('the last valid endpoints stay until corrected ones come', () => {
    const assembly = started('shop');
    take(assembly, 'shop', 80);
    assert.ok(!take(assembly, 'shop', 70_000).has('eds/default/shop'));
    assert.ok(!take(assembly, 'shop', 70_001).has('eds/default/shop'));
    assert.ok(take(assembly, 'shop', 81).get('eds/default/shop'));
    assert.deepEqual(refusedBy(assembly), []);
  });

  test('a Service that is deleted takes its last valid endpoints with it', () => {
    const assembly = started('shop');
    take(assembly, 'shop', 80);
    take(assembly, 'shop', 70_000);
    const out = assembly.take([{ key: 'default/shop', after: undefined }]);
    assert.ok(out.has('eds/default/shop') && out.get('eds/default/shop') === undefined);
    assert.deepEqual(refusedBy(assembly), []);
  });
});

test('a secret without the name of its file is not sent, however often it is asked for', () => {
  const secret = { kind: 'authorities', name: 'default/ca', certificates: { file: '' }, origin: origin('ca') } as const;
  for (const key of ['host:a', 'host:b']) {
    const piece = new Piece({ resources: [secretResource(secret)] });
    assert.deepEqual(
      [piece.resources.length, piece.refused.map((each) => each.key), key],
      [0, ['sds/default/ca'], key],
    );
  }
});

suite('a configuration that Envoy would refuse', () => {
  test('a listener with a port that does not exist keeps its last valid version, and other listeners go on', () => {
    const assembly = createAssembly(testSettings());
    const first = assembly.take([]);
    assert.ok(first.get('lds/stats-health'));
    const out = assembly.configure(
      testSettings(({ envoy }) => {
        envoy.metrics.port = 70_000;
        envoy.health.port = 70_000;
      }),
      undefined,
    );
    assert.ok(!out.has('lds/stats-health'));
    assert.deepEqual(
      refusedBy(assembly).map(([key]) => key),
      ['lds/stats-health'],
    );
    assert.ok(out.get('rtds/dynamic'));
    assert.ok(assembly.configure(testSettings(), undefined).get('lds/stats-health'));
    assert.deepEqual(refusedBy(assembly), []);
  });

  test('a value in the chains of all hosts holds back their listener', () => {
    const assembly = createAssembly(testSettings());
    assembly.take([]);
    assembly.configure(
      testSettings(({ envoy }) => {
        envoy.network.numTrustedHops = 9_000_000_000;
      }),
      undefined,
    );
    const [, message = ''] = refusedBy(assembly).find(([key]) => key === 'lds/ingress_https') ?? [];
    assert.match(message, /xff_num_trusted_hops is 9000000000; it must be between 0 and 4294967295/);
  });
});
