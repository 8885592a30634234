// Stands in for node:test where mutants are tried: it collects the tests of a file, so that they can be run again and again.
const real = process.getBuiltinModule('node:test');
const none = { hooks: { before: [], after: [], beforeEach: [], afterEach: [] } };

/** All tests with the suites around them, the outermost first. */
export const collected = [];
let suites = [{ name: '', ...structuredClone(none) }];

/** Begins a new file: its hooks are its own. */
export function beginFile(name) {
  suites = [{ name, ...structuredClone(none) }];
}

function parts(args) {
  const run = args.find((argument) => typeof argument === 'function');
  const options = args.find((argument) => typeof argument === 'object' && argument !== null) ?? {};
  const name = args.find((argument) => typeof argument === 'string') ?? run?.name ?? '';
  return { name, options, run };
}

export function test(...args) {
  const { name, options, run } = parts(args);
  if (run === undefined || options.skip || options.todo) return Promise.resolve();
  collected.push({ name: [...suites.map((suite) => suite.name), name].join(' > '), suites: [...suites], run });
  return Promise.resolve();
}
test.skip = test.todo = () => Promise.resolve();
test.only = test;

export function describe(...args) {
  const { name, options, run } = parts(args);
  if (run === undefined || options.skip || options.todo) return Promise.resolve();
  suites.push({ name, ...structuredClone(none) });
  try {
    const result = run();
    if (result instanceof Promise) throw new Error(`the suite ${name} is asynchronous`);
  } finally {
    suites.pop();
  }
  return Promise.resolve();
}
describe.skip = describe.todo = () => Promise.resolve();
describe.only = describe;

const hook = (kind) => (run) => {
  if (typeof run === 'function') suites.at(-1).hooks[kind].push(run);
};
export const before = hook('before');
export const after = hook('after');
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');
export const it = test;
export const suite = describe;
export const mock = real.mock;
export default Object.assign(test, { test, it, describe, suite, before, after, beforeEach, afterEach, mock });

/** Runs a test with the hooks around it. Rejects if it fails. */
export async function runTest({ name, suites, run }) {
  const cleanups = [];
  const context = {
    name,
    signal: new AbortController().signal,
    mock: new real.mock.constructor(),
    after: (cleanup) => cleanups.push(cleanup),
    before: (setUp) => setUp(),
    test: async (...args) => {
      const inner = parts(args);
      if (inner.run !== undefined && !inner.options.skip) await inner.run({ ...context, name: inner.name });
    },
    diagnostic() {},
    skip() {},
    todo() {},
    plan() {},
  };
  try {
    for (const { hooks } of suites) for (const each of [...hooks.before, ...hooks.beforeEach]) await each(context);
    await run(context);
  } finally {
    for (const { hooks } of suites.toReversed())
      for (const each of [...hooks.afterEach, ...hooks.after]) await each(context);
    for (const cleanup of cleanups.toReversed()) await cleanup();
    context.mock.reset?.();
  }
}
