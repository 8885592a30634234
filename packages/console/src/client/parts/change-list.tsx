import type { ChangeAnswer } from '../../api-types.ts';
import { type Change, type ChangeGroup, groupChanges, isBookkeeping, namesOf } from '../logic/change-groups.ts';
import { clockTime } from '../logic/relative-time.ts';
import { describe, linkToObject, parseObjectId } from '../logic/routes.ts';
import { now } from '../state/world.ts';
import { Icon } from './glyph.tsx';

/** Heartbeats are no changes that a reader looks for. */
export function withoutHeartbeats(changes: readonly ChangeAnswer[]): readonly Change[] {
  return changes.filter(({ kind }) => kind !== 'Lease.coordination.k8s.io');
}

export function ChangeList({
  changes,
  view,
  most,
}: {
  changes: readonly Change[];
  view: 'causes' | 'writes';
  most: number;
}) {
  const groups: readonly ChangeGroup[] =
    view === 'causes'
      ? groupChanges(changes.filter((change) => !isBookkeeping(change)))
      : changes.flatMap((change) => groupChanges([change]));
  if (groups.length === 0) return <p class="empty">No change since the console started to follow the cluster.</p>;
  return (
    <ol class="feed">
      {groups.slice(0, most).map((group) => (
        <ChangeEntry key={group.id} group={group} />
      ))}
    </ol>
  );
}

function ChangeEntry({ group: { at, changes, title, isOwnWrite } }: { group: ChangeGroup }) {
  const [first] = changes;
  if (first === undefined) return null;
  const source = first.cause?.changes[0];
  const conditions = first.conditions ?? [];
  const paths = conditions.length > 0 ? [] : [...new Set(changes.flatMap((change) => change.paths))];
  const isStatus = first.paths.length > 0 && first.paths.every((path) => path.startsWith('status'));
  return (
    <li>
      <time dateTime={at}>{clockTime(at, now.value)}</time>
      <Icon name={first.verb === 'deleted' ? 'deleted' : isOwnWrite ? 'plan' : isStatus ? 'time' : 'user'} />
      <div>
        <a class="name" href={linkToObject(first)}>
          {title}
        </a>
        {changes.length > 1 && <div class="soft">{namesOf(changes, 4)}</div>}
        {source !== undefined && (
          <div class="soft">
            because of {sourceName(source.object)} <code>{source.paths[0] ?? ''}</code>
            {first.cause !== undefined && ` → ${first.cause.by}`}
          </div>
        )}
        {conditions.length > 0 && (
          <div class="values">
            {conditions.map(({ type, before, after, reason, message }) => (
              <span key={type} class="tag" title={message}>
                {type} {before === '' || before === after ? after : `${before} → ${after}`}{' '}
                {reason === type ? '' : reason}
              </span>
            ))}
          </div>
        )}
        {source === undefined && paths.length > 0 && (
          <div class="soft">
            <code>{paths.slice(0, 3).join(', ')}</code>
            {paths.length > 3 && ` and ${paths.length - 3} more`}
          </div>
        )}
      </div>
    </li>
  );
}

function sourceName(id: string) {
  const place = parseObjectId(id);
  return place === undefined ? id : <a href={linkToObject(place)}>{describe(place)}</a>;
}
