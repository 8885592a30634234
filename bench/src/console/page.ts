// The size of the page as a browser loads it first.
import { buildPage } from '@capstan/console/page';
import type { Part } from '../bench.ts';
import { result } from '../measure/result.ts';

export const page: Part = {
  name: 'page',
  summary: 'the size of the first load, and of the largest part that loads later',
  async measure() {
    const { sizes } = await buildPage();
    return [
      result({ name: 'first load, gzip', unit: 'KB', rounds: [sizes.firstLoad / 1024], atMost: 60 }),
      result({
        name: 'largest chunk that loads later, gzip',
        unit: 'KB',
        rounds: [sizes.largestChunk / 1024],
        atMost: 140,
        note: 'the editor',
      }),
    ];
  },
};
