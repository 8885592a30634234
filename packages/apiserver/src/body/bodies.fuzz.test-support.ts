// Bodies of requests in every form, and the parsers of their content.

import type { UnknownObject } from '@capstan/kube';
import { type FuzzTarget, type SeededRandom } from '@capstan/testing';
import { decodeFields, encodeFields } from '../apply/field-set.ts';
import { StatusError } from '../errors.ts';
import { goJsonError } from '../json/go-json-error.ts';
import { createProtobufDecoder } from '../protobuf/decode.ts';
import { encodeObject } from '../protobuf/encode.ts';
import { decodeContinue } from '../rest/continue-token.ts';
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  DEPLOYMENTS,
  definition,
  deployment,
  testServer,
  WIDGETS,
  widget,
} from '../server.test-support.ts';
import { parseProxyPath } from '../streams/proxy-target.ts';
import { readText } from './body-text.ts';
import { TextRefusal } from './json-text.ts';

const isRefusal = (error: unknown) =>
  error instanceof TextRefusal || (error instanceof StatusError && (error.status.code ?? 500) < 500);

const JSON_SEEDS = [
  JSON.stringify(deployment('a')),
  '{"a":[1,-2.5e3,true,null,"\\u00e9\\ud83d\\ude00\\n"],"b":{"":0,"__proto__":{"x":1}},"a":2}',
  '"\\ud800"',
  '[]',
  ' {"k" : "v"} ',
  '[[[[]]]]',
  'nul',
  '{"a":',
  '01',
  '"\t"',
];

const json: FuzzTarget = {
  name: 'json-body',
  seeds: JSON_SEEDS,
  tokens: [
    '{"a":',
    '[',
    ']',
    '}',
    ',',
    ':',
    '"',
    '\\u',
    '\\ud800',
    '\\',
    '"a":1,',
    'null',
    'true',
    '1e5',
    '-',
    '__proto__',
    '\ufeff',
    '{"":',
    '"\\"',
    '\\\\',
  ],
  generate: (random) => JSON.stringify(drawnValue(random, 4)),
  read(input) {
    const text = input.toString();
    const { value, problem } = readText(text, 'json');
    if (problem === undefined) return value;
    goJsonError(text);
    throw new TextRefusal('values');
  },
  isRefusal,
};

const yaml: FuzzTarget = {
  name: 'yaml-body',
  seeds: [
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: |\n    text\n  l: >-\n    folded\n    more\n',
    'a: &x [1, 2]\nb: *x\nc: {<<: *y, d: "e"}\n',
    '- - - a\n- ? b\n  : c\n',
    "a: 'it''s'\nb: \"\\x41\\u00e9\"\n",
    '%YAML 1.2\n---\na: !!str 1\n...\n',
    'a: 0x1f\nb: 1_000\nc: .inf\nd: 2026-01-02\ne: ~\nf: 0o17\n',
    JSON.stringify(deployment('a')),
    'a: 1\na: 2\n',
  ],
  tokens: [
    '&a ',
    '*a',
    '<<: *a',
    '- ',
    '? ',
    ': ',
    '|\n  ',
    '>+\n',
    '!!binary ',
    '!<tag:x> ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '\n',
    '\n  ',
    '\t',
    '#',
    '---\n',
    '...\n',
    '%TAG ! x\n',
    '__proto__: ',
    '&a [*a,*a]',
    '*a: ',
    '- &b [*a, *a]\n',
    '\u2028',
    '\x85',
  ],
  maxBytes: 128 * 1024,
  maxMs: 2_000,
  read(input) {
    const { problem } = readText(input.toString(), 'yaml');
    if (problem !== undefined) throw new TextRefusal('values');
  },
  isRefusal,
};

const decoder = createProtobufDecoder();
const protobufOf = (object: object) => encodeObject(object) ?? new Uint8Array();

const protobuf: FuzzTarget = {
  name: 'protobuf-body',
  seeds: [
    protobufOf(configMap('a', { b: 'c' }, { labels: { x: 'y' }, annotations: { z: '' } })),
    protobufOf(deployment('a', { strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 1 } } })),
    protobufOf(
      definition({ nested: { type: 'object', properties: { a: { type: 'array', items: { type: 'string' } } } } }),
    ),
    protobufOf({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, data: { k: 'AAEC' } }),
    protobufOf({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: {
        containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1' } }, ports: [{ containerPort: 80 }] }],
      },
    }),
  ],
  tokens: [
    Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
    Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
    'k8s\0',
    Buffer.from([0x0a, 0x02, 0x0a, 0x00]),
    Buffer.from([0x0b]),
    Buffer.from([0x12, 0x00]),
    '__proto__',
    Buffer.from([0x32, 0x02, 0x32, 0x00]),
  ],
  read: (input) => decoder.decode(input),
  isRefusal,
};

const fields: FuzzTarget = {
  name: 'managed-fields',
  seeds: [
    '{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"k:{\\"name\\":\\"a\\"}":{".":{},"f:image":{}},"v:\\"x\\"":{},"i:3":{}}}',
    '{}',
    '{"f:a":{"f:b":{"f:c":{}}}}',
  ],
  tokens: [
    '"f:":{}',
    '"k:{}":{},',
    '"k:{\\"a\\":1}":{',
    '"v:1":{}',
    '"i:-1":{}',
    '".":{},',
    '"__proto__":{',
    '"f:__proto__":{',
    '{"f:a":',
  ],
  read: (input) => encodeFields(decodeFields(readText(input.toString(), 'json').value)),
  // An entry that cannot be read is refused with the sentence of this error.
  isRefusal: (error) => isRefusal(error) || (error instanceof Error && error.constructor === Error),
};

const pathTexts: FuzzTarget = {
  name: 'request-paths',
  seeds: [
    '/api/v1/namespaces/a/pods/http:b:80/proxy/x/y',
    '/api/v1/namespaces/a/services/c/proxy',
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0',
    '%2e%2e/%ff',
  ],
  tokens: ['/proxy/', '%2f', '%', '//', '..', ':', 'https:', 'eyJ', '=', '/namespaces/'],
  read(input) {
    const text = input.toString();
    parseProxyPath(text);
    decodeContinue(text);
  },
  isRefusal,
};

/** Requests whose bodies are changed copies of right ones, in process. The server must refuse or accept them, and go on. */
function requests(): FuzzTarget {
  const { server, transport, ok } = testServer();
  const types = [
    'application/merge-patch+json',
    'application/json-patch+json',
    'application/strategic-merge-patch+json',
    'application/apply-patch+yaml',
    'POST',
    'PUT',
  ] as const;
  const objects: readonly [collection: string, object: UnknownObject][] = [
    [CONFIG_MAPS, configMap('a', { b: 'c' })],
    [DEPLOYMENTS, deployment('a')],
    [WIDGETS, widget('a', { size: 2, items: [{ name: 'one', value: 'b' }], tags: ['x'], options: { a: 'b' } })],
    [CRDS, definition({ even: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self % 2 == 0' }] } })],
  ];
  let ready: Promise<unknown> | undefined;
  const prepare = async () => {
    await ok('POST', CRDS, objects[3]?.[1]);
    for (const [collection, object] of objects.slice(0, 3)) await ok('POST', collection, object);
  };
  return {
    name: 'patched-objects',
    // The first byte chooses kind and verb, the rest is the body.
    seeds: objects.flatMap(([, object], index) => [
      ...types.map((_, type) => `${String.fromCharCode(65 + index * 8 + type)}${JSON.stringify(object)}`),
      `${String.fromCharCode(65 + index * 8)}{"metadata":{"labels":{"x":null}},"spec":{"a":1}}`,
      `${String.fromCharCode(66 + index * 8)}[{"op":"add","path":"/metadata/labels","value":{"a":"b"}},{"op":"test","path":"/kind","value":"x"}]`,
      `${String.fromCharCode(67 + index * 8)}{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"},{"$patch":"replace"}],"$setElementOrder/containers":[{"name":"main"}]}}}}`,
    ]),
    tokens: [
      '"$patch":"replace",',
      '"$retainKeys":["a"],',
      '"$deleteFromPrimitiveList/finalizers":["x"],',
      '"$setElementOrder/containers":[',
      'null',
      '[]',
      '{}',
      '"__proto__":{"a":1},',
      '{"op":"move","from":"/spec","path":"/metadata"},',
      '/metadata/managedFields',
      '"managedFields":[{}],',
      '"finalizers":["a/b"],',
      '-1',
      '"status":null,',
      '"metadata":null,',
      '"uid":"x",',
      '"resourceVersion":"x",',
      '"ownerReferences":[{}],',
    ],
    maxBytes: 32 * 1024,
    async read(input) {
      ready ??= prepare();
      await ready;
      const choice = ((input[0] ?? 0) + 63) % 32;
      const [collection, object] = objects[choice >> 3] ?? [CONFIG_MAPS, configMap('a')];
      const type = types[choice % 8] ?? 'POST';
      const body = readText(input.subarray(1).toString(), 'json').value;
      const name = object.metadata.name ?? '';
      const isPatch = type !== 'POST' && type !== 'PUT';
      const answer = await transport.request({
        method: isPatch ? 'PATCH' : type,
        path: type === 'POST' ? collection : `${collection}/${name}`,
        // The objects do not change, so that a run can be repeated.
        query: {
          dryRun: 'All',
          ...(type === 'application/apply-patch+yaml' && { fieldManager: 'fuzz', force: 'true' }),
        },
        body,
        ...(isPatch && { contentType: type }),
      });
      if (answer.status >= 500) throw new Error(`${type} ${collection}: ${JSON.stringify(answer.body)}`);
      if (answer.status >= 400) throw new TextRefusal('values');
    },
    isRefusal,
    close: () => server.close(),
  };
}

/** A JSON value with odd keys, numbers and texts. */
function drawnValue(random: SeededRandom, depth: number): unknown {
  const kind = random.integer(0, depth > 0 ? 7 : 4);
  if (kind === 0) return random.pick([0, -1, 1.5, 1e21, -0, 2 ** 53 + 2]);
  if (kind === 1) return random.pick(['', 'a', '\u0000', '"', '\\', '\u2028', 'é', '\u{1f600}', '\ud800']);
  if (kind <= 4) return random.pick([null, true, false]);
  const count = random.integer(0, 4);
  if (kind === 5) return Array.from({ length: count }, () => drawnValue(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length: count }, () => [
      random.pick(['a', 'b', '', '__proto__', 'toString']),
      drawnValue(random, depth - 1),
    ]),
  );
}

export const targets: readonly FuzzTarget[] = [json, yaml, protobuf, fields, pathTexts, requests()];
