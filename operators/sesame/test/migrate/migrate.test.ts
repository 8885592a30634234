import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { withValueAt } from '../../src/configuration/fields.ts';
import {
  effectiveConfiguration,
  effectiveOfFile,
  FILE_KEYS,
  readConfigurationFile,
} from '../../src/configuration/index.ts';
import { type MigrateOptions, migrate } from '../../src/migrate/index.ts';

const OPTIONS: MigrateOptions = { to: 'resource', name: 'sesame' };
const fileOf = (text: string, name = 'sesame.yaml') => [{ name, bytes: new TextEncoder().encode(text) }];
/** Five lines, with more values than any memory holds. */
const MANY = `a: &a [${Array(10).fill('x').join()}]\n${['b', 'c', 'd', 'e']
  .map(
    (name, at) =>
      `${name}: &${name} [${Array(10)
        .fill(`*${'abcd'[at] ?? ''}`)
        .join()}]\n`,
  )
  .join('')}`;
const run = (text: string, options: Partial<MigrateOptions> = {}) => migrate(fileOf(text), { ...OPTIONS, ...options });
const specOf = (text: string | undefined) => (parse(text ?? '') as { spec: Record<string, never> }).spec;
const example = readFileSync(join(import.meta.dirname, 'example.yaml'), 'utf8');

describe('a file', () => {
  test('becomes a resource with the same meaning, and what differs is reported', () => {
    const { output, errors, warnings, notes } = run(example);
    assert.deepEqual(errors, []);
    assert.deepEqual(specOf(output), {
      xdsServer: { address: '127.0.0.1' },
      metrics: { port: 8003 },
      envoy: {
        listener: { tls: { minimumProtocolVersion: '1.3' } },
        clientCertificate: { name: 'envoy-client', namespace: 'edge' },
        logging: { accessLogFormat: 'json', jsonFields: ['@timestamp', 'method', 'x_request=%REQ(X-REQUEST-ID)%'] },
        defaultHTTPVersions: ['HTTP/2'],
        timeouts: { requestTimeout: 'infinity', connectionIdleTimeout: '60s', streamIdleTimeout: '5m' },
      },
      gateway: { controllerName: 'projectsesame.io/projectsesame/sesame' },
      enableExternalNameService: true,
      rateLimitService: { extensionService: 'default/ratelimit', domain: 'edge' },
      policy: { requestHeaders: { set: { 'X-Proxy': 'sesame' } } },
    });
    assert.deepEqual(warnings, [
      'sesame.yaml:6:3: warning: server.xds-server-type: is deprecated; there is one xDS server',
      'sesame.yaml:37:3: warning: rateLimitService.extensionService: has no namespace ("ratelimit") and is used as default/ratelimit',
    ]);
    assert.deepEqual(notes, [
      'incluster of the file stays a flag: --incluster=true',
      'kubernetes-client-qps of the file stays a flag: --kubernetes-client-qps=50',
    ]);
  });

  test('keeps the comments of list items, above them and on their lines', () => {
    const file = `accesslog-format: json
json-fields: # what we keep
  # for the auditors
  - "@timestamp" # when
  - method
  # 503s
  - response_code # "how" it ended
tls:
  cipher-suites:
  - ECDHE-ECDSA-AES128-GCM-SHA256 # fast
default-http-versions: [HTTP/1.1] # no HTTP/2
`;
    const { output = '', errors } = run(file);
    assert.deepEqual(errors, []);
    for (const line of [
      / {8}# for the auditors\n {8}- "@timestamp" # when\n {8}- method\n {8}# 503s\n {8}- response_code # "how" it ended\n/,
      /- ECDHE-ECDSA-AES128-GCM-SHA256 # fast\n/,
      /# no HTTP\/2/,
      /# what we keep/,
    ])
      assert.match(output, line);
    assert.doesNotMatch(output, /Further comments/);
  });

  test('keeps its comments, all of them', () => {
    const { output = '' } = run(example);
    assert.match(output, /# Serves Gateways of this class\.\n +controllerName/);
    assert.match(output, /# Scanners want this\.\n +minimumProtocolVersion/);
    assert.match(output, /name: envoy-client # shared with the mesh/);
    for (const comment of example.match(/#.*$/gm) ?? []) assert.ok(output.includes(comment), comment);
  });

  test('an empty file gives the differences from the defaults of the resource', () => {
    for (const text of ['', '# nothing\n', 'null\n', '{}'])
      for (const namespace of [undefined, 'edge'])
        assert.deepEqual(specOf(run(text, { namespace }).output), {
          xdsServer: { address: '127.0.0.1' },
          envoy: { timeouts: { connectionIdleTimeout: '60s' } },
        });
  });

  test('has the keys of structs that Contour reads, which are in lower case', () => {
    const { output, errors } = run(`globalExtAuth:
  extensionService: auth/server
  serviceType: http
  httpSettings:
    pathprefix: /check
    allowedauthorizationheaders: [{exact: x-key, ignorecase: true}]
    allowedupstreamheaders: [{prefix: x-}]
rateLimitService:
  extensionService: limits/server
  defaultGlobalRateLimitPolicy:
    descriptors:
    - entries:
      - requestHeaderValueMatch: {headers: [{name: x-a, exact: b, ignorecase: true, treatmissingasempty: true}], value: v}
      - remoteAddress: {}
`);
    assert.deepEqual(errors, []);
    const { globalExtAuth, rateLimitService } = specOf(output) as Record<string, Record<string, unknown>>;
    assert.deepEqual(globalExtAuth?.['httpSettings'], {
      pathPrefix: '/check',
      allowedAuthorizationHeaders: [{ exact: 'x-key', ignoreCase: true }],
      allowedUpstreamHeaders: [{ prefix: 'x-' }],
    });
    const headers = [{ name: 'x-a', exact: 'b', ignoreCase: true, treatMissingAsEmpty: true }];
    assert.deepEqual(rateLimitService?.['defaultGlobalRateLimitPolicy'], {
      descriptors: [
        // A file without expectMatch means false, a resource true.
        { entries: [{ requestHeaderValueMatch: { headers, value: 'v', expectMatch: false } }, { remoteAddress: {} }] },
      ],
    });
    const back = run(output ?? '', { to: 'file' });
    assert.deepEqual(back.errors, []);
    assert.match(back.output ?? '', /treatmissingasempty: true[^]*pathprefix: \/check[^]*ignorecase: true/);
  });

  test('is refused with the place and the value of what Contour refuses or misreads', () => {
    for (const [text, error] of [
      [
        'globalExtAuth: {httpSettings: {pathPrefix: /a}}',
        '1:32: error: globalExtAuth.httpSettings.pathPrefix: is not a known key; did you mean pathprefix?',
      ],
      [
        'globalExtAuth:\n  httpSettings:\n    pathprefix: [a]',
        '3:17: error: globalExtAuth.httpSettings.pathprefix: must be a text (["a"]); correct it',
      ],
      [
        'globalExtAuth:\n  extensionService: a/b/c',
        '2:3: error: globalExtAuth.extensionService: must be NAMESPACE/NAME ("a/b/c"); correct it',
      ],
      [
        'rateLimitService:\n  extensionService: a/b/c',
        '2:3: error: rateLimitService.extensionService: must be NAMESPACE/NAME ("a/b/c"); correct it',
      ],
      [
        'network:\n  admin-port: 0777',
        '2:15: error: network.admin-port: must be a whole number without a leading zero (0777); correct it',
      ],
      [
        'network:\n  num-trusted-hops: 4294967296',
        '2:21: error: network.num-trusted-hops: must be a number of 32 bits (4294967296); correct it',
      ],
      [
        'network:\n  num-trusted-hops: 99999999999999999999',
        '2:21: error: network.num-trusted-hops: must be a whole number (99999999999999999999); correct it',
      ],
      ['timeouts: &t\n  <<: *t', '2:3: error: timeouts: the map is merged into itself (<<); remove the merge'],
      [`${MANY}json-fields: [*e,*e]`, '6:14: error: json-fields: must be a list of texts ("[*e,*e]"); correct it'],
    ] as const)
      assert.ok(run(text).errors.includes(`sesame.yaml:${error}`), `${text}: ${run(text).errors.join()}`);
    assert.match(run('timeouts: *nowhere').errors.join(), /^sesame.yaml:1:11: error: .*nowhere/);
    const twice = run('rateLimitService:\n  extensionService: a/b/c').errors;
    assert.equal(twice.length, 1, 'a wrong value is reported once');
  });

  test('manifests of any shape are refused with their place, and fields that do not exist are named', () => {
    const manifest = (kind: string, spec: string) =>
      `apiVersion: projectcontour.io/v1alpha1\nkind: ${kind}\nspec: ${spec}\n`;
    for (const spec of [
      '5',
      '{template: {spec: {containers: {a: b}}}}',
      '{template: {spec: {containers: [null, {args: serve}]}}}',
    ])
      assert.match(run(manifest('Deployment', spec)).errors.join(), /^there is no configuration in the input/);
    assert.match(
      run(`${MANY}apiVersion: v1\nkind: Deployment\nspec: [*e,*e]\n`).errors.join(),
      /^sesame.yaml:1:1: error: the YAML cannot be read: its aliases stand for too many values/,
    );
    for (const kind of ['ContourConfiguration', 'SesameConfiguration']) {
      assert.match(run(manifest(kind, 'hello')).errors.join(), /: error: spec: must be an object \(string\)/);
      assert.match(run(manifest(kind, '{envoy: [a]}')).errors.join(), /: error: spec\.envoy: must be an object/);
      const { output, errors } = run(
        manifest(kind, '{envoy: {lisener: {useProxyProtocol: true}, errorPages: [{status: 1}]}}'),
      );
      assert.equal(output, undefined);
      assert.match(
        run(manifest(kind, '{envoy: {errorPages: [{statusCodes: null}]}}')).errors.join(),
        /statusCodes: must not be empty/,
      );
      assert.match(errors.join(), /spec\.envoy\.lisener: is not a field; did you mean listener\?/);
      assert.match(errors.join(), /spec\.envoy\.errorPages\[0\]\.status: is not a field/);
    }
  });

  test('is refused when a ConfigMap has it twice', () => {
    const { errors } = run(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sesame}\ndata:\n  sesame.yaml: "debug: true"\n  contour.yaml: "debug: false"\n',
    );
    assert.match(errors.join(), /^sesame.yaml:6:17: error: data.contour.yaml: the ConfigMap has sesame.yaml too/);
  });

  test('is read from a ConfigMap, whose other keys do not count, with the lines of the manifest', () => {
    const manifest = (content: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sesame, namespace: edge}\ndata:\n  other: x\n  sesame.yaml: |\n${content.replace(/^(?=.)/gm, '    ')}`;
    const { output, errors } = run(manifest('debug: true\n'));
    assert.deepEqual(errors, []);
    assert.match(output ?? '', /namespace: edge/);
    assert.deepEqual((specOf(output) as unknown as { debug: unknown }).debug, { logLevel: 'debug' });
    assert.deepEqual(run(manifest('debug: true\nnetwrk:\n  admin-port: 1\n')).errors, [
      'sesame.yaml:8:5: error: netwrk: is not a known key; did you mean network?',
    ]);
  });

  test('is read from a ConfigMap in a List', () => {
    const item = (name: string, data: string) =>
      `- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: ${name}, namespace: edge}\n  data:\n    ${data}`;
    const list = (content: string) =>
      `apiVersion: v1\nkind: List\nitems:\n${item('other', 'a: b\n')}${item('sesame', `sesame.yaml: |\n      ${content}\n`)}`;
    const { output } = run(list('debug: true'));
    assert.deepEqual((specOf(output) as unknown as { debug: unknown }).debug, { logLevel: 'debug' });
    assert.deepEqual(run(list('debgu: true')).errors, [
      'sesame.yaml:14:7: error: debgu: is not a known key; did you mean debug?',
    ]);
  });

  test('has the texts of a map whatever YAML takes them for', () => {
    const { output } = run('policy:\n  request-headers:\n    set: {X-A: 5, X-B: true, X-C: }\n');
    assert.deepEqual((specOf(output) as unknown as { policy: unknown }).policy, {
      requestHeaders: { set: { 'X-A': '5', 'X-B': 'true', 'X-C': '' } },
    });
  });

  test('takes the flags of the Deployment, and says what becomes of each', () => {
    const deployment = stringify({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        template: {
          spec: {
            containers: [
              {
                args: [
                  'serve',
                  '--incluster',
                  '--xds-port=9001',
                  '--envoy-service-name=edge',
                  '-c',
                  '/config/sesame.yaml',
                ],
                command: ['sesame'],
              },
            ],
          },
        },
      },
    });
    const { output, notes } = migrate([...fileOf('debug: true\n'), ...fileOf(deployment, 'deployment.yaml')], OPTIONS);
    const spec = specOf(output) as unknown as { xdsServer: unknown; envoy: { service: unknown } };
    assert.deepEqual(spec.xdsServer, { address: '127.0.0.1', port: 9001 });
    assert.deepEqual(spec.envoy.service, { name: 'edge', namespace: 'projectsesame' });
    assert.deepEqual(notes, [
      '--incluster stays a flag',
      '--xds-port is in the resource now and can be removed',
      '--envoy-service-name is in the resource now and can be removed',
      'replace -c /config/sesame.yaml by --sesame-config=sesame',
    ]);
  });

  test('a file that was migrated already is printed as it is', () => {
    const { output = '' } = run(example);
    assert.equal(run(output).output, output);
  });
});

describe('a file that is wrong is reported with its place:', () => {
  const cases: [title: string, text: string, errors: string[]][] = [
    [
      'an unknown key',
      'disablePermitInsecur: true\n',
      ['1:1: error: disablePermitInsecur: is not a known key; did you mean disablePermitInsecure?'],
    ],
    [
      'a key in another style',
      'tls:\n  cipherSuites: []\n',
      ['2:3: error: tls.cipherSuites: is not a known key; did you mean cipher-suites?'],
    ],
    ['a key that nothing is near to', 'colour: red\n', ['1:1: error: colour: is not a known key; remove it']],
    ['a key twice', 'debug: true\ndebug: false\n', ['2:1: error: the key is there twice; remove one of them']],
    ['a tab', 'tls:\n\tcipher-suites: []\n', ['2:1: error: there is a tab in the indentation; use spaces']],
    ['a wrong type', 'debug: maybe\n', ['1:8: error: debug: must be true or false ("maybe"); correct it']],
    [
      'a list for a text',
      'accesslog-format: [json]\n',
      ['1:19: error: accesslog-format: must be a text (["json"]); correct it'],
    ],
    [
      'a text for a number',
      'network:\n  admin-port: "9001"\n',
      ['2:15: error: network.admin-port: must be a whole number ("9001"); correct it'],
    ],
    [
      'a text for a section',
      'timeouts: none\n',
      ['1:1: error: timeouts: must be a map of keys; write its keys below it'],
    ],
    [
      'two documents',
      'debug: true\n---\ndebug: false\n',
      ['2:1: error: there is a second document; a configuration file has one'],
    ],
    ['a list', '- debug\n', ['1:1: error: must be a map of keys; write key: value']],
    [
      'several values at once',
      'accesslog-format: xml\ntimeouts:\n  request-timeout: 5\n  stream-idle-timeout: -1s\n',
      [
        '1:1: error: accesslog-format: must be envoy or json ("xml"); use one of these',
        '3:3: error: timeouts.request-timeout: is not a duration ("5"); write 30s, 5m, infinity, or leave it empty for Envoy’s default',
        '4:3: error: timeouts.stream-idle-timeout: is negative ("-1s"); write 30s, 5m, infinity, or leave it empty for Envoy’s default',
      ],
    ],
    [
      'half a reference',
      'tls:\n  fallback-certificate:\n    name: x\n',
      ['3:5: error: tls.fallback-certificate.name: must be given with name ("x"); give both, or neither'],
    ],
  ];
  for (const [title, text, errors] of cases)
    test(title, () => {
      const found = run(text);
      assert.deepEqual(
        found.errors,
        errors.map((error) => `sesame.yaml:${error}`),
      );
      assert.equal(found.output, undefined);
    });

  test('another encoding', () => {
    const latin = new Uint8Array([...new TextEncoder().encode('debug: true\n# '), 0xe9, 0x0a]);
    assert.deepEqual(migrate([{ name: 'f', bytes: latin }], OPTIONS).errors, [
      'f:2:3: error: the file is not in UTF-8; save it as UTF-8',
    ]);
    const utf16 = new Uint8Array([0xff, 0xfe, 0x64, 0x00]);
    assert.deepEqual(migrate([{ name: 'f', bytes: utf16 }], OPTIONS).errors, [
      'f:1:1: error: the file is in UTF-16; save it as UTF-8',
    ]);
  });

  test('unless unknown keys are to be dropped', () => {
    const { output, warnings } = run('colour: red\ndebug: true\n', { isLenient: true });
    assert.ok(output);
    assert.deepEqual(warnings, ['sesame.yaml:1:1: warning: colour: is not a known key and is dropped']);
  });
});

describe('for every file', () => {
  const duration = fc.constantFrom('', '0s', '5s', '1m30s', 'infinity', 'infinite', '250ms');
  const number = fc.integer({ min: 1, max: 60_000 });
  const name = fc.stringMatching(/^[a-z]([a-z0-9]{0,6})$/);
  const special: Record<string, fc.Arbitrary<unknown>> = {
    'server.xds-server-type': fc.constantFrom('contour', 'sesame', 'envoy'),
    'accesslog-format': fc.constantFrom('envoy', 'json'),
    'accesslog-format-string': fc.constantFrom('', '%DURATION%\n', '100%% %REQ(HOST)%\n'),
    'accesslog-level': fc.constantFrom('info', 'error', 'critical', 'disabled'),
    'json-fields': fc.subarray(['method', 'path', 'duration', 'x=%REQ(HOST)%'], { minLength: 1 }),
    'tls.minimum-protocol-version': fc.constantFrom('1.1', '1.2'),
    'tls.maximum-protocol-version': fc.constantFrom('1.2', '1.3'),
    'tls.cipher-suites': fc.subarray(['AES128-SHA', '[AES128-SHA|AES256-SHA]']),
    'tls.ecdh-curves': fc.subarray(['X25519', 'P-256']),
    serverHeaderTransformation: fc.constantFrom('overwrite', 'append_if_absent', 'pass_through'),
    'compression.algorithm': fc.constantFrom('gzip', 'brotli', 'zstd', 'disabled'),
    'ingress-status-address': fc.constantFrom('', '10.0.0.1', 'a.example,b.example'),
    'timeouts.connect-timeout': fc.constantFrom('1s', '250ms'),
    'policy.request-headers.set': fc.constantFrom({}, { 'X-A': 'b' }),
    'policy.request-headers.remove': fc.constantFrom([], ['X-B']),
    'policy.response-headers.set': fc.constantFrom({}, { 'X-A': '%DURATION%' }),
    'policy.response-headers.remove': fc.constantFrom([], ['X-C']),
    'default-http-versions': fc.subarray(['http/1.1', 'HTTP/2']),
    'cluster.dns-lookup-family': fc.constantFrom('auto', 'v4', 'v6', 'all'),
    'cluster.upstream-tls.minimum-protocol-version': fc.constantFrom('1.2'),
    'cluster.upstream-tls.maximum-protocol-version': fc.constantFrom('1.2', '1.3'),
    'cluster.upstream-tls.cipher-suites': fc.subarray(['AES128-SHA']),
    'cluster.upstream-tls.ecdh-curves': fc.subarray(['P-256']),
    'listener.connection-balancer': fc.constantFrom('', 'exact'),
    'listener.socket-options.tos': fc.integer({ min: 0, max: 255 }),
    'listener.socket-options.traffic-class': fc.integer({ min: 0, max: 255 }),
    'network.admin-port': fc.constantFrom(0, 9100),
    'runtime-settings': fc.constantFrom({}, { 'a.b': '1' }),
    'rateLimitService.extensionService': fc.constantFrom('', 'x/limiter', 'limiter'),
    'rateLimitService.defaultGlobalRateLimitPolicy': fc.constant({
      descriptors: [{ entries: [{ remoteAddress: {} }] }],
    }),
    'leaderelection.lease-duration': fc.constantFrom('15s', '60s'),
    'leaderelection.renew-deadline': fc.constantFrom('10s', '14s'),
    'leaderelection.retry-period': fc.constantFrom('2s', '1s'),
    'metrics.sesame.port': fc.constantFrom(8100, 8000),
    'metrics.contour.port': fc.constantFrom(8101, 8000),
    'metrics.envoy.port': fc.constantFrom(8102, 8002),
  };
  // Pairs and groups are generated as a whole.
  const groups: Record<string, fc.Arbitrary<unknown>> = {
    'tls.fallback-certificate': fc.option(fc.record({ name, namespace: name }), { nil: null }),
    'tls.envoy-client-certificate': fc.option(fc.record({ name, namespace: name }), { nil: null }),
    gateway: fc.oneof(
      fc.constant({}),
      fc.record({ controllerName: fc.constant('a.example/b') }),
      fc.record({ name, namespace: name }),
      fc.record({ gatewayRef: fc.record({ name, namespace: name }) }),
    ),
    globalExtAuth: fc.record({ extensionService: fc.constant('a/b'), failOpen: fc.boolean() }),
    tracing: fc.record(
      {
        extensionService: fc.constant('a/b'),
        overallSampling: fc.constantFrom('50', 12.5),
        includePodDetail: fc.boolean(),
      },
      { requiredKeys: ['extensionService'] },
    ),
    omEnforcedHealthListener: fc.record({ port: fc.constant(8200) }),
  };
  const leaves = Object.entries(FILE_KEYS).flatMap(([path, { type }]): [string, fc.Arbitrary<unknown>][] => {
    if (Object.keys(groups).some((group) => path.startsWith(`${group}.`))) return [];
    if (path === 'featureFlags' || /-path$|metrics\..*address/.test(path)) return [];
    const own = special[path];
    if (own !== undefined) return [[path, own]];
    if (path.startsWith('timeouts.') || path === 'request-timeout') return [[path, duration]];
    if (type === 'boolean') return [[path, fc.boolean()]];
    return [[path, type === 'integer' || type === 'number' ? number : name]];
  });
  const contents = fc
    .record(Object.fromEntries([...leaves, ...Object.entries(groups)]), { requiredKeys: [] })
    .map((values) =>
      Object.entries(values).reduce<Record<string, unknown>>(
        (file, [path, value]) => withValueAt(file, path, value),
        {},
      ),
    );

  test('the configuration in force is equal before and after, and a second migration changes nothing', () => {
    fc.assert(
      fc.property(contents, fc.boolean(), name, (content, isFull, namespace) => {
        const text = stringify(content);
        const before = effectiveOfFile(readConfigurationFile(text), { path: 'f', namespace });
        assert.deepEqual(
          before.problems.filter(({ severity }) => severity === 'error'),
          [],
          text,
        );
        const { output, errors } = run(text, { namespace, isFull });
        assert.deepEqual(errors, [], text);
        assert.deepEqual(effectiveConfiguration({ given: specOf(output), namespace }).value, before.effective.value);
        assert.equal(run(output ?? '').output, output);
        const back = run(output ?? '', { to: 'file', namespace });
        assert.deepEqual(back.errors, []);
        const flags = new Map<string, never>();
        assert.deepEqual(
          effectiveOfFile(readConfigurationFile(back.output ?? ''), { path: 'f', namespace, flags }).effective.value,
          before.effective.value,
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe('a ContourConfiguration', () => {
  const contours = (spec: object, metadata: object = { name: 'contour', namespace: 'projectcontour' }) =>
    stringify({ apiVersion: 'projectcontour.io/v1alpha1', kind: 'ContourConfiguration', metadata, spec });

  test('becomes a resource with the same values under our names', () => {
    const { output, errors, warnings } = run(
      contours({
        xdsServer: { type: 'contour', port: 8002, tls: { insecure: true } },
        ingress: { classNames: ['a', 'b'] },
        gateway: { gatewayRef: { name: 'edge', namespace: 'ingress' } },
        envoy: {
          listener: { 'per-connection-buffer-limit-bytes': 77 },
          logging: { accessLogFormat: 'json', accessLogJSONFields: ['method'] },
        },
        rateLimitService: { extensionService: { name: 'limiter', namespace: 'x' }, domain: 'contour' },
        globalExtAuth: {
          serviceType: 'http',
          extensionRef: { name: 'auth', namespace: 'x' },
          httpSettings: { pathPrefix: '/x' },
        },
      }),
    );
    assert.deepEqual([errors, warnings], [[], []]);
    assert.deepEqual(specOf(output), {
      xdsServer: { port: 8002, insecure: true },
      ingress: { className: 'a,b' },
      envoy: {
        listener: { perConnectionBufferLimitBytes: 77 },
        logging: { accessLogFormat: 'json', jsonFields: ['method'] },
      },
      gateway: { gatewayRef: { name: 'edge', namespace: 'ingress' } },
      globalExtAuth: {
        extensionRef: { name: 'auth', namespace: 'x' },
        serviceType: 'http',
        httpSettings: { pathPrefix: '/x' },
      },
      rateLimitService: { extensionService: 'x/limiter', domain: 'contour' },
    });
    assert.equal(run(output ?? '').output, output);
  });

  test('keeps Contour’s Service of Envoy when Sesame runs in another namespace', () => {
    const { output } = run(contours({}), { namespace: 'edge' });
    assert.deepEqual(specOf(output), { envoy: { service: { name: 'envoy', namespace: 'projectcontour' } } });
  });

  test('a ContourConfiguration with a value that is not valid is refused', () => {
    const { output, errors } = run(contours({ envoy: { timeouts: { requestTimeout: 'soon' } } }));
    assert.equal(output, undefined);
    assert.match(errors.join(), /sesame\.yaml: error: .*envoy\.timeouts\.requestTimeout.*"soon"/);
  });
});

describe('back to the file', () => {
  const resource = (spec: unknown) =>
    stringify({
      apiVersion: 'projectsesame.io/v1alpha1',
      kind: 'SesameConfiguration',
      metadata: { name: 'sesame' },
      spec,
    });

  test('goes what the file has keys for, and the rest as flags', () => {
    const { output, notes, errors } = run(
      resource({ xdsServer: { port: 9001 }, debug: { logLevel: 'debug' }, httpproxy: { rootNamespaces: ['a', 'b'] } }),
      { to: 'file' },
    );
    assert.deepEqual(errors, []);
    assert.deepEqual(parse(output ?? ''), { debug: true, timeouts: { 'connection-idle-timeout': '' } });
    assert.deepEqual(notes, [
      'needs the flag --xds-address=0.0.0.0',
      'needs the flag --xds-port=9001',
      'needs the flag --root-namespaces=a,b',
    ]);
  });

  test('goes nothing that the file cannot say', () => {
    const { errors, output } = run(resource({ envoy: { health: { port: 8005 } } }), { to: 'file' });
    assert.equal(output, undefined);
    assert.match(errors[0] ?? '', /spec\.envoy\.health\.port: has no key in the file and no flag/);
  });
});
