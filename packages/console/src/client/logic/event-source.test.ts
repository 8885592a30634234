import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { backOff, createEventParser, followEvents, type StreamMessage, type StreamState } from './event-source.ts';

const text = 'id: e-1\nevent: objects\ndata: {"rows":[]}\n\n: a comment\nid: e-2\r\nevent: gap\r\ndata: {}\r\n\r\n';

describe('the parser of events', () => {
  it('finds the same messages however the text is cut', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 6 }), (cuts) => {
        const parser = createEventParser();
        const points = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const found = points.flatMap((point, at) => parser.take(text.slice(point, points[at + 1] ?? text.length)));
        assert.deepEqual(found, [
          { id: 'e-1', type: 'objects', data: { rows: [] } },
          { id: 'e-2', type: 'gap', data: {} },
        ]);
      }),
    );
  });

  it('skips data that is no JSON', () => {
    assert.deepEqual(createEventParser().take('data: <p>\n\n'), []);
  });
});

describe('followEvents', () => {
  it('resumes after the last message and waits longer after each failure', async () => {
    const asked: (string | undefined)[] = [];
    const states: StreamState[] = [];
    const messages: StreamMessage[] = [];
    const end = new AbortController();
    const answers = [
      () => new Response(text),
      () => Promise.reject(new Error('refused')),
      () => new Response('', { status: 503 }),
      () => new Response('id: e-3\nevent: roots\ndata: {}\n\n'),
    ];
    await followEvents({
      open: async (lastId) => {
        asked.push(lastId);
        const answer = answers.shift();
        if (answer !== undefined) return answer();
        end.abort();
        return new Response('');
      },
      onMessage: (message) => messages.push(message),
      onState: (state) => states.push(state),
      wait: async () => undefined,
      random: () => 1,
      signal: end.signal,
    });
    assert.deepEqual(asked, [undefined, 'e-2', 'e-2', 'e-2', 'e-3']);
    assert.deepEqual(
      messages.map(({ type }) => type),
      ['objects', 'gap', 'roots'],
    );
    const delays = states.flatMap((one) => (one.state === 'waiting' ? [one.delay] : []));
    assert.deepEqual(delays, [500, 1000, 2000, 500]);
  });

  it('ends when the token is refused', async () => {
    const states: StreamState[] = [];
    await followEvents({
      open: async () => new Response('{}', { status: 401 }),
      onMessage: () => assert.fail('there is no message'),
      onState: (state) => states.push(state),
      wait: () => assert.fail('it does not try again'),
      random: () => 0,
      signal: new AbortController().signal,
    });
    assert.deepEqual(states, [{ state: 'refused' }]);
  });

  it('never waits longer than 15 seconds', () => {
    assert.equal(backOff(1, 0), 375);
    assert.equal(backOff(1000, 1), 15_000);
  });
});
