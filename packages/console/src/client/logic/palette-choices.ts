// The entries of the palette: objects, absent objects that something reads, questions about the first of them, and pages.
import { PAGE_KEYS } from './key-bindings.ts';
import { describe, kindName, linkToExplorer, linkToObject, nameOf, type ObjectPlace, pathOfPlace } from './routes.ts';

export interface Choice {
  readonly group: 'Objects' | 'Ask' | 'Go to';
  readonly text: string;
  readonly note: string;
  readonly link: string;
  /** The state of an object; other entries have an icon. */
  readonly state?: string;
  readonly icon?: string;
}

export interface Found {
  readonly objects: readonly (ObjectPlace & { readonly state: string; readonly reason: string })[];
  readonly absent: readonly ObjectPlace[];
}

const MOST_OBJECTS = 8;

export function paletteChoices(
  q: string,
  { objects, absent }: Found,
  reports: readonly { readonly name: string; readonly title: string }[],
): readonly Choice[] {
  const word = q.trim().toLowerCase();
  const isFilter = /(?:^|\s)(?:is|kind|ns|operator|reads):/.test(q);
  const found: Choice[] = [
    ...objects.slice(0, MOST_OBJECTS).map((row) => choiceOf(row, row.state, row.reason)),
    ...absent.slice(0, MOST_OBJECTS).map((place) => choiceOf(place, 'absent', 'does not exist, but is read')),
  ];
  // An object with the word in its name comes before those that mention it in a message.
  found.sort((a, b) => Number(b.text.toLowerCase().includes(word)) - Number(a.text.toLowerCase().includes(word)));
  const byName = [...objects, ...absent].find(({ key }) => key.toLowerCase().includes(word));
  const first = byName ?? objects[0] ?? absent[0];
  const questions = first === undefined || isFilter ? [] : questionsAbout(first);
  const filter: Choice[] = word === '' ? [] : [filterChoice(q.trim())];
  const pages = PAGE_KEYS.filter(([, , title]) => title.toLowerCase().includes(word)).map(
    ([key, link, text]): Choice => ({
      group: 'Go to',
      text,
      note: `g ${key}`,
      link,
      icon: link === '/' ? 'overview' : link.slice(1),
    }),
  );
  const more = reports
    .filter(({ name, title }) => word !== '' && name.includes('/') && `${name} ${title}`.toLowerCase().includes(word))
    .map(
      ({ name, title }): Choice => ({
        group: 'Go to',
        text: title,
        note: '',
        link: `/${name}`,
        icon: name.split('/')[0] ?? '',
      }),
    );
  const plan: Choice[] = 'plan a change'.includes(word)
    ? [{ group: 'Go to', text: 'Plan a change', note: '', link: '/plan', icon: 'plan' }]
    : [];
  return [...found, ...questions, ...pages, ...more, ...plan, ...filter];
}

function choiceOf(place: ObjectPlace, state: string, note: string): Choice {
  return { group: 'Objects', text: describe(place), note, link: linkToObject(place), state };
}

function filterChoice(q: string): Choice {
  return { group: 'Go to', text: `All objects that match ${q}`, note: '', link: linkToExplorer(q), icon: 'explore' };
}

function questionsAbout(place: ObjectPlace): readonly Choice[] {
  const name = `${kindName(place.kind)} ${nameOf(place.key)}`;
  const ask = (text: string, note: string, link: string, icon: string): Choice => ({
    group: 'Ask',
    text,
    note,
    link,
    icon,
  });
  const why = ask(`Why is ${name} as it is?`, 'why', linkToObject(place), 'question');
  // Readers and plans are known for the cluster of the console alone.
  if (place.world !== '') return [why];
  return [
    why,
    ask(`What reads ${name}?`, 'readers', linkToExplorer(`reads:${place.kind}/${place.key}`), 'explore'),
    ask(
      `What would deleting ${name} do?`,
      'plan --delete',
      `/plan?object=${encodeURIComponent(pathOfPlace(place))}&delete=true`,
      'plan',
    ),
  ];
}
