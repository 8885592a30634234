// Behaviour of Contour that its users rely on.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, suite, test } from 'node:test';
import type { KubeObject } from '@capstan/kube';
import { parse } from 'yaml';
import type { ExtensionService } from '../../src/kinds/extension-service.ts';
import { type Mutable, testSettings } from '../../src/routing/default-settings.ts';
import { extensionPiece } from '../../src/routing/extension/translate-extension.ts';
import { httpListener, ownListeners } from '../../src/routing/listener/listeners.ts';
import { type Lookup, type SecretView, secretView } from '../../src/routing/lookup.ts';
import type { RoutingSettings } from '../../src/routing/settings.ts';
import { decoded as contentOf } from '../../src/xds/xds.test-support.ts';
import { createSecrets } from './secrets.ts';
import { outcomeOf } from './served.ts';

const world = parse(readFileSync(`${import.meta.dirname}/world.yaml`, 'utf8')) as KubeObject[];
const services = [{ name: 'shop', port: 80 }];
const proxy = (name: string, spec: object) =>
  ({
    apiVersion: 'projectsesame.io/v1',
    kind: 'HTTPProxy',
    metadata: { namespace: 'default', name },
    spec,
  }) as KubeObject;
const content = (host: string, ...objects: readonly KubeObject[]): string => {
  const outcome = outcomeOf([...world, ...objects], testSettings(), [host]);
  assert.deepEqual(outcome.reports, []);
  return outcome.content(host);
};

suite('as Contour', () => {
  test('several includes with the lone prefix / are all served', () => {
    const part = (name: string) => proxy(name, { routes: [{ conditions: [{ prefix: `/${name}` }], services }] });
    const includes = ['a', 'b', 'c'].map((name) => ({ name, ...(name !== 'c' && { conditions: [{ prefix: '/' }] }) }));
    const root = proxy('root', { virtualhost: { fqdn: 'root.test' }, includes });
    const text = content('root.test', root, part('a'), part('b'), part('c'));
    for (const name of ['a', 'b', 'c']) assert.ok(text.includes(`{"match":{"prefix":"/${name}"}`), name);
  });

  test('a wildcard host of an HTTPProxy stands for one label, on every route', () => {
    const spec = { virtualhost: { fqdn: '*.wild.test' }, routes: [{ services }] };
    const text = content('*.wild.test', proxy('wild', spec));
    const regex = /":authority","string_match":\{"safe_regex":\{"regex":"([^"]+)"/.exec(text)?.[1] ?? '';
    const pattern = new RegExp(`^(?:${regex.replaceAll('\\\\', '\\')})$`);
    assert.deepEqual(
      ['a.wild.test', 'a.wild.test:80', 'a.b.wild.test', 'wild.test'].map((host) => pattern.test(host)),
      [true, true, false, false],
    );
  });

  test('the listeners of probes ignore the limit of connections, except for the one that enforces it', () => {
    const settings = testSettings((change) => {
      change.envoy.network.adminPort = 9001;
      change.envoy.health.port = 8003;
      change.envoy.omEnforcedHealth = { address: '127.0.0.1', port: 8004 };
    });
    assert.deepEqual(
      ownListeners(settings).map((each) => [each.name, contentOf('lds', each).ignore_global_conn_limit]),
      [
        ['stats', true],
        ['health', true],
        ['health-om-enforced', undefined],
        ['envoy-admin', true],
      ],
    );
  });

  test('scripts and XML are compressed too', () => {
    const settings = testSettings();
    const text = JSON.stringify(contentOf('lds', httpListener(settings, undefined)));
    for (const type of ['application/xml', 'text/javascript', 'application/x-json'])
      assert.ok(text.includes(type), type);
  });

  suite('an ExtensionService', () => {
    let secrets: ReadonlyMap<string, SecretView> = new Map();
    before(async () => {
      const found = await createSecrets();
      secrets = new Map(
        found.map((each) => [`${each.metadata.namespace ?? ''}/${each.metadata.name ?? ''}`, secretView(each)]),
      );
    });
    const translate = (spec: object, change?: (settings: Mutable<RoutingSettings>) => void) => {
      const lookup: Lookup = {
        proxy: () => undefined,
        service: (namespace, name) => ({
          namespace,
          name,
          type: 'ClusterIP',
          externalName: undefined,
          ports: [{ name: 'grpc', port: 80, protocol: 'TCP', appProtocol: undefined, targetPort: 8080 }],
          annotations: {},
        }),
        secret: (namespace, name) => secrets.get(`${namespace}/${name}`),
        extensionService: () => undefined,
        delegations: () => [],
      };
      const object = { metadata: { namespace: 'default', name: 'auth' }, spec: { services, ...spec } };
      return extensionPiece(object as unknown as ExtensionService, lookup, () => [], testSettings(change));
    };
    const withCertificate = (settings: Mutable<RoutingSettings>) => {
      settings.envoy.clientCertificate = { namespace: 'default', name: 'tls' };
    };

    test('gets the certificate of Envoy over TLS', () => {
      const { piece } = translate({}, withCertificate);
      const [cluster, secret] = piece.resources;
      assert.ok(cluster && secret);
      assert.match(
        JSON.stringify(contentOf('cds', cluster)),
        new RegExp(`"tls_certificate_sds_secret_configs":.{1,20}"${secret.name}"`),
      );
      assert.equal(translate({ protocol: 'h2c' }, withCertificate).piece.resources.length, 1);
    });

    test('has an idle timeout for its connections', () => {
      const [cluster] = translate({ timeoutPolicy: { idleConnection: '7s' } }).piece.resources;
      assert.ok(cluster);
      assert.match(JSON.stringify(contentOf('cds', cluster)), /"idle_timeout":"7s"/);
    });

    test('is not balanced by hashes, with a warning', () => {
      for (const strategy of ['Cookie', 'RequestHash']) {
        const { piece, findings } = translate({ loadBalancerPolicy: { strategy } });
        const [cluster] = piece.resources;
        assert.ok(cluster);
        assert.doesNotMatch(JSON.stringify(contentOf('cds', cluster)), /RING_HASH/);
        assert.deepEqual(
          findings.warnings.map(({ reason }) => reason),
          ['IgnoredField'],
        );
      }
    });
  });
});
