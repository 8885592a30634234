// The bodies are those of kubectl 1.32 for the command that names each case.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { StatusError } from '../errors.ts';
import { testServer } from '../server.test-support.ts';
import { createProtobufDecoder, PROTOBUF } from './decode.ts';

const decoder = createProtobufDecoder();
const decode = (base64: string) => decoder.decode(Buffer.from(base64, 'base64'));

const cases: [command: string, body: string, object: unknown][] = [
  [
    'create deployment web --image=nginx --replicas=0 --port 80',
    'azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErgBCh8KA3dlYhIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEoYBCAASDAoKCgNhcHASA3dlYhpsChwKABIAGgAiACoAMgA4AEIAWgoKA2FwcBIDd2ViEkwSLgoFbmdpbngSBW5naW54KgAyCgoAEAAYUCIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIgIKACgAOAAaDAgAEAAYACAAKAA4ABoAIgA=',
    {
      kind: 'Deployment',
      apiVersion: 'apps/v1',
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: {
        // A pointer: zero is set, not absent.
        replicas: 0,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'nginx', image: 'nginx', ports: [{ containerPort: 80 }], resources: {} }] },
        },
        strategy: {},
      },
      status: {},
    },
  ],
  [
    'create secret generic s --from-literal=a=b',
    'azhzAAoMCgJ2MRIGU2VjcmV0Eh0KEQoBcxIAGgAiACoAMgA4AEIAEgYKAWESAWIaABoAIgA=',
    { kind: 'Secret', apiVersion: 'v1', metadata: { name: 's' }, data: { a: 'Yg==' } },
  ],
  [
    'create role r --verb=get --resource=pods',
    'azhzAAokChxyYmFjLmF1dGhvcml6YXRpb24uazhzLmlvL3YxEgRSb2xlEiIKEQoBchIAGgAiACoAMgA4AEIAEg0KA2dldBIAGgRwb2RzGgAiAA==',
    {
      kind: 'Role',
      apiVersion: 'rbac.authorization.k8s.io/v1',
      metadata: { name: 'r' },
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
    },
  ],
  [
    'create service nodeport np --tcp=80:8080',
    'azhzAAoNCgJ2MRIHU2VydmljZRJlCh0KAm5wEgAaACIAKgAyADgAQgBaCQoDYXBwEgJucBJAChsKBzgwLTgwODASA1RDUBhQIgcIABCQPxoAKAASCQoDYXBwEgJucBoAIghOb2RlUG9ydDoAQgBSAFoAYABoABoCCgAaACIA',
    {
      kind: 'Service',
      apiVersion: 'v1',
      metadata: { name: 'np', labels: { app: 'np' } },
      spec: {
        ports: [{ name: '80-8080', protocol: 'TCP', port: 80, targetPort: 8080 }],
        selector: { app: 'np' },
        type: 'NodePort',
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    'create ingress i --rule=a.com/x=np:80',
    'azhzAAofChRuZXR3b3JraW5nLms4cy5pby92MRIHSW5ncmVzcxJBChEKAWkSABoAIgAqADIAOABCABIoGiYKBWEuY29tEh0KGwoZCgIveBIMIgoKAm5wEgQKABBQGgVFeGFjdBoCCgAaACIA',
    {
      kind: 'Ingress',
      apiVersion: 'networking.k8s.io/v1',
      metadata: { name: 'i' },
      spec: {
        rules: [
          {
            host: 'a.com',
            http: {
              paths: [{ path: '/x', pathType: 'Exact', backend: { service: { name: 'np', port: { number: 80 } } } }],
            },
          },
        ],
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    'create pdb p --selector=a=b --min-available=50%',
    'azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSNgoRCgFwEgAaACIAKgAyADgAQgASFQoJCAEQABoDNTAlEggKBgoBYRIBYhoKCAAYACAAKAAwABoAIgA=',
    {
      kind: 'PodDisruptionBudget',
      apiVersion: 'policy/v1',
      metadata: { name: 'p' },
      spec: { minAvailable: '50%', selector: { matchLabels: { a: 'b' } } },
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    },
  ],
  [
    'auth can-i get pods',
    'azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPAoQCgASABoAIgAqADIAOABCABIeChwKB2RlZmF1bHQSA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=',
    {
      kind: 'SelfSubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      metadata: {},
      spec: { resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } },
      status: { allowed: false },
    },
  ],
  [
    'create token default',
    'azhzAAooChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESDFRva2VuUmVxdWVzdBIaChAKABIAGgAiACoAMgA4AEIAEgAaBAoAEgAaACIA',
    {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: {},
      status: { token: '' },
    },
  ],
];

const message = (...fields: Buffer[]) => Buffer.concat(fields);
const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [0x80 | (value & 0x7f), ...varint(Math.floor(value / 0x80))];
const field = (at: number, content: Buffer | string) => {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([...varint((at << 3) | 2), ...varint(bytes.length)]), bytes]);
};
const number = (at: number, value: number) => Buffer.from([at << 3, value]);
const unknown = (apiVersion: string, kind: string, raw: Buffer) =>
  message(Buffer.from('k8s\0'), field(1, message(field(1, apiVersion), field(2, kind))), field(2, raw));

describe('protobuf bodies', () => {
  for (const [command, body, object] of cases) {
    it(`reads what kubectl ${command} sends`, () => {
      const decoded = decode(body);
      // `audiences: null` and times that are not set are left out by us and written by Go: the schema drops them.
      assert.deepEqual(JSON.parse(JSON.stringify(decoded)), object);
    });
  }

  it('inlines, and reads times, quantities, maps and several containers', () => {
    const limits = field(1, message(field(1, 'cpu'), field(2, field(1, '500m'))));
    const probe = message(field(1, field(2, field(1, '/ready'))), number(2, 5));
    const container = (name: string) => field(2, message(field(1, name), field(8, limits), field(11, probe)));
    const volume = field(1, message(field(1, 'v'), field(2, field(2, ''))));
    const metadata = field(1, message(field(1, 'p'), field(8, message(number(1, 60)))));
    const raw = message(metadata, field(2, message(volume, container('a'), container('b'))));
    const decoded = decoder.decode(unknown('v1', 'Pod', raw));
    const same = {
      resources: { limits: { cpu: '500m' } },
      readinessProbe: { httpGet: { path: '/ready' }, initialDelaySeconds: 5 },
    };
    assert.deepEqual(JSON.parse(JSON.stringify(decoded)), {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name: 'p', creationTimestamp: '1970-01-01T00:01:00Z' },
      spec: {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          { name: 'a', ...same },
          { name: 'b', ...same },
        ],
      },
    });
  });

  it('keeps a field that is named items where JSON has it, and shows a Go type that is a list as a bare list', () => {
    const file = message(field(1, 'labels'), field(2, field(2, 'metadata.labels')));
    const projected = field(26, field(1, field(2, field(1, file))));
    const pod = field(2, field(1, message(field(1, 'v'), field(2, projected))));
    assert.deepEqual(decoder.decode(unknown('v1', 'Pod', pod)), {
      kind: 'Pod',
      apiVersion: 'v1',
      spec: {
        volumes: [
          {
            name: 'v',
            projected: {
              sources: [{ downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } }],
            },
          },
        ],
      },
    });
    const extra = field(5, message(field(1, 'scopes'), field(2, message(field(1, 'a'), field(1, 'b')))));
    assert.deepEqual(decoder.decode(unknown('authorization.k8s.io/v1', 'SubjectAccessReview', field(2, extra))), {
      kind: 'SubjectAccessReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { extra: { scopes: ['a', 'b'] } },
    });
  });

  it('reads schemas of definitions, whose JSON is one of several things', () => {
    const schema = (...fields: Buffer[]) => field(1, message(...fields));
    const text = field(5, 'string');
    const properties = field(29, message(field(1, 'any'), field(2, field(30, message(number(1, 1), field(2, text))))));
    const closed = field(29, message(field(1, 'closed'), field(2, field(30, message(number(1, 0))))));
    const list = field(29, message(field(1, 'list'), field(2, field(24, field(1, text)))));
    const fallback = field(8, field(1, '{"a":[1]}'));
    const version = field(7, message(field(1, 'v1'), field(4, schema(fallback, properties, closed, list))));
    const decoded = decoder.decode(
      unknown('apiextensions.k8s.io/v1', 'CustomResourceDefinition', field(2, version)),
    ) as unknown as { spec: { versions: { schema: { openAPIV3Schema: unknown } }[] } };
    assert.deepEqual(decoded.spec.versions[0]?.schema.openAPIV3Schema, {
      default: { a: [1] },
      properties: {
        any: { additionalProperties: { type: 'string' } },
        closed: { additionalProperties: false },
        list: { items: { type: 'string' } },
      },
    });
  });

  it('refuses what is no protobuf, and never breaks on bytes', () => {
    assert.throws(() => decoder.decode(Buffer.from('{}')), /expected prefix \[107 56 115 0\]/);
    const real = Buffer.from(cases[0]?.[1] ?? '', 'base64');
    fc.assert(
      fc.property(fc.nat(real.length - 1), fc.nat(255), fc.nat(real.length), (at, byte, length) => {
        const bytes = Uint8Array.from(real);
        bytes[at] = byte;
        try {
          decoder.decode(bytes.subarray(0, length));
        } catch (error) {
          assert.ok(error instanceof StatusError, String(error));
        }
      }),
    );
  });

  it('creates the object and answers in JSON', async () => {
    const test = testServer();
    const body = Buffer.from(cases[1]?.[1] ?? '', 'base64');
    const more = { contentType: PROTOBUF, accept: `${PROTOBUF},application/json` };
    const secret = await test.ok('POST', '/api/v1/namespaces/default/secrets', body, more);
    assert.deepEqual([secret.kind, secret['type'], secret['data']], ['Secret', 'Opaque', { a: 'Yg==' }]);
  });

  it('answers that a kind is not served before it looks into the body', async () => {
    const test = testServer();
    const body = Buffer.from('k8s\0');
    const refusal = await test.refused('POST', '/apis/apps/v1/namespaces/default/gadgets', body, {
      contentType: PROTOBUF,
    });
    assert.equal(refusal.code, 404);
  });
});
