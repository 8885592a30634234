import type { DeliveryAnswer, EventAnswer, ObjectAnswer, PodAnswer, ReadAnswer } from '../../api-types.ts';
import type { Change } from '../logic/change-groups.ts';
import { linkedText, namedPlaces } from '../logic/linked-text.ts';
import { age, clockTime } from '../logic/relative-time.ts';
import { describe, linkToObject, nameOf, type ObjectPlace, parseObjectId } from '../logic/routes.ts';
import { ChangeList } from '../parts/change-list.tsx';
import { Glyph, stateWord } from '../parts/glyph.tsx';
import { Nothing, Panel } from '../parts/panel.tsx';
import { now } from '../state/world.ts';

interface WhyProps {
  readonly data: ObjectAnswer;
  readonly history: readonly Change[];
  /** Objects that the sentences may name. */
  readonly places: readonly ObjectPlace[];
}

export function Why({ data, history, places }: WhyProps) {
  const { why, health, cause } = data;
  const known = namedPlaces(places);
  const causes = cause?.changes ?? [];
  const fallback =
    health === null || health.message === ''
      ? 'Nothing about this object needs an explanation: no operator has reported a problem.'
      : health.message;
  return (
    <Panel title="Why it is as it is">
      <div class="body why" id="why" tabIndex={-1}>
        {(why === '' ? fallback : why).split(/\n+/).map((paragraph) => (
          <p key={paragraph}>
            {linkedText(paragraph, known).map((part) =>
              typeof part === 'string' ? part : <a href={linkToObject(part.place)}>{part.text}</a>,
            )}
          </p>
        ))}
        {causes.length > 0 && (
          <>
            <h3 class="small">The last write followed from</h3>
            <ul class="plain">
              {causes.map((one) => (
                <li key={`${one.object} ${one.paths?.[0]}`}>
                  <Source id={one.object ?? ''} /> <code>{one.paths?.[0] ?? ''}</code>
                  {one.from !== undefined && one.from !== '' && (
                    <span class="diff">
                      {' '}
                      <del>{one.from}</del> → <ins>{one.to}</ins>
                    </span>
                  )}
                  {(one.via ?? []).length > 0 && <div class="faint">through {one.via?.join(' → ')}</div>}
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
      <div class="panel-head">
        <h2>History</h2>
        <span class="count">{history.length === 0 ? 'none seen' : ''}</span>
      </div>
      {history.length > 0 ? (
        <ChangeList changes={history} view="writes" most={history.length} />
      ) : (
        <p class="empty">The object has not changed since the console started.</p>
      )}
    </Panel>
  );
}

function Source({ id }: { id: string }) {
  const place = parseObjectId(id);
  return place === undefined ? (
    <b>{id}</b>
  ) : (
    <a class="name" href={linkToObject(place)}>
      {describe(place)}
    </a>
  );
}

export function Pods({ pods }: { pods: readonly PodAnswer[] }) {
  if (pods.length === 0) return null;
  return (
    <Panel title="Pods" count={pods.length}>
      <table>
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col">State</th>
            <th scope="col" class="right">
              Since
            </th>
          </tr>
        </thead>
        <tbody>
          {pods.map((pod) => (
            <tr key={pod.id}>
              <td>
                <Glyph state={pod.state} />{' '}
                <a class="name" href={linkToObject(pod)} data-row>
                  {nameOf(pod.key)}
                </a>
                {pod.node !== undefined && <div class="faint">on {pod.node}</div>}
              </td>
              <td class={pod.state === 'broken' ? 'bad' : 'soft'}>
                {pod.message}
                {pod.isSimulated && <span class="faint"> · simulated</span>}
              </td>
              <td class="right faint nowrap" title={clockTime(pod.since, now.value)}>
                {age(pod.since, now.value)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

export function Events({ events }: { events: readonly EventAnswer[] | undefined }) {
  if (events === undefined)
    return (
      <Panel title="Events">
        <Nothing
          glyph="unknown"
          title="Events are not known"
          text="They may not be read with your rights. To see them, request get and list of events in this namespace."
        />
      </Panel>
    );
  return (
    <Panel title="Events" count={events.length}>
      {events.length === 0 ? (
        <Nothing glyph="none" title="No Events" text="The cluster keeps Events for an hour by default." />
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Event</th>
              <th scope="col">Message</th>
              <th scope="col" class="wide">
                Times
              </th>
              <th scope="col">Last</th>
            </tr>
          </thead>
          <tbody>
            {events.map(({ type, reason, message, count, at }) => (
              <tr key={`${at} ${reason} ${message}`}>
                <td>
                  <Glyph state={type === 'Warning' ? 'warning' : 'none'} isNamed /> <span class="strong">{reason}</span>{' '}
                  {type === 'Warning' && <span class="warn">{type}</span>}
                </td>
                <td class="soft">{message}</td>
                <td class="wide">{count}</td>
                <td class="faint nowrap" title={clockTime(at, now.value)}>
                  {age(at, now.value)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

export function Reads({ reads, number }: { reads: readonly ReadAnswer[]; number: number }) {
  return (
    <Panel
      title="Recorded reads"
      count={number}
      {...(number > reads.length && { note: `The first ${reads.length} of ${number} are shown.` })}
    >
      {reads.length === 0 ? (
        <Nothing glyph="none" title="No recorded reads" text="No reconciler computes anything for this object." />
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Recorded reads">
          <table>
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">Part that is read</th>
                <th scope="col" class="wide">
                  Through
                </th>
                <th scope="col">Found</th>
              </tr>
            </thead>
            <tbody>
              {reads.map((read) => (
                <tr key={`${read.id} ${read.via.join()}`}>
                  <td>
                    <Glyph state={read.presence === 'known' ? 'none' : read.presence} isNamed />{' '}
                    <a class="name" href={linkToObject(read)} data-row>
                      {describe(read)}
                    </a>
                  </td>
                  <td class="soft">
                    {read.projections.length === 0 ? 'the whole object' : read.projections.join(', ')}
                    {read.isListed && <span class="faint"> as a member of a list</span>}
                  </td>
                  <td class="soft wide">
                    <code>{read.via.join(' → ')}</code>
                  </td>
                  <td class={read.presence === 'absent' ? 'bad' : 'soft'}>
                    {read.presence === 'known' ? 'yes' : stateWord(read.presence)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

export function Deliveries({ deliveries }: { deliveries: readonly DeliveryAnswer[] }) {
  return (
    <Panel title="Deliveries" count={deliveries.length}>
      {deliveries.length === 0 ? (
        <Nothing glyph="none" title="Nothing is delivered" text="No part of this object leaves the cluster." />
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">Delivered</th>
              <th scope="col">By</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {deliveries.map(({ sink, key, state, message }) => (
              <tr key={`${sink} ${key}`}>
                <td>
                  <code>{key}</code>
                </td>
                <td class="soft">{sink}</td>
                <td>
                  <Glyph state={state} isNamed /> {stateWord(state)} <span class="soft">{message}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
