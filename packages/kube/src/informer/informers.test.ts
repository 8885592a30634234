import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRandom, createVirtualClock } from '@capstan/testing';
import { silentLogger } from '../logger.ts';
import { createInformers, type InformersOptions } from './informers.ts';
import { createScriptedServer, Thing } from './scripted-server.test-support.ts';

function prepare(options: Partial<InformersOptions> = {}) {
  const clock = createVirtualClock();
  const server = createScriptedServer(clock);
  server.put('a', { labels: { app: 'x' } });
  const informers = createInformers({
    client: server.client,
    clock,
    random: createRandom(5),
    logger: silentLogger,
    streaming: false,
    ...options,
  });
  return { clock, server, informers };
}

describe('shared informers', () => {
  it('each kind and selection has one informer, which the first subscriber starts and the last one stops', async () => {
    const { clock, server, informers } = prepare();
    assert.equal(server.requests.length, 0);
    const first = informers.for(Thing, { labelSelector: 'app=x' });
    const second = informers.for(Thing, { labelSelector: 'app=x' });
    const others = [
      informers.for(Thing),
      informers.for(Thing, { namespace: 'default' }),
      informers.for(Thing, { fieldSelector: 'metadata.name=a' }),
      informers.for(Thing, { metadataOnly: true }),
    ];
    await clock.settle();
    assert.equal(first.informer, second.informer);
    assert.equal(new Set([first, ...others].map(({ informer }) => informer)).size, 5);
    assert.equal(informers.all().length, 5);
    assert.equal(server.watches.length, 5);

    await first.release();
    await first.release();
    assert.equal(first.informer.state().phase, 'watching', 'releasing twice does not count twice');
    await second.release();
    assert.equal(first.informer.state().phase, 'stopped');
    assert.equal(informers.all().length, 4);

    const again = informers.for(Thing, { labelSelector: 'app=x' });
    assert.notEqual(again.informer, first.informer);
    await again.informer.synced();
    await clock.settle();
    await second.release();
    assert.equal(again.informer.state().phase, 'watching', 'a release of the old one does not concern the new one');
    await informers.close();
    assert.equal(clock.pendingTimers, 0);
  });

  it('all informers of a kind receive own writes and deletions', async () => {
    const { clock, server, informers } = prepare();
    const all = informers.for(Thing);
    const some = informers.for(Thing, { labelSelector: 'app=x' });
    await clock.settle();
    server.held = true;
    const own = server.put('own', { labels: { app: 'x' } });
    informers.observeWrite(Thing, own);
    assert.deepEqual([all.informer.size, some.informer.size], [2, 2]);
    server.remove('own');
    informers.observeDelete(Thing, { namespace: 'default', name: 'own' }, own.metadata.uid ?? '');
    assert.deepEqual([all.informer.size, some.informer.size], [1, 1]);
    await informers.close();
  });

  it('the signal ends all informers, and none can be had after it', async () => {
    const abort = new AbortController();
    const { clock, informers } = prepare({ signal: abort.signal });
    const { informer, release } = informers.for(Thing);
    await clock.settle();
    abort.abort();
    await informers.close();
    await release();
    assert.equal(informer.state().phase, 'stopped');
    assert.throws(() => informers.for(Thing), /are closed/);
    assert.equal(clock.pendingTimers, 0);
  });

  it('trim and hooks are chosen by kind', async () => {
    const lists: string[] = [];
    const { clock, informers } = prepare({
      trim: (kind, object) => (kind.kind === 'Thing' ? { ...object, spec: undefined } : object),
      observe: (kind) => ({ listed: ({ objects }) => lists.push(`${kind.kind} ${objects}`) }),
    });
    const { informer } = informers.for(Thing);
    await clock.settle();
    assert.equal(informer.get('default/a')?.spec, undefined);
    assert.deepEqual(lists, ['Thing 1']);
    await informers.close();
  });
});
