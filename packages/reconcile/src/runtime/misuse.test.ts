import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ConfigMap, findCondition, type LogFields, type Logger, Pod, Secret, Service } from '@capstan/kube';
import { operator } from '../operator.ts';
import { apply, createOnly, type Plan, plan } from '../plan/index.ts';
import { derivation, index } from '../read/index.ts';
import { type Context, reading, reconciler, writing } from '../reconciler.ts';
import { onRuntime, ref, Thing, thing, things } from './runtime.test-support.ts';

type Misuse = (context: Context<Thing>) => unknown;

let runs = 0;
const impureSum = derivation<number>({ name: 'sum', compute: () => ++runs });

/** Forbidden actions of a reconciler, and the message on its resource. */
const cases: Record<string, { misuse: Misuse; message: RegExp }> = {
  'that awaits': {
    misuse: async ({ read }) => {
      await Promise.resolve();
      read.get(ConfigMap, ref('x'));
      return plan();
    },
    message: /the reconciler misuser returned a promise instead of a plan; let it be synchronous/,
  },
  'that returns nothing': {
    misuse: () => undefined,
    message: /the reconciler misuser returned nothing instead of a plan; return plan/,
  },
  'that returns something else': {
    misuse: () => [],
    message: /the reconciler misuser returned a list instead of a plan/,
  },
  'that writes a kind that it does not declare': {
    misuse: () => plan({ children: [apply(Pod, { metadata: ref('p'), spec: { containers: [] } })] }),
    message: /misuser plans a Pod, which it does not declare; add it to the reconciler's writes/,
  },
  'that writes in another way than it declares': {
    misuse: () => plan({ children: [createOnly(ConfigMap, { metadata: ref('p') })] }),
    message:
      /plans createOnly\(ConfigMap, …\) and declares only apply for it; declare writing\(ConfigMap, \['apply', 'createOnly'\]\)/,
  },
  'that writes in another namespace than it declares': {
    misuse: () => plan({ children: [apply(Service, { metadata: ref('p') })] }),
    message: /plans a Service in the namespace default, which is not one of those that it declares/,
  },
  'that reads another name than it declares': {
    misuse: ({ read }) => plan({ status: { seen: String(read.get(Secret, ref('other'))?.type) } }),
    message: /misuser reads Secret other, and only known is declared; add the name to `names`/,
  },
  'that lists what it declares by name': {
    misuse: ({ read }) => plan({ status: { seen: String(read.list(Secret).length) } }),
    message: /misuser lists Secret, and only known is declared; read them one by one/,
  },
  'that plans a promise': {
    misuse: () => plan({ children: [Promise.resolve() as never] }),
    message: /the plan has a promise at children\[0\]/,
  },
  'that plans a child that is nothing': {
    misuse: () => plan({ children: [undefined as never] }),
    message: /the plan has nothing at children\[0\]/,
  },
  'that gives a promise in its status': {
    misuse: () => plan({ status: { seen: Promise.resolve('x') } }),
    message: /the plan has a promise at status\.seen/,
  },
  'that reads the clock': {
    misuse: () => plan({ status: { seen: String(Date.now()) } }),
    message: /the reconciler misuser is not pure: .*the results differ at status\.seen; .*no clock/,
  },
  'that makes a date': {
    misuse: () => plan({ status: { seen: new Date().toISOString() } }),
    message: /is not pure: .*status\.seen/,
  },
  'that uses randomness': {
    misuse: () => plan({ status: { seen: String(Math.random()) } }),
    message: /is not pure: .*status\.seen/,
  },
  'that counts its runs': {
    misuse: () => plan({ status: { seen: String(runs++) } }),
    message: /is not pure: .*status\.seen/,
  },
  'whose derivation counts its runs': {
    misuse: ({ read }) => plan({ status: { seen: String(read.derived(impureSum, 'x')) } }),
    message: /the derivation sum is not pure/,
  },
  'that changes what it read': {
    misuse: ({ object }) => {
      (object.spec as { value: string }).value = 'changed';
      return plan();
    },
    message: /threw: .*(read only|not extensible)/,
  },
  'that creates an index in every run': {
    misuse: ({ read }) =>
      plan({
        status: {
          seen: String(
            read.by(
              index(ConfigMap, 'names', () => []),
              'x',
            ).length,
          ),
        },
      }),
    message: /reads through two definitions of the index names of ConfigMap; create the index once/,
  },
};

/** Every line that was logged as an error, with the message of its error. */
function errorLog(): { lines: string[]; logger: Logger } {
  const lines: string[] = [];
  const logger: Logger = {
    debug() {},
    info() {},
    warn() {},
    error(message: string, fields?: LogFields) {
      lines.push(`${message}: ${String((fields?.['error'] as Error | undefined)?.message)}`);
    },
    with: () => logger,
  };
  return { lines, logger };
}

describe('a reconciler', () => {
  for (const [name, { misuse, message }] of Object.entries(cases))
    test(`${name} has a clear error on its resource and in the log at once, and others go on`, async () => {
      const { lines, logger } = errorLog();
      const misuser = reconciler<Thing>({
        name: 'misuser',
        resource: Thing,
        reads: [reading(ConfigMap, 'everywhere'), reading(Secret, 'referenced', { names: ['known'] })],
        writes: [ConfigMap, writing(Service, 'apply', { namespaces: ['other'] })],
        reconcile: (context) =>
          context.object.spec.value === 'misused' ? (misuse(context) as Plan) : plan({ status: { seen: 'yes' } }),
      });
      const operators = [operator({ name: 'test', kinds: [Thing], reconcilers: [misuser, things] })];
      await onRuntime({ operators, logger, checkPurity: true }, async ({ client, clock }) => {
        await client.create(Thing, thing('a', 'misused'));
        await client.create(Thing, thing('b'));
        await clock.advance(1);
        const { status } = await client.get(Thing, ref('a'));
        const error = findCondition(status?.conditions, 'ReconcileError');
        assert.equal(error?.reason, 'Threw');
        assert.match(error?.message ?? '', message);
        assert.ok(
          lines.some((line) => message.test(line) || message.test(`threw: ${line}`)),
          lines.join('\n'),
        );
        assert.equal((await client.get(Thing, ref('b'))).status?.seen, 'yes');
        assert.ok(await client.find(ConfigMap, ref('a')), 'another reconciler of the same object');
      });
    });
});
