import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { LEAVES } from '../../src/configuration/fields.ts';
import {
  actionsFor,
  changeClassesOf,
  changesBetween,
  defaultConfiguration,
  effectiveConfiguration,
  originText,
  parseServeFlags,
} from '../../src/configuration/index.ts';
import type { ConfigurationSpec } from '../../src/kinds/index.ts';

interface Fixture {
  name: string;
  spec: unknown;
  watch?: string[];
  errors: string[];
}

const invalid = parse(readFileSync(join(import.meta.dirname, 'invalid.yaml'), 'utf8')) as Fixture[];

describe('an invalid configuration', () => {
  test('is one of at least 120', () => assert.ok(invalid.length >= 120, String(invalid.length)));
  for (const { name, spec, watch, errors } of invalid)
    test(name, () => {
      const found = effectiveConfiguration({ given: spec, ...(watch && { watchNamespaces: watch }) }).errors;
      assert.deepEqual(
        found.map(({ type, reason, path }) => `${type} ${reason} ${path}`),
        errors,
      );
      for (const { message } of found) assert.match(message, /\S \S/);
    });
});

const effective = (given: ConfigurationSpec) => {
  const { value, errors } = effectiveConfiguration({ given });
  assert.deepEqual(errors, []);
  return value;
};

describe('defaults', () => {
  test('defaults of an empty spec are those of the specification', () => {
    const value = effective({});
    assert.deepEqual(value.xdsServer, {
      type: 'sesame',
      address: '0.0.0.0',
      port: 8001,
      insecure: false,
      tls: { caFile: '/certs/ca.crt', certFile: '/certs/tls.crt', keyFile: '/certs/tls.key' },
    });
    assert.deepEqual(value.debug, { address: '127.0.0.1', port: 6060, logLevel: 'info', kubernetesLogLevel: 0 });
    assert.deepEqual(
      [value.health, value.metrics],
      [
        { address: '0.0.0.0', port: 8000 },
        { address: '0.0.0.0', port: 8000 },
      ],
    );
    assert.deepEqual(value.envoy.http, { address: '0.0.0.0', port: 8080, accessLog: '/dev/stdout' });
    assert.deepEqual(value.envoy.https, { address: '0.0.0.0', port: 8443, accessLog: '/dev/stdout' });
    assert.deepEqual(value.envoy.service, { name: 'envoy', namespace: 'projectsesame' });
    assert.deepEqual(value.envoy.network, { numTrustedHops: 0, adminPort: 9001, stripTrailingHostDot: false });
    assert.equal(value.envoy.listener.connectionBalancer, '');
    assert.equal(value.envoy.listener.tls.minimumProtocolVersion, '1.2');
    assert.equal(value.envoy.listener.tls.cipherSuites.length, 4);
    assert.equal(value.envoy.logging.jsonFields.length, 23);
    assert.deepEqual(value.envoy.timeouts, { connectTimeout: '2s' });
    assert.deepEqual(value.leaderElection.configmap, { name: 'leader-elect', namespace: 'projectsesame' });
    for (const absent of ['rateLimitService', 'tracing', 'globalExtAuth'] as const)
      assert.equal(value[absent], undefined);
    assert.equal(value.envoy.clientCertificate, undefined);
  });

  test('the lock and Envoy’s Service are in the namespace of Sesame unless another one is named', () => {
    const configmap = { name: 'mine', namespace: 'elsewhere' };
    const { value } = effectiveConfiguration({ namespace: 'edge' });
    assert.deepEqual([value.envoy.service.namespace, value.leaderElection.configmap.namespace], ['edge', 'edge']);
    const named = effectiveConfiguration({ namespace: 'edge', given: { leaderElection: { configmap } } });
    assert.deepEqual(named.value.leaderElection.configmap, configmap);
  });

  test('are immutable', () => {
    const value = defaultConfiguration() as { xdsServer: { port: number } };
    assert.throws(() => {
      value.xdsServer.port = 1;
    }, TypeError);
  });

  test('give way to values that are zero or empty', () => {
    const value = effective({ envoy: { network: { adminPort: 0 }, listener: { tls: { cipherSuites: [] } } } });
    assert.equal(value.envoy.network.adminPort, 0);
    assert.deepEqual(value.envoy.listener.tls.cipherSuites, []);
  });
});

describe('other spellings', () => {
  const cases: [title: string, given: unknown, same: ConfigurationSpec][] = [
    ['insecure under tls', { xdsServer: { tls: { insecure: true } } }, { xdsServer: { insecure: true } }],
    ['a list of classes', { ingress: { classNames: ['a', 'b'] } }, { ingress: { className: 'a,b' } }],
    [
      'a reference as an object',
      { rateLimitService: { extensionService: { name: 'limiter', namespace: 'x' } } },
      { rateLimitService: { extensionService: 'x/limiter' } },
    ],
    [
      'kebab-case',
      { envoy: { cluster: { 'per-connection-buffer-limit-bytes': 5 } } },
      { envoy: { cluster: { perConnectionBufferLimitBytes: 5 } } },
    ],
    [
      'upstream’s JSON fields',
      { envoy: { logging: { accessLogJSONFields: ['path'] } } },
      { envoy: { logging: { jsonFields: ['path'] } } },
    ],
    ['a log level in capitals', { debug: { logLevel: 'DEBUG' } }, { debug: { logLevel: 'debug' } }],
    ['nulls', { envoy: { http: null }, policy: { requestHeaders: { set: null } } }, { policy: { requestHeaders: {} } }],
    [
      'ciphers that are there twice',
      { envoy: { listener: { tls: { cipherSuites: ['AES128-SHA', 'AES128-SHA'] } } } },
      { envoy: { listener: { tls: { cipherSuites: ['AES128-SHA'] } } } },
    ],
    [
      'HTTP versions in lower case',
      { envoy: { defaultHTTPVersions: ['http/2'] } },
      { envoy: { defaultHTTPVersions: ['HTTP/2'] } },
    ],
  ];
  for (const [title, given, same] of cases)
    test(title, () => assert.deepEqual(effectiveConfiguration({ given }).value, effective(same)));
});

describe('flags', () => {
  test('beat the resource, which beats defaults, and the origin of each value is known', () => {
    const { fields, faults } = parseServeFlags(
      ['--xds-port=9001', '--stats-port', '9002', '-d', '--root-namespaces=a, b'],
      {
        CONTOUR_CAFILE: '/from/env',
        SESAME_CERT_FILE: '/cert',
      },
    );
    assert.deepEqual(faults, []);
    const { value, origins, errors } = effectiveConfiguration({
      given: { xdsServer: { port: 7001, address: '127.0.0.1' } },
      source: { from: 'resource', name: 'edge' },
      flags: fields,
    });
    assert.deepEqual(errors, []);
    assert.equal(value.xdsServer.port, 9001);
    assert.deepEqual([value.envoy.metrics.port, value.envoy.health.port], [9002, 9002]);
    assert.deepEqual(value.httpproxy.rootNamespaces, ['a', 'b']);
    assert.equal(value.debug.logLevel, 'debug');
    const reported = (path: string) => originText(origins.get(path) ?? { from: 'default' });
    assert.equal(reported('xdsServer.port'), 'flag --xds-port');
    assert.equal(reported('xdsServer.address'), 'resource edge');
    assert.equal(reported('xdsServer.tls.caFile'), 'environment CONTOUR_CAFILE');
    assert.equal(reported('health.port'), 'default');
  });

  test('have the seed’s and upstream’s names, and faults are all reported', () => {
    for (const name of ['--sesame-config', '--Sesame-config', '--sesame-config-name'])
      assert.equal(parseServeFlags([name, 'x']).start.get('sesame-config'), 'x');
    assert.equal(parseServeFlags(['-c', 'f']).start.get('config-path'), 'f');
    assert.equal(
      parseServeFlags(['--disable-feature=tlsroutes', '--disable-feature=tcproutes']).start.get('disable-feature'),
      'tlsroutes,tcproutes',
    );
    assert.deepEqual(
      parseServeFlags(['--sesame-config=A_b', '--watch-namespaces=a,B', '--disable-feature=x', '--namespace=a.b'])
        .faults,
      [
        { flag: '--sesame-config', problem: 'must be the name of an object ("A_b")' },
        { flag: '--watch-namespaces', problem: 'must be the name of a namespace ("B")' },
        {
          flag: '--disable-feature',
          problem: 'must be one of extensionservices, tlsroutes, grpcroutes, tcproutes, backendtlspolicies ("x")',
        },
        { flag: '--namespace', problem: 'must be the name of a namespace ("a.b")' },
      ],
    );
    assert.deepEqual(parseServeFlags(['--xds-port=x', '--nope', '--insecure=perhaps', 'y', '--kubeconfig']).faults, [
      { flag: '--nope', problem: 'is not a flag of sesame serve' },
      { flag: 'y', problem: 'is not expected' },
      { flag: '--kubeconfig', problem: 'needs a value' },
      { flag: '--xds-port', problem: 'must be a whole number ("x")' },
      { flag: '--insecure', problem: 'must be true or false ("perhaps")' },
    ]);
  });
});

describe('a change', () => {
  test('has a class for every field', () => {
    for (const path of LEAVES) assert.notEqual(changeClassesOf(path).length, 0, path);
    assert.ok(LEAVES.length > 110);
  });

  const cases: [title: string, before: ConfigurationSpec, after: ConfigurationSpec, actions: string[]][] = [
    ['of nothing needs no action', {}, {}, []],
    ['that writes out a default needs no action', {}, { xdsServer: { port: 8001 } }, []],
    ['of a timeout updates listeners', {}, { envoy: { timeouts: { requestTimeout: '5s' } } }, ['update-listeners']],
    ['of a policy computes routes', {}, { policy: { requestHeaders: { set: { A: 'b' } } } }, ['rebuild-routes']],
    ['of the health port rebinds one socket', {}, { health: { port: 8100 } }, ['rebind health']],
    ['of the log level changes the log alone', {}, { debug: { logLevel: 'debug' } }, ['set-log-level']],
    [
      'of the xDS port rebinds and needs an Envoy rollout',
      {},
      { xdsServer: { port: 8101 } },
      ['rebind xds', 'roll-envoy'],
    ],
    [
      'of a listener’s port moves the socket',
      {},
      { envoy: { http: { port: 80 } } },
      ['update-listeners', 'roll-envoy'],
    ],
    [
      'that restarts controllers does not also compute what they compute',
      {},
      { ingress: { className: 'a' }, envoy: { timeouts: { requestTimeout: '5s' } }, enableExternalNameService: true },
      ['restart-controllers'],
    ],
    ['back to defaults is a change too', { metrics: { port: 9000 } }, {}, ['rebind metrics']],
  ];
  for (const [title, before, after, actions] of cases)
    test(title, () => {
      const found = actionsFor(changesBetween(effective(before), effective(after)));
      assert.deepEqual(
        found.map((action) => ('server' in action ? `${action.action} ${action.server}` : action.action)),
        actions,
      );
    });
});
