import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, enumOf, integer, map, object, string } from '../schema/builder.ts';
import { defineKind } from './define-kind.ts';
import { describeKind } from './describe-kind.ts';

test('the reference page of a kind is made from its schema', () => {
  const Cable = defineKind({
    group: 'example.io',
    version: 'v1',
    kind: 'Cable',
    scope: 'Namespaced',
    shortNames: ['cb'],
    description: 'Joins two clusters.',
    spec: object(
      {
        driver: enumOf(['vxlan', 'ipsec'], { default: 'vxlan', description: 'How packets travel: a | b.' }),
        ends: array(object({ name: string({ minLength: 1 }) }), { listMapKeys: ['name'], minItems: 2 }),
        mtu: integer({ optional: true, minimum: 576, maximum: 9000 }),
        labels: map(string(), { optional: true }),
      },
      { rules: [{ rule: 'self.ends.size() == 2', message: 'has two ends' }] },
    ),
    status: object({ state: string({ optional: true }) }),
    memory: object({ secret: string({ optional: true }) }),
    aliases: [{ group: 'old.io' }],
  });
  assert.equal(
    describeKind(Cable),
    `# Cable

Joins two clusters.

- API version: \`example.io/v1\`
- Names: \`cables\`, \`cable\`, \`cb\`
- Scope: Namespaced
- Aliases: \`Cable\` of \`old.io/v1\`

| field | type | required | default | description |
|---|---|---|---|---|
| \`spec\` | object | yes |  |  |
| \`spec.driver\` | string |  | \`"vxlan"\` | How packets travel: a \\| b. One of \`vxlan\`, \`ipsec\`. |
| \`spec.ends\` | list of object | yes |  | At least 2 items. One item for each \`name\`. |
| \`spec.ends[].name\` | string | yes |  | Not empty. |
| \`spec.mtu\` | integer |  |  | At least 576. At most 9000. |
| \`spec.labels\` | map of string |  |  |  |
| \`status\` | object |  |  |  |
| \`status.observedGeneration\` | integer (int64) |  |  | The metadata.generation that this status describes. At least 0. |
| \`status.state\` | string |  |  |  |

## Rules

- \`spec\`: has two ends (\`self.ends.size() == 2\`)
`,
  );
});
