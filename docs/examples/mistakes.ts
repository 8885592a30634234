// An operator with every mistake that its author can make, one for each value of spec.mistake. It shows the runtime's answer to each: the
// error is on the resource that caused it, and the others continue.
import { ConfigMap, conditions, defineKind, type KindOf, object, Secret, Service, string } from '@capstan/kube';
import {
  apply,
  type Context,
  derivation,
  fact,
  index,
  type Minter,
  mint,
  operator,
  type Plan,
  plan,
  reconciler,
  sink,
  writing,
} from '@capstan/reconcile';

export const Careless = defineKind({
  group: 'example.capstan.dev',
  version: 'v1',
  kind: 'Careless',
  plural: 'careless',
  scope: 'Namespaced',
  spec: object({ mistake: string() }),
  status: object({ conditions: conditions(), seen: string({ optional: true }) }),
});
export type Careless = KindOf<typeof Careless>;

const never = () => new Promise<never>(() => {});

const byMistake = index(Careless, 'by-mistake', ({ spec }) => {
  if (spec.mistake === 'an index throws') throw new Error('cannot be indexed');
  return [spec.mistake];
});

const contentOf = ({ spec }: Careless) => {
  if (spec.mistake === 'a projection throws') throw new Error('cannot be read');
  return spec.mistake;
};

const promised = derivation<string>({ name: 'promised', compute: (() => Promise.resolve('late')) as never });

const slow = fact<string>({ name: 'slow', fetch: never });

const odd = fact<string>({
  name: 'odd',
  fetch: () => Promise.reject(new Error('out of order')),
  errorOf() {
    throw new Error('no code for it');
  },
});

const stuck: Minter<Record<string, never>, Secret> = { name: 'stuck', valid: () => false, make: never };

const mistakes: Record<string, (context: Context<Careless>) => Plan> = {
  'reconcile throws'() {
    throw new Error('a bug');
  },
  'a kind is read that is not declared': ({ read }) => {
    read.list(Service);
    return plan();
  },
  'a kind is written that is not declared': ({ object: { metadata } }) =>
    plan({ children: [apply(Service, { metadata: { namespace: 'default', name: `${metadata.name}-x` } })] }),
  'a kind is written in another way than declared': ({ object: { metadata } }) =>
    plan({ children: [apply(Secret, { metadata: { namespace: 'default', name: `${metadata.name}-y` } })] }),
  'a value that was read is changed': ({ object: { metadata }, read }) => {
    const found = read.get(ConfigMap, { namespace: 'default', name: 'shared' });
    if (found?.data) found.data['text'] = `changed by ${metadata.name}`;
    return plan();
  },
  'a derivation returns a promise': ({ read }) => plan({ status: { seen: read.derived(promised, '') } }),
  'a value contains itself': () => {
    const value: Record<string, unknown> = {};
    value['self'] = value;
    return plan({ status: { seen: value } });
  },
  'a status field is not in the schema': () => plan({ status: { colour: 'red' } }),
  'a fact never answers': ({ read }) => plan({ status: { seen: read.fact(slow, '').value ?? '' } }),
  'errorOf of a fact throws': ({ read }) => plan({ status: { seen: read.fact(odd, '').error?.message ?? '' } }),
  'a minter never answers': ({ object: { metadata } }) =>
    plan({ children: [mint(Secret, { namespace: 'default', name: `${metadata.name}-key` }, stuck, {})] }),
};

const careless = reconciler<Careless>({
  name: 'careless',
  resource: Careless,
  reads: [ConfigMap],
  writes: [writing(Secret, 'mint')],
  reconcile(context) {
    const { object: one, read } = context;
    const { mistake } = one.spec;
    const found = read.by(byMistake, mistake, contentOf);
    return mistakes[mistake]?.(context) ?? plan({ status: { seen: `${mistake} ${found.length}` } });
  },
});

const value = derivation<string>({
  name: 'value',
  compute: ({ key, read }) => read.get(Careless, { namespace: 'default', name: key.slice(8) }, mistakeOf) ?? '',
});
const mistakeOf = ({ spec }: Careless) => spec.mistake;

const push = sink<string>({
  name: 'push',
  of: value,
  keys: Careless,
  reads: [Careless],
  lease: 'none',
  timeoutMs: 5_000,
  open: () => ({
    take({ changes }) {
      if (changes.some(({ after }) => after === 'a sink throws')) throw new Error('the outside is away');
      return changes.some(({ after }) => after === 'a sink never returns') ? never() : undefined;
    },
  }),
});

export default operator({ name: 'careless', kinds: [Careless], reconcilers: [careless], sinks: [push] });
