// The text of a body as a value. It depends on nothing else of the server, so that a thread can load it within moments.

import { stringify } from 'yaml';
import { valueLimitOf } from '../json/value-limits.ts';
import { type ParsedText, readJson, TextRefusal } from './json-text.ts';
import { readYaml } from './yaml-text.ts';

/** The form of a text that is read; `to-yaml` is JSON that is written as YAML. */
export type TextForm = 'json' | 'yaml' | 'to-yaml';

/** Parses a text; throws a TextRefusal where it is beyond a limit. */
export function readText(text: string, form: TextForm): ParsedText {
  if (form === 'to-yaml')
    return { value: stringify(JSON.parse(text), { aliasDuplicateObjects: false }), duplicates: [] };
  const parsed = form === 'json' ? readJson(text) : readYamlOrJson(text);
  const limit = valueLimitOf(parsed.value);
  if (limit) throw new TextRefusal(limit);
  return parsed;
}

/** Clients that apply send JSON under the name of YAML, which it is: to read it as JSON takes a tenth of the time. */
function readYamlOrJson(text: string): ParsedText {
  const json = text.startsWith('{') ? readJson(text) : undefined;
  return json !== undefined && json.problem === undefined && json.duplicates.length === 0 ? json : readYaml(text);
}
