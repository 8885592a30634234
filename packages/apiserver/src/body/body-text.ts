// The text of a body as a value. It depends on nothing else of the server, so that a thread can load it within moments.
import { type ParsedText, readJson, TextRefusal } from './json-text.ts';
import { hasTooManyValues } from './value-limits.ts';
import { readYaml } from './yaml-text.ts';

export type TextForm = 'json' | 'yaml';

/** Parses a text; throws a TextRefusal where it is beyond a limit. */
export function readText(text: string, form: TextForm): ParsedText {
  const parsed = form === 'json' ? readJson(text) : readYamlOrJson(text);
  if (hasTooManyValues(parsed.value)) throw new TextRefusal('values');
  return parsed;
}

/** Clients that apply send JSON under the name of YAML, which it is: to read it as JSON takes a tenth of the time. */
function readYamlOrJson(text: string): ParsedText {
  const json = text.startsWith('{') ? readJson(text) : undefined;
  return json !== undefined && json.problem === undefined && json.duplicates.length === 0 ? json : readYaml(text);
}
