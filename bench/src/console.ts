import type { Bench } from './bench.ts';
import { browser } from './console/browser.ts';
import { page } from './console/page.ts';
import { server } from './console/server.ts';
import { start } from './console/start.ts';

/** The web console: its page, its server, and a browser with ten thousand objects. */
export const consoleBench: Bench = {
  name: 'console',
  summary:
    'the console: size of the page, answers and plans over thousands of objects, a browser, and the start on the demonstration',
  parts: [page, server, browser, start],
};
