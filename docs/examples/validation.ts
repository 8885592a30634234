// Validation in three places. The schema and its rules refuse errors that can be judged from the object alone, before it is stored. The
// reconciler judges errors that depend on other objects and reports them as a condition; the last good state stays in force. Errors that
// only the server can judge are reported when it refuses the write.
import { ConfigMap, conditions, defineKind, integer, object, string } from '@capstan/kube';
import { apply, conditionType, operator, plan, reconciler } from '@capstan/reconcile';

export const RateLimit = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'RateLimit',
  scope: 'Namespaced',
  spec: object(
    {
      perSecond: integer({ minimum: 1, maximum: 10_000 }),
      burst: integer({ minimum: 1, optional: true, description: 'Default: perSecond.' }),
      template: string({
        minLength: 1,
        description: 'The ConfigMap whose key `template` holds the text `limit={limit}`.',
      }),
      file: string({ default: 'config', description: 'The key of the result in the ConfigMap that is written.' }),
    },
    {
      // CEL: several fields of one object. The API server evaluates it on every write.
      rules: [
        {
          rule: '!has(self.burst) || self.burst >= self.perSecond',
          message: 'burst must not be less than perSecond',
          fieldPath: '.burst',
        },
      ],
    },
  ),
  status: object({ conditions: conditions() }),
});

const LIMIT = 'limit={limit}';
const valid = conditionType<'Valid' | 'NoTemplate' | 'BadTemplate' | 'Refused'>('Valid');
const templateOf = ({ data }: ConfigMap) => data?.['template'] ?? '';

export const rateLimit = reconciler({
  name: 'rate-limit',
  resource: RateLimit,
  reads: [ConfigMap],
  writes: [ConfigMap],
  reconcile({ object: { metadata, spec }, read }) {
    const namespace = metadata.namespace ?? '';
    const template = read.get(ConfigMap, { namespace, name: spec.template }, templateOf);
    // Do not throw: bad input is a condition that names the field and the remedy. `prune: false` keeps the last good child.
    if (template === undefined) {
      const message = `spec.template: there is no ConfigMap ${spec.template}; create it or correct the name`;
      return plan({ prune: false, conditions: [valid.isFalse('NoTemplate', message)] });
    }
    if (!template.includes(LIMIT)) {
      const message = `spec.template: ConfigMap ${spec.template} has no text "${LIMIT}" in its key template; add it`;
      return plan({ prune: false, conditions: [valid.isFalse('BadTemplate', message)] });
    }
    const limit = `limit=${spec.perSecond}/${spec.burst ?? spec.perSecond}`;
    const data = { [spec.file]: template.replace(LIMIT, limit) };
    const problem = read.writeProblem('rate-limit', `${namespace}/${metadata.name}`);
    return plan({
      children: [apply(ConfigMap, { metadata: { namespace, name: `${metadata.name}-config` }, data })],
      conditions: [
        problem === undefined
          ? valid.isTrue('Valid', 'the configuration is valid')
          : valid.isFalse('Refused', `the configuration cannot be written: ${problem.message}`),
      ],
    });
  },
});

export default operator({ name: 'rate-limits', kinds: [RateLimit], reconcilers: [rateLimit] });
