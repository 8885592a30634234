import { constructFromEvents, EVENT_ID, getScalarValue, parseEvents, YAMLException } from 'js-yaml';
import { MAX_DEPTH } from '../json/value-limits.ts';
import { type ParsedText, TextRefusal } from './json-text.ts';

/** Parses one YAML document (JSON is YAML too). */
export function readYaml(text: string): ParsedText {
  try {
    const events = parseEvents(text, { maxDepth: MAX_DEPTH });
    const documents = events.filter(({ type }) => type === EVENT_ID.DOCUMENT).length;
    if (documents > 1) return failed('the body of the request has more than one document');
    const twice = duplicateKeys(text, events);
    // As in JSON, the last one of several equal keys counts.
    const [value = null] = constructFromEvents(events, { source: text, json: true });
    return { value, duplicates: twice.length === 0 ? [] : [`yaml: unmarshal errors:\n${twice.join('\n')}`] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    if (error.reason.includes('nesting exceeded')) throw new TextRefusal('depth');
    return failed(error.reason, error.mark?.line);
  }
}

function failed(reason: string, line?: number): ParsedText {
  const place = line === undefined ? '' : `line ${line + 1}: `;
  return { value: undefined, duplicates: [], problem: `yaml: ${place}${reason}` };
}

interface Level {
  /** The keys so far; undefined in a list. */
  readonly keys: Set<string> | undefined;
  expectsKey: boolean;
}

/** Keys that a map has twice, with their lines, in the order of the text. */
function duplicateKeys(text: string, events: ReturnType<typeof parseEvents>): string[] {
  const twice: string[] = [];
  const levels: Level[] = [];
  let line = 1;
  let counted = 0;
  const lineOf = (offset: number) => {
    for (let at = text.indexOf('\n', counted); at >= 0 && at < offset; at = text.indexOf('\n', counted)) {
      line += 1;
      counted = at + 1;
    }
    return line;
  };
  for (const event of events) {
    if (event.type === EVENT_ID.POP) levels.pop();
    const level = levels.at(-1);
    const isKey = level?.keys !== undefined && level.expectsKey;
    if (event.type === EVENT_ID.SCALAR && level?.keys && isKey) {
      const key = getScalarValue(text, event);
      if (level.keys.has(key))
        twice.push(`  line ${lineOf(event.valueStart)}: key ${JSON.stringify(key)} already set in map`);
      level.keys.add(key);
    }
    // A value that opens a level is complete when the level is closed; the key that follows is expected by then.
    if (level && event.type !== EVENT_ID.POP) level.expectsKey = !level.expectsKey;
    if (event.type === EVENT_ID.MAPPING) levels.push({ keys: new Set(), expectsKey: true });
    if (event.type === EVENT_ID.SEQUENCE) levels.push({ keys: undefined, expectsKey: false });
    if (event.type === EVENT_ID.DOCUMENT) levels.push({ keys: undefined, expectsKey: false });
  }
  return twice;
}
