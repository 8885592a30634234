import { invalidField, requiredField, tooMany } from '../field-error.ts';
import { equalJson, isJsonArray, isJsonObject, type JsonObject, type JsonSchema } from '../json-schema.ts';
import { type Check, type CompileSchema, fieldAt, type Report } from './check.ts';
import { correlateItems } from './list-map.ts';

/** The items of an array, then how many there are. */
export function arrayCheck(schema: JsonSchema, compile: CompileSchema): Check {
  const items = schema.items && compile(schema.items);
  const { minItems, maxItems, uniqueItems } = schema;
  const isListMap = schema['x-kubernetes-list-type'] === 'map';

  return (value, path, report, old) => {
    const array = value as unknown[];
    let matched = 1;
    if (items) {
      const oldItem = isListMap && isJsonArray(old) ? correlateItems(schema, old) : undefined;
      for (let index = 0; index < array.length; index++) {
        matched += checkPart(items, array[index], `${path}[${index}]`, report, oldItem?.(array[index]));
      }
    }
    if (minItems !== undefined && array.length < minItems) {
      const detail = `${path} in body should have at least ${minItems} items`;
      report.errors.push(invalidField(fieldAt(report, path), array.length, detail));
    }
    if (maxItems !== undefined && array.length > maxItems) {
      report.errors.push(tooMany(fieldAt(report, path), array.length, maxItems));
    }
    if (uniqueItems && array.some((item, index) => array.findIndex((other) => equalJson(item, other)) < index)) {
      report.errors.push(invalidField(fieldAt(report, path), '', `${path} in body shouldn't contain duplicates`));
    }
    return matched;
  };
}

/** How many fields an object has, its unspecified fields, its properties, and those that it lacks. */
export function objectCheck(schema: JsonSchema, compile: CompileSchema): Check {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    step: `.${name}`,
    check: compile(property),
  }));
  const known = new Set(properties.map(({ name }) => name));
  const { minProperties, maxProperties, required, additionalProperties } = schema;
  const others = typeof additionalProperties === 'object' ? compile(additionalProperties) : undefined;

  return (value, path, report, old) => {
    const object = value as JsonObject;
    const oldObject = isJsonObject(old) ? old : undefined;
    let matched = 0;
    if (minProperties !== undefined || maxProperties !== undefined) {
      checkSize(Object.keys(object).length, minProperties, maxProperties, path, report);
    }
    if (others) {
      for (const name of Object.keys(object)) {
        if (known.has(name)) continue;
        matched += checkPart(others, object[name], `${path}.${name}`, report, oldObject?.[name]);
      }
    } else if (additionalProperties === false) {
      for (const name of Object.keys(object)) {
        if (known.has(name)) continue;
        const detail = `${path}.${name} in body is a forbidden property`;
        report.errors.push(invalidField(fieldAt(report, path), name, detail));
      }
    }
    for (const { name, step, check } of properties) {
      const part = object[name];
      // A function is an inherited member of the object (`constructor`), never JSON.
      if (part === undefined || typeof part === 'function') continue;
      // Both versions of an object are converted to one type, so its apiVersion and kind have no older value.
      const isTypeMeta = path === '' && (name === 'apiVersion' || name === 'kind');
      matched += checkPart(
        check,
        part,
        path === '' ? name : path + step,
        report,
        isTypeMeta ? undefined : oldObject?.[name],
      );
    }
    if (required) {
      for (const name of required) {
        if (!Object.hasOwn(object, name) || object[name] === undefined) {
          report.errors.push(requiredField(fieldAt(report, `${path}.${name}`)));
        }
      }
    }
    return matched;
  };
}

/** Ratcheting: an invalid value that an update does not change does not make the update invalid. */
export function checkPart(check: Check, value: unknown, path: string, report: Report, old: unknown): number {
  if (old === undefined) return check(value, path, report, undefined);
  const before = report.errors.length;
  const matched = check(value, path, report, old);
  if (report.errors.length > before && equalJson(value, old)) report.errors.length = before;
  return matched;
}

function checkSize(size: number, min: number | undefined, max: number | undefined, path: string, report: Report): void {
  if (min !== undefined && size < min) {
    const detail = `${path} in body should have at least ${min} properties`;
    report.errors.push(invalidField(fieldAt(report, path), size, detail));
  }
  if (max !== undefined && size > max) report.errors.push(tooMany(fieldAt(report, path), size, max));
}
