// Every field of SesameConfiguration has its effect in the resources for Envoys, or in a test that is named for it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type Client,
  createCa,
  Ingress,
  issueCertificate,
  type Kind,
  type KubeObject,
  Namespace,
  Secret,
  Service,
} from '@capstan/kube';
import { createStage, type Stage } from '@capstan/testing';
import { LEAVES, overlay } from '../../src/configuration/fields.ts';
import { effectiveConfiguration, problemText } from '../../src/configuration/index.ts';
import { RESOURCE_TYPES } from '../../src/envoy/index.ts';
import { ExtensionService } from '../../src/kinds/extension-service.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import type { ConfigurationSpec } from '../../src/kinds/index.ts';
import { TLSCertificateDelegation } from '../../src/kinds/tls-certificate-delegation.ts';
import { type DataPathView, dataPathComponents } from '../../src/program/data-path.ts';
import { decoded as contentOf } from '../../src/xds/xds.test-support.ts';
import { ELSEWHERE, IN_XDS, type Row } from './field-effects.ts';

/** The configuration without parts that need the network: the socket of the xDS server is given. */
const COMMON: ConfigurationSpec = { xdsServer: { insecure: true } };

function configurationOf(...specs: readonly ConfigurationSpec[]) {
  const given = specs.reduce<object>((sum, spec) => overlay(sum as never, spec), COMMON);
  const { value, errors } = effectiveConfiguration({ given, source: { from: 'resource', name: 'sesame' } });
  assert.deepEqual(
    errors.map((problem) => problemText(problem)),
    [],
    'the edit is valid',
  );
  return value;
}

describe('every field of SesameConfiguration', () => {
  test('has a row', () => {
    const rows = [...Object.keys(IN_XDS), ...Object.keys(ELSEWHERE)];
    assert.deepEqual(
      LEAVES.filter((path) => !rows.includes(path)),
      [],
      'fields without a row in field-effects.ts',
    );
    assert.deepEqual(
      rows.filter((path) => !LEAVES.includes(path)),
      [],
      'rows without a field',
    );
    assert.equal(new Set(rows).size, rows.length, 'a field has one row');
  });

  for (const [path, { file, title }] of Object.entries(ELSEWHERE))
    test(`${path} is tested in ${file}`, () => {
      const text = readFileSync(resolve(import.meta.dirname, '../../../..', file), 'utf8');
      assert.ok(text.includes(`'${title}'`), `${file} has no test '${title}'`);
    });
});

describe('in xDS', () => {
  let stage: Stage;
  let view: Pick<DataPathView, 'store'> | undefined;
  const parts = dataPathComponents(
    {
      listen: { address: '127.0.0.1', port: 0 },
      show(next) {
        view = next;
      },
    },
    configurationOf(),
    () => undefined,
  );

  before(async () => {
    stage = await createStage({ operators: [parts.operator], given: createObjects });
    await stage.settle();
  });
  after(() => stage.end());

  /** Resources by key, in JSON. */
  const servedWith = async (...specs: readonly ConfigurationSpec[]): Promise<Map<string, string>> => {
    parts.put(configurationOf(...specs));
    await stage.settle();
    assert.ok(view, 'the xDS server listens');
    const { store } = view;
    return new Map(
      RESOURCE_TYPES.flatMap((type) =>
        [...store.ofType(type).values()].map(
          (resource) => [resource.key, JSON.stringify(contentOf(type, resource))] as const,
        ),
      ),
    );
  };

  const changed = (from: ReadonlyMap<string, string>, to: ReadonlyMap<string, string>) =>
    [...to].flatMap(([key, text]) => (from.get(key) === text ? [] : [`${key} ${text}`])).join('\n');

  for (const [path, { base = {}, edit, shows, hides }] of Object.entries<Row>(IN_XDS))
    test(path, async () => {
      const without = await servedWith(base);
      const edited = await servedWith(base, edit);
      const appeared = changed(without, edited);
      const gone = changed(edited, without);
      if (shows) {
        assert.match(appeared, shows, 'it has its effect');
        assert.doesNotMatch(gone, shows, 'which was not there before');
      }
      if (hides) {
        assert.match(gone, hides, 'what goes was there before');
        assert.doesNotMatch(appeared, hides, 'and is gone');
      }
      assert.ok(shows ?? hides, 'the row says what to look for');
    });

  test('the global authorization holds for every filter chain that ends TLS, the one of the fallback certificate too', async () => {
    const served = await servedWith({
      httpproxy: { fallbackCertificate: { namespace: 'default', name: 'fallback' } },
      globalExtAuth: { extensionRef: { namespace: 'default', name: 'auth' } },
    });
    const { filter_chains: chains } = JSON.parse(served.get('lds/ingress_https') ?? '{}') as {
      filter_chains: object[];
    };
    assert.deepEqual(
      chains.map((chain) => [
        (chain as { name: string }).name,
        JSON.stringify(chain).includes('ext_authz.v3.ExtAuthz'),
      ]),
      [
        ['guarded.test', true],
        ['ingress.test', true],
        ['secure.test', true],
        ['fallback-certificate', true],
      ],
    );
    const off = await servedWith({
      globalExtAuth: { extensionRef: { namespace: 'default', name: 'auth' }, authPolicy: { disabled: true } },
    });
    assert.match(off.get('rds/https/ingress.test') ?? '', /ExtAuthzPerRoute","disabled":true/);
  });
});

async function createObjects(client: Client): Promise<void> {
  const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
  const ca = await createCa({ commonName: 'test', ...validity });
  const create = <T extends KubeObject>(kind: Kind<T>, object: Omit<T, 'apiVersion' | 'kind'>) =>
    client.create(kind, { apiVersion: kind.apiVersion, kind: kind.kind, ...object } as T);
  await create(Namespace, { metadata: { name: 'other' } });
  for (const [namespace, name] of [
    ['default', 'cert'],
    ['default', 'client'],
    ['default', 'fallback'],
    ['other', 'client'],
  ] as const) {
    const issued = await issueCertificate({
      ca,
      commonName: name,
      dnsNames: [`${name}.test`],
      usages: ['server'],
      ...validity,
    });
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await create(Secret, {
      metadata: { namespace, name },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(issued.certificate), 'tls.key': base64(issued.key) },
    });
  }
  const metadata = (name: string, namespace = 'default') => ({ name, namespace });
  await create(TLSCertificateDelegation, {
    metadata: metadata('client', 'other'),
    spec: { delegations: [{ secretName: 'client', targetNamespaces: ['default'] }] },
  });
  const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const }];
  for (const namespace of ['default', 'other'])
    await create(Service, { metadata: metadata('shop', namespace), spec: { ports } });
  await create(Service, {
    metadata: metadata('external'),
    spec: { type: 'ExternalName', externalName: 'external.example.com', ports },
  });
  for (const [name, namespace] of [
    ['auth', 'default'],
    ['auth', 'other'],
    ['limits', 'default'],
    ['traces', 'default'],
  ] as const)
    await create(ExtensionService, {
      metadata: metadata(name, namespace),
      spec: { protocol: 'h2c', services: [{ name: 'shop', port: 80 }] },
    });
  const shop = [{ name: 'shop', port: 80 }];
  const proxies: readonly (readonly [name: string, spec: HTTPProxy['spec'], namespace?: string])[] = [
    ['plain', { virtualhost: { fqdn: 'plain.test' }, routes: [{ services: shop }] }],
    [
      'secure',
      {
        virtualhost: { fqdn: 'secure.test', tls: { secretName: 'cert', enableFallbackCertificate: true } },
        routes: [{ services: shop, permitInsecure: true }],
      },
    ],
    [
      'guarded',
      {
        virtualhost: { fqdn: 'guarded.test', tls: { secretName: 'cert' } },
        routes: [{ services: shop, permitInsecure: true }],
      },
    ],
    [
      'upstream',
      { virtualhost: { fqdn: 'upstream.test' }, routes: [{ services: [{ name: 'shop', port: 80, protocol: 'tls' }] }] },
    ],
    ['external', { virtualhost: { fqdn: 'external.test' }, routes: [{ services: [{ name: 'external', port: 80 }] }] }],
    ['classed', { ingressClassName: 'special', virtualhost: { fqdn: 'classed.test' }, routes: [{ services: shop }] }],
    ['other', { virtualhost: { fqdn: 'other.test' }, routes: [{ services: shop }] }, 'other'],
  ];
  for (const [name, spec, namespace] of proxies) await create(HTTPProxy, { metadata: metadata(name, namespace), spec });
  await create(Ingress, {
    metadata: metadata('ingress'),
    spec: {
      tls: [{ hosts: ['ingress.test'], secretName: 'cert' }],
      rules: [
        {
          host: 'ingress.test',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } }],
          },
        },
      ],
    },
  });
}
