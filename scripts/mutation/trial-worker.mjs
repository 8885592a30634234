// A thread that loads the tests of a core once, with all mutants in its files, and tries the mutants whose numbers it is given.
import { registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

const { files, tests } = workerData;
const texts = new Map(files.map(({ path, text }) => [path, text]));
const collector = new URL('./test-collector.mjs', import.meta.url).href;
let active = 0;
let reached = new Set();
globalThis.$mutant = (number) => {
  reached.add(number);
  return number === active;
};
registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === 'node:test') return { url: collector, format: 'module', shortCircuit: true };
    return nextResolve(specifier, context);
  },
  load(url, context, nextLoad) {
    const text = url.startsWith('file:') ? texts.get(fileURLToPath(url)) : undefined;
    if (text === undefined) return nextLoad(url, context);
    return { format: 'module-typescript', source: text, shortCircuit: true };
  },
});

const { beginFile, collected, runTest } = await import(collector);
for (const path of tests) {
  beginFile(path);
  await import(pathToFileURL(path).href);
}
// Code that runs as a module is loaded runs once: its mutants cannot be switched afterwards.
const atLoad = reached;
const reaches = [];
const failed = [];
for (const each of collected) {
  reached = new Set();
  const begun = performance.now();
  try {
    await runTest(each);
    reaches.push({ each, reached, ms: performance.now() - begun });
  } catch (error) {
    failed.push(`${each.name}: ${error}`);
  }
  parentPort.postMessage({ progress: each.name });
}
// Quick tests first: most mutants are killed by one of them.
reaches.sort((a, b) => a.ms - b.ms);
const all = new Set(reaches.flatMap(({ reached }) => [...reached]));
parentPort.postMessage({
  ready: { atLoad: [...atLoad].filter((number) => !all.has(number)), reached: [...all], failed, tests: reaches.length },
});

parentPort.on('message', async ({ number }) => {
  active = number;
  let killer;
  for (const { each, reached } of reaches) {
    if (!reached.has(number)) continue;
    try {
      await runTest(each);
    } catch {
      killer = each.name;
      break;
    }
  }
  active = 0;
  parentPort.postMessage({ done: { number, isKilled: killer !== undefined } });
});
