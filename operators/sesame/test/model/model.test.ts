// One fixture for each policy: its effect on the model and on Envoy's messages.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { createCa, issueCertificate } from '@capstan/kube';
import { stringify } from 'yaml';
import { FILTER_TYPES } from '../../src/gateway/routes/filters.ts';
import { HTTPProxy } from '../../src/kinds/http-proxy.ts';
import { type Case, readCases, translateIngressCase, translateProxyCase, translateRuleCase } from './cases.ts';
import { difference, hostView, isFields, routesView, type View } from './views.ts';

const validity = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };
const ca = await createCa({ commonName: 'test', ...validity });
const issued = await issueCertificate({
  ca,
  commonName: 'a.test',
  dnsNames: ['a.test'],
  usages: ['server'],
  ...validity,
});
const certificates = { certificate: issued.certificate, key: issued.key, ca: ca.certificate };

const files: Record<string, (each: Case) => View> = {
  './http-proxy.yaml': (each) => {
    const { parts, settings } = translateProxyCase(each, certificates);
    return hostView(parts, settings);
  },
  './ingress.yaml': (each) => {
    const { parts, settings } = translateIngressCase(each, certificates);
    return hostView([...parts.values()], settings);
  },
  './gateway.yaml': (each) => routesView(translateRuleCase(each).routes),
};

/** The same without the policy: with the same configuration, and with TLS where the case has it. */
function plainCase({ settings = {}, virtualhost = {}, tls }: Case): Case {
  const isSecure = 'tls' in virtualhost;
  return {
    policy: 'none',
    settings,
    ...(isSecure && { virtualhost: { tls: { secretName: 'cert' } } }),
    ...(tls !== undefined && { tls }),
  };
}

for (const [file, view] of Object.entries(files)) {
  const cases = readCases(file);
  const changes = (each: Case) => {
    const found = view(each);
    const plain = view(plainCase(each));
    return {
      model: difference(plain.model, found.model) ?? {},
      message: difference(plain.message, found.message) ?? {},
    };
  };

  suite(`the fixtures of ${file}`, () => {
    // `UPDATE_FIXTURES=1 npm test -- …/model.test.ts` writes the present results, for the review of a change.
    if (process.env['UPDATE_FIXTURES'] === '1') update(file, cases, changes);

    for (const each of cases)
      test(`${each.policy} changes the model and the message as written`, () => {
        const { model, message } = changes(each);
        assert.deepEqual({ model, message }, { model: each.model, message: each.message });
        assert.notDeepEqual(message, {}, 'the policy changes nothing that Envoy gets');
      });
  });
}

suite('a fixture exists', () => {
  const names = (file: string) => readCases(file).map(({ policy }) => policy.split(', ')[0] ?? '');
  const written = readFileSync(new URL('./http-proxy.yaml', import.meta.url), 'utf8');

  test('a fixture exists for each field of routes, services and virtual hosts of an HTTPProxy', () => {
    const schema = JSON.stringify(HTTPProxy);
    const fields = [
      ...schema.matchAll(/"([a-zA-Z]+Polic(?:y|ies)|enableWebsockets|permitInsecure|mirror|tcpproxy)":/g),
    ];
    const missing = [...new Set(fields.map(([, name = '']) => name))].filter((name) => !written.includes(`${name}:`));
    assert.ok(fields.length > 10);
    assert.deepEqual(missing, []);
  });

  test('a fixture exists for each annotation of an Ingress', () => {
    const source = readFileSync(new URL('../../src/routing/ingress/translate-ingress.ts', import.meta.url), 'utf8');
    const annotations = [...source.matchAll(/#annotation\(([^)]*)\)/g)]
      .flatMap(([, list = '']) => [...list.matchAll(/'([^']+)'/g)])
      .map(([, name = '']) => name);
    assert.ok(annotations.length > 8);
    assert.deepEqual([...new Set(annotations)].sort(), [...new Set(names('./ingress.yaml'))].sort());
  });

  test('a fixture exists for each filter of the Gateway API', () => {
    const found = new Set(names('./gateway.yaml'));
    assert.deepEqual(
      [...FILTER_TYPES].filter((type) => !found.has(type)),
      [],
    );
  });
});

function update(file: string, cases: Case[], changes: (each: Case) => { model: object; message: object }): void {
  const place = new URL(file, import.meta.url);
  const [comment = ''] = readFileSync(place, 'utf8').split('\n');
  const lines = cases.map((each) => {
    const { policy, ...fields } = Object.assign(each, changes(each));
    const rows = Object.entries(fields).map(([name, value]) => `  ${name}: ${flow(value)}`);
    return [`- policy: ${stringify(policy).trim()}`, ...rows].join('\n');
  });
  writeFileSync(place, `${comment}\n${lines.join('\n')}\n`);
}

/** One line of YAML. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (isFields(value))
    return `{${Object.entries(value)
      .map(([name, each]) => `${scalar(name)}: ${flow(each)}`)
      .join(', ')}}`;
  return typeof value === 'string' ? scalar(value) : JSON.stringify(value);
}

function scalar(text: string): string {
  return /^[a-zA-Z/][a-zA-Z0-9_./ -]*$/.test(text) && !['true', 'false', 'null'].includes(text)
    ? text
    : JSON.stringify(text);
}
