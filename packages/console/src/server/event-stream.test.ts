import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObjectChange } from '@capstan/reconcile';
import { createVirtualClock } from '@capstan/testing';
import { createEventStream } from './event-stream.ts';
import type { Row } from './rows.ts';

const row = (key: string, message = ''): Row => ({
  id: `K ${key}`,
  world: '',
  kind: 'K',
  key,
  state: 'ready',
  reason: '',
  message,
});
const update = (...rows: Row[]) => ({ rows, removed: [] as string[], changes: [] as ObjectChange[] });

function reader(waiting = 0) {
  const messages: { id: string; type: string; data: { rows?: Row[] | number; removed?: string[] | number } }[] = [];
  let isEnded = false;
  return {
    messages,
    get isEnded() {
      return isEnded;
    },
    write(text: string) {
      const [, id = '', type = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)\n\n$/.exec(text) ?? [];
      messages.push({ id, type, data: JSON.parse(data) as object });
      return waiting;
    },
    end() {
      isEnded = true;
    },
  };
}

describe('the stream of the console', () => {
  it('coalesces changes to at most ten messages a second, with the last state of each row', async () => {
    const clock = createVirtualClock();
    const stream = createEventStream({ clock, epoch: 'e' });
    const one = reader();
    stream.open(one, undefined);
    for (let at = 0; at < 100; at++) {
      stream.changed(update(row('a', String(at)), row('b')));
      await clock.advance(10);
    }
    await clock.advance(200);
    const objects = one.messages.filter(({ type }) => type === 'objects');
    assert.ok(objects.length <= 10, `${objects.length} messages`);
    const last = objects.at(-1)?.data.rows as Row[];
    assert.deepEqual(
      last.map(({ key, message }) => `${key} ${message}`),
      ['a 99', 'b '],
    );
  });

  it('sends a gap in place of more than 500 rows', async () => {
    const clock = createVirtualClock();
    const stream = createEventStream({ clock, epoch: 'e' });
    const one = reader();
    stream.open(one, undefined);
    stream.changed(update(...Array.from({ length: 501 }, (_, at) => row(String(at)))));
    await clock.advance(200);
    assert.deepEqual(
      one.messages.slice(1).map(({ type, data }) => [type, data.rows]),
      [['gap', 501]],
    );
  });

  it('resumes after the last message that a reader got', async () => {
    const clock = createVirtualClock();
    const stream = createEventStream({ clock, epoch: 'e' });
    const [one, other] = [reader(), reader()];
    stream.open(other, undefined);
    const leave = stream.open(one, undefined);
    stream.changed(update(row('a')));
    await clock.advance(200);
    leave();
    stream.changed(update(row('b')));
    await clock.advance(200);
    const again = reader();
    stream.open(again, one.messages.at(-1)?.id);
    assert.deepEqual(again.messages, other.messages.slice(2));
    assert.equal(again.messages.length, 1);
  });

  it('reports a gap to a reader of another process, of the future, or that missed what was not kept', async () => {
    const clock = createVirtualClock();
    const stream = createEventStream({ clock, epoch: 'e' });
    const one = reader();
    const leave = stream.open(one, undefined);
    stream.changed(update(row('a')));
    await clock.advance(200);
    leave();
    stream.changed(update(row('b')));
    for (const id of ['other-1', 'e-99', 'e-x', '', one.messages.at(-1)?.id ?? '']) {
      const again = reader();
      stream.open(again, id);
      assert.deepEqual(
        again.messages.map(({ type }) => type),
        ['gap'],
        id,
      );
    }
  });

  it('drops a reader that does not keep up, and goes on with the others', async () => {
    const clock = createVirtualClock();
    const stream = createEventStream({ clock, epoch: 'e' });
    const [slow, fast] = [reader(2 * 1024 * 1024), reader()];
    stream.open(slow, undefined);
    stream.open(fast, undefined);
    stream.changed(update(row('a')));
    await clock.advance(200);
    stream.changed(update(row('b')));
    await clock.advance(200);
    assert.ok(slow.isEnded);
    assert.equal(stream.readers, 1);
    assert.equal(fast.messages.length, 3);
  });

  it('collects nothing and sets no timer while no page is open', async () => {
    const clock = createVirtualClock();
    let timers = 0;
    const counting = { ...clock, after: (ms: number, call: () => void) => (timers++, clock.after(ms, call)) };
    const stream = createEventStream({ clock: counting, epoch: 'e' });
    stream.changed(update(row('a')));
    assert.equal(timers, 0);
  });

  it('ends with bye', () => {
    const stream = createEventStream({ clock: createVirtualClock(), epoch: 'e' });
    const one = reader();
    stream.open(one, undefined);
    stream.close();
    assert.equal(one.messages.at(-1)?.type, 'bye');
    assert.ok(one.isEnded);
  });
});
