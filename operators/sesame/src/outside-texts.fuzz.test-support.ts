// Legacy configuration files, manifests for `sesame migrate`, and messages of Envoy.
import type { FuzzTarget } from '@capstan/testing';
import { readConfigurationFile } from './configuration/file/index.ts';
import { DecodeError, decode, encode } from './envoy/index.ts';
import { migrate } from './migrate/index.ts';

const FILE = `incluster: true
disablePermitInsecure: false
accesslog-format: json
json-fields: ["@timestamp", "method=%REQ(:METHOD)%"]
tls:
  minimum-protocol-version: "1.2"
  fallback-certificate: { name: a, namespace: b }
timeouts:
  request-timeout: infinity
  connection-idle-timeout: 60s
policy:
  request-headers: { set: { a: b } }
default-http-versions: [HTTP/1.1, HTTP/2]
`;

const configurationFile: FuzzTarget = {
  name: 'legacy-configuration',
  seeds: [
    FILE,
    '',
    'timeouts: {}\n',
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: c }\ndata:\n  contour.yaml: |\n    ${FILE.replaceAll('\n', '\n    ')}\n`,
  ],
  tokens: [
    '&a ',
    '*a',
    '<<: *a',
    '---\n',
    '__proto__: ',
    'timeouts:\n',
    '  request-timeout: ',
    '[',
    '{',
    '"%',
    '%REQ(',
    '1e999',
    ': ',
    '\t',
    '&a [*a,*a]',
    'kind: List\nitems: ',
  ],
  maxBytes: 32 * 1024,
  maxMs: 3_000,
  read(input) {
    const text = input.toString();
    readConfigurationFile(text);
    readConfigurationFile(text, { isLenient: true });
    migrate([{ name: 'file.yaml', bytes: input }], { to: 'resource', name: 'sesame' });
  },
  isRefusal: () => false,
};

const REQUEST = 'envoy.service.discovery.v3.DiscoveryRequest';
const DELTA = 'envoy.service.discovery.v3.DeltaDiscoveryRequest';

const discovery: FuzzTarget = {
  name: 'discovery-request',
  seeds: [
    encode(REQUEST, {
      version_info: '7',
      node: { id: 'e', cluster: 'c', metadata: { a: { b: [1, null] } } },
      resource_names: ['a'],
      response_nonce: '3',
    }),
    encode(DELTA, { resource_names_subscribe: ['*'], initial_resource_versions: { a: '1' }, response_nonce: '9' }),
  ],
  tokens: [
    Buffer.from([0x0a, 0xff, 0x01]),
    Buffer.from([0x2a, 0x02, 0x2a, 0x00]),
    Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
    '__proto__',
    Buffer.from([0x0b]),
    Buffer.from([0x12, 0x04, 0x22, 0x02, 0x0a, 0x00]),
  ],
  read(input) {
    decode(REQUEST, input);
    decode(DELTA, input);
  },
  isRefusal: (error) => error instanceof DecodeError,
};

export const targets: readonly FuzzTarget[] = [configurationFile, discovery];
