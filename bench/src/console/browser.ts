// The page in a browser over ten thousand objects: the filter, a graph of a hundred nodes, changes of objects, and the memory of a tab.
import type { Browser, Page } from 'playwright-core';
import type { Part } from '../bench.ts';
import { percentile } from '../measure/percentiles.ts';
import { result } from '../measure/result.ts';
import { findBrowser, openBrowser } from './chromium.ts';
import { type ConsoleScene, HUB, openScene } from './scene.ts';

const SIZES = {
  full: { proxies: 2500, keys: 60, graphs: 10, changes: 60, churnMinutes: 10 },
  tiny: { proxies: 60, keys: 5, graphs: 2, changes: 5, churnMinutes: 0.05 },
};
const CHANGES_PER_SECOND = 50;
const MB = 1024 * 1024;

export const browser: Part = {
  name: 'browser',
  summary: 'the page over ten thousand objects: filter, graph, changes to pixels, and the memory of a tab under churn',
  lacks: () => (findBrowser() === undefined ? 'chromium is not there: npm run setup:real -- browser' : undefined),
  async measure(scale) {
    const { proxies, keys, graphs, changes, churnMinutes } = SIZES[scale];
    const isFull = scale === 'full';
    const objects = proxies * 4;
    const scene = await openScene(proxies);
    let chromium: Browser | undefined;
    try {
      chromium = await openBrowser();
      const tab = await openTab(chromium, scene);
      const filter = await filterTimes(tab, scene, keys);
      const graph = await graphTimes(tab, scene, graphs, 90);
      const whole = await wholeGraphTimes(chromium, scene, graphs);
      const pixels = await changeTimes(tab, scene, changes);
      const memory = await churn(tab, scene, churnMinutes);
      const used = memory.map(({ value }) => value);
      const early = used[Math.floor(used.length / 10)] ?? 0;
      return [
        result({
          name: `key press to rows filtered, ${objects} objects, p95`,
          unit: 'ms',
          rounds: [percentile(filter, 0.95)],
          ...(isFull && { atMost: 50 }),
          note: `p50 ${percentile(filter, 0.5).toFixed(0)} ms; until the frame with the rows`,
        }),
        result({
          name: 'graph of 100 nodes, from the click to the frame that shows it, p50',
          unit: 'ms',
          rounds: [percentile(graph, 0.5)],
          ...(isFull && { atMost: 200 }),
        }),
        result({
          name: `graph of ${WHOLE} nodes, from the click to the frame that shows it, p50`,
          unit: 'ms',
          rounds: [percentile(whole, 0.5)],
          ...(isFull && { atMost: 200 }),
          note: 'the whole budget of a graph; its answer is made up, because no object of the scene has so many neighbours',
        }),
        result({
          name: `change of an object to its pixel, ${CHANGES_PER_SECOND} changes a second, p95`,
          unit: 'ms',
          rounds: [percentile(pixels, 0.95)],
          ...(isFull && { atMost: 300 }),
          note: `p50 ${percentile(pixels, 0.5).toFixed(0)} ms; from the write`,
        }),
        result({
          name: `memory of the tab after ${churnMinutes} minutes of churn`,
          unit: 'MB',
          rounds: [used.at(-1) ?? 0],
          ...(isFull && { atMost: 150 }),
          note: `${Math.round(churnMinutes * 60 * CHANGES_PER_SECOND)} changes, the JavaScript heap and the document after a collection`,
          curve: memory,
        }),
        result({
          name: 'its growth after the first tenth',
          unit: '%',
          rounds: [early === 0 ? 0 : ((used.at(-1) ?? 0) / early - 1) * 100],
          ...(isFull && { atMost: 10 }),
        }),
      ];
    } finally {
      await chromium?.close();
      await scene.close();
    }
  },
};

async function openTab(chromium: Browser, { token }: ConsoleScene): Promise<Page> {
  const context = await chromium.newContext({ viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(60_000);
  await context.addInitScript(`localStorage.setItem('capstan.token', ${JSON.stringify(token)})`);
  return context.newPage();
}

/**
 * The time from an event to the frame that shows its effect. It is defined in the page: a protocol between two processes would be a part of
 * the time.
 */
const WHEN_SHOWN = `window.whenShown = (isShown, begin) => new Promise((resolve) => {
  let from = performance.now();
  const look = () => {
    if (!isShown()) return false;
    requestAnimationFrame(() => { const channel = new MessageChannel(); channel.port1.onmessage = () => resolve(performance.now() - from); channel.port2.postMessage(0); });
    return true;
  };
  const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
  from = performance.now();
  begin();
  if (look()) observer.disconnect();
});`;

async function filterTimes(tab: Page, { url }: ConsoleScene, keys: number): Promise<number[]> {
  await tab.goto(`${url}/explore`);
  await tab.locator('tbody tr').first().waitFor();
  await tab.evaluate(WHEN_SHOWN);
  const times: number[] = [];
  for (let index = 0; index < keys; index++) {
    // Each text is another one, and has rows whose names contain it.
    const text = `proxy-${index % 60}`;
    const ms: number = await tab.evaluate(`whenShown(
        () => { const names = [...document.querySelectorAll('tbody a.name')]; return names.length > 0 && names.every((one) => one.textContent.includes(${JSON.stringify(text)})); },
        () => { const input = document.querySelector('#filter'); input.value = ${JSON.stringify(text)}; input.dispatchEvent(new InputEvent('input', { bubbles: true })); })`);
    times.push(ms);
  }
  return times;
}

/** The budget of a graph. */
const WHOLE = 200;

/** Draws as many nodes as the page asks for: four columns of neighbours, each with an edge to the next column or two. */
async function wholeGraphTimes(chromium: Browser, scene: ConsoleScene, graphs: number): Promise<number[]> {
  const tab = await openTab(chromium, scene);
  const body = JSON.stringify(wholeGraph());
  await tab.route('**/api/graph/**', (route) => route.fulfill({ contentType: 'application/json', body }));
  const times = await graphTimes(tab, scene, graphs, WHOLE - 1);
  await tab.context().close();
  return times;
}

function wholeGraph() {
  const kind = 'HTTPProxy.projectsesame.io';
  const idOf = (at: number) => `${kind} default/${at === 0 ? HUB : `node-${at}`}`;
  const distances = [-1, -2, 1, 2];
  const nodes = Array.from({ length: WHOLE }, (_, at) => ({
    id: idOf(at),
    world: '',
    kind,
    key: idOf(at).slice(kind.length + 1),
    state: at % 9 === 0 ? 'broken' : 'ready',
    distance: at === 0 ? 0 : (distances[at % 4] ?? 0),
  }));
  const edges = nodes.slice(1).flatMap(({ id, distance }, index) => {
    const at = index + 1;
    // The column nearer to the middle is two places on in the list.
    const inner = [1, -1].includes(distance)
      ? [0]
      : [at - 1, Math.max(1, at - 9)].map((one) => one - ((one - at + 1) % 4));
    return inner.map((one) =>
      distance < 0 ? { from: idOf(one), to: id, via: [] } : { from: id, to: idOf(one), via: [] },
    );
  });
  return { nodes, edges, left: [], writes: [] };
}

async function graphTimes(tab: Page, { url }: ConsoleScene, graphs: number, least: number): Promise<number[]> {
  const path = '/o/-/HTTPProxy.projectsesame.io/default/hub';
  await tab.goto(`${url}/explore`);
  await tab.locator('tbody tr').first().waitFor();
  await tab.evaluate(WHEN_SHOWN);
  const times: number[] = [];
  for (let index = 0; index < graphs; index++) {
    const ms: number = await tab.evaluate(`whenShown(
        () => document.querySelectorAll('svg.graph [data-node]').length > ${least},
        () => { const link = document.createElement('a'); link.href = ${JSON.stringify(path)}; document.querySelector('main').append(link); link.click(); link.remove(); })`);
    times.push(ms);
    await tab.goBack();
    await tab.locator('tbody tr').first().waitFor();
  }
  return times;
}

async function changeTimes(tab: Page, scene: ConsoleScene, changes: number): Promise<number[]> {
  await tab.goto(`${scene.url}/explore?q=proxy-0`);
  await tab.locator('tbody tr').first().waitFor();
  const stop = busy(scene);
  const times: number[] = [];
  try {
    for (let index = 0; index < changes; index++) {
      const message = `measured ${index}`;
      const shown = tab.evaluate(`new Promise((resolve) => {
        const look = () => { if (!document.querySelector('tbody')?.textContent.includes(${JSON.stringify(message)})) return false;
          requestAnimationFrame(() => { const channel = new MessageChannel(); channel.port1.onmessage = () => resolve(Date.now()); channel.port2.postMessage(0); }); return true; };
        const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
        observer.observe(document.body, { childList: true, subtree: true, characterData: true });
        if (look()) observer.disconnect();
      })`) as Promise<number>;
      const begun = Date.now();
      await scene.report(0, message);
      times.push((await shown) - begun);
    }
  } finally {
    await stop();
  }
  return times;
}

/** Other objects change meanwhile. */
function busy(scene: ConsoleScene): () => Promise<void> {
  let isStopped = false;
  const running = (async () => {
    const begun = performance.now();
    for (let done = 0; !isStopped; done++) {
      await scene.edit(1 + (done % (scene.proxies - 1)), done);
      const ahead = begun + ((done + 1) * 1000) / CHANGES_PER_SECOND - performance.now();
      if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
    }
  })();
  return async () => {
    isStopped = true;
    await running;
  };
}

/** The memory of the tab while objects change, sampled after a collection. */
async function churn(tab: Page, scene: ConsoleScene, minutes: number) {
  await tab.goto(`${scene.url}/`);
  await tab.locator('h1').first().waitFor();
  const session = await tab.context().newCDPSession(tab);
  await session.send('Performance.enable');
  const stop = busy(scene);
  const samples: { minute: number; value: number }[] = [];
  const begun = performance.now();
  try {
    for (let minute = 0; minute < minutes; minute = (performance.now() - begun) / 60_000) {
      await new Promise((resolve) => setTimeout(resolve, (minutes * 60_000) / 20));
      await session.send('HeapProfiler.collectGarbage');
      const {
        usedSize,
        backingStorageSize = 0,
        embedderHeapUsedSize = 0,
      } = (await session.send('Runtime.getHeapUsage')) as {
        usedSize: number;
        backingStorageSize?: number;
        embedderHeapUsedSize?: number;
      };
      samples.push({
        minute: (performance.now() - begun) / 60_000,
        value: (usedSize + backingStorageSize + embedderHeapUsedSize) / MB,
      });
    }
  } finally {
    await stop();
  }
  return samples;
}
