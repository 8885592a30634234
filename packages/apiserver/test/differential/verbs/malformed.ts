import type { SeededRandom } from '@capstan/testing';
import type { GeneratedKind } from '../kinds/kind.ts';
import { NOT_READY } from '../kinds/machines.ts';
import { APPLY, JSON_PATCH, MERGE, STRATEGIC, type Unnumbered, writeQuery } from './request.ts';

export function malformed(random: SeededRandom, kind: GeneratedKind, name: string, path: string): Unnumbered {
  const { apiVersion, kind: type } = kind;
  // A real server taints a new node, and nothing here would remove the taint.
  const spec = type === 'Node' ? { spec: { taints: [NOT_READY] } } : {};
  const whole = JSON.stringify({ apiVersion, kind: type, metadata: { name }, ...spec });
  const query = writeQuery(random);
  // A Service without a name is given an address first, and refused for that.
  const nameless: Unnumbered[] = [
    { method: 'POST', path: kind.collection, text: 'null', ...query },
    { method: 'POST', path: kind.collection, text: '{}', ...query },
  ];
  const plain: Unnumbered[] = [
    {
      method: 'POST',
      path: kind.collection,
      text: `kind: ${type}\napiVersion: ${apiVersion}\nmetadata:\n  name: "${name}"\n`,
      contentType: 'application/yaml',
      ...query,
    },
  ];
  return random.pick<Unnumbered>([
    ...(type === 'Service' ? [] : nameless),
    ...(type === 'Node' ? [] : plain),
    { method: 'POST', path: kind.collection, text: '{"kind":', ...query },
    { method: 'POST', path: kind.collection, text: '', ...query },
    { method: 'POST', path: kind.collection, text: '[]', ...query },
    { method: 'POST', path: kind.collection, text: '"x"', ...query },
    { method: 'POST', path: kind.collection, text: whole, contentType: 'text/plain', ...query },
    { method: 'POST', path: kind.collection, text: whole, contentType: 'application/x', ...query },
    {
      method: 'POST',
      path: kind.collection,
      text: `kind: ${type}\napiVersion: ${apiVersion}\nmetadata:\n  name: [${name}\n`,
      contentType: 'application/yaml',
      ...query,
    },
    {
      method: 'POST',
      path: kind.collection,
      text: `${whole.slice(0, -1)},"metadata":{"name":"twice"}}`,
      query: { fieldValidation: random.pick(['Strict', 'Warn']) },
    },
    { method: 'POST', path: kind.collection, text: `${whole}{}`, ...query },
    { method: 'POST', path, text: whole, ...query },
    { method: 'PUT', path: kind.collection, text: whole, ...query },
    { method: 'PATCH', path, text: '{', contentType: MERGE, ...query },
    { method: 'PATCH', path, text: '[]', contentType: MERGE, ...query },
    { method: 'PATCH', path, text: '5', contentType: STRATEGIC, ...query },
    { method: 'PATCH', path, text: '{}', contentType: JSON_PATCH, ...query },
    { method: 'PATCH', path, text: '[{"op":"add"}]', contentType: JSON_PATCH, ...query },
    { method: 'PATCH', path, text: '{}', contentType: 'application/json', ...query },
    { method: 'PATCH', path, text: '{}', contentType: APPLY, query: { fieldManager: 'one' } },
    { method: 'PATCH', path, text: 'a: [', contentType: APPLY, query: { fieldManager: 'one' } },
    { method: 'PATCH', path, text: whole, contentType: APPLY },
    { method: 'PATCH', path, body: { metadata: { name } }, contentType: MERGE, query: { force: 'true' } },
    { method: 'DELETE', path, text: 'nonsense', ...query },
    { method: 'DELETE', path, text: '{"propagationPolicy":5}' },
    { method: 'GET', path: `${path}/nothing` },
    // Under a group of custom resources nothing answers with a Status; here everybody gets one.
    ...(kind.isCustom ? [] : [{ method: 'GET' as const, path: kind.collection.replace(/\/[^/]*$/, '/nothing') }]),
    { method: 'PUT', path: `${path}/status`, text: '{}' },
    ...(kind.isCustom
      ? []
      : [{ method: 'POST' as const, path: kind.collection, body: otherKind(random, name), ...query }]),
  ]);
}

/** An object of a kind that belongs elsewhere, or nowhere. */
function otherKind(random: SeededRandom, name: string): object {
  const [apiVersion, kind] = random.pick([
    ['v1', 'Secret'],
    ['v1', 'SecretList'],
    ['v1', 'Status'],
    ['v1', 'Nothing'],
    ['v1', 'Deployment'],
    ['apps/v1', 'StatefulSet'],
    ['apps/v1', 'Pod'],
    ['policy/v1', 'Eviction'],
    ['authorization.k8s.io/v1', 'SubjectAccessReview'],
    ['nothing/v1', 'Nothing'],
  ]);
  return { apiVersion, kind, metadata: { name } };
}
