// No body of a request may cause an internal error: bodies that are made at random from the schema of each kind, with nulls, empty
// and missing parts in every place, are accepted or refused for a reason.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiResponse, BuiltinSchema } from '@capstan/kube';
import { loadBuiltins } from '../builtin/builtin.ts';
import { apiVersionOf, type Resource } from '../resources/resource.ts';
import { seeded, testServer } from '../server.test-support.ts';

const BODIES = 60;
const { resources, definitions } = loadBuiltins();

describe('bodies that are made from the schema of a kind', () => {
  for (const resource of resources) {
    const [version] = resource.versions;
    const definition = version?.openApi.definition;
    if (version === undefined || definition === undefined || !resource.verbs.includes('create')) continue;
    it(`${resource.kind} of ${apiVersionOf(resource, version.name)}: none causes an internal error`, async () => {
      const { send } = testServer();
      const random = seeded(resource.plural.length);
      const collection = pathOf(resource, version.name);
      const types = ['application/merge-patch+json', 'application/strategic-merge-patch+json'] as const;
      for (let count = 0; count < BODIES; count += 1) {
        const name = `n${count % 4}`;
        const made = valueOf(definition, random, 0) as Record<string, unknown>;
        const body: object = {
          ...made,
          apiVersion: apiVersionOf(resource, version.name),
          kind: resource.kind,
          metadata: { name },
        };
        const query = { fieldValidation: 'Ignore' };
        const answers: ApiResponse[] = [
          await send('POST', collection, body, { query }),
          await send('PUT', `${collection}/${name}`, body, { query }),
          await send('PATCH', `${collection}/${name}`, made, { query, contentType: types[count % 2] as string }),
          await send('PATCH', `${collection}/${name}`, body, {
            query: { fieldManager: 'one', force: 'true' },
            contentType: 'application/apply-patch+yaml',
          }),
        ];
        for (const { status, body: answer } of answers) {
          const { reason } = answer as { reason?: string };
          assert.ok(status < 500 || reason !== 'InternalError', `${JSON.stringify(body)}: ${JSON.stringify(answer)}`);
        }
      }
    });
  }
});

function pathOf({ group, plural, namespaced }: Resource, version: string): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced ? `${root}/namespaces/default/${plural}` : `${root}/${plural}`;
}

function valueOf(name: string, random: () => number, depth: number): unknown {
  const schema = definitions.get(name);
  if (schema?.properties === undefined) return random() < 0.5 ? {} : 'x';
  const result: Record<string, unknown> = {};
  for (const [field, part] of Object.entries(schema.properties)) {
    if (depth === 0 ? field === 'metadata' || random() < 0.2 : random() < 0.55) continue;
    result[field] = partOf(part, random, depth + 1);
  }
  return result;
}

function partOf(schema: BuiltinSchema, random: () => number, depth: number): unknown {
  if (random() < 0.15) return null;
  if (schema.$ref !== undefined) return depth > 9 ? {} : valueOf(schema.$ref, random, depth);
  const { items, additionalProperties: values } = schema;
  switch (schema.type) {
    case 'array':
      return Array.from({ length: Math.floor(random() * 3) }, () => (items ? partOf(items, random, depth + 1) : null));
    case 'object':
      return random() < 0.3 || !values ? {} : { [random() < 0.5 ? 'a' : '']: partOf(values, random, depth + 1) };
    case 'boolean':
      return random() < 0.5;
    case 'integer':
    case 'number':
      return [0, 1, -1, 80, 2_147_483_647][Math.floor(random() * 5)];
    default:
      return ['', 'a', 'A_b', '10.0.0.1', '5Mi', '%', '*', 'Always'][Math.floor(random() * 8)];
  }
}
