import { Secret, type Secret as SecretObject } from '@capstan/kube';
import { type Minter, mint, type Plan, plan } from '../../plan/index.ts';
import { derivation, fact, fold, index, source } from '../../read/index.ts';
import { type Context } from '../../reconciler.ts';
import { type Sink, sink } from '../../sinks/index.ts';
import { ref, Thing } from '../runtime.test-support.ts';

/** Throws for the bad value. */
type Check = (value: string | undefined) => void;

interface Contained {
  reconcile?(context: Context<Thing>): Plan;
  release?(context: Context<Thing>): Plan;
  sinks?: readonly Sink[];
  /** How the error shows on the object; the condition ReconcileError by default. */
  shows?: RegExp;
  /** The error shows in the status that the reconciler itself writes. */
  inStatus?: true;
}

const seen = (value: string | undefined) => plan({ status: { seen: value ?? '' } });

const valueOf = ({ spec }: Thing) => spec.value;

/** Each makes its definitions for itself: two tests must not share them. */
export const cases: Record<string, (check: Check) => Contained> = {
  reconcile: (check) => ({
    reconcile({ object }) {
      check(object.spec.value);
      return seen(object.spec.value);
    },
  }),
  'the builder of a condition': (check) => {
    const ready = (value: string) => {
      check(value);
      return { type: 'Ready', status: 'True', reason: 'Ready', message: value } as const;
    };
    return {
      reconcile: ({ object: { spec } }) => plan({ status: { seen: spec.value }, conditions: [ready(spec.value)] }),
    };
  },
  index: (check) => {
    const byValue = index(Thing, 'by-value', ({ spec }) => {
      check(spec.value);
      return [spec.value];
    });
    return {
      reconcile: ({ object: { spec }, read }) => seen(`${spec.value}${read.by(byValue, spec.value).length}`),
      shows: /the index by-value on Thing\.test\.capstan\.dev default\/bad threw/,
    };
  },
  'the predicate of a list': (check) => {
    const isGood = (object: unknown) => {
      check((object as Thing).spec.value);
      return true;
    };
    return {
      reconcile: ({ object: { spec }, read }) => seen(`${spec.value}${read.list(Thing, { where: isGood }).length}`),
      shows: /the predicate isGood on Thing\.test\.capstan\.dev default\/bad threw/,
    };
  },
  'the projection of one object': (check) => {
    const contentOf = (object: Thing) => {
      check(object.spec.value);
      return object.spec.value;
    };
    return {
      reconcile: ({ object: { metadata }, read }) => seen(read.get(Thing, ref(metadata.name ?? ''), contentOf)),
      shows: /the projection contentOf on Thing\.test\.capstan\.dev default\/bad threw/,
    };
  },
  'the projection of a list': (check) => {
    const contentOf = (object: Thing) => {
      check(object.spec.value);
      return object.spec.value;
    };
    return {
      reconcile: ({ object: { spec }, read }) => seen(`${spec.value}${read.list(Thing, {}, contentOf).length}`),
      shows: /the projection contentOf on Thing\.test\.capstan\.dev default\/bad threw/,
    };
  },
  'the projection of a derivation': (check) => {
    const value = derivation<string>({
      name: 'value',
      compute: ({ key, read }) => read.get(Thing, ref(key), valueOf) ?? '',
    });
    const checked = (found: string) => {
      check(found);
      return found;
    };
    return {
      reconcile: ({ object: { metadata }, read }) => seen(read.derived(value, metadata.name ?? '', checked)),
    };
  },
  derivation: (check) => {
    const value = derivation<string>({
      name: 'value',
      compute({ key, read }) {
        const found = read.get(Thing, ref(key), valueOf);
        check(found);
        return found ?? '';
      },
    });
    return { reconcile: ({ object: { metadata }, read }) => seen(read.derived(value, metadata.name ?? '')) };
  },
  'the comparison of a derivation': (check) => {
    const value = derivation<string>({
      name: 'value',
      compute: ({ key, read }) => read.get(Thing, ref(key), valueOf) ?? '',
      equals(left, right) {
        check(right);
        return left === right;
      },
    });
    return {
      reconcile: ({ object: { metadata }, read }) => seen(read.derived(value, metadata.name ?? '')),
      shows: /the results of value\(bad\) cannot be compared/,
    };
  },
  'the value for a cycle': (check) => {
    const loop: ReturnType<typeof derivation<string>> = derivation<string>({
      name: 'loop',
      compute: ({ key, read }) => read.derived(loop, key),
      onCycle([name = '']) {
        check(name.includes('bad') ? 'bad' : 'good');
        return name;
      },
    });
    return {
      reconcile({ object: { spec }, read }) {
        return seen(`${spec.value}${read.derived(loop, spec.value).length > 0}`);
      },
    };
  },
  'the part of a fold': (check) => foldOf(check, 'part'),
  'the put of a fold': (check) => foldOf(check, 'put'),
  'the remove of a fold': (check) => foldOf(check, 'remove'),
  'the result of a fold': (check) => foldOf(check, 'result'),
  'the selection of a fold': (check) => foldOf(check, 'where'),
  'the first state of a fold': (check) => foldOf(check, 'empty'),
  'the fetch of a fact': (check) => {
    const outside = fact<string>({
      name: 'outside',
      async fetch(value) {
        check(value);
        return value;
      },
    });
    return {
      reconcile: ({ object: { spec }, read }) => {
        const { value, error } = read.fact(outside, spec.value);
        return seen(error === undefined ? value : `failed ${error.code}`);
      },
      inStatus: true,
      shows: /failed Failed/,
    };
  },
  'the error of a fact': (check) => {
    const outside = fact<string>({
      name: 'outside',
      fetch: (value) => (value === 'bad' ? Promise.reject(new Error('refused')) : Promise.resolve(value)),
      errorOf() {
        check('bad');
        return { code: 'No', message: '' };
      },
    });
    return {
      reconcile: ({ object: { spec }, read }) => {
        const { value, error } = read.fact(outside, spec.value);
        return seen(error === undefined ? value : error.message);
      },
      inStatus: true,
      shows: /errorOf of the fact outside threw/,
    };
  },
  'the label of a fact': (check) => {
    const outside = fact<string>({
      name: 'outside',
      fetch: (value) => Promise.resolve(value),
      label(value) {
        check(value);
        return value;
      },
    });
    return { reconcile: ({ object: { spec }, read }) => seen(read.fact(outside, spec.value).value) };
  },
  'the projection of a source': (check) => {
    const rows = source<string>({
      name: 'rows',
      async open({ table, signal }) {
        for (const value of ['bad', 'one', 'two', 'fixed']) table.put(value, value);
        table.complete();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
    });
    const checked = (row: string) => {
      check(row);
      return row;
    };
    return { reconcile: ({ object: { spec }, read }) => seen(read.source(rows).get(spec.value, checked)) };
  },
  'the take of a sink': (check) => {
    const value = valueByKey();
    const push = sink<string>({
      name: 'push',
      of: value,
      keys: Thing,
      reads: [Thing],
      lease: 'none',
      open: () => ({
        take({ changes }) {
          for (const { after } of changes) check(after);
        },
      }),
    });
    return {
      sinks: [push],
      reconcile: ({ object: { spec } }) => seen(spec.value),
      shows: /the sink push: /,
    };
  },
  'the derivation of a sink': (check) => {
    const value = valueByKey(check);
    const push = sink<string>({
      name: 'push',
      of: value,
      keys: Thing,
      reads: [Thing],
      lease: 'none',
      open: () => ({ take() {} }),
    });
    return {
      sinks: [push],
      reconcile: ({ object: { spec } }) => seen(spec.value),
      shows: /the sink push: /,
    };
  },
  'the validity of a minter': (check) => {
    const token: Minter<{ value: string }, SecretObject> = {
      name: 'token',
      valid(_existing, { value }) {
        check(value);
        return true;
      },
      make: () => Promise.resolve({ apiVersion: 'v1', kind: 'Secret', metadata: {} }),
    };
    return {
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          status: { seen: spec.value },
          children: [mint(Secret, ref(`token-${metadata.name}`), token, { value: spec.value })],
        }),
      shows: /valid of the minter token threw/,
    };
  },
  'the making of a minter': (check) => {
    const token: Minter<{ value: string }, SecretObject> = {
      name: 'token',
      valid: ({ metadata }, { value }) => metadata.annotations?.['value'] === value,
      async make({ value }) {
        check(value);
        return { apiVersion: 'v1', kind: 'Secret', metadata: { annotations: { value } } };
      },
    };
    return {
      reconcile: ({ object: { metadata, spec } }) =>
        plan({
          status: { seen: spec.value },
          children: [mint(Secret, ref(`token-${metadata.name}`), token, { value: spec.value })],
        }),
      shows: /Secret default\/token-bad/,
    };
  },
};

function valueByKey(check: Check = () => {}) {
  return derivation<string>({
    name: 'value-by-key',
    compute({ key, read }) {
      const value = read.get(Thing, ref(key.split('/')[1] ?? ''), valueOf);
      check(value);
      return value ?? '';
    },
  });
}

type FoldPart = 'part' | 'put' | 'remove' | 'result' | 'where' | 'empty';

/** One fold over all things by key, of which one function throws. The key `bad` stands for a fold of its own. */
function foldOf(check: Check, failing: FoldPart): Contained {
  const at = (part: FoldPart, value: string | undefined) => {
    if (part === failing) check(value);
  };
  let of = '';
  const values = fold<Thing, string, Map<string, string>, string>({
    name: 'values',
    kind: Thing,
    where(key) {
      at('where', key);
      of = key;
      return {};
    },
    part({ spec }) {
      at('part', spec.value);
      return spec.value;
    },
    empty() {
      at('empty', of);
      return new Map();
    },
    put(state, member, value) {
      state.set(member, value);
      at('put', value);
    },
    remove(state, member, value) {
      state.delete(member);
      at('remove', value);
    },
    result(state) {
      at('result', [...state.values()].includes('bad') ? 'bad' : 'good');
      return [...state.values()].toSorted((a, b) => a.localeCompare(b)).join();
    },
  });
  const perObject = failing === 'where' || failing === 'empty';
  return {
    reconcile({ object: { spec }, read }) {
      const folded = read.derived(values, perObject ? spec.value : '');
      return seen(`${spec.value}${folded.length > 0}`);
    },
    shows: ['part', 'put', 'result'].includes(failing)
      ? /the fold values on Thing\.test\.capstan\.dev default\/bad threw/
      : /./,
  };
}
