// Texts of users that this package parses: selectors, quantities, patches, expressions, patterns, certificates, kubeconfigs.
import type { FuzzTarget } from '@capstan/testing';
import type { CustomResourceDefinition } from '../src/builtin/index.ts';
import { mergeKubeconfigs, parseKubeconfig, selectContext } from '../src/client/config/kubeconfig.ts';
import { checkCrd } from '../src/crd/check-crd.ts';
import { parseDuration } from '../src/duration.ts';
import { CodedError } from '../src/errors/coded-error.ts';
import { ConfigError } from '../src/errors/config-error.ts';
import { InvalidValueError } from '../src/errors/value-error.ts';
import { applyJsonPatch, applyMergePatch, createMergePatch, equal } from '../src/json/index.ts';
import { canonicalQuantity, quantityToNumber } from '../src/quantity.ts';
import { parseFieldSelector } from '../src/selectors/field-selector.ts';
import { formatLabelSelector, parseLabelSelector } from '../src/selectors/label-selector.ts';
import { parseTime } from '../src/timestamps.ts';
import { certificatesIn } from '../src/x509/pem.ts';
import { certificateValidity } from '../src/x509/validity.ts';
import { cel, regexp } from './expressions.test-support.ts';

const isInvalidValue = (error: unknown) => error instanceof InvalidValueError || error instanceof CodedError;

const labelSelector: FuzzTarget = {
  name: 'label-selector',
  seeds: ['app=web', 'a in (b,c),!d', 'x notin (,),y', 'n>3,m<4', 'example.com/a==b', 'in in (in)'],
  tokens: [' in (', 'notin', '!', ',', '==', '!=', ')', 'a.b/c', '(a,,b)', '\0', '>', '-1', 'a=b,'],
  read(input) {
    const selector = parseLabelSelector(input.toString());
    selector.matches({ app: 'web', n: '7' });
  },
  isRefusal: isInvalidValue,
};

const fieldSelector: FuzzTarget = {
  name: 'field-selector',
  seeds: ['metadata.name=a', 'metadata.name==a,status.phase!=Running', String.raw`a=b\,c\=d`, ''],
  tokens: ['\\', ',', '=', '==', '!=', '\\\\', 'metadata.namespace', 'a=b,'],
  read: (input) => parseFieldSelector(input.toString()),
  isRefusal: isInvalidValue,
};

const selectorObject: FuzzTarget = {
  name: 'label-selector-object',
  seeds: [
    '{"matchLabels":{"a":"b"}}',
    '{"matchExpressions":[{"key":"a","operator":"In","values":["b"]},{"key":"c","operator":"DoesNotExist"}]}',
  ],
  tokens: ['"matchExpressions"', '"operator":"NotIn"', '"values":[]', '__proto__'],
  read: (input) => formatLabelSelector(JSON.parse(input.toString()) as object),
  // The schema of its kind has checked the types of a selector before.
  isRefusal: (error) => isInvalidValue(error) || error instanceof SyntaxError || error instanceof TypeError,
};

const scalars: FuzzTarget = {
  name: 'scalars',
  seeds: [
    '100m',
    '1.5Gi',
    '12e6',
    '1h2m3.5s',
    '-1.5ms',
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05.123456+01:00',
    '0',
    '1e3',
  ],
  tokens: ['Ki', 'e', '.', '-', '+', 'm', 'µs', 'ns', 'T', 'Z', '9', '999999999999999999999', '0'],
  maxBytes: 16 * 1024,
  read(input) {
    const text = input.toString();
    const parsers: ((text: string) => unknown)[] = [canonicalQuantity, quantityToNumber, parseDuration, parseTime];
    let refusal: Error | undefined;
    for (const parse of parsers) {
      try {
        parse(text);
      } catch (error) {
        if (!(error instanceof CodedError)) throw error;
        refusal = error;
      }
    }
    if (refusal !== undefined) throw refusal;
  },
  isRefusal: isInvalidValue,
};

const DOCUMENT = {
  metadata: { name: 'a', labels: { a: 'b', 'x/y': 'z' } },
  spec: { list: [1, 2, { three: [4] }], '': 'empty', '~': 1, nothing: null },
};

const COPY = structuredClone(DOCUMENT);

const jsonPatch: FuzzTarget = {
  name: 'json-patch',
  seeds: [
    '[{"op":"add","path":"/metadata/labels/x","value":"y"}]',
    '[{"op":"test","path":"/spec/list/0","value":1},{"op":"remove","path":"/spec/list/-1"}]',
    '[{"op":"move","from":"/spec/list/2/three","path":"/spec/moved"},{"op":"copy","from":"/spec","path":"/spec/list/-"}]',
    '[{"op":"replace","path":"","value":{"spec":{"a~1b":1}}}]',
    '[{"op":"copy","from":"/spec/list","path":"/spec/list/-"},{"op":"copy","from":"/spec/list","path":"/spec/list/-"}]',
  ],
  tokens: [
    '{"op":"copy","from":"/spec/list","path":"/spec/list/-"},',
    '{"op":"copy","from":"/spec","path":"/spec/x"},',
    '{"op":"add","path":"/spec/list/0","value":1},',
    '/__proto__',
    '/constructor/prototype',
    '/~0',
    '/~1',
    '/-',
    '/-1',
    '~',
    '/99999999999',
    '"from"',
    '/a',
  ],
  read(input) {
    let refusal: Error | undefined;
    try {
      applyJsonPatch(DOCUMENT, JSON.parse(input.toString()));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      refusal = error;
    }
    if (!equal(COPY, DOCUMENT)) throw new TypeError('the document was changed');
    if (refusal) throw refusal;
  },
  isRefusal: (error) => isInvalidValue(error) || error instanceof SyntaxError,
};

const mergePatch: FuzzTarget = {
  name: 'merge-patch',
  seeds: [
    '{"metadata":{"labels":{"a":null}}}',
    '{"spec":{"list":[1],"deep":{"a":{"b":null}}}}',
    '[]',
    'null',
    '{"__proto__":{"a":1}}',
  ],
  tokens: ['"__proto__":', '"constructor":{"prototype":{"x":1}},', 'null', '{"a":', '}', '[', ']'],
  read(input) {
    const result = applyMergePatch(DOCUMENT, JSON.parse(input.toString()));
    createMergePatch(DOCUMENT, result);
  },
  // Bodies are bounded in their depth before a patch is applied.
  isRefusal: (error) => error instanceof SyntaxError,
  maxBytes: 8 * 1024,
};

const definition: FuzzTarget = {
  name: 'definition',
  seeds: [
    JSON.stringify({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            subresources: {
              status: {},
              scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.ready' },
            },
            additionalPrinterColumns: [{ name: 'size', type: 'integer', jsonPath: '.spec.size' }],
            selectableFields: [{ jsonPath: '.spec.name' }],
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: {
                  spec: {
                    type: 'object',
                    'x-kubernetes-validations': [{ rule: 'self.size > 1', messageExpression: "'x'" }],
                    required: ['size'],
                    properties: {
                      size: { type: 'integer', minimum: 0, default: 1 },
                      name: { type: 'string', pattern: '^[a-z]+$', maxLength: 9, enum: ['a'] },
                      items: {
                        type: 'array',
                        'x-kubernetes-list-type': 'map',
                        'x-kubernetes-list-map-keys': ['k'],
                        items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
                      },
                      either: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
                      raw: {
                        type: 'object',
                        'x-kubernetes-embedded-resource': true,
                        'x-kubernetes-preserve-unknown-fields': true,
                      },
                    },
                  },
                },
              },
            },
          },
        ],
      },
    }),
  ],
  tokens: [
    '"properties":{',
    '"items":{',
    '"type":"array",',
    '"allOf":[',
    '"not":{',
    '"default":null,',
    '"additionalProperties":{',
    '"$ref":"#",',
    '"pattern":"(",',
    '"x-kubernetes-validations":[{"rule":"self.all(x, x.all(y, y))"}],',
    '"x-kubernetes-validations":[null],',
    '"format":"date-time",',
    '"__proto__":{',
    'null',
    '[]',
    '{}',
    '1e400',
  ],
  maxMs: 3_000,
  maxBytes: 64 * 1024,
  read: (input) => checkCrd(JSON.parse(input.toString()) as CustomResourceDefinition),
  // The type check of the body has refused values of wrong types before.
  isRefusal: (error) => error instanceof SyntaxError || error instanceof TypeError,
};

const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: a
clusters:
- name: c
  cluster: { server: "https://127.0.0.1:6443", certificate-authority-data: bm90IGEga2V5, tls-server-name: x, insecure-skip-tls-verify: false, proxy-url: "http://p:1" }
users:
- name: u
  user: { token: t, username: x, password: y, client-certificate-data: YQ==, client-key: key.pem }
- name: e
  user:
    exec: { apiVersion: client.authentication.k8s.io/v1, command: aws, args: [a, b], env: [{ name: A, value: b }], interactiveMode: Never }
contexts:
- name: a
  context: { cluster: c, user: u, namespace: n }
`;

const kubeconfig: FuzzTarget = {
  name: 'kubeconfig',
  seeds: [KUBECONFIG, JSON.stringify({ clusters: [], contexts: [] })],
  tokens: [
    '&a ',
    '*a',
    '<<: *a',
    '- ',
    '!!binary ',
    '? ',
    '|\n  ',
    '{',
    '}',
    '[',
    '__proto__: ',
    'exec:',
    '%YAML 1.2\n',
    '---\n',
    '- &b [*b, *b]\n',
    '"',
    "'",
    '\t',
  ],
  maxBytes: 64 * 1024,
  maxMs: 3_000,
  read(input) {
    const config = parseKubeconfig(input.toString(), '/home/u/.kube/config');
    selectContext(mergeKubeconfigs([config, config]), undefined);
  },
  isRefusal: (error) => error instanceof ConfigError || error instanceof CodedError,
};

const PEM = `-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUYQ==
-----END CERTIFICATE-----
`;

const certificates: FuzzTarget = {
  name: 'certificates',
  seeds: [PEM, PEM.repeat(3), '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n'],
  tokens: ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----', '-----', '\n', '=', 'MII'],
  read(input) {
    const text = input.toString();
    certificatesIn(text);
    certificateValidity(text);
  },
  // Both report an unreadable certificate with an error of OpenSSL, which their callers show.
  isRefusal: (error) => error instanceof Error && !(error instanceof RangeError),
};

export const targets: readonly FuzzTarget[] = [
  labelSelector,
  fieldSelector,
  selectorObject,
  scalars,
  jsonPatch,
  mergePatch,
  cel,
  regexp,
  definition,
  kubeconfig,
  certificates,
];
