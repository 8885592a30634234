import type { BackendAnswer } from '../../api-types.ts';
import { clockTime, expiry } from '../logic/relative-time.ts';
import { describe, linkToObject, parseObjectId } from '../logic/routes.ts';
import { Panel } from '../parts/panel.tsx';
import { now } from '../state/world.ts';

/** The way from the change of a user to the weights that followed from it. */
export function LastWeights({ why: { cause, routes } }: { why: NonNullable<BackendAnswer['why']> }) {
  const [source] = cause.changes;
  return (
    <Panel title="Why" more={<time dateTime={cause.at}>{clockTime(cause.at, now.value)}</time>}>
      <div class="body">
        {source === undefined ? (
          <p>The weights were written when Capstan started.</p>
        ) : (
          <p>
            <Name id={source.object} /> <code>{source.paths.join(', ')}</code>{' '}
            <span class="diff">
              <del>{source.from}</del> <ins>{source.to}</ins>
            </span>
            {source.via.map((step) => (
              <span key={step} class="soft">
                {' '}
                <span class="arrow">→</span> {step}
              </span>
            ))}
          </p>
        )}
        <p class="soft">
          {cause.by} wrote{' '}
          {routes.map((id, at) => (
            <span key={id}>
              {at > 0 && ', '}
              <Name id={id} />
            </span>
          ))}
          .
        </p>
      </div>
    </Panel>
  );
}

function Name({ id }: { id: string }) {
  const place = parseObjectId(id);
  return place === undefined ? (
    <b>{id}</b>
  ) : (
    <a class="name" href={linkToObject(place)}>
      {describe(place)}
    </a>
  );
}

interface CredentialsProps {
  readonly credentials: NonNullable<BackendAnswer['credentials']>;
  readonly namespace: string;
}

/** The credentials in force. Their content never leaves the server. */
export function BackendCredentials({ credentials, namespace }: CredentialsProps) {
  const { source, copy, since, expires, rotations, refused, window, timeZone, problem } = credentials;
  const secret = (name: string) => (
    <a class="name" href={linkToObject({ world: '', kind: 'Secret', key: `${namespace}/${name}` })}>
      {name}
    </a>
  );
  return (
    <Panel title="Credentials">
      <dl class="body pairs">
        <dt>Secret</dt>
        <dd>{secret(source)}</dd>
        <dt>Copy in use</dt>
        <dd>{secret(copy)}</dd>
        <dt>In force since</dt>
        <dd>{clockTime(since, now.value)}</dd>
        <dt>Expiry</dt>
        <dd>{expires === undefined ? 'they do not expire' : expiry(expires, now.value)}</dd>
        <dt>Rotations</dt>
        <dd>
          {rotations}
          {refused > 0 && <span class="bad">, {refused} refused</span>}
        </dd>
        <dt>Window</dt>
        <dd>{window === undefined ? 'changed credentials are used at once' : `${window} ${timeZone ?? 'UTC'}`}</dd>
        {problem !== undefined && (
          <>
            <dt>Problem</dt>
            <dd class="bad">{problem}</dd>
          </>
        )}
      </dl>
    </Panel>
  );
}
