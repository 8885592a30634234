// The pure cores whose mutants tests must kill, with the tests that are near them.
import { globSync } from 'node:fs';

export interface Core {
  readonly name: string;
  readonly files: readonly string[];
  /** The nearest first: a mutant is tried on one after the other until one fails. */
  readonly tests: readonly string[];
}

interface Declared {
  readonly name: string;
  /** Globs, from the root. */
  readonly files: readonly string[];
  readonly without?: readonly string[];
  readonly tests: readonly string[];
}

const RECONCILE = 'packages/reconcile/src';
const MAINTENANCE = 'operators/gimbal/src/maintenance';

const DECLARED: readonly Declared[] = [
  {
    name: 'resolution',
    files: ['operators/submariner/src/resolution/*.ts'],
    // A derivation, which tests on stages cover.
    without: ['operators/submariner/src/resolution/pair-fold.ts'],
    tests: ['operators/submariner/src/resolution/*.test.ts'],
  },
  {
    name: 'weights',
    files: ['shift', 'totals', 'drain', 'drained-weights', 'services', 'removal', 'identity/assignment'].map(
      (name) => `${MAINTENANCE}/${name}.ts`,
    ),
    tests: [`${MAINTENANCE}/**/*.test.ts`],
  },
  {
    name: 'hashing',
    files: ['operators/kroxylicious/src/hash/*.ts', `${RECONCILE}/digest.ts`],
    tests: ['operators/kroxylicious/src/hash/*.test.ts', `${RECONCILE}/digest.test.ts`],
  },
  {
    name: 'overlay',
    files: ['overlay', 'render-deployment', 'render', 'controller-config'].map(
      (name) => `operators/crossplane/src/runtime/render/${name}.ts`,
    ),
    tests: ['operators/crossplane/src/runtime/render/*.test.ts'],
  },
  {
    name: 'migration',
    files: ['operators/sesame/src/migrate/*.ts'],
    without: ['operators/sesame/src/migrate/index.ts'],
    tests: ['operators/sesame/test/migrate/migrate.test.ts'],
  },
  {
    name: 'route translation',
    files: ['operators/sesame/src/routing/proxy/*.ts', 'operators/sesame/src/routing/conditions.ts'],
    tests: ['operators/sesame/test/model/*.test.ts', 'operators/sesame/src/routing/**/*.test.ts'],
  },
  {
    name: 'diff',
    files: [`${RECONCILE}/diff/*.ts`],
    tests: [`${RECONCILE}/diff/*.test.ts`],
  },
  {
    name: 'apply',
    files: [`${RECONCILE}/apply/*.ts`],
    tests: [`${RECONCILE}/apply/*.test.ts`],
  },
  {
    name: 'engine',
    files: [`${RECONCILE}/engine/*.ts`, `${RECONCILE}/engine/{graph,wave,fork}/*.ts`],
    tests: [`${RECONCILE}/engine/*.test.ts`, `${RECONCILE}/engine/random-graph/*.test.ts`],
  },
];

const ROOT = new URL('../../', import.meta.url).pathname;
const NO_CORE = /\.test\.ts$|\.test-support\.ts$|\/index\.ts$|\/errors\.ts$/;

/** Returns the cores with their files and tests. */
export function cores(): readonly Core[] {
  const all = (patterns: readonly string[]) =>
    patterns.flatMap((pattern) => globSync(pattern, { cwd: ROOT }).toSorted());
  return DECLARED.map(({ name, files, tests, without = [] }) => ({
    name,
    files: all(files).filter((file) => !NO_CORE.test(file) && !without.includes(file)),
    tests: [...new Set(all(tests))],
  }));
}
